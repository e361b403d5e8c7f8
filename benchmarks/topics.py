"""Topic models: speed of a step, beside peers, and what they find across languages.

``python benchmarks/topics.py --data FOLDER`` prints the tables in Markdown; FOLDER holds
``en_es_docs`` and ``libreoffice_help`` (`benchmarks/README.md` names their sources). topica is
measured where it is installed. ``--small`` keeps to one set, few texts and few topics.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
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


def speed(train: Sides, ks: Sequence[int], repeats: int) -> None:
    """A step of each method, in nanoseconds for a non-zero and topic."""
    X, Y = train
    nnz = X.nnz + Y.nnz
    rows = []
    for k in ks:
        names = ("jplsa", "cplsa", "pltm")
        steps = [_steps(name, k, X, Y) for name in names]
        seconds = in_turns(steps, repeats)
        for name, took in zip(names, seconds, strict=True):
            rows.append((name, k, f"{1e3 * took:.0f} ms", 1e9 * took / (nnz * k)))
    print(f"{X.shape[0]:,} pairs, {X.shape[1]:,} + {Y.shape[1]:,} words, {nnz:,} non-zeros.\n")
    show(("method", "K", "a step", "ns per non-zero and topic"), rows)


def _steps(method: str, k: int, X: Any, Y: Any) -> Callable[[], object]:
    """One step of a learner that has been started."""
    kept: list[Any] = []

    model = get_method(method)(k, max_iter=1)
    climb = model._climb
    model._climb = lambda em, run, *rest: (kept.append((em, run)), climb(em, run, *rest))[1]
    model.fit(X, Y)
    em, run = kept[-1]
    return lambda: em.step(run.topics)


def peers(train: Sides, ks: Sequence[int], repeats: int) -> None:
    """Steps of scikit-learn's models and ours on the items of one side, in turns."""
    from sklearn.decomposition import NMF, LatentDirichletAllocation

    X = train[0]
    n = 5
    rows = []
    for k in ks:
        rng = np.random.RandomState(0)
        W = rng.random_sample((X.shape[0], k)).astype(X.dtype)
        H = rng.random_sample((k, X.shape[1])).astype(X.dtype)

        def nmf(W: Any = W, H: Any = H, k: int = k) -> Any:
            model = NMF(k, init="custom", solver="mu", beta_loss="kullback-leibler",
                        max_iter=n, tol=0)  # fmt: skip
            return model.fit_transform(X, W=W.copy(), H=H.copy())

        def batch(k: int = k) -> Any:
            return LatentDirichletAllocation(
                k, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=n, n_jobs=1, random_state=0
            ).fit(X)

        def ours(method: str, k: int = k) -> Any:
            start = {"alpha": 1, "beta": 1} if method == "plsa" else {}
            model = get_method(method)(k, init="random", max_iter=n, tol=0, **start)
            return model.fit(X)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few steps do not converge
            took = in_turns([lambda: ours("plsa"), nmf, lambda: ours("lda"), batch], repeats)
        ms = [f"{1e3 * s / n:.0f} ms" for s in took]
        rows.append((k, ms[0], ms[1], took[1] / took[0], ms[2], ms[3], took[3] / took[2]))
    show(("K", "plsa", "NMF(KL, mu)", "ratio", "lda", "LatentDirichletAllocation", "ratio"), rows)


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
    """Time to a held-out MRR: ours, and topica's Gibbs sampler after so many sweeps."""
    count = parts_of(folder, counts, n, shared=False)
    rows = []
    for name, params in (
        ("pltm", {}),
        ("jplsa", {}),
        ("cplsa", {}),
        ("pltm", {"inference": "gibbs", "max_iter": 200}),
    ):
        start = time.perf_counter()
        model = get_method(name)(k, **params).fit(*count["train"])
        took = time.perf_counter() - start
        given = ", ".join(f"{key}={value}" for key, value in params.items())
        rows.append((f"{name} {given}", model.n_iter_, f"{took:.1f} s",
                     *found(model, *count["dev"])))  # fmt: skip
    if find_spec("topica"):
        rows += [_topica(count, k, sweeps) for sweeps in (50, 200)]
    print(f"{folder.name}, K={k}, dev part.\n")
    show(("model", "steps", "fit", "dev MRR", "dev top-1"), rows)


def _topica(count: Part, k: int, sweeps: int) -> tuple[Any, ...]:
    import topica

    model = topica.PolylingualLDA(k, alpha=0.1, seed=0)  # as ours, for each topic
    start = time.perf_counter()
    model.fit({"x": _tokens(count["train"][0]), "y": _tokens(count["train"][1])}, iters=sweeps,
              progress=False)  # fmt: skip
    took = time.perf_counter() - start
    X, Y = count["dev"]
    nothing: list[list[str]] = [[] for _ in range(X.shape[0])]
    P = np.asarray(model.transform({"x": _tokens(X), "y": nothing}))
    Q = np.asarray(model.transform({"x": nothing, "y": _tokens(Y)}))
    return ("topica PolylingualLDA", sweeps, f"{took:.1f} s",
            *found(Given(js_similarity(P, Q)), X, Y))  # fmt: skip


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
