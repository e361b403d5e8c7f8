"""Topic models: speed of a step, beside peers, and what they find across languages.

``python benchmarks/topics.py --data FOLDER`` prints the tables in Markdown; FOLDER holds
``en_es_docs`` and ``libreoffice_help`` (`benchmarks/README.md` names their sources). topica is
measured where it is installed. ``--small`` keeps to one set, few texts and few topics.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import scipy.sparse as sp
from _corpora import Sides, aligned
from _timing import machine
from ground import in_turns, show

from simviz.base._jensen_shannon import js_similarity
from simviz.evaluation import evaluate
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method

SETS = ("libreoffice_help", "en_es_docs")
TOPICS = (50, 100, 200)
PAIRED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cplsa", {}),
    ("cplsa", {"init": "cl_lsi"}),
    ("jplsa", {}),
    ("jplsa", {"init": "cl_lsi"}),
    ("pltm", {}),
    ("pltm", {"learn_alpha": False}),
    ("cl_lsi", {}),
)
ONE_SPACE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cplsa", {"shared": True}),
    ("jplsa", {"shared": True}),
    ("plsa", {}),
    ("lda", {}),
)

Part = dict[str, Sides]


def parts_of(folder: Path, features: Any, n: int | None, *, shared: bool) -> Part:
    """Features of the texts of each part, learned from the training part."""
    texts = aligned(folder)
    train = [side[:n] for side in texts["train"]]
    if shared:
        both = features().fit(train[0] + train[1])
        fitted = [both, both]
    else:
        fitted = [features().fit(side) for side in train]
    return {
        name: tuple(f.transform(side[:n]) for f, side in zip(fitted, sides, strict=True))
        for name, sides in texts.items()
    }


def counts() -> TextCounts:
    """Words of at least three texts."""
    return TextCounts(min_df=3)


def weights() -> Tfidf:
    """The same words, weighted."""
    return Tfidf(min_df=3, tf="log1p")


def started(method: str, k: int, *sides: Any, **params: Any) -> tuple[Any, Any, Any]:
    """A model, its learner and where that starts; no step is done yet."""
    kept: list[Any] = []
    model = get_method(method)(k, **params)
    model._climb = lambda em, run, *_: kept.append((em, run)) or True
    model.fit(*sides)
    em, run = kept[0]
    em.notify = lambda: False
    return model, em, run


def speed(train: Sides, ks: Sequence[int], repeats: int) -> None:
    """A step of each method, in nanoseconds for a non-zero and topic."""
    X, Y = train
    nnz = X.nnz + Y.nnz
    rows = []
    for k in ks:
        names = ("plsa", "jplsa", "pltm", "cplsa")
        steps = [_steps(name, k, X, Y) for name in names]
        seconds = in_turns(steps, repeats)
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


def peers(train: Sides, ks: Sequence[int], repeats: int) -> None:
    """scikit-learn's models and ours on the items of one side: a step, and as good a fit."""
    rows = []
    for k in ks:
        rows.append(("plsa / NMF(KL, mu)", k, *beside_nmf(train[0], k, repeats)))
        rows.append(("lda / LatentDirichletAllocation", k, *beside_lda(train[0], k)))
    print(f"{train[0].shape[0]:,} items, {train[0].nnz:,} non-zeros.\n")
    show(
        ("ours / peer", "K", "our step", "its step", "ratio", "its steps", "ours for as much",
         "ratio to there"),
        rows,
    )  # fmt: skip


def beside_nmf(X: Any, k: int, repeats: int, n: int = 20) -> tuple[Any, ...]:
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

    took = in_turns([lambda: peer(1), lambda: peer(n + 1)], repeats)
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
    return result.value("MRR"), result.value("top-1")


