"""Job titles in groups, and the messy titles that people write.

Titles, messy inputs, synonyms and words that stand around titles were all
written for this project. They are part of it and under its licence.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from simviz.data.pairs import Items, PairSet
from simviz.data.pairs_from_tables import grouped, taxonomy_pairs
from simviz.datasets import TEXT_S2NET, DemoInfo

Part = Literal["pool", "validation", "test"]


def load_job_titles() -> PairSet:
    """Pair messy job titles with the titles of a taxonomy that mean the same."""
    # Inputs that are meant for training are not among the items: see `read_inputs`.
    fields = {row["group"]: row["field"] for row in _rows("titles")}
    titles = read_titles()
    inputs = [row for row in _rows("inputs") if row["part"] != "pool"]
    texts = titles | {row["input"]: (row["group"],) for row in inputs}
    names = {"name": "job_titles", "x_name": "inputs", "y_name": "titles"}
    pairs = taxonomy_pairs(titles, texts, **names)
    n = len(titles)
    x = _described(
        pairs.x,
        field=[fields[of[0]] for of in texts.values()],
        noise=["none"] * n + [row["noise"] for row in inputs],
        split=["train"] * n + [row["part"] for row in inputs],
    )
    y = _described(pairs.y, field=[fields[of[0]] for of in titles.values()])
    return replace(pairs, x=x, y=y)


def read_titles() -> dict[str, tuple[str, ...]]:
    """The taxonomy."""
    return grouped((row["title"], row["group"]) for row in _rows("titles"))


def read_inputs(part: Part) -> dict[str, str]:
    """Messy inputs and the group of each."""
    return {row["input"]: row["group"] for row in _rows("inputs") if row["part"] == part}


def read_synonyms() -> list[tuple[str, str]]:
    """Words of titles, each with one that says the same."""
    return [(row["words"], row["synonym"]) for row in _rows("synonyms")]


def read_extra_words() -> list[str]:
    """Words that stand around a title without being part of it."""
    return [row["words"] for row in _rows("extra_words")]


def _word_lists() -> dict[str, Sequence[str]]:
    """The lists as the form for training asks for them, one string a line."""
    return {
        "synonyms": [" = ".join(pair) for pair in read_synonyms()],
        "words": read_extra_words(),
        "inputs": list(read_inputs("pool")),
    }


@cache
def _rows(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of one table of ours."""
    path = files("simviz.datasets").joinpath("_job_titles", f"{name}.tsv")
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _described(items: Items, **columns: Sequence[str]) -> Items:
    """Items with more metadata."""
    more = {name: np.array(values, dtype=object) for name, values in columns.items()}
    return replace(items, metadata={**items.metadata, **more})


DEMO = DemoInfo(
    id="job_titles",
    title="Messy titles",
    description="Job titles as people write them, to find the title of a taxonomy that is meant.",
    source="Written for simviz",
    licence="MIT License",
    x_name="inputs",
    y_name="titles",
    split_by="column",
    methods={"tfidf_cosine": {}, "heterogeneous_svd": {}, "s2net": TEXT_S2NET},
    metric="top-1",
    direction="x2y",
    size="1,840 titles in nearly two hundred groups",
    loader=load_job_titles,
    position=40,
    word_lists=_word_lists,
)
