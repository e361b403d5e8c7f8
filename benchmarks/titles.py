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
from simviz.experiments.siamese_blstm import (
    ROWS,
    Material,
    Table3,
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

    def say(words: str) -> None:
        print(f"[{time.perf_counter() - begin:6,.0f} s] {words}", flush=True)

    say(f"{material.name}: {len(material.titles):,} titles")
    found = table(
        material, settings, rows=rows, most_synonyms=asked.synonyms, seed=asked.seed, heard=say
    )
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
    wide = found.wide()
    frame = found.frame.set_index(["row", "test"])
    n = found.frame.drop_duplicates("test").set_index("test")["n"]
    print("\n| row | texts | " + " | ".join(f"{t} (n={n[t]:,})" for t in wide.columns) + " | s |")
    print("|---|---|" + "---|" * (len(wide.columns) + 1))
    for row, values in wide.iterrows():
        half = {t: (frame.loc[(row, t), "high"] - frame.loc[(row, t), "low"]) / 2 for t in wide}
        cells = " | ".join(f"{values[t]:.3f} ± {half[t]:.3f}" for t in wide.columns)
        seconds = found.seconds.get(row)
        spent = "" if seconds is None else f"{seconds:,.0f}"
        print(f"| {row} | {found.sizes[row]:,} | {cells} | {spent} |")
    print("\n| claim | found | needed | verdict |\n|---|---|---|---|")
    for claim in found.claims:
        number = "" if claim.found != claim.found else f"{claim.found:+.3f}"
        print(f"| {claim.statement} | {number} | {claim.bound:+.2f} | {claim.verdict} |")


if __name__ == "__main__":
    main()
