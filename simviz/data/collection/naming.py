"""Which file of a collection is which, by its name and, where that is silent, by content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from simviz.data.collection.vectors import ENDINGS as VECTOR_ENDINGS
from simviz.data.sprites import IMAGE_ENDINGS
from simviz.exceptions import DatasetError

Part = Literal["x", "y", "relevance", "about", "ids", "images", "other"]
TABLE_ENDINGS = (
    ".csv .tsv .tab .txt .json .jsonl .ndjson .parquet .pq .arrow .arrows .feather .xlsx .qrels "
    ".qrel .topics .trec .xml .sgml .all .dat"
).split()

_WORDS: Mapping[Part, frozenset[str]] = {
    "ids": frozenset("ids".split()),
    "about": frozenset("split splits fold folds group groups meta metadata".split()),
    "relevance": frozenset(
        "relevance qrels qrel judgments judgements judgment pairs links labels matches mapping "
        "annotations keywords tags perfectmapping gold".split()
    ),
    "x": frozenset("x queries query topics topic questions left source src mentions".split()),
    "y": frozenset(
        "y corpus documents docs doc document collection passages answers products right target "
        "tgt images".split()
    ),
}
_IGNORED = re.compile(
    r"(?i)(^|/)(readme|licen[cs]e|changelog|vocabulary|vocab)\b|\.(md|rst|html?)$"
)


@dataclass(slots=True)
class Plan:
    """Which file plays which part.

    Parameters
    ----------
    x, y : str or None
        Files with the items of a side.
    relevance : list of str
        Files with judgments.
    about : list of str
        Files that say more about items: splits, folds, groups.
    ids : dict of str to str
        Side, or "" for both, to a file with one id a line.
    images : list of str
        Image files.
    left_over : list of str
        Files without a part.
    reasons : dict of str to str
        File to why it has its part.
    """

    x: str | None = None
    y: str | None = None
    relevance: list[str] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def plan_parts(name: str, paths: Iterable[str], given: Mapping[str, str] | None = None) -> Plan:
    """Guess which file is which.

    Parameters
    ----------
    name : str
        Of the collection, for messages.
    paths : iterable of str
        Its files.
    given : mapping of part to path, optional
        What is known already: "x", "y", "relevance".

    Returns
    -------
    Plan
        With a reason for each.

    Raises
    ------
    DatasetError
        If a side has two files, or a file that is given does not exist.

    Examples
    --------
    >>> plan = plan_parts("beir", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
    >>> plan.x, plan.y, plan.relevance
    ('queries.jsonl', 'corpus.jsonl', ['qrels/test.tsv'])
    """
    plan, paths = Plan(), list(paths)
    given = dict(given or {})
    for part, path in given.items():
        if part not in ("x", "y", "relevance"):
            raise DatasetError(f"{name}: {part!r} is no part; give 'x', 'y' or 'relevance'.")
        if path not in paths:
            raise DatasetError(f"{name} holds no file {path!r}. There is {', '.join(paths[:8])}.")
        _assign(name, plan, part, path, "given")
    weak: list[tuple[str, str]] = []
    for path in paths:
        if path in given.values():
            continue
        part, why = part_of(path)
        if part in ("x", "y") and part in given:
            part, why = "other", ""
        if part == "relevance" and "relevance" in given:
            part, why = "other", ""
        if part == "relevance" and not _is_exact(path):
            weak.append((path, why))
            continue
        _assign(name, plan, part, path, why)
    # relevance.tsv stands before relevance_3level.tsv, all of qrels/*.tsv together.
    for path, why in weak:
        if plan.relevance:
            plan.left_over.append(path)
        else:
            _assign(name, plan, "relevance", path, why)
    return plan


def part_of(path: str) -> tuple[Part, str]:
    """The part that a name speaks of, and why.

    Examples
    --------
    >>> part_of("data/queries.jsonl"), part_of("README.md")[0], part_of("a/1.png")[0]
    (('x', "'queries' in its name"), 'other', 'images')
    """
    pure = PurePosixPath(path)
    ending = pure.suffix.lower()
    if ending in IMAGE_ENDINGS:
        return "images", "an image"
    if _IGNORED.search(path):
        return "other", ""
    is_table = ending in TABLE_ENDINGS or ending == ""
    if not is_table and ending not in VECTOR_ENDINGS and not ending[1:].isalpha():
        return "other", ""
    words = _words(pure.stem if ending else pure.name) or []
    if ending in (".qrels", ".qrel"):
        return "relevance", f"its name ends in {ending}"
    if ending in (".topics",):
        return "x", f"its name ends in {ending}"
    folders = [word for part in pure.parts[:-1] for word in _words(part)]
    for where in (words, folders):
        for part, known in _WORDS.items():
            hit = next((word for word in where if word in known), None)
            if hit is not None:
                return part, f"{hit!r} in its name"
    return "other", ""


def _assign(name: str, plan: Plan, part: str, path: str, why: str) -> None:
    if part in ("x", "y"):
        held = getattr(plan, part)
        if held is not None:
            raise DatasetError(
                f"{name}: {held} and {path} both look like the items of the {part} side. Leave "
                "one of them out, or rename it."
            )
        setattr(plan, part, path)
    elif part == "relevance":
        plan.relevance.append(path)
    elif part == "about":
        plan.about.append(path)
    elif part == "images":
        plan.images.append(path)
    elif part == "ids":
        words = _words(PurePosixPath(path).stem)
        side = next((s for s in ("x", "y") if _WORDS[s] & set(words)), "")
        plan.ids[side] = path
    else:
        plan.left_over.append(path)
    if why and part != "images":
        plan.reasons[path] = why


def _is_exact(path: str) -> bool:
    """Whether a file of judgments is named so and no more, or stands in a folder so named."""
    pure = PurePosixPath(path)
    words = _words(pure.stem)
    inside = any(set(_words(part)) & _WORDS["relevance"] for part in pure.parts[:-1])
    return inside or (len(words) == 1 and words[0] in _WORDS["relevance"])


def _words(name: str) -> list[str]:
    return [w for w in re.split(r"[^a-z0-9]+", name.lower()) if w]
