"""Print who beats TFIDF on graded query-document pairs, with the tests of the papers.

``python benchmarks/graded.py --data FOLDER [--only METHOD ...]``. It is the experiment
``s2net_graded`` of the package with more methods (BM25, LSA, CL-LSI), and with PCA and S2Net
blended with TFIDF. Queries are divided, documents are not: their texts, but none of the
judgments of dev and test queries, are known to all methods. Settings are chosen on dev queries
by the mean of NDCG@1, @3 and @5.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
from ground import show

from simviz.evaluation import (
    NDCG,
    Evaluation,
    Roc,
    compare_all,
    paired_randomization,
    paired_t,
    power_analysis,
)
from simviz.evaluation.significance import ALPHA
from simviz.experiments import Progress, read_parts
from simviz.experiments.s2net_graded import (
    DEPTHS,
    GRIDS as PAPERS,
    Graded,
    Ranker,
    gains,
    judged_pairs,
    over_subsets,
    ranked,
)
from simviz.relevance import Relevance

CORRECT = 2  # grades that count in the stricter AUC
BLENDS = np.linspace(0, 1, 21)
BLENDED = ("pca", "s2net")
_SPECTRAL = PAPERS["full"]["pca"]
#: Values that are tried: those of the papers' methods, and of others beside them.
GRIDS: dict[str, Mapping[str, tuple[Any, ...]]] = {
    "bm25": {"k1": (0.9, 1.2, 2.0), "b": (0.4, 0.75, 1.0)},
    "lsa": _SPECTRAL,
    "cl_lsi": _SPECTRAL,
    **PAPERS["full"],
}


def blended(bench: Graded, one: Ranker) -> Ranker:
    """Mixed with TFIDF; the weight is chosen on dev."""
    base = bench.tfidf.scores

    def mixed(alpha: float) -> dict[str, Any]:
        return {
            part: np.asarray(alpha * one.scores[part] + (1 - alpha) * base[part], np.float32)
            for part in base
        }

    alpha = max(BLENDS, key=lambda a: bench.quality(mixed(a)["validation"], "validation"))
    scores = mixed(alpha)
    quality = bench.quality(scores["validation"], "validation")
    return Ranker(one.method, f"{one.title} + TFIDF", f"α={alpha:.2f}", one.k, quality, scores)


def report(rows: Sequence[Ranker], judged: Relevance) -> None:
    """Print values, tests against the first row, and who cannot be told apart."""
    base, results = rows[0], [ranked(row.scores["test"], judged) for row in rows]
    values = {
        row.title: found.per_query(NDCG(5)) for row, found in zip(rows, results, strict=True)
    }
    marks = compare_all(values).letters()
    show(
        ("method", "chosen on dev", "dev", "AUC", f"AUC, grade ≥ {CORRECT}",
         *(f"NDCG@{k}" for k in DEPTHS), "NDCG@5 level with"),
        [
            (row.title, row.settings, row.validation, found.value("AUC"),
             Roc.from_scores(*judged_pairs(row.scores["test"], judged, CORRECT)[:2]).auc,
             *(found.value(NDCG(k)) for k in DEPTHS), marks[row.title])
            for row, found in zip(rows, results, strict=True)
        ],
    )  # fmt: skip
    against = compare_all(values, baseline=base.title)
    show(
        ("against TFIDF", "AUC, t over disjoint subsets", *(f"DCG@{k}, t" for k in DEPTHS),
         "AUC by query, randomisation", "NDCG@5, randomisation, Holm", "wins / ties / losses"),
        [
            _tests(row, base, found, results[0], judged, against.between(row.title, base.title))
            for row, found in zip(rows[1:], results[1:], strict=True)
        ],
    )  # fmt: skip
    for row in rows[1:]:
        words = against.between(row.title, base.title).in_words(row.title, base.title, "NDCG@5")
        print(f"- {words}.")
        plan = power_analysis(values[row.title], values[base.title], alpha=ALPHA / len(rows[1:]))
        if not plan.separated:
            print(f"  Here {plan.in_words(row.title, base.title)}.")


def _tests(
    row: Ranker, base: Ranker, found: Evaluation, first: Evaluation, judged: Relevance, ndcg: Any
) -> tuple[str, ...]:
    auc = over_subsets(row.scores["test"], base.scores["test"], judged)
    dcg = [paired_t(*(gains(one, judged, k) for one in (found, first))) for k in DEPTHS]
    by_query = paired_randomization(*(o.per_query("AUC (by query)") for o in (found, first)))
    tests = (auc, *dcg, by_query, ndcg)
    return row.title, *map(told, tests), " / ".join(map(str, ndcg.outcomes or ()))


def told(found: Any) -> str:
    """Difference and p-value."""
    p = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".lstrip("0")
    return f"{found.difference:+.3f} ({p})".replace("-", "−")


def main() -> None:
    """Read the command line, measure the methods and the blends of two of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of a data set")
    parser.add_argument("--only", nargs="+", choices=[*GRIDS], default=[*GRIDS], help="methods")
    parser.add_argument("--small", action="store_true", help="shrunk sizes: does it run?")
    asked = parser.parse_args()
    parts = read_parts(asked.data, pool="all")
    grids = dict(GRIDS)
    if asked.small:
        parts = parts.thinned(len(parts.train.x) // 10, None, pool="all")
        grids = {m: {**g, "n_components": (20,)} if "n_components" in g else g for m, g in
                 grids.items()}  # fmt: skip
    print(f"{parts.name}: {parts.in_words()}.\n")
    bench = Graded(parts, grids, seed=0)
    rows = [bench.tfidf]

    def heard(words: str, fraction: float) -> bool:
        print(f"{fraction:4.0%} {words}", file=sys.stderr, flush=True)
        return False

    for method, part in Progress(heard).over(list(asked.only)):
        rows.append(max(bench.tried(method, part), key=lambda row: row.validation))
        if method in BLENDED:
            rows.append(blended(bench, rows[-1]))
    report(rows, bench.judged["test"])


if __name__ == "__main__":
    main()
