"""Messy titles: what each augmentation teaches a Siamese network (table 3 of its paper).

``python benchmarks/titles.py demo`` or ``python benchmarks/titles.py esco --data FOLDER``,
where the folder holds ``titles.tsv.gz`` (title, group_id, ...).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from _settings import setting

from simviz.datasets.job_titles import read_synonyms
from simviz.evaluation import confidence_interval
from simviz.experiments import Progress
from simviz.experiments.siamese_blstm import (
    ROWS,
    Material,
    Table3,
    claims,
    part_of_demo,
    read_material,
    table,
)

SETTINGS: dict[str, Any] = {"hidden_units": 64, "max_iter": 40, "patience": 8}


def main() -> None:
    """Read the command line, train, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=["demo", "esco"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--titles", type=int, default=6, help="of a group at most")
    parser.add_argument("--synonyms", type=int, default=1_000, help="from list, and by induction")
    parser.add_argument("--hidden", type=int, default=SETTINGS["hidden_units"])
    parser.add_argument("--iterations", type=int, default=SETTINGS["max_iter"])
    parser.add_argument("--patience", type=int, default=SETTINGS["patience"])
    parser.add_argument(
        "--set", type=setting, nargs="*", default=[], metavar="NAME=VALUE",
        help="other parameters of the network",
    )  # fmt: skip
    parser.add_argument("--rows", type=int, nargs="*", help="numbers of rows; all when omitted")
    parser.add_argument("--every", type=int, default=1, help="n-th group of the demo alone")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.which == "esco" and asked.data is None:
        parser.error("esco needs --data FOLDER")
    material = part_of_demo(asked.every) if asked.which == "demo" else part_of(asked)
    settings = {
        "hidden_units": asked.hidden,
        "max_iter": asked.iterations,
        "patience": asked.patience,
        **dict(asked.set),
    }
    rows = None if asked.rows is None else [ROWS[i] for i in asked.rows]
    begin = time.perf_counter()

    def heard(words: str, fraction: float) -> bool:
        print(f"[{time.perf_counter() - begin:6,.0f} s] {fraction:4.0%} {words}", flush=True)
        return False

    heard(f"{material.name}: {len(material.titles):,} titles", 0.0)
    progress = Progress(heard)
    found = table(
        material, settings, rows=rows, most_synonyms=asked.synonyms, seed=asked.seed,
        progress=progress,
    )  # fmt: skip
    if asked.which == "esco":
        whole = read_material(asked.data / "titles.tsv.gz")
        print(f"\nLooking titles up reaches at most {whole.ceiling:.3f} of all rows.")
    show(found)


def part_of(asked: argparse.Namespace) -> Material:
    """A fixed part of a taxonomy in which every title has one group."""
    return read_material(
        asked.data / "titles.tsv.gz",
        n_groups=asked.groups,
        most_titles=asked.titles,
        unambiguous=True,
        synonyms=read_synonyms(),
    )


def show(found: Table3) -> None:
    """Print the table and what became of the claims."""
    tests = found.tests
    print("\n| row | texts | " + " | ".join(f"{t} (n={n:,})" for t, n in tests.items()) + " | s |")
    print("|---|---|" + "---|" * (len(tests) + 1))
    for row in found.rows:
        cells = []
        for test in tests:
            low, high = confidence_interval(found.hits[row, test])
            cells.append(f"{found.hits[row, test].mean():.3f} ± {(high - low) / 2:.3f}")
        spent = f"{found.seconds[row]:,.0f}" if row in found.seconds else ""
        print(f"| {row} | {found.sizes[row]:,} | {' | '.join(cells)} | {spent} |")
    print("\n| claim | found | needed | verdict |\n|---|---|---|---|")
    for claim in claims(found.hits):
        number = "" if claim.found != claim.found else f"{claim.found:+.3f}"
        print(f"| {claim.statement} | {number} | {claim.bound:+.2f} | {claim.verdict} |")


if __name__ == "__main__":
    main()
