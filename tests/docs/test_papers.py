"""The protocol in docs/papers.md is what the code does; ``make format`` writes its tables anew."""

from __future__ import annotations

import json
import math
import re
import tomllib
from html import unescape
from itertools import permutations
from pathlib import Path
from typing import Any

from simviz.experiments import (
    SIZES,
    VERDICTS,
    Claim,
    Experiment,
    Findings,
    all_experiments,
    write_results,
)
from simviz.experiments._published import PUBLISHED

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
KNOWN = Path(__file__).parents[2] / "simviz" / "experiments" / "verdicts.toml"
POOLS = {
    "mates": "items judged with the part",
    "all": "all items of the other side",
}
#: Rows of experiments that differ from what their class says of the others.
OWN = {
    "heterogeneous_ranking": {
        "ranked": "all documents; where a set judges in pools, those judged for the query",
        "divided": "queries 80/20, ten times",
    },
    "ssi_languages": {
        "ranked": "items judged with the part; where pairs are graded, all items of the other side"
    },
}


def protocol(name: str, cls: type[Experiment[Any]]) -> str:
    limits = {
        name: " and ".join(
            f"{n:,} x items of {part}"
            for n, part in zip(kept, ("train", "validation and test each"), strict=True)
            if n
        )
        for name, kept in cls.limits.items()
    }
    sets = [f"`{s}`{f' ({limits[s]})' if s in limits else ''}" for s in cls.sets]
    own = OWN.get(name, {})
    divided = f"{_parts(cls.fractions)} by {cls.split_by}, where the set does not say"
    minutes = ", ".join(f"{n:g} on `{name}`" for name, n in cls.full_minutes.items())
    lines = [
        "| | |\n|---|---|",
        f"| data | demo `{cls.demo}`; {', '.join(sets)} |",
        f"| needs | {cls.needs} |",
        f"| ranked | {own.get('ranked', POOLS[cls.pool])} |",
        f"| divided | {own.get('divided', divided)} |",
        f"| methods | {', '.join(f'`{m}`' for m in cls.methods)} |",
        f"| minutes on one core | demo {cls.minutes:g}{f'; full {minutes}' if minutes else ''} |",
    ]
    full = cls.grids.get("full", {})
    if full:
        counts = (f"`{m}` {math.prod(map(len, grid.values()))}" for m, grid in full.items())
        lines.append(f"| settings to choose from, full | {', '.join(counts)} |")
    names = [(m, p) for m, grid in full.items() for p in grid]
    if names:
        lines += ["", "| method | parameter | full | demo |", "|---|---|---|---|"]
    for method, parameter in names:
        tried = [_values(cls.grids[s].get(method, {}).get(parameter, ())) for s in reversed(SIZES)]
        lines.append(f"| `{method}` | `{parameter}` | {' | '.join(tried)} |")
    return "\n".join(lines)


def _parts(fractions: tuple[float, ...]) -> str:
    return "/".join(f"{100 * share:.0f}" for share in fractions)


def _values(values: Any) -> str:
    return ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)


def refreshed(text: str) -> str:
    for name, cls in all_experiments().items():
        block = f"<!-- protocol:{name} -->\n{protocol(name, cls)}\n<!-- /protocol -->"
        text = re.sub(
            rf"<!-- protocol:{name} -->.*?<!-- /protocol -->",
            lambda _, b=block: b,
            text,
            flags=re.S,
        )
    return text


def verdicts(text: str) -> str:
    """What the app shows of the page: each claim with its verdict on each set."""
    lines = ["# What came out, as docs/papers.md says it; written by `make format`."]
    for name, block in re.findall(r"<!-- results:(\w+) -->(.*?)<!-- /results -->", text, re.S):
        lines.append(f"\n[{name}]")
        table = re.search(r"^\| claim \|.*?(?=\n\n)", block, re.M | re.S)
        head, _, *rows = map(_cells, table[0].splitlines()) if table else ([], [])
        for claim, _, *found in rows:
            if not claim.startswith("… "):
                told = zip(head[2:-2], found[:-2], strict=True)
                on = [f"{json.dumps(s)} = {json.dumps(_verdict(c))}" for s, c in told if c]
                lines.append(f"{json.dumps(claim, ensure_ascii=False)} = {{ {', '.join(on)} }}")
    return "\n".join(lines) + "\n"


