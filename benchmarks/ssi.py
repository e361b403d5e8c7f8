"""Supervised semantic indexing on links between documents, and its speed.

``python benchmarks/ssi.py --data FOLDER`` prints the tables in Markdown; FOLDER holds
``citeulike_t`` and ``cora`` (`benchmarks/README.md` names their sources). The links between
pages of Python documentation come with simviz and need no folder.
"""

import argparse
import gzip
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import simviz  # before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import scipy.sparse as sp
from ground import show
from numpy.typing import NDArray

from simviz.base import unit_rows
from simviz.datasets.pydocs_links import load_pydocs_links
from simviz.evaluation import MAP, Precision, evaluate
from simviz.features import Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

ALPHAS = np.arange(0, 1.01, 0.1)
FLIPS = 10_000
WORDS, ROWS, FILLED = 20_000, 20_000, 75  # of the timing: documents as long as the paper's


@dataclass(frozen=True)
class Queries:
    """Documents that ask, what they are ranked against, and what they link to."""

    rows: sp.csr_array
    pool: sp.csr_array
    links: sp.csr_array
    own: NDArray[np.intp] | None  # where each stands in the pool itself


@dataclass(frozen=True)
class Task:
    """Links to learn from, to choose settings on, and to test on."""

    X: sp.csr_array
    Y: sp.csr_array
    links: sp.csr_array
    validation: Queries
    test: Queries