def quality(folder: Path, ks: Sequence[int], n: int | None) -> None:
    """Test MRR and top-1, the number of topics chosen by the MRR of the dev part."""
    for shared, methods in ((False, PAIRED), (True, ONE_SPACE)):
        count = parts_of(folder, counts, n, shared=shared)
        weighed = parts_of(folder, weights, n, shared=shared)
        rows, best = [], {}
        for name, params in methods:
            cls = get_method(name)
            data = count if cls.tags.input == "counts" else weighed
            tried = []
            for k in ks:
                start = time.perf_counter()
                model = cls(k, **params).fit(*data["train"])
                took = time.perf_counter() - start
                tried.append((found(model, *data["dev"])[0], k, model, took))
            dev, k, model, took = max(tried, key=lambda one: one[0])
            best[name] = max(best.get(name, (0.0, None)), (dev, model), key=lambda one: one[0])
            mrr, top = found(model, *data["test"])
            given = ", ".join(f"{key}={value}" for key, value in params.items())
            steps = getattr(model, "n_iter_", "")
            rows.append((name, given, k, f"{took:.0f} s", steps, dev, mrr, top))
        vocabulary = "one vocabulary" if shared else "a vocabulary a side"
        print(f"{folder.name}, {vocabulary}; K of {', '.join(map(str, ks))} chosen on dev.\n")
        show(("method", "set", "K", "fit", "steps", "dev MRR", "test MRR", "test top-1"), rows)
        if not shared:
            readings(best["jplsa"][1], *count["test"])


def readings(model: Any, X: Any, Y: Any) -> None:
    """The same topics, folded in by one step or ten, compared in four ways."""
    rows = []
    for steps in (1, 10, 100):
        model.set_params(fold_in_iter=steps)
        P, Q = model.transform(X), model.transform_y(Y)
        scores = {
            "js": js_similarity(P, Q),
            "hellinger": np.sqrt(P) @ np.sqrt(Q).T,
            "cosine": model.set_params(measure="cosine").similarity(X, Y),
            "L1": np.stack([-np.abs(Q - p).sum(axis=1) for p in P]),
        }
        for name, S in scores.items():
            rows.append((steps, name, *found(Given(S), X, Y)))
    model.set_params(measure="js", fold_in_iter=10)
    print("JPLSA, its best K: steps of folding in, and the measure.\n")
    show(("steps", "measure", "test MRR", "test top-1"), rows)


class Given:
    """Similarities that are there already."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def iter_similarity(self, X: Any, y: Any, block_size: int | None = None) -> Any:
        """All of them, as one block."""
        yield self.scores


def polylingual(folder: Path, k: int, n: int | None) -> None:
    """Time to a held-out MRR: ours after so many steps, samplers after so many sweeps."""
    count = parts_of(folder, counts, n, shared=False)
    works: list[tuple[str, int, Callable[[], Any]]] = []
    for name, params, steps in (
        ("jplsa", {}, (10, 20, 40)),
        ("cplsa", {}, (10, 20, 40)),
        ("pltm", {"inference": "gibbs"}, (50, 200)),
    ):
        for most in steps:
            model = get_method(name)(k, tol=0, max_iter=most, **params)
            given = "".join(f", {key}={value}" for key, value in params.items())
            works.append((name + given, most, partial(model.fit, *count["train"])))
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

    def infer(model: Any, X: Any, Y: Any) -> Any:
        P, Q = (
            np.array(model.infer([model.make_doc(words) for words in named(C, side)])[0])
            for C, side in ((X, "x"), (Y, "y"))
        )
        return js_similarity(P, Q)

    def work() -> Any:
        model = tomotopy.LDAModel(k=k, alpha=0.1, eta=0.01, seed=1)
        for words in pairs:
            model.add_doc(words)
        model.train(sweeps, workers=2)
        return Later(partial(infer, model))

    return work


class Later:
    """Similarities that are computed when they are asked for."""

    def __init__(self, compute: Callable[[Any, Any], Any]) -> None:
        self.compute = compute

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
    parser.add_argument("--only", choices=["speed", "peers", "quality", "polylingual"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    sets, n = (SETS[:1], 2_000) if asked.small else (SETS, None)
    ks = (20, 50) if asked.small else TOPICS
    for line in machine():
        print(line)
    print()
    for name in sets:
        folder = asked.data / name
        train = parts_of(folder, counts, n, shared=False)["train"]
        if asked.only in (None, "speed"):
            speed(train, ks, asked.repeats)
        if asked.only in (None, "peers"):
            peers(train, ks[:2], asked.repeats)
        if asked.only in (None, "polylingual"):
            polylingual(folder, ks[1], n)
        if asked.only in (None, "quality"):
            quality(folder, ks, n)


if __name__ == "__main__":
    main()