def _cells(line: str) -> list[str]:
    return [unescape(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _verdict(cell: str) -> str:
    return cell.partition(":")[0].partition(" ")[2]


def test_the_app_shows_the_verdicts_of_the_page():
    assert KNOWN.read_text("utf-8") == verdicts(PAGE.read_text("utf-8")), "run: make format"
    known = tomllib.loads(KNOWN.read_text("utf-8"))
    assert known.keys() == all_experiments().keys()
    assert {v for claims in known.values() for on in claims.values() for v in on.values()} <= set(
        VERDICTS
    )


def test_the_page_says_what_the_code_does():
    text = PAGE.read_text()
    assert refreshed(text) == text, "run: make format"
    for name in all_experiments():
        assert text.count(f"<!-- protocol:{name} -->") == 1, name
        assert text.count(f"<!-- results:{name} -->") == 1, name


def test_the_page_says_of_a_paper_what_published_toml_has():
    rows = 0
    for name, block in re.findall(
        r"<!-- results:(\w+) -->(.*?)<!-- /results -->", PAGE.read_text(), re.DOTALL
    ):
        paper = all_experiments()[name].paper.id
        words = {
            w for p, said in PUBLISHED.statements.items() if p[0] == paper for w in said.values()
        }
        for place, numbers in PUBLISHED.numbers.items():
            if place[0] == paper:
                pairs = permutations(numbers, 2)
                words |= {
                    PUBLISHED.ahead(*place, a, b) for a, b in pairs if numbers[a] > numbers[b]
                }
        (claims,) = re.findall(r"^\| claim \|.*?\n\n", block, re.MULTILINE | re.DOTALL)
        for row in claims.strip().splitlines()[2:]:
            statement, said = row.strip("| ").split(" | ")[:2]
            if not statement.startswith("… at "):
                assert said in words, (name, statement)
                rows += 1
    assert rows > len(all_experiments())


def test_results_are_put_between_their_marks():
    text = "a\n<!-- results:s2net_graded -->\nold\n<!-- /results -->\nb\n"
    found = Findings("s2net_graded", "a\\1 set", "few", "full", 0)
    written = write_results(text, [found, Findings("ssi_links", "cora", "few", "full", 0)])
    assert "a\\1 set (few)" in written and "old" not in written and "cora" not in written
    assert written.startswith("a\n") and written.endswith("\nb\n")
    assert write_results(written, [found]) == written


def test_sets_stand_beside_each_other_in_the_row_of_a_claim():
    def on(data, n, **more):
        part = Claim("50", 0.2, low=0.1, high=0.3, p_value=0.001, test=f"paired t, {n} pairs")
        missing = Claim.ahead("100", None, reason="It was not run.")
        whole = Claim.at_every("A is ahead.", [part, missing])
        return Findings("ssi_links", data, "few", "full", 0, claims=(whole,), **more)

    several = [on("one", 9), on("two", 7), Findings("ssi_links", "three", "few", "full", 0)]
    marks = "<!-- verdicts --><!-- /verdicts --><!-- results:ssi_links --><!-- /results -->"
    page = write_results(marks, several)
    assert "| `ssi_links` | 3 | 0 | 0 | 2 | 0 |" in page
    assert "| claim | the paper | one | two | three | test | the paper's test |" in page
    told = "✓ holds: +0.200 [+0.100, +0.300], p = 0.001"
    assert f"| … at 50 |  | {told} (9 pairs) | {told} (7 pairs) |  |  |  |" in page
    assert "? undecided: holds at 50; not comparable at 100 (7 pairs) |  | " in page
    assert "… at 100" not in page


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text()))
    KNOWN.write_text(verdicts(PAGE.read_text()), "utf-8")
