"""The page of a method, made of its class, of what experiments found, and of measured tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from simviz.base import PairModel
from simviz.datasets import DEMOS
from simviz.experiments import SIGNS, VERDICTS, all_experiments, cell_text, known_findings
from simviz.features import why_impossible
from simviz.method_cards import FAMILIES, MethodCard, method_card
from simviz.methods import all_methods

MEASURED = Path(__file__).parents[1] / "benchmarks" / "README.md"
#: What the papers call a method where it is not its title.
NAMED = {"tfidf_cosine": ("TFIDF", "VSM", "vector space model"), "lsa": ("LSI",)}
#: Columns of results that tell how settings were chosen.
LEFT_OUT = ("chosen", "chosen by validation", "chosen most often", "validation")
SIDES = {
    "one": "the same kind",
    "two": "any two kinds",
    "either": "the same kind or any two",
}
KINDS = {"text": "texts", "keyword": "keywords", "image": "images", "vector": "vectors"}
USES = {
    "unsupervised": "nothing but the items",
    "paired": "relevant pairs",
    "discriminative": "relevant and other pairs",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = (head, ["---"] * len(head), *rows)
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def bullets(title: str, lines: Iterable[str]) -> str:
    """A titled list; nothing where it has no lines."""
    listed = "\n".join(f"- {line}" for line in lines)
    return f"**{title}**\n\n{listed}" if listed else ""


def methods_table() -> str:
    """Every method, with what it takes and learns from."""
    rows = []
    for method, cls in sorted(all_methods().items(), key=lambda m: (m[1].tags.year, m[0])):
        t = cls.tags
        items = ", ".join(
            name for kind, name in KINDS.items() if not why_impossible(kind, t.input)
        )
        link = f"[{t.title}](methods/{method}.md)"
        rows.append([link, f"`{method}`", items, SIDES[t.space], USES[t.uses], str(t.year)])
    return table(["method", "id", "items", "sides", "learns from", "year"], rows)


def demos_table() -> str:
    """Every demo, with its source and licence."""
    rows = [
        [f"`{name}`", f"{demo.description} {demo.size}.", demo.source, demo.licence]
        for name, demo in DEMOS.items()
    ]
    return table(["demo", "what it is", "source", "licence"], rows)


def measured(title: str) -> str:
    """The rows of a method in the measured table of all of them."""
    text = MEASURED.read_text(encoding="utf-8").split("## Every method by default")[1]
    lines = [line.strip("| ").split(" | ") for line in re.findall(r"^\|.+$", text, re.M)]
    figures = next(line[1:] for line in lines if line[0] == title)
    rows = [[d, *each.split(", ")] for d, each in zip(lines[0][1:], figures, strict=False) if each]
    return table(["demo, metric", "validation", "test", "processor seconds of the fit"], rows)


def claims(cls: type[PairModel]) -> str:
    """What papers claim of a method, with what was found: all that its own paper claims."""
    tags, method = cls.tags, method_card(cls).id
    either = "|".join(map(re.escape, (tags.title, *NAMED.get(method, ()))))
    named = re.compile(rf"(?<![\w-])({either})(?![\w-])", re.I)
    rows: dict[tuple[str, str], list[str]] = {}
    for name, experiment in all_experiments().items():
        author, year = experiment.paper.authors.split(",")[0], experiment.paper.year
        papers = {
            m: kind.tags.title
            for m, kind in all_methods().items()
            if m in experiment.methods
            and kind.tags.reference.startswith(author)
            and kind.tags.year == year
        }
        for one in known_findings().get(name, ()):
            for claim in one.claims:
                if method in papers or named.search(claim.statement):
                    # On the page of another method "it" would be that one.
                    whose = "".join([*papers.values()][:1])
                    said = re.sub(r"\bit(?= (helps|ranks))", whose, claim.statement, flags=re.I)
                    key = said, claim.published
                    rows.setdefault(key, []).append(f"{SIGNS[claim.verdict]}\u00a0{one.data}")
    if not rows:
        return ""
    signs = ", ".join(f"{SIGNS[verdict]} {verdict}" for verdict in VERDICTS)
    said = table(["claim", "the paper", "found"], [[*k, ", ".join(v)] for k, v in rows.items()])
    return f"{said}\n\n{signs}; rules, tests and data: [the papers, run again](../papers.md)."


def results(card: MethodCard) -> str:
    """The rows of a method in the main tables of the experiments."""
    names = {name.lower() for name in (card.tags.title, *NAMED.get(card.id, ()))}
    blocks = []
    for name in all_experiments():
        head: list[str] = []
        rows = []
        for one in known_findings().get(name, ()):
            main = one.tables[0]
            at = [i for i, column in enumerate(main.columns) if column not in LEFT_OUT]
            for row in main.rows:
                if cell_text(row[0]).lower() in names:
                    head = head or ["set", *(main.columns[i] for i in at[1:])]
                    rows.append([one.data, *(cell_text(row[i]) for i in at[1:])])
        if rows and all(len(row) == len(head) for row in rows):
            blocks.append(f"{one.tables[0].title} (`{name}`):\n\n{table(head, rows)}")
    return "\n\n".join(blocks)


def method_page(cls: type[PairModel]) -> str:
    """The page of a method, as Markdown."""
    card: MethodCard = method_card(cls)
    tags = card.tags
    idea = [
        f"$$\n{piece.content}\n$$" if piece.kind == "formula" else piece.content
        for piece in card.idea
    ]
    found = "\n\n".join(filter(None, (claims(cls), results(card))))
    parts = [
        f"# {tags.title}",
        " · ".join((f"`{card.id}`", FAMILIES[tags.family], str(tags.year), tags.reference)),
        f"**{card.summary}**",
        *idea,
        bullets("Needs", card.needs),
        bullets("Not suited when", card.fails),
        bullets("Related", [f"[{k.title}]({k.id}.md): {k.text}" for k in card.related]),
        "## In Python",
        f"```python\n{card.code}```",
        "\n\n".join(card.presets),
        "## Cost and result by default",
        measured(tags.title),
        "[How this was measured](../measured.md#every-method-by-default).",
        "## What papers claim, and what we found" if found else "",
        found,
        "## Class",
        f"```{{eval-rst}}\n.. autoclass:: {cls.__module__}.{cls.__name__}\n   :members:\n```",
        "Fitting, similarities and vectors: see [its bases](../reference/simviz.base.rst).",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"
