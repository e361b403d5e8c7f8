"""Roles of columns: which is which, and what the words of labels mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import (
    Codes,
    Note,
    as_cells,
    counted,
    cut,
    did_you_mean,
    factorize,
    first_of,
    is_missing,
    parse_number,
    shown,
)
from simviz.data.tables import Table
from simviz.data.writers import parse_header
from simviz.exceptions import DatasetError
from simviz.relevance import Kind, Unjudged

_YES = (
    "yes y true t relevant match matching positive same similar duplicate related equivalent"
).split()
_NEGATED = "relevant,match,matching,similar,duplicate,related,equivalent,the same".split(",")
_NO = dict.fromkeys(
    (
        *"no n false f negative irrelevant mismatch different dissimilar unrelated".split(),
        *(f"{no} {word}" for word in _NEGATED for no in ("not", "not a", "non", "no")),
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
#: Words of labels, as a visitor says what they mean: a grade, 0 or below for
#: not relevant, None for not judged.
Labels = Mapping[str, float | None]
_SCORE_NAMES = ("score", "similarity")
_MANY = 10
_LISTED = 12
X_WORDS = frozenset(
    "x left lhs query queries question q source src anchor premise keyword keywords a 1 from "
    "original mention qid queryid".split()
)
Y_WORDS = frozenset(
    "y right rhs document documents doc d passage answer target tgt hypothesis candidate b 2 to "
    "positive product item image docid docno".split()
)
ID_WORDS = frozenset("id ids qid queryid docid docno uid guid key".split())
GROUP_NAMES = frozenset("group group_id cluster cluster_id topic category family".split())
_LABEL_NAMES = frozenset(
    "label labels grade grades score scores relevance rel relevant relevancy similarity judgment "
    "judgement judgments judgements verdict rating gold match is_match is_relevant is_duplicate "
    "qrel gold_label relevance_label esci_label similarity_score relevance_score duplicate same "
    "is_same correct is_correct".split()
)
# Numbers that count, order or date rather than judge.
_COUNT_WORDS = frozenset(
    "count counts n no nr row index rank freq frequency seen views year age price".split()
)
#: A label has few words, and short ones.
_FEW = 20
_SHORT = 40
# Distinct cells, in any spelling, of a column that is looked at for words.
_SPELLINGS = 200
Shape = Literal["pairs", "groups", "triplets"]
#: A column, and why it was taken.
Pick = tuple[str | None, str]
_NO_COLUMN: Pick = (None, "")
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


def spelled(cell: str) -> str:
    """A label in words, in one spelling."""
    return " ".join(re.sub(r"(?<=[^\W_])[-_]+(?=[^\W_])", " ", cell.casefold()).split())


def meanings(words: Collection[str]) -> dict[str, int]:
    """The grades of those words of a column that are known."""
    if len(words) > 1 and _LETTERS.keys() >= set(words):
        return {word: _LETTERS[word] for word in words}
    scale_of = max(SCALES, key=lambda scale: sum(word in scale for word in words))
    grades = {w: next((s[w] for s in (scale_of, *SCALES) if w in s), None) for w in words}
    return {word: grade for word, grade in grades.items() if grade is not None}


@dataclass(frozen=True, slots=True)
class LabelWord:
    """A word that stands in a label column."""

    word: str
    count: int
    grade: float | None


def label_words(table: Table, column: str, labels: Labels | None = None) -> tuple[LabelWord, ...]:
    r"""The words of a label column and what they mean."""
    return tuple(_read_words(table, column, slice(None), _parse_meanings(labels))[2].values())


def parse_labels(
    table: Table,
    column: str,
    rows: NDArray[np.intp],
    kind: Kind | None = None,
    threshold: float | None = None,
    labels: Labels | None = None,
) -> tuple[NDArray[np.float64], Kind, list[Note]]:
    """Turn the cells of a label column into grades or scores."""
    meanings_of = _parse_meanings(labels)
    codes, cells, words = _read_words(table, column, rows, meanings_of)
    grades = {w.word: np.inf if w.grade is None else w.grade for w in words.values()}
    comma = table.delimiter == ";"
    values = np.array([grades.get(c, parse_number(c, comma)) for c in cells], np.float64)
    values = values[codes[rows]]
    wrong = np.isinf(values)
    if wrong.any():
        raise _refusal(table, column, int(rows[np.argmax(wrong)]), words)
    known = values[~np.isnan(values)]
    if not len(known):
        raise DatasetError(
            f"{table.name}, column {shown(column)} holds no label on any row with both sides. "
            "Fill it, or do not use it as the label: then every row is a pair that belongs "
            "together."
        )
    notes = []
    if words:
        readings = first_of([_word_and_grade(word) for word in words.values()], _LISTED)
        words_read = f"Words in column {shown(column)} were read as {readings}"
        notes.append(Note(f"{words_read} (-1: judged not relevant).", "taken"))
    if meanings_of and not meanings_of.keys() & words.keys():
        notes.append(Note(f"None of the words in labels stands in column {shown(column)}."))
    if kind is None:
        fractional = np.unique(known[known != np.round(known)])
        named = any(word in column.lower() for word in _SCORE_NAMES)
        kind = "score" if len(fractional) > (0 if named else _MANY) else "grade"
    if kind == "score":
        middle = (float(known.min()) + float(known.max())) / 2
        start = f"the middle, {middle:g}" if threshold is None else f"{threshold:g}"
        scores = (
            f"Column {shown(column)} holds real-valued scores from {known.min():g} to "
            f"{known.max():g}; for yes-or-no metrics a pair counts as relevant from {start}."
        )
        notes.append(Note(scores, "taken"))
    if kind == "grade":
        n_zeros = int((values == 0).sum())
        values[values == 0] = -1.0
        if n_zeros:
            zeros = f"{counted(n_zeros, 'label')} 0 in column {shown(column)}"
            notes.append(Note(f"{zeros}: judged not relevant."))
        if not (values > 0).any():
            raise DatasetError(
                f"{table.name}, column {shown(column)}: all of the {len(known):,} labels say "
                "'not relevant', so there is nothing relevant to learn from. Add pairs that "
                "belong together (label 1 or higher), or choose another column as the label."
            )
    return values, kind, notes


def _parse_meanings(labels: Labels | None) -> dict[str, float]:
    """What was said of words, in one spelling; NaN for not judged."""
    grades: dict[str, float] = {}
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
        before = grades.setdefault(spelled(str(key)), grade)
        if not np.array_equal(before, grade, equal_nan=True):
            raise DatasetError(
                f"labels gives {shown(spelled(str(key)))} two meanings, {before:g} and {grade:g}: "
                "upper case, hyphens and spaces make no difference. Keep one."
            )
    return grades


def _read_words(
    table: Table, column: str, rows: Codes | slice, known: Mapping[str, float]
) -> tuple[Codes, Sequence[str], dict[str, LabelWord]]:
    """A label column with its words in one spelling; those of some rows, highest grades first."""
    comma = table.delimiter == ";"

    def is_word(cell: str) -> bool:
        is_plain = is_missing(cell) or parse_number(cell, comma) is not None
        return not is_plain or (bool(known) and spelled(cell) in known)

    codes, _, distinct = table.factorize(column)
    plain = as_cells([spelled(cell) if is_word(cell) else cell for cell in distinct])
    merged, _, cells = factorize(plain)
    codes = merged[codes]
    counts = np.bincount(codes[rows], minlength=len(cells)).tolist()
    times = {c: n for c, n in zip(cells, counts, strict=True) if n and is_word(c)}
    grades = {**meanings(times.keys()), **known}
    words = sorted((LabelWord(w, n, grades.get(w)) for w, n in times.items()), key=_rank)
    return codes, cells, {word.word: word for word in words}


def _refusal(table: Table, column: str, row: int, words: Mapping[str, LabelWord]) -> DatasetError:
    """Name the first cell that is no label, and all words that are not understood."""
    cell = table[column][row]
    where = f"{table.place(row, column)}: {shown(cell)}"
    if spelled(cell) not in words:
        return DatasetError(f"{where} is too large for a label. Use a finite number.")
    unknown = sorted((w for w in words.values() if w.grade is None), key=lambda w: -w.count)
    named = [f"{shown(w.word)} ({counted(w.count, 'row')})" for w in unknown]
    example = ", ".join(
        f"{shown(w.word)}: {grade}" for w, grade in zip(unknown, (1, -1), strict=False)
    )
    return DatasetError(
        f"{where} is not a label that can be understood. Not known in this column: "
        f"{first_of(named, _LISTED)}. Say what each word means (in Python, labels={{{example}}}: "
        "relevant above 0, not relevant from 0 down, None for not judged), use numbers, or choose "
        "another column as the label, or none."
    )


def _rank(word: LabelWord) -> float:
    """Highest grades first, then what is not judged, then what is not known."""
    if word.grade is None:
        return np.inf
    return 1e308 if np.isnan(word.grade) else -word.grade


def _word_and_grade(word: LabelWord) -> str:
    name = cut(word.word, 40)
    grade = word.grade
    return f"{name} = " + ("not judged" if grade is None or np.isnan(grade) else f"{grade:g}")


def is_label_name(name: str) -> bool:
    """Whether a column is named like a judgment."""
    return normalized(name) in _LABEL_NAMES


def normalized(name: str) -> str:
    """A column name in lower case with single underscores."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def words_of(name: str) -> frozenset[str]:
    """The words of a column name, numbers apart from letters."""
    return frozenset(re.findall(r"[a-z]+|\d+", normalized(name)))


