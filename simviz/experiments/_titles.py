"""Tests of title matching over any taxonomy, as Neculoiu et al. (2016) made them."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simviz.data.augment import InducedSynonyms, ListedSynonyms
from simviz.data.augment.extra_words import mine
from simviz.data.augment.groups import GROUP_SEPARATOR
from simviz.data.augment.typos import alphabet, corrupt
from simviz.data.taxonomy import taxonomy_pairs
from simviz.exceptions import DatasetError

Grouped = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Material:
    """A taxonomy and what is known about how people write its titles.

    Parameters
    ----------
    titles : mapping of str to sequence of str
        Title to the groups it stands in.
    name : str
        A short name to show.
    synonyms : sequence of (str, str)
        Words, each with one that says the same.
    words : sequence of str
        Words around titles that change nothing.
    pool, watched, annotated : mapping of str to sequence of str
        Real inputs with their groups: for training, for early stopping, and
        for tests.
    n_rows : int
        Rows of the table that the titles were read from, one a title and
        group; the number of distinct titles and groups when 0.
    """

    titles: Grouped
    name: str
    synonyms: Sequence[tuple[str, str]] = ()
    words: Sequence[str] = ()
    pool: Grouped = field(default_factory=dict)
    watched: Grouped = field(default_factory=dict)
    annotated: Grouped = field(default_factory=dict)
    n_rows: int = 0

    @property
    def ceiling(self) -> float:
        """Share of rows of the taxonomy that looking titles up can get right.

        A title in several groups is looked up as one of them, and wrong for
        the others.
        """
        return len(self.titles) / (self.n_rows or sum(map(len, self.titles.values())))


def demo_material() -> Material:
    """The demo "job_titles"."""
    from simviz.datasets.job_titles import (
        read_extra_words,
        read_inputs,
        read_synonyms,
        read_titles,
    )

    pool, watched, annotated = (
        {text: (group,) for text, group in read_inputs(part).items()}
        for part in ("pool", "validation", "test")
    )
    return Material(
        read_titles(), "job_titles", read_synonyms(), read_extra_words(), pool, watched, annotated
    )


def part_of_demo(every: int) -> Material:
    """Every n-th group of the demo "job_titles", with the texts of these groups.

    Parameters
    ----------
    every : int
        1 for all of them.

    Returns
    -------
    Material
        Under the same name.
    """
    whole = demo_material()
    groups = set(sorted({group for of in whole.titles.values() for group in of})[::every])

    def of_these(texts: Grouped) -> Grouped:
        return {text: of for text, of in texts.items() if groups.issuperset(of)}

    return replace(
        whole,
        titles=of_these(whole.titles),
        pool=of_these(whole.pool),
        watched=of_these(whole.watched),
        annotated=of_these(whole.annotated),
    )


def read_material(
    path: str | Path,
    *,
    n_groups: int | None = None,
    most_titles: int | None = None,
    unambiguous: bool = False,
    synonyms: Sequence[tuple[str, str]] = (),
    seed: int = 0,
) -> Material:
    """Read a taxonomy, or a part of it.

    Parameters
    ----------
    path : str or Path
        Tab-separated table with the columns "title" and "group_id" and without
        quoting, perhaps compressed (.gz).
    n_groups : int, optional
        Groups to draw among those of two titles or more; all when omitted.
    most_titles : int, optional
        Titles of a group to keep at most, the first ones.
    unambiguous : bool, default=False
        Whether titles that stand in several groups are left out.
    synonyms : sequence of (str, str)
        Words, each with one that says the same.
    seed : int, default=0
        Of the draw.

    Returns
    -------
    Material
        Titles in lower case.

    Raises
    ------
    DatasetError
        If a column is missing, or there are not so many groups.
    """
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or not {"title", "group_id"} <= rows[0].keys():
        raise DatasetError(f"{path.name} needs the columns title and group_id.")
    groups_of: dict[str, dict[str, None]] = {}
    for row in rows:
        groups_of.setdefault(row["title"].lower(), {})[row["group_id"]] = None
    members: dict[str, list[str]] = {}
    for title, of in groups_of.items():
        if not (unambiguous and len(of) > 1):
            for group in of:
                members.setdefault(group, []).append(title)
    chosen = sorted(group for group, titles in members.items() if len(titles) > 1)
    if n_groups is not None:
        if n_groups > len(chosen):
            raise DatasetError(
                f"{path.name} has {len(chosen)} groups of two titles or more, not {n_groups}."
            )
        drawn = np.random.default_rng(seed).choice(len(chosen), n_groups, replace=False)
        chosen = [chosen[i] for i in np.sort(drawn)]
    titles: dict[str, tuple[str, ...]] = {}
    for group in chosen:
        for title in members[group][:most_titles]:
            titles[title] = (*titles.get(title, ()), group)
    whole = n_groups is None and most_titles is None and not unambiguous
    return Material(titles, path.parent.name, synonyms, n_rows=len(rows) if whole else 0)


def typos_test(titles: Grouped, rate: float = 0.05, seed: int = 0) -> Grouped:
    """Every title with some characters replaced or left out.

    Parameters
    ----------
    titles : mapping of str to sequence of str
        Title to its groups.
    rate : float, default=0.05
        Chance of each character to be hit: half of it to be replaced, half to
        be left out.
    seed : int, default=0
        Equal titles and seeds give equal typos.

    Returns
    -------
    mapping of str to sequence of str
        Text to its groups. Titles that no typo hit, or that became another
        title, are not among them: they would be known from training.
    """
    rng = np.random.default_rng(seed)
    letters = alphabet(titles)
    found = {}
    for title, groups in titles.items():
        typed = corrupt(title, rng, rate / 2, rate / 2, letters)
        if typed.strip() and typed.casefold() not in titles:
            found[typed] = groups
    return found


def composition_test(
    titles: Grouped,
    synonyms: Sequence[tuple[str, str]] = (),
    *,
    most: int | None = None,
    share: float = 0.25,
    seed: int = 0,
) -> tuple[Grouped, Grouped]:
    """Titles with words exchanged for synonyms: those to train on, and those for the test.

    Parameters
    ----------
    titles : mapping of str to sequence of str
        Title to its groups.
    synonyms : sequence of (str, str)
        A list; more are induced from the groups.
    most : int, optional
        Texts to make at most of each kind: by one exchange from the list, by
        one that was induced, and both ways again from what these made.
    share : float, default=0.25
        Of the texts with two exchanges, for the test.
    seed : int, default=0
        Of the draws.

    Returns
    -------
    train, test : mapping of str to sequence of str
        Text to its groups.

    Notes
    -----
    Those for the test differ from a title in two places. One exchange leaves
    so much of a title that it is mostly found by what is left.
    """
    once = _made(titles, titles, synonyms, most, seed)
    twice = _made(titles, once, synonyms, most, seed) if once else {}
    drawn = np.random.default_rng(seed).permutation(len(twice))
    held = set(drawn[: round(share * len(twice))].tolist())
    test = {text: of for i, (text, of) in enumerate(twice.items()) if i in held}
    return once | {text: of for text, of in twice.items() if text not in test}, test


def _made(
    titles: Grouped,
    texts: Grouped,
    synonyms: Sequence[tuple[str, str]],
    most: int | None,
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """What exchanging words once makes of texts."""
    pairs = taxonomy_pairs(titles, texts)
    made: dict[str, tuple[str, ...]] = {}
    for step in (ListedSynonyms(synonyms, most, seed), InducedSynonyms(most, seed)):
        x = step.transform(pairs).x
        for i in range(len(texts), len(x)):
            made[x.content[i]] = tuple(x.metadata["group"][i].split(GROUP_SEPARATOR))
    return made


def extra_words_test(titles: Grouped, inputs: Iterable[str]) -> Grouped:
    """Real inputs that hold a title and more, where an n-gram matcher finds that title.

    Parameters
    ----------
    titles : mapping of str to sequence of str
        Title to its groups.
    inputs : iterable of str
        What people wrote.

    Returns
    -------
    mapping of str to sequence of str
        Input to the groups of its title, right or not: the n-gram matcher is
        right by construction.
    """
    names = list(titles)
    return {text: titles[names[j]] for text, j in mine(list(inputs), names)}
