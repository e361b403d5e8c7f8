"""Topic models: their steps, fixed points and relatives."""

from __future__ import annotations

from copy import deepcopy
from functools import partial

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import LatentDirichletAllocation, non_negative_factorization

from simviz.methods import _topics, get_method
from simviz.methods._topics import EM, Side, Topics
from simviz.methods.cplsa import TiltedEM
from simviz.methods.lda import VariationalEM
from simviz.methods.pltm import Collapsed, likelier_prior
from simviz.relevance import Relevance

RNG = np.random.default_rng(3)
SEEDED = RNG.bit_generator.state
METHODS = ["plsa", "lda", "jplsa", "cplsa", "pltm"]
EM_ALONE = {"inference": "em", "learn_alpha": False}


@pytest.fixture(autouse=True)
def seeded():
    """Give each test the same random numbers, whichever tests ran before it."""
    RNG.bit_generator.state = SEEDED


def texts(n, d, k=4, length=40, dtype=np.float64, theta=None):
    """Counts drawn from topics."""
    phi = RNG.dirichlet(np.full(d, 0.2), k)
    theta = RNG.dirichlet(np.full(k, 0.2), n) if theta is None else theta
    return sp.csr_array(RNG.poisson(length * theta @ phi).astype(dtype)), theta


def pairs(n=60, d_x=30, d_y=25, k=4, dtype=np.float64):
    """Two sides with the same topics."""
    X, theta = texts(n, d_x, k, dtype=dtype)
    return X, texts(n, d_y, k, length=60, dtype=dtype, theta=theta)[0]


def learner(X, Y, k=4, a=0.1, b=0.01, cls=EM, shared=False, relevance=None, **more):
    found = (relevance or Relevance.identity(X.shape[0])).positives.tocoo()
    weights = found.data
    sides = [Side(X, found.row, weights), Side(Y, found.col, weights)]
    return cls(sides, weights, np.full(k, a), b, shared, lambda: False, **more)


def start(em, seed=0):
    rng = np.random.default_rng(seed)
    phis = []
    for known in em.known:
        phi = rng.dirichlet(np.ones(len(known)), len(em.a)).T * known[:, None]
        phis.append((phi / phi.sum(axis=0)).astype(em.dtype, order="C"))
    return Topics(rng.dirichlet(np.ones(len(em.a)), em.n_units).astype(em.dtype), phis)


@pytest.mark.parametrize("shared", [False, True])
def test_step_equals_the_dense_tensor(shared):
    X, Y = pairs(20, 12, 12 if shared else 9)
    R = Relevance.from_pairs([0, 0, 3, 7, 19], [1, 5, 3, 5, 2], [1, 3, 2, 1, 1], shape=(20, 20))
    em = learner(X, Y, shared=shared, relevance=R)
    topics = start(em)
    before = deepcopy(topics)
    progress = em.step(topics)
    R = R.positives.tocoo()
    w = R.data

    def expected(theta):  # words of φ are seen through what θ is by then
        N_u, log_likelihood, N_w = np.zeros_like(theta), 0.0, []
        for s, (Z, items) in enumerate(((X, R.row), (Y, R.col))):
            C, phi = Z.toarray()[items], before.phis[0 if shared else s]
            q = theta[:, None] * phi[None]  # (units, words, topics): fine for a toy
            p = q.sum(axis=-1, keepdims=True)
            q = np.divide(q, p, out=np.zeros_like(q), where=p > 0)
            N_u += np.einsum("uw,uwk->uk", C, q)
            N_w.append(np.einsum("u,uw,uwk->wk", w, C, q))
            logs = np.where(C > 0, C * np.log(np.maximum(p[..., 0], 1e-300)), 0)
            log_likelihood += w @ logs.sum(axis=1)
        return N_u, [sum(N_w)] if shared else N_w, log_likelihood

    N_u, _, log_likelihood = expected(before.theta)
    theta = (N_u + 0.1) / (N_u + 0.1).sum(axis=1, keepdims=True)
    assert_allclose(topics.theta, theta, atol=1e-12)
    for phi, N, known in zip(topics.phis, expected(theta)[1], em.known, strict=True):
        N[known] += 0.01
        assert_allclose(phi, N / N.sum(axis=0), atol=1e-12)
    assert progress.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    prior = 0.1 * (w @ np.log(before.theta).sum(axis=1)) + 0.01 * sum(
        np.log(phi[known]).sum() for phi, known in zip(before.phis, em.known, strict=True)
    )
    assert progress.objective == pytest.approx(log_likelihood + prior, rel=1e-12)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("plsa", {}),
        ("lda", {"fold_in_iter": 500, "fold_in_tol": 1e-9}),
        ("jplsa", {}),
        ("pltm", EM_ALONE),
        ("cplsa", {"inner_iter": 40}),
    ],
)
@pytest.mark.parametrize("init", ["documents", "random", "lsi"])
def test_objective_never_falls(method, settings, init):
    if init == "lsi":
        init = "lsa" if method in ("plsa", "lda") else "cl_lsi"
    model = get_method(method)(4, max_iter=60, init=init, tol=0, **settings).fit(*pairs(d_y=30))
    assert model.n_iter_ == len(model.objective_curve_) == 60
    steps = np.diff(model.objective_curve_)
    assert steps.min() > -1e-6 * abs(model.objective_curve_[-1])
    assert steps.max() > 0