def side_of(name: str) -> str:
    """The side that a column name speaks of: x, y, or neither."""
    words = words_of(name)
    x, y = bool(words & X_WORDS), bool(words & Y_WORDS)
    return "" if x == y else "x" if x else "y"


def _pick_label(
    table: Table, free: Sequence[str], ids: Sequence[str], n_columns: int, labels: Labels
) -> Pick:
    """The column that judges the pairs: by words that are given, its name, or its cells."""
    if n_columns < 3:
        return _NO_COLUMN
    listed = {spelled(str(word)) for word in labels}
    fit = [c for c in free if c not in table.vectors and _leaves_two_sides(table, free, ids, c)]
    for column in fit if listed else ():
        words = {spelled(cell) for cell in table.factorize(column)[2]}
        if listed & words and _is_label(table, column, labels):
            return column, "its words are those of the labels that were given"
    for column in (c for c in free if is_label_name(c) and c not in table.vectors):
        if _is_label(table, column, labels) or (column in fit and _has_few_words(table, column)):
            return column, f"{shown(column)} is a usual name for a judgment"
    beside_texts = len(free) == 3 == n_columns
    numbers = [
        c
        for c in free
        if table.kinds[c] == "number"
        and normalized(c) not in GROUP_NAMES
        and not words_of(c) & _COUNT_WORDS
    ]
    if len(numbers) == 1 and beside_texts:
        return numbers[0], "the only column of numbers beside two of text"
    flags = [c for c in numbers if c in fit and _is_flag(table, c)]
    if len(flags) == 1:
        return flags[0], "the only column of 0 and 1"
    for column in fit:
        known = known_words(table, column)
        if known and not side_of(column) and normalized(column) not in GROUP_NAMES:
            if beside_texts or not _COMMON.issuperset(w.word for w in known):
                return column, f"its cells are words such as {shown(known[0].word)}"
    return _NO_COLUMN