class Given:
    """Scores that are there already; a document's score with itself is the lowest."""

    def __init__(self, scores: NDArray[np.float32], own: NDArray[np.intp] | None) -> None:
        self.scores = scores
        if own is not None:
            self.scores = scores.copy()
            self.scores[np.arange(len(own)), own] = -np.inf

    def iter_similarity(  # noqa: D102 -- as `simviz.evaluation.Scorer` has it
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[NDArray[np.float32]]:
        yield self.scores


def linked_collection(folder: Path) -> Task:
    """One collection with a split of its sources; nothing of a held-out one is known."""
    counts = sp.csr_array(sp.load_npz(folder / "x.npz")).astype(np.float32)
    place = {name: i for i, name in enumerate((folder / "ids.txt").read_text().split())}
    table = _table(folder / "relevance.tsv.gz")
    pairs = np.array([(place[a], place[b]) for a, b, _ in table]).T
    n = counts.shape[0]
    links = Relevance.from_pairs(*pairs, shape=(n, n)).matrix
    part = {name: kind for name, kind in _table(folder / "split.tsv.gz")}
    train, test = (
        np.array(sorted(place[name] for name, kind in part.items() if kind == wanted))
        for wanted in ("train", "test")
    )
    shuffled = np.random.default_rng(0).permutation(train)
    validation = np.sort(shuffled[: len(train) * 15 // 100])
    known = np.setdiff1d(np.arange(n), np.concatenate([test, validation]))
    df = np.bincount(counts[known].indices, minlength=counts.shape[1])
    idf = np.where(df > 0, np.log(len(known) / np.maximum(df, 1)), 0).astype(np.float32)
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    Z = unit_rows(counts)
    return Task(
        Z[known],
        Z[known],
        links[known][:, known],
        Queries(Z[validation], Z[known], links[validation][:, known], None),
        Queries(Z[test], Z, links[test], test),
    )


def documentation() -> Task:
    """Pages of one half that link to pages of the other; a fifth of them held out."""
    pairs = load_pydocs_links()
    parts = simviz.split(pairs, by="x", seed=0)
    words = Tfidf(tf="log2", min_df=2, stop_words="english")
    words.fit(np.concatenate([parts.train.x.content, parts.train.y.content]))

    def asked(part: simviz.PairSet) -> Queries:
        rows, pool = words.transform(part.x.content), words.transform(part.y.content)
        return Queries(rows, pool, part.relevance.positives, None)

    train = asked(parts.train)
    return Task(train.rows, train.pool, train.links, asked(parts.validation), asked(parts.test))


def measured(scores: NDArray[np.float32], asked: Queries) -> tuple[NDArray[np.float64], float]:
    """Average precision of each query, and P@10."""
    relevance = Relevance(asked.links, unjudged="negative")
    result = evaluate(
        Given(scores, asked.own), asked.rows, asked.pool, relevance,
        [MAP(), Precision(10)], directions=["x2y"],
    )  # fmt: skip
    return result.per_query(MAP(), "x2y"), result.value("P@10", "x2y")


def mean(values: NDArray[np.float64]) -> float:
    """Mean over the queries that count."""
    return float(np.nanmean(values))


def p_value(difference: NDArray[np.float64]) -> float:
    """Paired randomisation test of a mean difference, two-sided."""
    difference = difference[~np.isnan(difference)]
    rng = np.random.default_rng(0)
    signs = rng.integers(0, 2, (FLIPS, len(difference)), dtype=np.int8) * 2 - 1
    reached = np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12
    return float((1 + reached.sum()) / (1 + FLIPS))


def quality(name: str, task: Task, n_components: int) -> None:
    """One table: MAP and P@10 on the test, each blend and size chosen on validation."""

    def plain(asked: Queries) -> NDArray[np.float32]:
        return np.asarray((asked.rows @ asked.pool.T).toarray())

    def scored(model: object) -> Callable[[Queries], NDArray[np.float32]]:
        return lambda asked: model.similarity(asked.rows, asked.pool)  # type: ignore[attr-defined]

    same = task.X is task.Y or np.array_equal(task.X.data, task.Y.data)
    both = task.X if same else sp.csr_array(sp.vstack([task.X, task.Y]))
    sizes = [get_method("lsa")(k).fit(both) for k in (50, 100, 200, 400)]
    held = task.validation
    lsi = max(sizes, key=lambda model: mean(measured(scored(model)(held), held)[0]))
    start = time.perf_counter()
    ssi = get_method("ssi")(n_components, shared=True)
    ssi.fit(
        task.X, task.Y, Relevance(task.links, unjudged="negative"), held.rows, held.pool,
        Relevance(held.links, unjudged="negative"),
    )  # fmt: skip
    seconds = time.perf_counter() - start
    learned = f"SSI, N = {n_components}"
    models = {f"LSI, k = {lsi.n_components_}": scored(lsi), learned: scored(ssi)}
    rows, precisions = [], {}
    lexical = {"validation": plain(held), "test": plain(task.test)}
    precisions["TF-IDF"], p10 = measured(lexical["test"], task.test)
    rows.append(["TF-IDF", "", p10])
    for title, model in models.items():
        found, tested = model(held), model(task.test)
        precisions[title], p10 = measured(tested, task.test)
        rows.append([title, "", p10])
        values = [
            mean(measured(a * found + (1 - a) * lexical["validation"], held)[0])
            for a in ALPHAS.astype(np.float32)
        ]
        alpha = ALPHAS.astype(np.float32)[int(np.argmax(values))]
        blend = f"α {title.split(',')[0]} + (1 − α) TF-IDF"
        mixed = alpha * tested + (1 - alpha) * lexical["test"]
        precisions[blend], p10 = measured(mixed, task.test)
        rows.append([blend, f"{alpha:.1f}", p10])
    print(
        f"### {name}: {task.test.rows.shape[0]:,} queries, {task.test.pool.shape[0]:,} documents, "
        f"{task.links.nnz:,} links to learn from; SSI trained in {seconds:.0f} s, "
        f"pass {ssi.best_iter_} of {ssi.n_iter_} kept\n"
    )
    table = []
    for title, alpha, p10 in rows:
        gain = precisions[learned] - precisions[title]
        p = "" if title == learned else f"{p_value(gain):.4f}"
        table.append((title, alpha, mean(precisions[title]), p10, mean(gain), p))
    show(("scores", "α", "MAP", "P@10", "SSI − it, MAP", "p"), table)


def speed() -> None:
    """Triples a second of the compiled steps on one thread, while all violate the margin."""
    from simviz.methods import _triple_kernels as kernels
    from simviz.methods._triples import TripleSource, aligned, rows_of

    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, WORDS + 1) ** 0.9
    share /= share.sum()
    # Gumbel's trick: distinct words of a document, frequent ones more often.
    keys = (np.log(share) + rng.gumbel(size=(400, WORDS))).argsort(axis=1)[:, -FILLED:]
    documents = np.sort(keys[rng.integers(400, size=ROWS)], axis=1).astype(np.int32)
    X = sp.csr_array(
        (np.full(documents.size, FILLED**-0.5, np.float32), documents.ravel(),
         np.arange(ROWS + 1) * FILLED), shape=(ROWS, WORDS),
    )  # fmt: skip
    x, rows = rows_of(X), []
    for n_components in (50, 100):
        for group in (1, 4, 8):
            source = TripleSource(Relevance.identity(ROWS), links=False, group=group)
            start = rng.normal(0, 0.01, (2, WORDS, n_components)).astype(np.float32)
            U, V = map(aligned, start)
            took: dict[float, list[float]] = {np.inf: [], -np.inf: []}
            for turn in range(6):
                triples = source.draw(40_000, turn)
                for margin, times in took.items():
                    start = time.perf_counter()
                    kernels.low_rank_steps(
                        x, x, triples, group, U, V, margin, np.float32(1e-6), True
                    )
                    times.append(time.perf_counter() - start)
            best = (f"{len(triples) / min(times[1:]):,.0f}" for times in took.values())
            rows.append((n_components, group, *best))
    show(("N", "others a step", "triples/s, all violate", "triples/s, none does"), rows)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with citeulike_t and cora")
    parser.add_argument("--n-components", type=int, default=100)
    parser.add_argument("--only", choices=["speed", "cora", "citeulike_t", "pydocs_links"])
    asked = parser.parse_args()
    if asked.only in (None, "speed"):
        speed()
    if asked.only in (None, "pydocs_links"):
        quality("pydocs_links", documentation(), asked.n_components)
    for name in ("cora", "citeulike_t"):
        if asked.data is not None and asked.only in (None, name):
            quality(name, linked_collection(asked.data / name), asked.n_components)


def _table(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        next(lines)
        return [line.rstrip("\n").split("\t") for line in lines]


if __name__ == "__main__":
    main()
