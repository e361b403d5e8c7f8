"""What docs/papers.md prints is what the code has; ``make format`` writes its tables anew."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simviz.experiments import (
    SIGNS,
    VERDICTS,
    Experiment,
    all_experiments,
    cell_text,
    known_findings,
)

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
WORDS = 3_000  # of the page at most, bars of tables not counted
#: Set whose main table stands on the page, an experiment a paper.
SHOWN = {
    "s2net_languages": "en_es_sentences",
    "siamese_blstm": "esco_titles",
    "ssi_links": "citeulike_t",
    "heterogeneous_ranking": "cranfield",
}
#: What a choice of settings was, which the app shows.
LEFT_OUT = ("chosen", "chosen by validation", "chosen most often", "MRR, 95 %", "validation")


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def protocol() -> str:
    rows = []
    for name, cls in all_experiments().items():
        full = cls.grids.get("full", {})
        tried = {m: math.prod(map(len, values.values())) for m, values in full.items()}
        methods = ", ".join(f"{m} {tried[m]}" if m in tried else m for m in cls.methods)
        sets = ", ".join((cls.demo, *cls.sets))
        rows.append([f"`{name}`", sets, cls.split_by, methods, f"{minutes(cls):g}"])
    return grid(
        ("experiment", "sets, the demo first", "divided by", "methods, settings", "minutes"), rows
    )


def minutes(cls: type[Experiment]) -> float:
    return sum(cls.full_minutes.values())


def verdicts() -> str:
    rows = []
    for name, found in known_findings().items():
        n = Counter(claim.verdict for one in found for claim in one.claims)
        rows.append([f"`{name}`", str(len(found)), *(str(n[v]) for v in VERDICTS)])
    return grid(("experiment", "sets", *(f"{SIGNS[v]} {v}" for v in VERDICTS)), rows)


def claims(name: str) -> str:
    found = known_findings()[name]
    signs: dict[str, dict[str, str]] = {}
    published = {}
    for one in found:
        for claim in one.claims:
            signs.setdefault(claim.statement, {})[one.data] = SIGNS[claim.verdict]
            said = re.sub(r"so on its own data \((.+)\)", r"\1", claim.published)
            published[claim.statement] = said
    rows = [
        [words, published[words], *(on.get(one.data, "") for one in found)]
        for words, on in signs.items()
    ]
    return grid(("claim", "the paper", *(one.data for one in found)), rows)


def main_table(name: str) -> str:
    one = next(one for one in known_findings()[name] if one.data == SHOWN[name])
    table = one.tables[0]
    at = [i for i, column in enumerate(table.columns) if column not in LEFT_OUT]
    rows = [[cell_text(row[i]) for i in at] for row in table.rows]
    return f"{table.title}, on `{one.data}`:\n\n" + grid([table.columns[i] for i in at], rows)


def refreshed(text: str) -> str:
    blocks = {"protocol": protocol(), "verdicts": verdicts()}
    blocks |= {f"claims:{name}": claims(name) for name in all_experiments()}
    blocks |= {f"table:{name}": main_table(name) for name in SHOWN}
    for mark, block in blocks.items():
        text, n = re.subn(
            rf"<!-- {mark} -->.*?<!-- / -->",
            lambda _, m=mark, b=block: f"<!-- {m} -->\n\n{b}\n\n<!-- / -->",
            text,
            flags=re.DOTALL,
        )
        assert n == 1, mark
    return text


def test_the_page_says_what_the_code_does_and_what_came_out():
    text = PAGE.read_text("utf-8")
    assert refreshed(text) == text, "run: make format"
    assert sum(any(map(str.isalnum, word)) for word in text.split()) <= WORDS


def test_a_main_table_leaves_out_what_was_chosen():
    table = main_table("s2net_languages")
    assert "| MRR, published |" in table and "| 0.797 |" in table
    assert "chosen" not in table and "one vocabulary" not in table


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text("utf-8")), "utf-8")
