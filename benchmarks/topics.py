"""Topic models: speed of a step, beside peers, and what they find across languages.

``python benchmarks/topics.py --data FOLDER`` prints the tables in Markdown; FOLDER holds
``en_es_docs`` and ``libreoffice_help`` (`benchmarks/README.md` names their sources). topica and
tomotopy are measured where they are installed.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import scipy.sparse as sp
from _corpora import Sides, aligned
from _timing import machine, medians as in_turns, show

from simviz.base._jensen_shannon import js_similarity
from simviz.evaluation import evaluate
from simviz.experiments._parts import read_parts
from simviz.features import TextCounts
from simviz.methods import get_method

SETS = ("libreoffice_help", "en_es_docs")
TOPICS = (50, 100, 200)
REPEATS = 5
PARTS = ("speed", "several", "peers", "readings", "polylingual")

Part = dict[str, Sides]


def parts_of(folder: Path, features: Any, *, shared: bool, words: int | None = None) -> Part:
    """Features of the texts of each part, learned from the training part."""
    texts = {
        name: tuple([" ".join(text.split()[:words]) for text in side] for side in sides)
        for name, sides in aligned(folder).items()
    }
    train = texts["train"]
    fitted = 2 * [features().fit(train[0] + train[1])] if shared else map(features().fit, train)
    fitted = list(fitted)
    return {
        name: tuple(f.transform(side) for f, side in zip(fitted, sides, strict=True))
        for name, sides in texts.items()
    }


def counts() -> TextCounts:
    """Words of at least three texts."""
    return TextCounts(min_df=3)


def started(method: str, k: int, *sides: Any, **params: Any) -> tuple[Any, Any, Any]:
    """A model, its learner and where that starts; no step is done yet."""
    kept: list[Any] = []
    model = get_method(method)(k, **params)
    model._climb = lambda em, run, *_: kept.append((em, run)) or True
    model.fit(*sides)
    em, run = kept[0]
    em.notify = lambda: False
    return model, em, run


def speed(train: Sides) -> None:
    """A step of each method, in nanoseconds for a non-zero and topic."""
    X, Y = train
    nnz = X.nnz + Y.nnz
    rows = []
    for k in TOPICS:
        names = ("plsa", "jplsa", "pltm", "cplsa")
        steps = [_steps(name, k, X, Y) for name in names]
        seconds = in_turns(steps, REPEATS)
        for name, took in zip(names, seconds, strict=True):
            rows.append((name, k, f"{1e3 * took:.0f} ms", 1e9 * took / (nnz * k)))
    print(f"{X.shape[0]:,} pairs, {X.shape[1]:,} + {Y.shape[1]:,} words, {nnz:,} non-zeros.\n")
    show(("method", "K", "a step", "ns per non-zero and topic"), rows)


def _steps(method: str, k: int, X: Any, Y: Any) -> Callable[[], object]:
    """One step of a learner that has been started."""
    if method == "plsa":  # one vocabulary: the words of the sides stand beside each other
        X, Y = sp.csr_array(sp.block_diag([X, Y])), None
    _, em, run = started(method, k, X, Y)
    return lambda: em.step(run.topics)


def several(folder: Path) -> None:
    """A step where items are in many pairs: judged documents, all words but English stop words."""
    train = read_parts(folder, pool="all").train
    texts = train.x.content, train.y.content
    words = TextCounts(stop_words="english").fit([*texts[0], *texts[1]])
    sides = *map(words.transform, texts), train.relevance
    rows = []
    for method, k in product(("jplsa", "cplsa"), TOPICS):
        _, em, run = started(method, k, *sides, shared=True)
        took = []
        for _ in range(REPEATS):
            start = time.process_time()
            em.step(run.topics)
            took.append(time.process_time() - start)
        rows.append((method, k, f"{np.median(took):.2f} s"))
    pairs = train.relevance.positives
    print(f"{pairs.nnz:,} pairs of {len(train.x):,} and {len(train.y):,} items.\n")
    show(("method", "K", "a step, of all cores"), rows)


def peers(train: Sides) -> None:
    """scikit-learn's models and ours on the items of one side: a step, and as good a fit."""
    rows = []
    for k in TOPICS[1:]:
        rows.append(("plsa / NMF(KL, mu)", k, *beside_nmf(train[0], k)))
        rows.append(("lda / LatentDirichletAllocation", k, *beside_lda(train[0], k)))
    print(f"{train[0].shape[0]:,} items, {train[0].nnz:,} non-zeros.\n")
    show(
        ("ours / peer", "K", "our step", "its step", "ratio", "its steps", "ours for as much",
         "ratio to there"),
        rows,
    )  # fmt: skip


