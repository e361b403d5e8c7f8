"""Labels: from cells such as 2, 0.83, yes or partial to grades and scores."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import is_missing, parse_number
from simviz.data.tables import Table
from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError
from simviz.relevance import Kind

#: What a label in words means: a grade above 0, or -1 for judged not relevant.
TEXT_LABELS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("yes", "y", "true", "t", "relevant", "match", "positive"), 1),
        **dict.fromkeys(("same", "similar", "duplicate", "related", "good match"), 1),
        **dict.fromkeys(("no", "n", "false", "f", "irrelevant", "not relevant", "negative"), -1),
        **dict.fromkeys(("not similar", "not a match", "non match", "non relevant"), -1),
        **dict.fromkeys(("no match", "mismatch", "different", "dissimilar", "unrelated"), -1),
        **dict.fromkeys(("partial", "partially relevant", "somewhat relevant"), 1),
        **dict.fromkeys(("exact", "exact match", "highly relevant"), 2),
        **{"bad": -1, "fair": 1, "good": 2, "excellent": 3, "perfect": 4},
    }
)
_SCORE_NAMES = ("score", "similarity")
_MANY = 10


def understood(cell: str) -> bool:
    """Whether a cell can be a label: a number, a known word, or nothing.

    Examples
    --------
    >>> understood("0.5"), understood("Not relevant"), understood("blue")
    (True, True, False)
    """
    return is_missing(cell) or parse_number(cell, True) is not None or _word(cell) in TEXT_LABELS


def parse_labels(
    table: Table,
    column: str,
    rows: NDArray[np.intp],
    kind: Kind | None = None,
    threshold: float | None = None,
) -> tuple[NDArray[np.float64], Kind, list[str]]:
    """Turn the cells of a label column into grades or scores.

    Parameters
    ----------
    table : Table
        Where the labels stand.
    column : str
        Their column.
    rows : array of int, shape (n,)
        The rows to read.
    kind : {"grade", "score"}, optional
        What they are. When omitted they are scores if they are real-valued:
        more than ten distinct values that are not whole, or any such value
        in a column called score or similarity.
    threshold : float, optional
        From which score on a pair is relevant; the middle when omitted.

    Returns
    -------
    values : array of shape (n,)
        NaN where nothing was judged; for grades, 0 became −1.
    kind : {"grade", "score"}
        What they are.
    notes : list of str
        What was read into them.

    Raises
    ------
    DatasetError
        If a label is neither a number nor a known word, is infinite, if none
        is given, or if all say "not relevant".
    """
    coded = table.coded(column)
    codes = coded.codes[rows]
    used = np.unique(codes)
    comma = table.delimiter == ";"
    of_word = np.full(len(coded.words), np.nan)
    words: dict[str, int] = {}
    refused: dict[int, str] = {}
    for i in used:
        cell = coded.words[i]
        if is_missing(cell):
            continue
        value = parse_number(cell, comma)
        if value is None:
            word = _word(cell)
            if word not in TEXT_LABELS:
                refused[int(i)] = (
                    "is not a label that can be understood. Use numbers (grade above 0: "
                    "relevant, 0 or below: not relevant) or words such as yes/no, "
                    "relevant/irrelevant, exact/partial/irrelevant; or choose another column as "
                    "the label."
                )
                continue
            words[word] = value = TEXT_LABELS[word]
        if not np.isfinite(value):
            refused[int(i)] = "is too large for a label. Use a finite number."
        of_word[i] = value
    if refused:
        at = int(np.argmax(np.isin(codes, list(refused))))
        raise DatasetError(
            f"{table.place(rows[at], column)}: {shown(coded.words[codes[at]])} "
            f"{refused[int(codes[at])]}"
        )
    values = of_word[codes]
    known = values[~np.isnan(values)]
    if not len(known):
        raise DatasetError(
            f"{table.name}, column {shown(column)} holds no label on any row with both sides. "
            "Fill it, or do not use it as the label: then every row is a pair that belongs "
            "together."
        )
    notes = []
    if words:
        notes.append(
            f"Words in column {shown(column)} were read as "
            + ", ".join(f"{w} = {g}" for w, g in sorted(words.items(), key=lambda i: -i[1]))
            + " (−1: judged not relevant)."
        )
    if kind is None:
        kind = _guess_kind(column, known)
    if kind == "score":
        middle = (float(known.min()) + float(known.max())) / 2
        start = f"the middle, {middle:g}" if threshold is None else f"{threshold:g}"
        notes.append(
            f"Column {shown(column)} holds real-valued scores from {known.min():g} to "
            f"{known.max():g}; for yes-or-no metrics a pair counts as relevant from {start}."
        )
    if kind == "grade":
        notes += _zeros_to_negative(column, values)
        if not (values > 0).any():
            raise DatasetError(
                f"{table.name}, column {shown(column)}: all of the {len(known):,} labels say "
                "'not relevant', so there is nothing relevant to learn from. Add pairs that "
                "belong together (label 1 or higher), or choose another column as the label."
            )
    return values, kind, notes


def _word(cell: str) -> str:
    """A label in words, in one spelling."""
    return " ".join(cell.lower().replace("_", " ").replace("-", " ").split())


def _guess_kind(column: str, values: NDArray[np.float64]) -> Kind:
    fractional = np.unique(values[values != np.round(values)])
    named = any(word in column.lower() for word in _SCORE_NAMES)
    return "score" if len(fractional) > (0 if named else _MANY) else "grade"


def _zeros_to_negative(column: str, values: NDArray[np.float64]) -> list[str]:
    """Make "judged not relevant" explicit, in place."""
    zeros = values == 0
    values[zeros] = -1.0
    if not zeros.any():
        return []
    n = counted(int(zeros.sum()), "label")
    return [f"{n} 0 in column {shown(column)} became −1: judged not relevant."]