def test_variational_bayes_equals_scikit_learn():
    X = sp.csr_array(texts(50, 20)[0].toarray() + np.eye(50, 20))  # scikit-learn counts all words
    n_steps = 15
    peer = LatentDirichletAllocation(
        4, doc_topic_prior=0.1, topic_word_prior=0.01, learning_method="batch",
        max_iter=n_steps, max_doc_update_iter=3000, mean_change_tol=1e-11, random_state=0,
    ).fit(X)  # fmt: skip
    em = VariationalEM(
        [Side(X, np.arange(50), np.ones(50))], np.ones(50), np.full(4, 0.1), 0.01, False,
        lambda: False, n_steps=3000, change=1e-11,
    )  # fmt: skip
    rng = np.random.RandomState(0)
    topics = Topics(np.ones((50, 4)), [rng.gamma(100, 0.01, (4, 20)).T.copy()])
    for _ in range(n_steps):
        topics.theta[:] = rng.gamma(100, 0.01, (50, 4))  # theirs start anew each time
        em.step(topics)
    assert_allclose(topics.phis[0].T, peer.components_, rtol=1e-6, atol=1e-6)
    peer.components_ = topics.phis[0].T.copy()
    bound = em.step(topics).objective
    assert bound == pytest.approx(peer._approx_bound(X, topics.theta, False), rel=1e-9)


def test_lda_transforms_as_scikit_learn_does():
    X = sp.csr_array(texts(50, 20)[0].toarray() + np.eye(50, 20))
    model = get_method("lda")(3, fold_in_iter=3000, fold_in_tol=1e-11, max_iter=20).fit(X)
    peer = LatentDirichletAllocation(
        3, doc_topic_prior=0.1, topic_word_prior=0.01, max_doc_update_iter=3000,
        mean_change_tol=1e-11, max_iter=1, random_state=0,
    ).fit(X)  # fmt: skip
    peer.components_ = model.word_counts_
    from sklearn.decomposition._online_lda_fast import _dirichlet_expectation_2d

    peer.exp_dirichlet_component_ = np.exp(_dirichlet_expectation_2d(model.word_counts_.copy()))
    assert_allclose(model.transform(X), peer.transform(X), atol=1e-7)


def test_plain_plsa_and_kl_nmf_rest_at_the_same_points():
    X = texts(40, 15)[0]
    model = get_method("plsa")(3, alpha=1, beta=1, tol=0, max_iter=3000, fold_in_iter=3000).fit(X)
    theta, phi = model.transform(X), model.x_topics_
    totals = X.sum(axis=1)
    W, H = np.ascontiguousarray(theta * totals[:, None]), np.ascontiguousarray(phi)
    W2, H2, _ = non_negative_factorization(
        X.toarray(), W=W.copy(), H=H.copy(), n_components=3, init="custom", solver="mu",
        beta_loss="kullback-leibler", max_iter=1, tol=0,
    )  # fmt: skip
    assert_allclose(W2 @ H2, W @ H, rtol=1e-4, atol=1e-4)