def known_words(table: Table, column: str, labels: Labels | None = None) -> tuple[LabelWord, ...]:
    """The words of a column that holds nothing but two or more words of known scales."""
    if table.kinds[column] != "text" or not len(table.uniques(column, _SPELLINGS)):
        return ()
    words = label_words(table, column, labels)
    grades = [w.grade for w in words if w.grade is not None]
    fit = len(words) == len(grades) > 1 and max(grades) > 0
    return words if fit and _n_known(table, column) == sum(w.count for w in words) else ()


def unread_notes(table: Table, taken: Collection[str]) -> list[Note]:
    r"""Say which columns may judge the pairs, where none was read as the label."""
    columns = [
        c
        for c in table.frame
        if c not in taken
        and table.kinds[c] in ("text", "number")
        and not words_of(c) & ID_WORDS
        and (is_label_name(c) or _has_few_words(table, c, 2))
    ]
    named = first_of([f"{shown(c)} ({_examples(table, c)})" for c in columns], 3)
    one = f"If column {named} holds judgments, choose it as the label."
    several = f"If columns {named} hold judgments, choose one as the label."
    text = f"Every row counts as a relevant pair. {one if len(columns) == 1 else several}"
    return [Note(text, "lost")] if columns else []


def _examples(table: Table, column: str) -> str:
    cells = [c.strip() for c in table.factorize(column)[2][:50] if not is_missing(c)]
    return ", ".join([*(shown(c, 20) for c in cells[:3]), *(["…"] if len(cells) > 3 else [])])


