"""Print the first tables of ``benchmarks/README.md``: demos, maps, the start, BM25.

``python benchmarks/ground.py all`` prints those that need no data of their own;
``python benchmarks/ground.py --help`` names the single ones. What is compared
runs in one process, in turns, and medians are shown.
"""

import argparse
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import simviz  # before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import scipy.sparse as sp
from sklearn.base import clone

from simviz.evaluation import (
    ChanceScorer,
    PopularityScorer,
    evaluate as evaluated,
)
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.pipeline import PairPipeline, default_pipeline
from simviz.projection import joint_map

DIMENSIONS = (50, 100, 200, 400)
CHARACTERS = {"analyzer": "char_wb", "ngram_range": (3, 5)}


def show(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown; numbers get three digits."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        cells = [f"{c:.3f}" if isinstance(c, float) else str(c) for c in row]
        print("| " + " | ".join(cells) + " |", flush=True)
    print()


def in_turns(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each work; they take turns after one round of warming up."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for work, seconds in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            if turn:
                seconds.append(time.perf_counter() - start)
    return [median(seconds) for seconds in times]


def pipeline_for(method: str, text: dict[str, object], **params: object) -> PairPipeline:
    """A method on given text features; lexical ones put both sides in one vocabulary."""
    cls = get_method(method)
    if cls.tags.family == "lexical":  # as `default_pipeline` has it
        text = {**text, "n_unseen": 2**18} | ({"tf": "log1p"} if cls.tags.input == "tfidf" else {})
    features = (TextCounts if cls.tags.input == "counts" else Tfidf)(**text)
    known = cls._get_param_names()
    model = cls(**{name: value for name, value in params.items() if name in known})
    return PairPipeline(model, features, None if cls.tags.space == "one" else clone(features))


def emoji() -> None:
    """Emoji names, English and Spanish: MRR and top-1, both directions, unseen pairs."""
    parts = simviz.split(simviz.load_demo("emoji"), by="pair", seed=0)
    test = parts.test
    learned = ("cca", "cl_lsi", "heterogeneous_svd", "ssi")
    runs = [(method, k) for method in learned for k in DIMENSIONS]
    runs += [("lsa", 400), ("bm25", ""), ("tfidf_cosine", "")]
    for name, text in (("characters (3 to 5 inside words)", CHARACTERS), ("words", {})):
        rows = []
        for method, k in runs:
            pipeline = pipeline_for(method, text, **({"n_components": k} if k else {}))
            pipeline.fit(parts.train, parts.validation)
            result = evaluated(pipeline, test.x, test.y, test.relevance)
            rows.append((method, k, result.value("MRR", "mean"), result.value("top-1", "mean")))
        chance = evaluated(ChanceScorer(), test.x, test.y, test.relevance)
        rows.append(("chance", "", chance.value("MRR", "mean"), chance.value("top-1", "mean")))
        empty = pipeline_for("cca", text).fit(parts.train).empty_share(test.x, test.y)
        print(
            f"Features: {name}. Empty vectors among test items: "
            f"{empty[0]:.1%} of the English, {empty[1]:.1%} of the Spanish.\n"
        )
        show(("method", "k", "MRR", "top-1"), rows)


def icons() -> None:
    """Keywords for unseen icons: P@5 with icons as queries, split by icon."""
    parts = simviz.split(simviz.load_demo("icons"), by="y", seed=0)
    test = parts.test
    scorers: dict[str, tuple[str | float | None, int]] = {
        "heterogeneous_svd, k=50, weight of negatives 0.1": (0.1, 50),
        "heterogeneous_svd, k=50, weights of the paper": ("paper", 50),
        "heterogeneous_svd, k=50, balanced": ("balanced", 50),
        "cca, k=50": (None, 50),
        "cca, k=200": (None, 200),
    }
    rows: list[tuple[object, ...]] = []
    for name, (weight, k) in scorers.items():
        method = "heterogeneous_svd" if weight else "cca"
        params = {"negative_weight": weight} if weight else {}
        pipeline = default_pipeline(method, parts.train, n_components=k, **params)
        result = evaluated(pipeline.fit(parts.train), test.x, test.y, test.relevance)
        rows.append((name, result.value("P@5", "y2x"), result.value("MRR", "y2x")))
    for name, scorer in (
        ("popularity", PopularityScorer(parts.train)),
        ("chance", ChanceScorer()),
    ):
        result = evaluated(scorer, test.x, test.y, test.relevance)
        rows.append((name, result.value("P@5", "y2x"), result.value("MRR", "y2x")))
    show(("scorer", "P@5", "MRR"), rows)


def maps() -> None:
    """Joint maps of the icons, once warm; quality is not measured."""
    pairs = simviz.load_demo("icons")
    vectors = default_pipeline("cca", pairs).fit(pairs).coordinates(pairs.x, pairs.y)
    methods = ("pca", "mds", "umap")
    works = [partial(joint_map, *vectors, method=m, quality=False) for m in methods]
    for work in works:
        work()
    seconds = in_turns(works, 3)
    show(
        ("map", "points", "time"),
        [(m, sum(map(len, vectors)), f"{s:.2f} s") for m, s in zip(methods, seconds, strict=True)],
    )


def start() -> None:
    """What importing costs: a fresh process each, in turns, its bare start taken off."""
    lines = (
        "pass",
        "import simviz",
        "import numpy",
        "import simviz.methods as m; m.all_methods()",
    )
    works = [partial(subprocess.run, [sys.executable, "-c", line], check=True) for line in lines]
    bare, *seconds = in_turns(works, 9)
    show(
        ("statement", "time"),
        [(f"`{line}`", f"{s - bare:.3f} s") for line, s in zip(lines[1:], seconds, strict=True)],
    )


def _texts(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def _token_ids(counts: sp.csr_array) -> list[list[int]]:
    """Each row's terms, as often as they occur."""
    rows = (counts[[i]] for i in range(counts.shape[0]))
    return [np.repeat(row.indices, row.data.astype(int)).tolist() for row in rows]


def bm25(data: Path) -> None:
    """BM25 of all pairs beside bm25s, both from the same tokens."""
    import bm25s
    from bm25s.tokenization import Tokenized

    queries, documents = (_texts(data / name) for name in ("x.jsonl.gz", "y.jsonl.gz"))
    features = TextCounts(stop_words="english").fit(documents)
    X, Y = (sp.csr_array(features.transform(texts)) for texts in (queries, documents))
    nothing_judged = sp.csr_array((len(queries), len(documents)))
    words = {word: i for i, word in enumerate(features.vocabulary_)}
    query_ids, document_ids = _token_ids(X), _token_ids(Y)
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        model = get_method("bm25")(symmetric=False)
        found["ours"] = model.fit(X, Y, nothing_judged).similarity(X, Y)

    def peer() -> None:
        model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        model.index(Tokenized(ids=document_ids, vocab=words), show_progress=False)
        found["bm25s"] = np.stack([model.get_scores_from_ids(query) for query in query_ids])

    seconds = in_turns((ours, peer), 7)
    # bm25s leaves out the constant k1 + 1, which changes no ranking.
    gap = np.abs(found["ours"] - 2.2 * found["bm25s"]).max() / found["ours"].max()
    shape = f"{len(queries):,} × {len(documents):,}"
    show(
        ("pairs", "simviz", "bm25s", "ratio", "largest relative difference"),
        [(shape, *(f"{s:.3f} s" for s in seconds), seconds[0] / seconds[1], f"{gap:.0e}")],
    )


def main() -> None:
    """Read the command line."""
    tables = {"emoji": emoji, "icons": icons, "maps": maps, "start": start}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=[*tables, "bm25", "all"])
    parser.add_argument("--data", type=Path, help="bm25: folder with x.jsonl.gz and y.jsonl.gz")
    asked = parser.parse_args()
    if asked.table == "bm25":
        if asked.data is None:
            parser.error("bm25 needs --data FOLDER with x.jsonl.gz and y.jsonl.gz.")
        bm25(asked.data)
    for name, table in tables.items():
        if asked.table in (name, "all"):
            print(f"## {name}: {table.__doc__}\n")
            table()


if __name__ == "__main__":
    main()