def test_endless_epsilon_is_jplsa_to_the_last_bit():
    X, Y = pairs(dtype=np.float32)
    joint = get_method("jplsa")(5, max_iter=12).fit(X, Y)
    coupled = get_method("cplsa")(5, max_iter=12, epsilon=np.inf).fit(X, Y)
    assert_array_equal(coupled.x_topics_, joint.x_topics_)
    assert_array_equal(coupled.y_topics_, joint.y_topics_)
    assert coupled.objective_curve_ == joint.objective_curve_
    apart = get_method("cplsa")(5, max_iter=12).fit(X, Y)
    assert np.abs(apart.x_topics_ - joint.x_topics_).max() > 1e-3


def test_shares_agree_the_better_the_more_inner_steps():
    X, Y = pairs()
    worst = []
    for inner in (1, 5, 60):
        em = learner(X, Y, cls=TiltedEM, n_steps=inner)
        em.tilted(start(em))
        worst.append(em.gaps.max())
    assert worst[0] > max(0.05, worst[1]) and worst[1] > worst[2] < 0.01
    em = learner(X, Y, cls=TiltedEM, n_steps=300, epsilon=0.05)
    topics = start(em)
    (T_x, T_y), cost = em.tilted(topics)
    shares = []
    for T, Z, phi in zip((T_x, T_y), (X, Y), topics.phis, strict=True):
        C = Z.toarray()
        p = T @ phi.T
        N = T * (np.divide(C, p, out=np.zeros_like(C), where=p > 0) @ phi)
        shares.append(N / C.sum(axis=1, keepdims=True))
    apart = np.abs(shares[0] - shares[1]).max(axis=1)
    assert 0.0499 < apart.max() < 0.051  # the bound is reached, not undercut
    assert cost > 0


def test_a_pair_with_an_empty_side_is_not_coupled():
    X, Y = (Z.toarray() for Z in pairs(10))
    X[0] = Y[1] = 0
    em = learner(sp.csr_array(X), sp.csr_array(Y), cls=TiltedEM, n_steps=20)
    topics = start(em)
    (T_x, T_y), _ = em.tilted(topics)
    assert_array_equal(T_x[:2], topics.theta[:2])
    assert_array_equal(T_y[:2], topics.theta[:2])
    assert np.abs(T_x[2:] - T_y[2:]).max() > 1e-3


@pytest.mark.parametrize(("method", "settings"), [("plsa", {}), ("pltm", EM_ALONE)])
def test_folding_in_ends_at_the_topics_of_training(method, settings, monkeypatch):
    X = texts(40, 20)[0]
    # A partner without words leaves a pair with the words of one side.
    Y = sp.csr_array((40, 3)) if method == "pltm" else None
    cls, seen = get_method(method), []
    keep = cls._keep
    monkeypatch.setattr(cls, "_keep", lambda *all_: seen.append(all_[2].theta) or keep(*all_))
    model = cls(3, fold_in_iter=2000, tol=0, max_iter=800, **settings).fit(X, Y)
    assert_allclose(model.transform(X), seen[0], atol=1e-5)
    model.set_params(fold_in_iter=1)
    assert np.abs(model.transform(X) - seen[0]).max() > 0.01


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("cls", [EM, TiltedEM, partial(TiltedEM, epsilon=0.05)])
def test_pairs_count_as_copies_of_their_items_as_often_as_they_weigh(cls, turned):
    X, Y = (Z.toarray() for Z in pairs(20))
    X[3] = 0
    partners = np.repeat([0, 1, 2, 3, 5], [1, 2, 3, 4, 10])
    R = Relevance.from_pairs(range(20), partners, [1, 2] * 10, shape=(20, 20))
    if turned:
        X, Y, R = Y, X, R.T
    X, Y, found = sp.csr_array(X), sp.csr_array(Y), R.positives.tocoo()
    again = np.repeat(np.arange(20), found.data.astype(int))
    shared = learner(X, Y, k=7, relevance=R, cls=cls)
    copies = learner(X[found.row[again]], Y[found.col[again]], k=7, cls=cls)
    a = start(shared)
    b = Topics(a.theta[again].copy(), [phi.copy() for phi in a.phis])
    for _ in range(5):
        assert shared.step(a).objective == pytest.approx(copies.step(b).objective, rel=1e-12)
    for one, other in zip((a.theta[again], *a.phis), (b.theta, *b.phis), strict=True):
        assert_allclose(one, other, atol=1e-12)