def _leaves_two_sides(table: Table, free: Sequence[str], ids: Sequence[str], column: str) -> bool:
    """Whether two sides are left if a column is the label: texts, or ids that name a side."""
    content = [c for c in free if c != column and table.kinds[c] in ("text", "vector")]
    sides = {side_of(c) or c for c in content} | {side_of(c) for c in ids if side_of(c)}
    return len(sides) > 1


def _is_label(table: Table, column: str, labels: Labels) -> bool:
    """Whether most cells can be labels; a stray word is reported later, with its row."""
    unknown = sum(
        w.count
        for w in label_words(table, column, labels)
        if w.grade is None and parse_number(w.word, True) is None
    )
    n_known = _n_known(table, column)
    return n_known > 0 and 2 * unknown <= n_known


def _is_flag(table: Table, column: str) -> bool:
    cells = table.uniques(column, 7)
    return {parse_number(c) for c in cells if not is_missing(c)} == {0.0, 1.0}


def _n_known(table: Table, column: str) -> int:
    return int((~table.where(column, is_missing)).sum())


def _has_few_words(table: Table, column: str, least: int = 1) -> bool:
    """Whether the cells of a column are few and short, and repeat."""
    cells = table.uniques(column, _SPELLINGS)
    if max(map(len, cells), default=2 * _SHORT + 1) > 2 * _SHORT:
        return False
    words = {spelled(c) for c in cells if not is_missing(c)}
    n = _n_known(table, column)
    is_few = least <= len(words) <= min(_FEW, max(3, n // 2)) and len(words) < n
    return is_few and max(map(len, words)) <= _SHORT


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    r"""Which column of a table plays which part.

    Parameters
    ----------
    x, y : str
        Columns with the text of the two sides.
    x_id, y_id : str, optional
        Columns that identify an item of a side; else its text does.
    label : str, optional
        Column with a grade, a score, or a word; without one, every row is a pair
        that belongs together.
    split : str, optional
        Column that says train, validation or test.
    group : str, optional
        Column whose equal values must stay in one part of a split.
    x_metadata, y_metadata : tuple of str
        Columns that describe an item of that side.
    ignored : tuple of str
        Columns to leave alone; others describe the side whose item they follow from.
    label_kind : {"grade", "score"}, optional
        What the label is; guessed from its values when omitted.
    unjudged : {"negative", "ignore"}, optional
        What a pair that is not listed means; guessed when omitted.
    shape : {"pairs", "groups", "triplets"}, default="pairs"
        Whether a row says how far two items belong together, that `x` stands in
        the group `y`, or that `y` belongs to `x` and `negatives` do not.
    negatives : tuple of str
        Of triplets, the columns with what does not belong.
    threshold : float, optional
        From which score on a pair is relevant; the middle when omitted.
    labels : mapping of str to float or None
        What words in the label column mean: a grade (0 or below: not relevant), or
        None for not judged. Those of the usual scales are known.
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
        for name in sorted(self.used() - {*table.frame}):
            raise DatasetError(
                f"{table.name} has no column {shown(name)}. {did_you_mean(name, table.frame)}"
            )
        if self.labels and self.label is None:
            raise DatasetError(
                f"{table.name}: labels says what words mean, but no column is read as the label. "
                f"Name it in roles. There is {', '.join(map(shown, table.frame))}."
            )
        parts = {role: getattr(self, role) for role in ("x", "y", "label", "split", "group")}
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


def guess_roles(table: Table, labels: Labels | None = None) -> ColumnRoles:
    r"""Guess which column is which from names first, values and order second.

    Parameters
    ----------
    table : Table
        At least two columns.
    labels : mapping of str to float or None, optional
        What words mean; a column that holds them is the label.

    Returns
    -------
    ColumnRoles
        With a reason for each guess; correct it with `dataclasses.replace`.

    Examples
    --------
    >>> from simviz.data.tables import read_table
    >>> table = read_table(b"title\tgroup_id\tgroup_name\nnurse\t7\tcare\n", "t.tsv")
    >>> roles = guess_roles(table)
    >>> roles.x, roles.y, roles.y_id, roles.reasons["x"]
    ('title', 'group_name', 'group_id', 'the first column with text')
    """
    names = list(table.frame)
    if names[0] == "x_id" and parse_header(names) is not None:
        own = ((name, "the header that simviz writes") for name in names)
        return _roles(
            dict(zip(("x_id", "x", "y_id", "y", "label"), own, strict=False)),
            x_metadata=tuple(c for c in names[5:] if c.startswith("x.")),
            y_metadata=tuple(c for c in names[5:] if c.startswith("y.")),
        )
    triplets = _triplets(table, names)
    if triplets is not None:
        return triplets
    ids = [c for c in names if words_of(c) & ID_WORDS and c not in table.vectors]
    free = [c for c in names if c not in ids]
    split = _pick_split(table, free)
    free = [c for c in free if c != split[0]]
    label = _pick_label(table, free, ids, len(names) - (split[0] is not None), labels or {})
    free = [c for c in free if c != label[0]]
    x, y = _pick_sides(table, free, ids)
    rest = [c for c in free if c not in (x[0], y[0])]
    x_id, y_id = _pick_ids(ids, x[0], y[0])
    groups = ((c, f"{shown(c)} is a usual name for a group") for c in rest)
    group = next((pick for pick in groups if normalized(pick[0]) in GROUP_NAMES), _NO_COLUMN)
    described = [c for c in rest if c != group[0]]
    picked = {"split": split, "label": label, "x": x, "y": y, "x_id": x_id, "y_id": y_id}
    return _roles(
        picked | {"group": group, "shape": _pick_shape(table, x[0], y[0], label[0])},
        x_metadata=tuple(c for c in described if side_of(c) == "x"),
        y_metadata=tuple(c for c in described if side_of(c) == "y"),
        labels=labels or {},
    )


def _roles(picked: Mapping[str, Pick], **others: Any) -> ColumnRoles:
    """Roles of what was picked, with the reasons."""
    reasons = {role: why for role, (_, why) in picked.items() if why}
    picks: dict[str, Any] = {role: pick for role, (pick, _) in picked.items()}
    return ColumnRoles(**picks, **others, reasons=reasons)


def named_roles(
    table: Table, columns: Mapping[str, str], labels: Labels | None = None
) -> ColumnRoles:
    """Roles of which some are given as columns, the others guessed."""
    guess, taken = guess_roles(table, labels), set(columns.values())
    x, y = columns.get("x"), columns.get("y")
    x = x or next(c for c in (guess.x, guess.y, *table.frame) if c not in taken)
    y = y or next(c for c in (guess.y, guess.x, *table.frame) if c not in {*taken, x})
    roles: dict[str, str | None] = {"x": x, "y": y}
    for role in ("x_id", "y_id", "label", "split", "group"):
        side = role[0] if role.endswith("_id") else ""
        is_fit = not side or roles[side] == getattr(guess, side)
        guessed = getattr(guess, role) if is_fit else None
        roles[role] = columns.get(role, None if guessed in {*taken, x, y} else guessed)
    taken |= {column for column in roles.values() if column}
    rest = {
        name: tuple(c for c in getattr(guess, name) if c not in taken)
        for name in ("x_metadata", "y_metadata", "negatives")
    }
    is_same = (x, y) == (guess.x, guess.y) and roles["label"] is None
    is_same &= guess.shape != "triplets" or bool(rest["negatives"])
    shape: Shape = guess.shape if is_same else "pairs"
    reasons = {**guess.reasons, **dict.fromkeys(columns, "given")}
    return replace(guess, **roles, **rest, shape=shape, reasons=reasons)  # type: ignore[arg-type]


def _triplets(table: Table, names: list[str]) -> ColumnRoles | None:
    """An anchor, what belongs to it, and one or more columns of what does not."""
    content = [c for c in names if table.kinds[c] in ("text", "vector")]
    negatives = tuple(c for c in content if words_of(c) & _NEGATIVE_WORDS)
    others = [c for c in content if c not in negatives and not words_of(c) & ID_WORDS]
    if not negatives or len(others) < 2:
        return None
    y = next((c for c in others if words_of(c) & _POSITIVE_WORDS), others[1])
    x = next(c for c in others if c != y)
    free = [c for c in names if c not in (x, y, *negatives)]
    picked: dict[str, Pick] = {
        "shape": ("triplets", f"{shown(negatives[0])} says what does not belong"),
        "x": (x, "the anchor of a triplet"),
        "y": (y, "what belongs to the anchor"),
        "split": _pick_split(table, free),
    }
    return _roles(picked, negatives=negatives)


def _pick_shape(table: Table, x: str, y: str, label: str | None) -> tuple[Shape, str]:
    """Groups, where the only partner of a text is the number or key of its group."""
    is_key = table.kinds[y] == "number" or bool(words_of(y) & {"id", "cluster"})
    if label is not None or normalized(y) not in GROUP_NAMES or not is_key:
        return "pairs", ""
    if len(table.factorize(y)[2]) == len(table) or table.kinds[x] == "empty":
        return "pairs", ""
    return "groups", f"{shown(y)} is a usual name for the key of a group, and repeats"


def _pick_split(table: Table, free: Collection[str]) -> Pick:
    """The column whose cells all say train, validation or test."""
    for column in free:
        words = table.uniques(column, 2 * len(SPLIT_WORDS))
        cells = {c.strip().lower() for c in words} - {""}
        named = normalized(column) in _SPLIT_NAMES
        if cells and cells <= set(SPLIT_WORDS) and (named or len(cells) > 1):
            return column, "all its cells say train, validation or test"
    return _NO_COLUMN


def _pick_sides(table: Table, free: list[str], ids: list[str]) -> list[tuple[str, str]]:
    """Text of the two sides: by name, else by order, else the ids themselves."""
    picked: dict[str, tuple[str, str]] = {}
    for side, words in (("x", X_WORDS), ("y", Y_WORDS)):
        named = [c for c in free if side_of(c) == side]
        if named:
            column = max(named, key=lambda c: _text_rank(table, c))
            picked[side] = column, f"{shown(min(words_of(column) & words))} in its name"
    for side in sorted({"x", "y"} - picked.keys()):
        taken = [column for column, _ in picked.values()]
        left = [c for c in free if c not in taken and side_of(c) == ""]
        left = [c for c in left if normalized(c) not in GROUP_NAMES] or left
        text = [c for c in left if table.kinds[c] == "text"]
        # A column that never changes, such as a language, tells no items apart.
        text = [c for c in text if len(set(table[c][:1000])) > 1] or text
        # Nor is one of numbers a text where a last line says "total".
        text = [c for c in text if not _is_mostly_numbers(table, c)] or text
        text = text or [c for c in left if table.kinds[c] == "vector"]
        of_side = [c for c in ids if side_of(c) == side]
        other_ids = of_side or [c for c in ids if c not in taken and side_of(c) == ""]
        others = [c for c in (*free, *ids) if c not in taken]
        column = (text or other_ids or left or others)[0]
        if text:
            what = "vectors" if column in table.vectors else "text"
            why = f"the {'first' if side == 'x' else 'next'} column with {what}"
        elif column in ids:
            why = "nothing but an id is given for this side"
        else:
            why = "the next column"
        picked[side] = column, why
    return [picked["x"], picked["y"]]


def _is_mostly_numbers(table: Table, column: str) -> bool:
    cells = [c for c in table[column][:1000] if not is_missing(c)]
    return 2 * sum(parse_number(c, True) is not None for c in cells) > len(cells)


def _pick_ids(ids: list[str], x: str, y: str) -> list[Pick]:
    """Id columns by the side in their name, or by a word shared with the text column."""
    picked: list[Pick] = []
    for side, text in (("x", x), ("y", y)):
        stem = words_of(text) - _TEXT_WORDS - {"name", "title"}
        free = [c for c in ids if c not in [column for column, _ in picked]]
        fit = [c for c in free if c == text or side_of(c) == side or words_of(c) & stem]
        picked.append((fit[0], f"named as an id of {shown(text)}") if fit else _NO_COLUMN)
    return picked


def _text_rank(table: Table, column: str) -> tuple[bool, bool, bool, float]:
    """How much a column looks like the text of an item."""
    cells = table[column][:1000]
    length = float(np.mean([len(c) for c in cells]))
    words = words_of(column)
    return table.kinds[column] == "text", bool(words & _TEXT_WORDS), len(words) == 1, length
