"""Queries put to an index of items one at a time and all at once, beside bm25s and scikit-learn.

``python benchmarks/item_index.py`` prints a table in Markdown, from the documentation demo;
``--vectors FOLDER`` compares lists of vectors (faiss) with looking at every vector, of those that
`neighbors.py` made there, on one thread.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import simviz  # before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
from _timing import show

from simviz import PairSet, Relevance, default_pipeline
from simviz.data.pairs import as_items
from simviz.datasets import load_demo
from simviz.evaluation.significance import confidence_interval
from simviz.jobs.worker import limit_threads
from simviz.pipeline import _index
from simviz.scale import VectorShards

#: Methods that are not trained to their end: how long a query takes does not depend on it.
SHORT = ("plsa", "lda", "jplsa", "cplsa", "pltm", "s2net", "ssi", "pamir", "hdlr", "mlc")
K, ROUNDS, QUERIES = 10, 3, 200


def milliseconds(
    ask: Callable[[Sequence[str]], object], queries: list[str]
) -> tuple[float, float]:
    """Processor time a query, one at a time and all at once, the best of three rounds."""
    ask(queries[:1])
    single, batch = [], []
    for _ in range(3):
        start = time.process_time()
        for query in queries:
            ask([query])
        single.append(time.process_time() - start)
        start = time.process_time()
        ask(queries)
        batch.append(time.process_time() - start)
    return 1e3 * min(single) / len(queries), 1e3 * min(batch) / len(queries)


def bm25s_search(items: list[str]) -> Callable[[Sequence[str]], object]:
    import bm25s

    def tokens(texts: Sequence[str]) -> Any:
        return bm25s.tokenize(list(texts), stopwords=None, show_progress=False)

    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    retriever.index(tokens(items), show_progress=False)
    return lambda queries: retriever.retrieve(tokens(queries), k=K, show_progress=False)


def sklearn_search(items: list[str]) -> Callable[[Sequence[str]], object]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    columns = vectorizer.fit_transform(items).T.tocsr()

    def ask(queries: Sequence[str]) -> object:
        scores = (vectorizer.transform(queries) @ columns).toarray()
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1)
        return np.take_along_axis(best, order, 1)

    return ask


def among_few(methods: Sequence[str]) -> None:
    pairs = load_demo("pydocs")
    items, queries = [str(t) for t in pairs.y], [str(t) for t in pairs.x][:QUERIES]
    peers = {
        "bm25": ("bm25s", bm25s_search(items)),
        "tfidf_cosine": ("TfidfVectorizer and a product", sklearn_search(items)),
    }
    rows = []
    for method in methods:
        params = {"max_iter": 2} if method in SHORT else {}
        index = default_pipeline(method, pairs, **params).fit(pairs).index(pairs.y)
        times = {f"`{method}`": milliseconds(lambda q, i=index: i.search(q, K), queries)}
        if method in peers:
            name, ask = peers[method]
            times[name] = milliseconds(ask, queries)
        rows += [(name, f"{one:.2f}", f"{many:.3f}") for name, (one, many) in times.items()]
    show(("", "one at a time, ms", f"{QUERIES} at once, ms"), rows)


def among_many(vectors: np.ndarray, kinds: dict[str, np.ndarray]) -> None:
    """Time queries by every vector and by lists, in turns."""
    limit_threads(1)
    some = as_items(vectors[:100])
    pairs = PairSet(some, some, Relevance.identity(len(some)))
    index = default_pipeline("cosine", pairs).fit(pairs).index(vectors)
    ways = {"every vector": len(vectors) + 1, "lists": 1}
    for name, _index.MANY in ways.items():
        start = time.process_time()
        index.search(next(iter(kinds.values()))[:1], K)
        print(f"{name}: first query {time.process_time() - start:.1f} s of CPU", flush=True)
    print(f"lists are near from {index._lists[2]}")
    rows = []
    for kind, queries in kinds.items():
        found: dict[str, list[set[str]]] = {name: [] for name in ways}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for part in np.array_split(queries, ROUNDS):
            for name, _index.MANY in ways.items():
                index.search(part[:1], K)
                for query in part:
                    start = time.process_time()
                    frame = index.search(query[None], K)
                    times[name].append(1e3 * (time.process_time() - start))
                    found[name].append(set(frame["id"]))
        recalls = [
            len(a & b) / K for a, b in zip(found["every vector"], found["lists"], strict=True)
        ]
        ends = ", ".join(f"{end:.3f}" for end in confidence_interval(np.array(recalls)))
        mean, median = ({w: f(t) for w, t in times.items()} for f in (np.mean, np.median))
        rows += [
            (
                f"{kind}, {name}",
                f"{np.mean(recalls):.4f} ({ends})" if name == "lists" else "1",
                f"{mean[name]:.2f}",
                f"{median[name]:.2f}",
                f"{mean['every vector'] / mean[name]:.1f}",
                f"{median['every vector'] / median[name]:.1f}",
            )
            for name in ways
        ]
    show(("", "recall@10", "ms of CPU, mean", "median", "times less, mean", "median"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=Path, help="a folder of neighbors.py")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.vectors:
        vectors = np.concatenate(list(VectorShards(options.vectors / "vectors")))
        asked = np.load(options.vectors / "queries.npy")[:, :QUERIES]
        among_many(vectors, dict(zip(("of pairs", "of strangers"), asked, strict=True)))
        return
    methods = [
        name
        for name, cls in simviz.methods.all_methods().items()
        if cls.tags.input != "pretrained" and name != "siamese_blstm"
    ]
    among_few(methods)


if __name__ == "__main__":
    main()
