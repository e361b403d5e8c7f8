"""Compile the kernels, once on a machine: ``python -m simviz.precompile``.

What a job does is done on a few items, by every method; numba keeps what it compiles meanwhile,
see `simviz.compilation`. It ends with the run that Home shows before anything was trained.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from simviz import compilation

if TYPE_CHECKING:
    from simviz.data import PairSet
    from simviz.data.splitting import By
    from simviz.store.run import Run, RunResult

__all__ = ["main", "picture"]

_log = logging.getLogger(__name__)
#: What makes a fit short; a method takes those that it knows.
_SMALL = {
    "n_components": 8,
    "max_iter": 2,
    "n_constraints": 200,
    "max_landmarks": 40,
    "hidden_units": 8,
    "embedding_size": 8,
}
#: Words of a text, and of what belongs to it.
_HALVES = slice(0, 4), slice(2, 6)
#: What compiles something, by names of what needs no more than that, separated by spaces.
Tasks = dict[str, Callable[[], object]]
_PICTURE_DATASET = "demo:icons"
_WORDS = "red blue green gold grey car bus tram ship plane big small old new fast".split()


@cache
def _sets() -> dict[By, PairSet]:
    """Small sets of each kind: pairs of texts, judged pairs of texts, keywords and pictures."""
    import numpy as np

    from simviz.data import PairSet
    from simviz.data.pairs import Items
    from simviz.relevance import Relevance

    rng = np.random.default_rng(0)
    n = 60
    drawn = [rng.choice(_WORDS, 6) for _ in range(n)]
    x, y = ([f"{' '.join(words[at])} {i}" for i, words in enumerate(drawn)] for at in _HALVES)
    same = np.arange(n)
    grades = np.r_[np.ones(n), -np.ones(n)]
    others = np.r_[same, same], np.r_[same, np.roll(same, 7)]
    judged = Relevance.from_pairs(*others, grades, shape=(n, n), unjudged="ignore")
    pictures = rng.integers(0, 256, (n, 64, 64)).astype(np.uint8)
    on = [(word, i) for i, words in enumerate(drawn) for word in {*words}]
    keywords = Items(_WORDS, _WORDS, "keyword")
    shown = Relevance.from_pairs(
        [_WORDS.index(word) for word, _ in on],
        [i for _, i in on],
        shape=(len(_WORDS), n),
        unjudged="negative",
    )
    return {
        "y": PairSet(keywords, Items([str(i) for i in same], pictures, "image"), shown),
        "pair": PairSet.from_texts(x, y),
        "x": PairSet.from_texts(x, y, judged),
    }


def _small(method: str) -> dict[str, Any]:
    from simviz.methods import get_method

    known = signature(get_method(method)).parameters
    return {name: value for name, value in _SMALL.items() if name in known}


def _ignore_progress(stage: str, fraction: float, metrics: Mapping[str, float]) -> bool:
    return False


def _train(method: str) -> dict[By, tuple[PairSet, RunResult]]:
    """Train and measure a method as a job does, on the small sets that it can read."""
    from simviz.jobs import JobSpec, SplitSpec
    from simviz.jobs.training import train

    results: dict[By, tuple[PairSet, RunResult]] = {}
    for by, pairs in _sets().items():
        spec = JobSpec("small", pairs.digest, method, _small(method), SplitSpec(by=by))
        with suppress(ValueError):
            results[by] = pairs, train(spec, pairs, _ignore_progress)
    return results


def _draw(method: Any) -> None:
    import numpy as np

    from simviz.projection import joint_map

    vectors = np.random.default_rng(0).standard_normal((60, 8))
    joint_map(vectors[:20], vectors[20:], method, quality=False)


def _multiply() -> None:
    """Products of the matrices that larger data have: long indices, and all layouts."""
    import numpy as np
    import scipy.sparse as sp

    from simviz.methods._linalg import Products, dense_product

    for index in (np.int32, np.int64):
        X = sp.csr_array(np.eye(4, dtype=np.float32))
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        for dtype in (np.float32, np.float64):
            dense_product(X, X, dtype)
            B = np.ones((4, 8), dtype)
            for one in (B, np.asfortranarray(B), B[:, ::2]):
                Products(X).matmat(one)


def _compare() -> None:
    """What pages run beyond a job: tests, curves over pairs, blends, texts that are alike."""
    from simviz.data.health.near_duplicates import near_pairs
    from simviz.evaluation import blend_curve, compare_all_evaluations, score_counts
    from simviz.pipeline import BlendPipeline

    learned, lexical = _train("cca"), _train("bm25")
    kinds: tuple[tuple[By, tuple[str, ...]], ...] = (("pair", ("MRR",)), ("x", ("MRR", "AUC")))
    for by, metrics in kinds:
        pairs, result = learned[by]
        both = {"a": result, "b": lexical[by][1]}
        evaluations = {name: one.measured["test"].evaluation for name, one in both.items()}
        for metric in metrics:
            compare_all_evaluations(evaluations, metric)
        for one in both.values():
            score_counts(one.pipeline, pairs.x, pairs.y, pairs.relevance)
        parts = [one.pipeline for one in both.values()]
        blend = BlendPipeline.of(parts[0], parts[1], pairs)
        blend_curve(blend, pairs.x, pairs.y, pairs.relevance)
    near_pairs(list(pairs.x.content))


def _make_picture() -> None:
    """Train and draw the run that Home shows."""
    from simviz.datasets import DEMOS
    from simviz.jobs import JobSpec, SplitSpec
    from simviz.jobs.run_drawings import DEFAULT_LAYOUT, QUICK_LAYOUT, draw_now
    from simviz.jobs.training import train
    from simviz.store import Store

    info = DEMOS[_PICTURE_DATASET.removeprefix("demo:")]
    if info.why_missing():
        return  # Home shows the one that was drawn earlier
    store = Store(_picture_root())
    pairs = store.datasets.get(_PICTURE_DATASET)
    spec = JobSpec(_PICTURE_DATASET, pairs.digest, "cca", {}, SplitSpec(by=info.split_by))
    if not store.runs.has(spec.digest):
        store.runs.put(spec.digest, train(spec, pairs, _ignore_progress), spec.to_json(), "")
    run = store.runs.get(spec.digest)
    for drawing in (QUICK_LAYOUT, DEFAULT_LAYOUT):
        draw_now(run, pairs, drawing)


def _picture_root() -> Path:
    return compilation.folder() / "picture"


def picture() -> Run | None:
    """A trained run to look at where nothing was trained yet; None where it was not made yet.

    It is CCA on the demo ``icons``, split as the demo is, with its drawing
    `simviz.projection.pipeline_map.BEST`. It lies in a store of its own, so it answers no
    request and is in nobody's list: show it as what it is.
    """
    from simviz.exceptions import StoreError
    from simviz.projection.pipeline_map import BEST
    from simviz.store import Store

    if not _picture_root().exists():
        return None
    with suppress(StoreError, OSError):
        store = Store(_picture_root())
        for folder in (_picture_root() / "runs").iterdir():  # of no workspace
            run = store.runs.get(folder.name)
            if BEST in run.maps():
                return run
    return None


def _tasks() -> tuple[Tasks, Tasks]:
    """What is compiled by one process, and beside it by another."""
    from simviz.methods import all_methods

    lexical = "bm25 tfidf_cosine ngram_matcher query_expansion"
    first: Tasks = {f"{compilation.FIRST} {lexical} mds": partial(_train, "bm25")}
    products = "opca cca pca lsa kernel_cca kernel_heterogeneous_svd mlc siamese_blstm"
    for names in (products, "s2net", "cl_lsi", "hdlr", "heterogeneous_svd"):
        first[names] = partial(_train, names.split()[0])
    first["compare"] = _compare
    first["cplsa jplsa plsa"] = partial(_train, "cplsa")
    beside: Tasks = {name: partial(_draw, name) for name in ("two-sided", "umap")}
    # They are measured last, by when the other process has compiled how.
    beside |= {name: partial(_train, name) for name in ("ssi", "pltm", "lda")}
    beside |= {"products": _multiply, "picture": _make_picture}
    named = {name for names in (*first, *beside) for name in names.split()}
    # Sentence vectors come of an encoder that may have to be downloaded.
    rest = [
        name
        for name, cls in all_methods().items()
        if name not in named and cls.tags.input != "pretrained"
    ]
    return first | {name: partial(_train, name) for name in rest}, beside


def _run(tasks: Tasks, report: Callable[[str], object]) -> None:
    for name, task in tasks.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                task()
            except Exception:  # it is compiled when somebody needs it, and says what is wrong then
                _log.exception("could not be compiled", {"what": name})
        report(name)


def _print_line(text: str, to: TextIO | None = None) -> None:
    to = to or sys.stdout
    to.write(text)
    to.flush()


def _relay(process: subprocess.Popen[str], report: Callable[[str], object]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        report(line.strip())


def _end_with_parent() -> None:
    """Wait until the parent has closed its end of this process's input, and leave."""
    while os.read(0, 1):
        pass
    os._exit(1)  # in the midst of compiling; what lies in the cache is whole


def main(arguments: Sequence[str] | None = None) -> None:
    """Compile all that is not compiled yet, with a line of progress."""
    how = sys.argv[1:] if arguments is None else list(arguments)
    if compilation.is_done():
        return
    logging.getLogger("simviz").setLevel(logging.ERROR)
    if how:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    if "--child" in how:
        with suppress(OSError, AttributeError):
            os.nice(10)
    first, beside = _tasks()
    if "--beside" in how:
        _run(beside, lambda name: _print_line(f"{name}\n"))
        return
    n, lock = len(first) + len(beside), threading.Lock()
    done: list[str] = []

    def report(name: str) -> None:
        with lock:
            done.append(name)
            if "--child" in how:
                _print_line(f"{n} {name}\n")
            else:
                end = "\n" * (len(done) == n)
                report = f"\rCompiling, once on this machine: {len(done)} of {n}{end}"
                _print_line(report, sys.stderr)

    command = [sys.executable, "-m", "simviz.precompile", "--beside"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        listening = threading.Thread(target=_relay, args=(other, report))
        listening.start()
        _run(first, report)
        listening.join()
    compilation.folder().mkdir(parents=True, exist_ok=True)
    (compilation.folder() / "done").touch()


if __name__ == "__main__":
    main()