def test_what_is_judged_not_relevant_changes_nothing():
    X, Y = pairs(20)
    R = np.eye(20)
    R[[0, 3], [5, 9]] = -1
    alone, more = (get_method("jplsa")(3, max_iter=5).fit(X, Y, r) for r in (None, R))
    assert_array_equal(more.x_topics_, alone.x_topics_)
    with pytest.raises(ValueError, match="learns from relevant pairs"):
        get_method("jplsa")(3).fit(X, Y, np.minimum(R, 0))


@pytest.mark.parametrize("method", METHODS)
def test_threads_change_nothing(method):
    X, Y = (Z.astype(np.float32) for Z in pairs(400, 60, 60))
    results = []
    try:
        for n in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(n)
            model = get_method(method)(40, max_iter=3).fit(X, Y)
            results.append((model.x_topics_, model.transform(X), model.objective_curve_))
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    for one, two in zip(*results, strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("method", METHODS)
def test_stopping_within_a_step_keeps_the_step_before(method, monkeypatch):
    monkeypatch.setattr(_topics, "STEPS_A_CALL", 500)
    X, Y = pairs(d_y=30)
    heard = []

    def stop(step, total, metrics):
        heard.append((step, dict(metrics)))
        return step == 2 and len(heard) > 2 and heard[-2][0] == 2

    model = get_method(method)(4, max_iter=30).set_callbacks(stop).fit(X, Y)
    assert model.n_iter_ == 2  # the third step was begun and left
    before = get_method(method)(4, max_iter=2).fit(X, Y)
    assert_array_equal(model.x_topics_, before.x_topics_)
    assert {"objective", "perplexity"} <= set(heard[-1][1])


@pytest.mark.parametrize("method", ["plsa", "jplsa", "cplsa"])
def test_priors_below_one_are_refused(method):
    for name in ("alpha", "beta"):
        with pytest.raises(ValueError, match=f"'{name}' parameter of {method.upper()}"):
            get_method(method)(2, **{name: 0.5}).fit(*pairs(10, 8, 8))


def test_unknown_words_carry_nothing():
    X, Y = (Z.toarray() for Z in pairs(30, 20, 20))
    X[:, 4] = Y[:, 4] = 0
    alone, item = np.zeros((2, 1, 20))
    alone[0, :3] = item[0, :3] = [2, 3, 1]
    item[0, 4] = 7
    for method in METHODS:
        model = get_method(method)(3, max_iter=5).fit(X, Y)
        assert not model.x_topics_[:, 4].any()
        assert_allclose(model.x_topics_.sum(axis=1), 1)
        assert not model.transform(item - alone).any()
        assert_array_equal(model.transform(item), model.transform(alone))


def test_perplexity_is_of_held_out_partners():
    X, Y = pairs(80)
    train, held = slice(0, 60), slice(60, 80)
    model = get_method("jplsa")(4, max_iter=15)
    model.fit(X[train], Y[train], None, X[held], Y[held])
    total, n = 0.0, 0.0
    for theta, phi, C in (
        (model.transform(X[held]), model.y_topics_, Y[held].toarray()),
        (model.transform_y(Y[held]), model.x_topics_, X[held].toarray()),
    ):
        p = theta @ phi
        C = C * (phi.sum(axis=0) > 0)
        total += (C * np.log(np.where(C > 0, p, 1))).sum()
        n += C.sum()
    assert model.perplexity_curve_[-1] == pytest.approx(np.exp(-total / n), rel=1e-9)
    assert len(model.perplexity_curve_) == 15
    assert 1 < min(model.perplexity_curve_) < 25  # there are no more words
    unwatched = get_method("jplsa")(4, max_iter=15).fit(X[train], Y[train])
    assert_array_equal(unwatched.x_topics_, model.x_topics_)
    single = get_method("lda")(4, max_iter=15).fit(X[train], X[train], None, X[held], X[held])
    assert 1 < single.perplexity_curve_[-1] < single.perplexity_curve_[0] < 40


def test_the_best_of_several_starts_goes_on():
    X, Y = pairs()
    one, several = (
        get_method("jplsa")(6, init="random", n_init=n, max_iter=60, tol=0).fit(X, Y)
        for n in (1, 6)
    )
    assert several.n_iter_ == 60
    assert several.objective_curve_[5] > one.objective_curve_[5]


def test_priors_are_learned_by_minka():
    rng = np.random.default_rng(0)
    truth = np.array([2.0, 0.5, 0.1])
    N = np.array([rng.multinomial(300, p) for p in rng.dirichlet(truth, 4000)]).astype(float)
    a = np.ones(3)
    for _ in range(300):
        a = likelier_prior(a, N, np.ones(4000))
    assert_allclose(a, truth, rtol=0.06)
    assert_array_equal(likelier_prior(a, np.zeros((5, 3)), np.ones(5)), a)


def test_priors_from_expected_counts_are_those_of_the_counts():
    rng = np.random.default_rng(1)
    a = np.array([0.3, 0.05])
    shares = rng.random((40, 1, 2)) * [0.9, 0.2] * np.ones((1, 6, 1))  # of six words each
    draws = (rng.random((4000, 40, 6, 2)) < shares).sum(axis=2).astype(float)
    ones = np.ones(40)
    drawn = [likelier_prior(a, N, ones) for N in draws]
    found = likelier_prior(a, shares.sum(axis=1), ones, np.square(shares).sum(axis=1))
    plain = likelier_prior(a, shares.sum(axis=1), ones)
    wanted = np.mean(drawn, axis=0)
    assert (np.abs(found / wanted - 1) < 0.1).all()
    assert (plain / wanted > 1.2).any()
    sure = draws[0]  # where every share is 0 or 1, sums of squares are the counts
    assert_allclose(likelier_prior(a, sure, ones, sure), likelier_prior(a, sure, ones), rtol=1e-6)


@pytest.mark.parametrize("shared", [False, True])
def test_each_count_has_the_topics_that_all_others_expect(shared):
    X, Y = pairs(15, 12, 12 if shared else 9)
    R = Relevance.from_pairs([0, 0, 3, 7, 14], [1, 5, 3, 5, 2], [1, 3, 2, 1, 1], shape=(15, 15))
    em = learner(X, Y, a=0.3, cls=Collapsed, shared=shared, relevance=R)
    topics = em.begin(start(em))
    found = R.positives.tocoo()
    cells = [
        (u, s, 0 if shared else s, w, Z.toarray()[i, w], R_u)
        for s, (Z, items) in enumerate(((X, found.row), (Y, found.col)))
        for u, (i, R_u) in enumerate(zip(items, found.data, strict=True))
        for w in np.flatnonzero(Z.toarray()[i])
    ]
    q = np.vstack(topics.shares).copy()
    n_words = [known.sum() for known in em.known]

    def sums(select, weighted=True):
        return sum(
            (c * (weight if weighted else 1) * q[e] for e, (*_, c, weight) in select),
            start=np.zeros(4),
        )

    total = 0.0
    for e, (u, s, v, w, c, weight) in enumerate(cells):
        if e == 0 or cells[e - 1][:2] != (u, s):  # all words: as of the last whole unit
            N_k = sums((i, cell) for i, cell in enumerate(cells) if cell[2] == v)
        N_u = sums(((i, cell) for i, cell in enumerate(cells) if cell[0] == u), weighted=False)
        N_w = sums((i, cell) for i, cell in enumerate(cells) if cell[2:4] == (v, w))
        inside = min(c * weight, 1) * q[e]
        others = N_u - min(c, 1) * q[e] + 0.3
        base = 1 / (N_k + 0.01 * n_words[v])
        p = others * (N_w - inside + 0.01) * (base + inside * base**2)
        total += weight * c * np.log(p.sum() / others.sum())
        q[e] = p / p.sum()
    assert em.step(topics).objective == pytest.approx(total, rel=1e-9)
    assert_allclose(np.vstack(topics.shares), q, atol=1e-10)
    kept = [topics.theta.copy(), *(N.copy() for N in topics.word_counts)]
    em._recount(topics)
    for before, after in zip(kept, [topics.theta, *topics.word_counts], strict=True):
        assert_allclose(before, after, atol=1e-10)


def test_the_polylingual_model_is_another_than_the_joint_one():
    theta = RNG.dirichlet([1.0, 0.2, 0.2, 0.05], 300)
    blocks = [np.kron(np.eye(4), RNG.dirichlet(np.full(d, 0.5))) for d in (40, 30)]
    X, Y = (sp.csr_array(RNG.poisson(12 * theta @ phi).astype(np.float32)) for phi in blocks)
    data = X[:240], Y[:240], None, X[240:], Y[240:]
    joint = get_method("jplsa")(4).fit(*data)

    def fit(**settings):
        return get_method("pltm")(4, **settings).fit(*data)

    alone, model = fit(alpha=0.1, beta=0.01, **EM_ALONE), fit()
    sampled, given = fit(inference="gibbs", max_iter=300), fit(learn_alpha=False)
    assert_allclose(alone.x_topics_, joint.x_topics_, atol=1e-6)
    assert np.abs(model.x_topics_ - joint.x_topics_).max() > 1e-3
    assert model.topic_prior_.max() > 1.5 * model.topic_prior_.min()
    assert model.perplexity_curve_[-1] < 1.06 * sampled.perplexity_curve_[-1]
    assert_array_equal(given.topic_prior_, np.full(4, 0.1))


def test_more_shares_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr("simviz.methods.pltm.MAX_SHARES", 1_000)
    X, Y = pairs()
    with pytest.raises(ValueError, match=r"more than the 1,000 .* inference='em' or 'gibbs'"):
        get_method("pltm")(4).fit(X, Y)
    get_method("pltm")(4, inference="em", max_iter=2).fit(X, Y)


@pytest.mark.parametrize("shared", [False, True])
def test_gibbs_finds_planted_topics(shared):
    theta = np.eye(3)[np.arange(60) % 3] * 0.9 + 0.1 / 3
    phi = np.kron(np.eye(3), np.full((1, 8), 1 / 8))
    X, Y = (sp.csr_array(RNG.poisson(40 * theta @ phi).astype(np.float32)) for _ in range(2))
    settings = {"inference": "gibbs", "max_iter": 60, "shared": shared, "init": "random"}
    model, again = (get_method("pltm")(3, **settings).fit(X, Y) for _ in range(2))
    assert_array_equal(again.x_topics_, model.x_topics_)
    assert model.n_iter_ == 60 and model.objective_curve_[-1] > model.objective_curve_[0]
    # Mass of each topic on each block.
    found, other = (Z.reshape(3, 3, 8).sum(axis=-1) for Z in (model.x_topics_, model.y_topics_))
    assert (found.max(axis=1) > 0.95).all() and sorted(found.argmax(axis=1)) == [0, 1, 2]
    assert_array_equal(found.argmax(axis=1), other.argmax(axis=1))
    with pytest.raises(ValueError, match="whole counts"):
        get_method("pltm")(3, **settings).fit(X * 0.5, Y)


def test_gibbs_refuses_more_tokens_than_memory_holds():
    X = np.full((3, 4), 1e9)
    with pytest.raises(ValueError, match=r"24,000,000,000 tokens, more than .* inference='em'"):
        get_method("pltm")(2, inference="gibbs").fit(X, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hardly_any_counts_are_no_obstacle(dtype):
    """Then e^ψ of all parameters of an item lies below the smallest number."""
    C = 1e-4 * RNG.poisson(2.0, (12, 8)).astype(dtype)
    model = get_method("lda")(3, alpha=0.001, max_iter=30).fit(C)
    assert np.isfinite(model.objective_curve_).all()
    assert (np.diff(model.objective_curve_) > -1e-3).all()
    assert_allclose(model.transform(C).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_counts_beyond_single_precision(method):
    C = (1e14 * RNG.poisson(2.0, (12, 8))).astype(np.float32)
    model = get_method(method)(3, max_iter=3).fit(C, C)
    assert np.isfinite(model.similarity(C, C)).all()
    assert np.isfinite(model.x_topics_).all()
