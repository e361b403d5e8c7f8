"""Roles: which column is which, guessed in plain words and open to correction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np

from simviz.data import longform
from simviz.data.headers import (
    GROUP_NAMES,
    ID_WORDS,
    X_WORDS,
    Y_WORDS,
    plain,
    side_of,
    words_of,
)
from simviz.data.label_columns import pick_label
from simviz.data.labels import Labels
from simviz.data.tables import Table
from simviz.data.wording import shown
from simviz.exceptions import DatasetError
from simviz.relevance import Kind, Unjudged

Shape = Literal["pairs", "groups", "triplets"]

#: Words for the parts of a split, as they occur in files.
SPLIT_WORDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("train", "training", "trn"), "train"),
        **dict.fromkeys(("validation", "valid", "val", "dev", "development"), "validation"),
        **dict.fromkeys(("test", "testing", "tst", "eval"), "test"),
    }
)

_NEGATIVE_WORDS = frozenset("negative negatives neg hard".split())
_POSITIVE_WORDS = frozenset("positive positives pos".split())
_TEXT_WORDS = frozenset("text body content sentence passage string".split())
_SPLIT_NAMES = frozenset("split set subset partition fold part".split())


@dataclass(frozen=True, slots=True)
class Roles:
    r"""Which column of a table plays which part.

    Parameters
    ----------
    x, y : str
        Columns with the text of the two sides.
    x_id, y_id : str, optional
        Columns that identify an item of a side; items are told apart by their
        text where there is none.
    label : str, optional
        Column with a grade, a score, or a word such as yes or no. Without
        one, every row is a pair that belongs together.
    split : str, optional
        Column that says train, validation or test.
    group : str, optional
        Column whose equal values must stay in one part of a split.
    x_metadata, y_metadata : tuple of str
        Columns that describe an item of that side.
    ignored : tuple of str
        Columns to leave alone. All other columns become metadata of the side
        whose item they follow from.
    label_kind : {"grade", "score"}, optional
        What the label is; guessed from its values when omitted.
    unjudged : {"negative", "ignore"}, optional
        What a pair that is not listed means; guessed when omitted.
    shape : {"pairs", "groups", "triplets"}, default="pairs"
        What a row says: that two items belong together or how far they do;
        that an item `x` stands in the group `y`, whose members belong
        together; or that `y` belongs to `x` and `negatives` do not.
    negatives : tuple of str
        Of triplets, the columns with what does not belong.
    threshold : float, optional
        From which score on a pair is relevant; the middle when omitted.
    labels : mapping of str to float or None
        What words in the label column mean: a grade (0 or below: not
        relevant), or None for not judged. Those of the usual scales, such as
        same, subset and disjoint, are known.
    reasons : mapping of str to str
        Why a role was given, in plain words, by role.

    Examples
    --------
    >>> from simviz.data.tables import read_table
    >>> table = read_table(b"query,document,grade\nheart,blood pump,2\n", "q.csv")
    >>> roles = guess_roles(table)
    >>> roles.x, roles.y, roles.label
    ('query', 'document', 'grade')
    >>> roles.reasons["label"]
    "'grade' is a usual name for a judgment"
    """

    x: str
    y: str
    x_id: str | None = None
    y_id: str | None = None
    label: str | None = None
    split: str | None = None
    group: str | None = None
    x_metadata: tuple[str, ...] = ()
    y_metadata: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    label_kind: Kind | None = None
    unjudged: Unjudged | None = None
    shape: Shape = "pairs"
    negatives: tuple[str, ...] = ()
    threshold: float | None = None
    labels: Labels = field(default_factory=dict, hash=False)
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False)

    def used(self) -> set[str]:
        """Columns that have a role."""
        single = (self.x, self.y, self.x_id, self.y_id, self.label, self.split, self.group)
        several = (*self.x_metadata, *self.y_metadata, *self.ignored, *self.negatives)
        return {c for c in (*single, *several) if c}

    def check(self, table: Table) -> None:
        """Compare with the columns of a table.

        Parameters
        ----------
        table : Table
            What the roles are for.

        Raises
        ------
        DatasetError
            If a column does not exist or has two parts to play.
        """
        for name in sorted(self.used()):
            table.column(name)
        if self.labels and self.label is None:
            raise DatasetError(
                f"{table.name}: labels says what words mean, but no column is read as the label. "
                f"Name it in roles. There is {', '.join(shown(c) for c in table.columns)}."
            )
        parts: dict[str, str | None] = {"x": self.x, "y": self.y, "label": self.label}
        parts |= {"split": self.split, "group": self.group}
        parts |= {f"negative {i + 1}": c for i, c in enumerate(self.negatives)}
        if self.shape == "groups" and self.group == self.y:
            parts.pop("group")
        vectors = [c for c in (self.x_id, self.y_id, self.label, self.split) if c in table.vectors]
        if vectors:
            raise DatasetError(
                f"{table.name}: column {shown(vectors[0])} holds lists of numbers, which can "
                "only be a side. Choose another column."
            )
        taken: dict[str, str] = {}
        for role, column in parts.items():
            if column is not None and taken.setdefault(column, role) != role:
                raise DatasetError(
                    f"{table.name}: column {shown(column)} cannot be both {taken[column]} and "
                    f"{role}. Choose another column for one of them."
                )


def guess_roles(table: Table, labels: Labels | None = None) -> Roles:
    r"""Guess which column is which from names first, values and order second.

    Parameters
    ----------
    table : Table
        At least two columns.
    labels : mapping of str to float or None, optional
        What words mean, which also tells the column where they stand.

    Returns
    -------
    Roles
        With a reason for each guess; correct it with `dataclasses.replace`.

    Examples
    --------
    >>> from simviz.data.tables import read_table
    >>> table = read_table(b"title\tgroup_id\tgroup_name\nnurse\t7\tcare\n", "t.tsv")
    >>> roles = guess_roles(table)
    >>> roles.x, roles.y, roles.y_id, roles.reasons["x"]
    ('title', 'group_name', 'group_id', 'the first column with text')
    """
    names = list(table.columns)
    if longform.parse_header(names) is not None:
        why = "the header that simviz writes"
        return Roles(
            x=names[1],
            y=names[3],
            x_id=names[0],
            y_id=names[2],
            label=names[4],
            x_metadata=tuple(c for c in names[5:] if c.startswith("x.")),
            y_metadata=tuple(c for c in names[5:] if c.startswith("y.")),
            reasons=dict.fromkeys(("x", "y", "x_id", "y_id", "label"), why),
        )
    reasons: dict[str, str] = {}
    triplets = _triplets(table, names)
    if triplets is not None:
        return triplets
    ids = [c for c in names if words_of(c) & ID_WORDS and c not in table.vectors]
    free = [c for c in names if c not in ids]
    split = _pick_split(table, free, reasons)
    free = [c for c in free if c != split]
    n_columns = len(names) - (split is not None)
    label = pick_label(table, free, ids, n_columns, labels or {}, reasons)
    free = [c for c in free if c != label]
    x, y = _pick_sides(table, free, ids, reasons)
    rest = [c for c in free if c not in (x, y)]
    x_id, y_id = _pick_ids(ids, x, y, reasons)
    group = next((c for c in rest if plain(c) in GROUP_NAMES), None)
    if group is not None:
        reasons["group"] = f"{shown(group)} is a usual name for a group"
    described = [c for c in rest if c != group]
    shape = _pick_shape(table, x, y, label, reasons)
    return Roles(
        x=x,
        y=y,
        x_id=x_id,
        y_id=y_id,
        label=label,
        split=split,
        group=group,
        x_metadata=tuple(c for c in described if side_of(c) == "x"),
        y_metadata=tuple(c for c in described if side_of(c) == "y"),
        shape=shape,
        labels=labels or {},
        reasons=reasons,
    )


def _triplets(table: Table, names: list[str]) -> Roles | None:
    """An anchor, what belongs to it, and one or more columns of what does not."""
    content = [c for c in names if table.kinds[c] in ("text", "vector")]
    negatives = tuple(c for c in content if words_of(c) & _NEGATIVE_WORDS)
    others = [c for c in content if c not in negatives and not words_of(c) & ID_WORDS]
    if not negatives or len(others) < 2:
        return None
    y = next((c for c in others if words_of(c) & _POSITIVE_WORDS), others[1])
    x = next(c for c in others if c != y)
    why = f"{shown(negatives[0])} says what does not belong"
    reasons = {"shape": why, "x": "the anchor of a triplet", "y": "what belongs to the anchor"}
    free = [c for c in names if c not in (x, y, *negatives)]
    return Roles(
        x=x,
        y=y,
        split=_pick_split(table, free, reasons),
        shape="triplets",
        negatives=negatives,
        reasons=reasons,
    )


def _pick_shape(table: Table, x: str, y: str, label: str | None, reasons: dict[str, str]) -> Shape:
    """Groups, where the only partner of a text is the number or key of its group."""
    coded = table.coded(y)
    named = plain(y) in GROUP_NAMES and (
        table.kinds[y] == "number" or bool(words_of(y) & {"id", "cluster"})
    )
    if label is None and named and len(coded.words) < len(table) and table.kinds[x] != "empty":
        reasons["shape"] = f"{shown(y)} is a usual name for the key of a group, and repeats"
        return "groups"
    return "pairs"


def _pick_split(table: Table, free: Collection[str], reasons: dict[str, str]) -> str | None:
    """The column whose cells all say train, validation or test."""
    for column in free:
        words = table.coded(column).words
        if len(words) > 2 * len(SPLIT_WORDS):
            continue
        cells = {c.strip().lower() for c in words} - {""}
        named = plain(column) in _SPLIT_NAMES
        if cells and cells <= set(SPLIT_WORDS) and (named or len(cells) > 1):
            reasons["split"] = "all its cells say train, validation or test"
            return column
    return None


def _pick_sides(
    table: Table, free: list[str], ids: list[str], reasons: dict[str, str]
) -> tuple[str, str]:
    """Text of the two sides: by name, else by order, else the ids themselves."""
    picked: dict[str, str] = {}
    for side, words in (("x", X_WORDS), ("y", Y_WORDS)):
        named = [c for c in free if side_of(c) == side]
        if named:
            picked[side] = max(named, key=lambda c: _text_rank(table, c))
            word = sorted(words_of(picked[side]) & words)[0]
            reasons[side] = f"{shown(word)} in its name"
    for side in ("x", "y"):
        if side in picked:
            continue
        left = [c for c in free if c not in picked.values() and side_of(c) == ""]
        left = [c for c in left if plain(c) not in GROUP_NAMES] or left
        text = [c for c in left if table.kinds[c] == "text"]
        # A column that never changes, such as a language, tells no items apart.
        text = [c for c in text if len(set(table.columns[c][:1000])) > 1] or text
        text = text or [c for c in left if table.kinds[c] == "vector"]
        other_ids = [c for c in ids if side_of(c) == side] or [
            c for c in ids if c not in picked.values() and side_of(c) == ""
        ]
        choices = text or other_ids or left
        choices = choices or [c for c in (*free, *ids) if c not in picked.values()]
        picked[side] = choices[0]
        if choices is text:
            nth = "first" if side == "x" else "next"
            what = "vectors" if choices[0] in table.vectors else "text"
            reasons[side] = f"the {nth} column with {what}"
        elif choices[0] in ids:
            reasons[side] = "nothing but an id is given for this side"
        else:
            reasons[side] = "the next column"
    return picked["x"], picked["y"]


def _pick_ids(
    ids: list[str], x: str, y: str, reasons: dict[str, str]
) -> tuple[str | None, str | None]:
    """Id columns by the side in their name, or by a word shared with the text column."""
    picked: dict[str, str | None] = {"x": None, "y": None}
    for side, text in (("x", x), ("y", y)):
        stem = words_of(text) - _TEXT_WORDS - {"name", "title"}
        for column in ids:
            if column == text or side_of(column) == side or (words_of(column) & stem):
                if column in picked.values():
                    continue
                picked[side] = column
                reasons[f"{side}_id"] = f"named as an id of {shown(text)}"
                break
    return picked["x"], picked["y"]


def _text_rank(table: Table, column: str) -> tuple[bool, bool, bool, float]:
    """How much a column looks like the text of an item."""
    cells = table.columns[column][:1000]
    length = float(np.mean([len(c) for c in cells]))
    words = words_of(column)
    return table.kinds[column] == "text", bool(words & _TEXT_WORDS), len(words) == 1, length