def beside_nmf(X: Any, k: int, n: int = 20) -> tuple[Any, ...]:
    """Plain PLSA from the factors that NMF starts from."""
    from sklearn.decomposition import NMF

    _, em, run = started("plsa", k, X, init="random", alpha=1, beta=1)
    W = run.topics.theta * em.sides[0].totals.astype(X.dtype)[:, None]
    H = np.ascontiguousarray(run.topics.phis[0].T) + np.finfo(X.dtype).tiny

    def peer(steps: int) -> Any:
        model = NMF(k, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=steps,
                    tol=0)  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few steps do not converge
            return model.fit_transform(X, W=W.copy(), H=H.copy()), model.components_

    took = in_turns([lambda: peer(1), lambda: peer(n + 1)], REPEATS)
    W, H = peer(n)
    rows, columns = X.nonzero()
    found = np.concatenate([
        np.einsum("ek,ek->e", W[rows[e : e + 2**18]], H.T[columns[e : e + 2**18]])
        for e in range(0, X.nnz, 2**18)
    ])  # fmt: skip
    total = (W @ H.sum(axis=1))[rows]  # as distributions, which helps it
    goal = float(X.tocsr()[rows, columns] @ np.log(found / total).astype(np.float64))
    return _until(em, run, goal, (took[1] - took[0]) / n, n, likelihood=True)


def beside_lda(X: Any, k: int, n: int = 4) -> tuple[Any, ...]:
    """Variational Bayes beside the same by batches of all items."""
    from sklearn.decomposition import LatentDirichletAllocation

    def peer(steps: int) -> tuple[Any, float]:
        model = LatentDirichletAllocation(
            k, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=steps, n_jobs=1, random_state=0
        )
        start = time.perf_counter()
        return model.fit(X), time.perf_counter() - start

    (_, one), (model, all_) = peer(1), peer(n + 1)
    goal = model._approx_bound(X, model._unnormalized_transform(X), False)
    _, em, run = started("lda", k, X, init="random")
    return _until(em, run, goal, (all_ - one) / n, n + 1, likelihood=False)


def _until(
    em: Any, run: Any, goal: float, its_step: float, its_steps: int, *, likelihood: bool
) -> tuple[Any, ...]:
    """Steps of ours until the objective is as high; what is found belongs to the step before."""
    seconds, reached = [], -np.inf
    while reached < goal and len(seconds) < 20 * its_steps:
        start = time.perf_counter()
        progress = em.step(run.topics)
        seconds.append(time.perf_counter() - start)
        reached = progress.log_likelihood if likelihood else progress.objective
    ours = len(seconds) - likelihood
    step = float(np.median(seconds))
    there = (ours, its_step * its_steps / (step * ours)) if reached >= goal else ("never", "")
    return (f"{1e3 * step:.0f} ms", f"{1e3 * its_step:.0f} ms", its_step / step, its_steps, *there)


def found(scorer: Any, X: Any, Y: Any) -> tuple[float, float]:
    """MRR and top-1 accuracy, means of both directions."""
    result = evaluate(scorer, X, Y, metrics=["MRR", "top-1"])
    return result.value("MRR", "mean"), result.value("top-1", "mean")


def readings(folder: Path, k: int, words: int | None) -> None:
    """What the second paper changed in JPLSA: vocabularies, steps of folding in, measure."""
    rows = []
    for shared in (True, False):
        count = parts_of(folder, counts, shared=shared, words=words)
        model = get_method("jplsa")(k, shared=shared).fit(*count["train"])
        for steps in (1, 10):
            model.set_params(fold_in_iter=steps)
            values = []
            for part in ("dev", "test"):
                P, Q = model.transform(count[part][0]), model.transform_y(count[part][1])
                for S in (np.stack([-np.abs(Q - p).sum(axis=1) for p in P]), js_similarity(P, Q)):
                    values.append(found(Given(S), *count[part])[0])
            rows.append(("one" if shared else "a side", steps, *values))
    print(f"{folder.name}, first {words or 'all'} words, JPLSA, K={k}.\n")
    show(("vocabulary", "steps", "dev MRR, L1", "dev, JS", "test MRR, L1", "test, JS"), rows)


