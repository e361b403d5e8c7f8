"""Labels: from cells such as 2, 0.83, yes or partial to grades and scores."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import Codes, counted, is_missing, parse_number, shown
from simviz.data.tables import Table
from simviz.exceptions import DatasetError
from simviz.relevance import Kind

_YES = (
    "yes y true t relevant match matching positive same similar duplicate related equivalent"
).split()
_SAID_NO = "relevant,match,matching,similar,duplicate,related,equivalent,the same".split(",")
_NO = dict.fromkeys(
    (
        *"no n false f negative irrelevant mismatch different dissimilar unrelated".split(),
        *(f"{no} {word}" for word in _SAID_NO for no in ("not", "not a", "non", "no")),
    ),
    -1,
)
#: Scales by what is above 0, highest first; -1 is judged not relevant. Of two
#: scales that hold equally many of the words of a column, the first is meant.
SCALES: tuple[Mapping[str, int], ...] = tuple(
    MappingProxyType(_NO | scale)
    for scale in (
        {"highly relevant": 2, "good match": 1, **dict.fromkeys(_YES, 1)},
        {"exact": 2, "exact match": 2, "partial": 1, "partial match": 1},
        {
            "highly relevant": 3,
            **dict.fromkeys(("relevant", "match", "yes"), 2),
            **dict.fromkeys(("partial", "partial match", "partially relevant"), 1),
            **dict.fromkeys(("somewhat relevant", "marginally relevant"), 1),
        },
        # How the meaning of an advertisement lies to that of a query (Yih et al.).
        {"same": 2, "subset": 1, "superset": 1, "disjoint": -1},
        # How a product answers a query for another one (ESCI).
        {"exact": 3, "substitute": 2, "complement": 1},
        # How well a page answers a web search.
        {"perfect": 4, "excellent": 3, "good": 2, "fair": 1, "bad": -1, "poor": -1},
    )
)
#: ESCI in letters, which mean nothing one by one.
_LETTERS: Mapping[str, int] = MappingProxyType({"e": 3, "s": 2, "c": 1, "i": -1})
#: Words of the scales that may as well describe one thing as judge two.
_COMMON = frozenset(
    "yes y no n true t false f positive negative exact partial perfect excellent good fair bad "
    "poor e s c i".split()
)


def spelled(cell: str) -> str:
    """A label in words, in one spelling."""
    return " ".join(re.sub(r"(?<=[^\W_])[-_]+(?=[^\W_])", " ", cell.casefold()).split())


def meanings(words: Collection[str]) -> dict[str, int]:
    """The grades of those words of a column that are known."""
    if len(words) > 1 and _LETTERS.keys() >= set(words):
        return {word: _LETTERS[word] for word in words}
    meant = max(SCALES, key=lambda scale: sum(word in scale for word in words))
    found = {w: next((s[w] for s in (meant, *SCALES) if w in s), None) for w in words}
    return {word: grade for word, grade in found.items() if grade is not None}


def speak_of_pairs(words: Collection[str]) -> bool:
    """Whether known words can only say how two things lie to one another."""
    return not _COMMON.issuperset(words)


#: Words of labels, as a visitor says what they mean: a grade, 0 or below for
#: not relevant, None for not judged.
Labels = Mapping[str, float | None]

_SCORE_NAMES = ("score", "similarity")
_MANY = 10
_LISTED = 12


@dataclass(frozen=True, slots=True)
class LabelWord:
    """A word that stands in a label column."""

    word: str
    count: int
    grade: float | None


@dataclass(frozen=True, slots=True)
class _Cells:
    """The distinct cells of a label column: numbers, words by cell, and all words."""

    values: NDArray[np.float64]
    word_of: dict[int, str]
    words: dict[str, LabelWord]


def label_words(table: Table, column: str, labels: Labels | None = None) -> tuple[LabelWord, ...]:
    r"""The words of a label column and what they mean."""
    found = _cells(table, column, table.factorize(column).codes, _given(labels)).words.values()
    return tuple(sorted(found, key=_rank))


def parse_labels(
    table: Table,
    column: str,
    rows: NDArray[np.intp],
    kind: Kind | None = None,
    threshold: float | None = None,
    labels: Labels | None = None,
) -> tuple[NDArray[np.float64], Kind, list[str]]:
    """Turn the cells of a label column into grades or scores."""
    given = _given(labels)
    codes = table.factorize(column).codes[rows]
    cells = _cells(table, column, codes, given)
    of_word = cells.values
    for i, word in cells.word_of.items():
        grade = cells.words[word].grade
        of_word[i] = np.nan if grade is None else grade
    _check_cells(table, column, rows, codes, cells)
    values = of_word[codes]
    known = values[~np.isnan(values)]
    if not len(known):
        raise DatasetError(
            f"{table.name}, column {shown(column)} holds no label on any row with both sides. "
            "Fill it, or do not use it as the label: then every row is a pair that belongs "
            "together."
        )
    notes = []
    if cells.words:
        listed = [_meaning(w) for w in sorted(cells.words.values(), key=_rank)]
        more = f" and {len(listed) - _LISTED:,} more" if len(listed) > _LISTED else ""
        notes.append(
            f"Words in column {shown(column)} were read as {', '.join(listed[:_LISTED])}{more} "
            "(−1: judged not relevant)."
        )
    if given and not given.keys() & cells.words.keys():
        notes.append(f"None of the words in labels stands in column {shown(column)}.")
    if kind is None:
        fractional = np.unique(known[known != np.round(known)])
        named = any(word in column.lower() for word in _SCORE_NAMES)
        kind = "score" if len(fractional) > (0 if named else _MANY) else "grade"
    if kind == "score":
        middle = (float(known.min()) + float(known.max())) / 2
        start = f"the middle, {middle:g}" if threshold is None else f"{threshold:g}"
        notes.append(
            f"Column {shown(column)} holds real-valued scores from {known.min():g} to "
            f"{known.max():g}; for yes-or-no metrics a pair counts as relevant from {start}."
        )
    if kind == "grade":
        n_zeros = int((values == 0).sum())
        values[values == 0] = -1.0
        if n_zeros:
            notes.append(
                f"{counted(n_zeros, 'label')} 0 in column {shown(column)} became −1: judged not "
                "relevant."
            )
        if not (values > 0).any():
            raise DatasetError(
                f"{table.name}, column {shown(column)}: all of the {len(known):,} labels say "
                "'not relevant', so there is nothing relevant to learn from. Add pairs that "
                "belong together (label 1 or higher), or choose another column as the label."
            )
    return values, kind, notes


def _given(labels: Labels | None) -> dict[str, float]:
    """What was said of words, in one spelling; NaN for not judged."""
    given: dict[str, float] = {}
    for key, meaning in (labels or {}).items():
        try:
            grade = np.nan if meaning is None else float(meaning)
        except (TypeError, ValueError):
            grade = np.inf
        if np.isinf(grade):
            raise DatasetError(
                f"labels says {shown(key)} = {shown(meaning)}. Give a finite number (above 0: "
                "relevant, 0 or below: not relevant), or None for not judged."
            )
        before = given.setdefault(spelled(str(key)), grade)
        if not np.array_equal(before, grade, equal_nan=True):
            raise DatasetError(
                f"labels gives {shown(spelled(str(key)))} two meanings, {before:g} and {grade:g}: "
                "upper case, hyphens and spaces make no difference. Keep one."
            )
    return given


def _cells(table: Table, column: str, codes: Codes, given: Mapping[str, float]) -> _Cells:
    """What the cells of some rows are."""
    cells, comma = table.factorize(column).uniques, table.delimiter == ";"
    counts = np.bincount(codes, minlength=len(cells))
    values = np.full(len(cells), np.nan)
    word_of: dict[int, str] = {}
    for i in np.flatnonzero(counts).tolist():
        cell = cells[i]
        if given and spelled(cell) in given:
            word_of[i] = spelled(cell)
        elif not is_missing(cell):
            value = parse_number(cell, comma)
            if value is None:
                word_of[i] = spelled(cell)
            else:
                values[i] = value
    times: dict[str, int] = {}
    for i, word in word_of.items():
        times[word] = times.get(word, 0) + int(counts[i])
    grades = {**meanings(times.keys()), **given}
    return _Cells(values, word_of, {w: LabelWord(w, n, grades.get(w)) for w, n in times.items()})


def _check_cells(
    table: Table, column: str, rows: NDArray[np.intp], codes: Codes, cells: _Cells
) -> None:
    """Name the first cell that is no label, and all words that are not understood."""
    unknown = [word for word in cells.words.values() if word.grade is None]
    wrong = np.isinf(cells.values)
    wrong[[i for i, word in cells.word_of.items() if cells.words[word].grade is None]] = True
    if not wrong.any():
        return
    at = int(np.argmax(wrong[codes]))
    where = f"{table.place(rows[at], column)}: {shown(table.factorize(column).uniques[codes[at]])}"
    if np.isinf(cells.values[codes[at]]):
        raise DatasetError(f"{where} is too large for a label. Use a finite number.")
    unknown.sort(key=lambda w: -w.count)
    listed = ", ".join(f"{shown(w.word)} ({counted(w.count, 'row')})" for w in unknown[:_LISTED])
    more = f" and {len(unknown) - _LISTED:,} more" if len(unknown) > _LISTED else ""
    example = ", ".join(
        f"{shown(w.word)}: {grade}" for w, grade in zip(unknown, (1, -1), strict=False)
    )
    raise DatasetError(
        f"{where} is not a label that can be understood. Not known in this column: "
        f"{listed}{more}. Say what each word means (in Python, labels={{{example}}}: relevant "
        "above 0, not relevant from 0 down, None for not judged), use numbers, or choose another "
        "column as the label, or none."
    )


def _rank(word: LabelWord) -> float:
    """Highest grades first, then what is not judged, then what is not known."""
    if word.grade is None:
        return np.inf
    return 1e308 if np.isnan(word.grade) else -word.grade


def _meaning(word: LabelWord) -> str:
    name = word.word if len(word.word) <= 40 else f"{word.word[:40]}…"
    grade = word.grade
    return f"{name} = " + ("not judged" if grade is None or np.isnan(grade) else f"{grade:g}")