class Given:
    """Similarities that are there already."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def iter_similarity(self, X: Any, y: Any, block_size: int | None = None) -> Any:
        """All of them, as one block."""
        yield self.scores


def polylingual(folder: Path, k: int) -> None:
    """Time to a held-out MRR: ours after so many steps, samplers after so many sweeps."""
    count = parts_of(folder, counts, shared=False)
    works: list[tuple[str, int, Callable[[], Any]]] = []
    for name, params, steps in (
        ("jplsa", {}, (10, 20, 40)),
        ("cplsa", {}, (10, 20, 40)),
        ("pltm", {"inference": "gibbs"}, (50, 200)),
    ):
        for n_iter in steps:
            model = get_method(name)(k, tol=0, max_iter=n_iter, **params)
            given = "".join(f", {key}={value}" for key, value in params.items())
            works.append((name + given, n_iter, partial(model.fit, *count["train"])))
    if find_spec("topica"):
        works += [("topica PolylingualLDA", i, _topica(count, k, i)) for i in (20, 50, 200)]
    if find_spec("tomotopy"):
        works += [("tomotopy LDAModel", i, _tomotopy(count, k, i)) for i in (20, 50, 200)]
    rows = []
    for name, steps, work in works:
        start, busy = time.perf_counter(), time.process_time()
        scorer = work()
        took, busy = time.perf_counter() - start, time.process_time() - busy
        for fold_in in (2, 10) if name in ("jplsa", "cplsa") else ("",):
            if fold_in:
                scorer.set_params(fold_in_iter=fold_in)
            rows.append((name, steps, f"{took:.1f} s", f"{busy:.1f} s", fold_in,
                         *found(scorer, *count["dev"])))  # fmt: skip
        if isinstance(scorer, Later) and scorer.topics:
            ours = get_method("jplsa")(k, max_iter=1).fit(*count["train"])
            ours.x_topics_, ours.y_topics_ = scorer.topics
            rows.append((f"{name}, folded in by ours", *rows[-1][1:4], ours.fold_in_iter,
                         *found(ours, *count["dev"])))  # fmt: skip
    print(f"{folder.name}, K={k}, dev part.\n")
    show(("model", "steps", "fit", "of all cores", "folding in", "dev MRR", "dev top-1"), rows)


def _topica(count: Part, k: int, sweeps: int) -> Callable[[], Any]:
    import topica

    train = {side: _tokens(C) for side, C in zip("xy", count["train"], strict=True)}

    def infer(model: Any, X: Any, Y: Any) -> Any:
        nothing: list[list[str]] = [[] for _ in range(X.shape[0])]
        P = np.asarray(model.transform({"x": _tokens(X), "y": nothing}))
        return js_similarity(P, np.asarray(model.transform({"x": nothing, "y": _tokens(Y)})))

    def work() -> Any:
        model = topica.PolylingualLDA(k, alpha=0.1, seed=0)  # as ours, for each topic
        model.fit(train, iters=sweeps, progress=False)
        return Later(partial(infer, model))

    return work


def _tomotopy(count: Part, k: int, sweeps: int) -> Callable[[], Any]:
    """LDA of each pair as one item: the words of the sides keep apart by name."""
    import tomotopy

    def named(C: Any, side: str) -> list[list[str]]:
        return [[side + word for word in words] for words in _tokens(C)]

    pairs = [a + b for a, b in zip(*map(named, count["train"], "xy"), strict=True)]

    def shares(model: Any, C: Any, side: str) -> Any:
        theta = np.zeros((C.shape[0], k))
        filled = np.flatnonzero(np.diff(C.indptr))  # it refuses items without words
        theta[filled] = model.infer([model.make_doc(words) for words in named(C[filled], side)])[0]
        return theta

    def infer(model: Any, X: Any, Y: Any) -> Any:
        return js_similarity(shares(model, X, "x"), shares(model, Y, "y"))

    def work() -> Any:
        model = tomotopy.LDAModel(k=k, alpha=0.1, eta=0.01, seed=1)
        for words in pairs:
            model.add_doc(words)
        model.train(sweeps, workers=2)
        phi = np.array([model.get_topic_word_dist(topic) for topic in range(k)], np.float32)
        found = [np.zeros((k, C.shape[1]), np.float32) for C in count["train"]]
        for column, name in zip(phi.T, model.used_vocabs, strict=False):
            found["xy".index(name[0])][:, int(name[2:])] = column
        return Later(partial(infer, model), [T / T.sum(axis=1, keepdims=True) for T in found])

    return work


class Later:
    """Similarities that are computed when they are asked for, and topics of both sides."""

    def __init__(self, compute: Callable[[Any, Any], Any], topics: Any = None) -> None:
        self.compute = compute
        self.topics = topics

    def iter_similarity(self, X: Any, y: Any, block_size: int | None = None) -> Any:
        """All of them, as one block."""
        yield self.compute(X, y)


def _tokens(C: sp.csr_array) -> list[list[str]]:
    names = np.array([f"w{i}" for i in range(C.shape[1])], dtype=object)
    return [
        list(np.repeat(names[C.indices[a:b]], C.data[a:b].astype(int)))
        for a, b in zip(C.indptr[:-1], C.indptr[1:], strict=True)
    ]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {SETS}")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--set", help=f"of {SETS}, both by default; any for several")
    parser.add_argument("--words", type=int, help="first words of each text that are kept")
    asked = parser.parse_args()
    print(*machine(), "", sep="\n")
    for name in (asked.set,) if asked.set else SETS:
        folder = asked.data / name
        if asked.only == "several":
            several(folder)
            continue
        train = parts_of(folder, counts, shared=False)["train"]
        if asked.only in (None, "speed"):
            speed(train)
        if asked.only in (None, "peers"):
            peers(train)
        if asked.only in (None, "polylingual"):
            polylingual(folder, TOPICS[1])
        if asked.only in (None, "readings"):
            readings(folder, TOPICS[1], asked.words)


if __name__ == "__main__":
    main()
