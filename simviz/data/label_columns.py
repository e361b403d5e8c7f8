"""Which column of a table judges the pairs, and which may."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from simviz.data.cells import is_missing, parse_number
from simviz.data.headers import GROUP_NAMES, ID_WORDS, is_label_name, plain, side_of, words_of
from simviz.data.labels import Labels, LabelWord, label_words
from simviz.data.scales import speak_of_pairs, spelled
from simviz.data.tables import Table
from simviz.data.wording import shown

#: A label has few words, and short ones.
_FEW = 20
_SHORT = 40
# Distinct cells, in any spelling, of a column that is looked at for words.
_SPELLINGS = 200


def pick_label(
    table: Table,
    free: Sequence[str],
    ids: Sequence[str],
    n_columns: int,
    labels: Labels,
    reasons: dict[str, str],
) -> str | None:
    """The column that judges the pairs: by words that are given, its name, or its cells.

    Parameters
    ----------
    table : Table
        The file.
    free, ids : sequence of str
        Columns to choose from, and those that identify items.
    n_columns : int
        How many there are, a split aside; two are the two sides.
    labels : mapping of str to float or None
        What words mean.
    reasons : dict of str to str
        Gets the reason under "label".

    Returns
    -------
    str or None
        Also a column whose words are not understood, where its name says
        that it judges and its words are few.
    """
    if n_columns < 3:
        return None
    given = {spelled(str(word)) for word in labels}
    fit = [c for c in free if c not in table.vectors and _leaves_two_sides(table, free, ids, c)]
    for column in fit if given else ():
        if given & _words(table, column) and _understood(table, column, labels):
            reasons["label"] = "its words are those of the labels that were given"
            return column
    named = [c for c in free if is_label_name(c) and c not in table.vectors]
    for column in named:
        if _understood(table, column, labels) or (column in fit and _has_few_words(table, column)):
            reasons["label"] = f"{shown(column)} is a usual name for a judgment"
            return column
    beside_texts = len(free) == 3 == n_columns
    numbers = [c for c in free if table.kinds[c] == "number" and plain(c) not in GROUP_NAMES]
    if len(numbers) == 1 and beside_texts:
        reasons["label"] = "the only column of numbers beside two of text"
        return numbers[0]
    for column in fit:
        words = known_words(table, column)
        if side_of(column) or plain(column) in GROUP_NAMES or not words:
            continue
        if beside_texts or speak_of_pairs([w.word for w in words]):
            reasons["label"] = f"its cells are words such as {shown(words[0].word)}"
            return column
    return None


def known_words(table: Table, column: str, labels: Labels | None = None) -> tuple[LabelWord, ...]:
    """The words of a column that holds nothing but two or more words of known scales.

    Parameters
    ----------
    table : Table
        The file.
    column : str
        One of its columns.
    labels : mapping of str to float or None, optional
        What words mean, before what is known of them.

    Returns
    -------
    tuple of LabelWord
        Empty where it holds anything else, or nothing relevant.
    """
    if table.kinds[column] != "text" or len(table.coded(column).words) > _SPELLINGS:
        return ()
    words = label_words(table, column, labels)
    grades = [w.grade for w in words if w.grade is not None]
    fit = len(words) == len(grades) > 1 and max(grades) > 0
    return words if fit and _n_known(table, column) == sum(w.count for w in words) else ()


def said_of_unread(table: Table, taken: Collection[str]) -> list[str]:
    r"""Say which columns may judge the pairs, where none was read as the label.

    Parameters
    ----------
    table : Table
        The file.
    taken : collection of str
        Columns that play another part.

    Returns
    -------
    list of str
        One sentence, or none.

    Examples
    --------
    >>> from simviz.data.tables import read_table
    >>> rows = b"x,y,verdict\na,b,fits\nc,d,fits\ne,f,hm\n"
    >>> said_of_unread(read_table(rows, "q.csv"), ["x", "y"])[0][50:]
    "though column 'verdict' ('fits', 'hm') may judge them. If so, choose it as the label."
    """
    found = [
        c
        for c in table.columns
        if c not in taken
        and table.kinds[c] in ("text", "number")
        and not words_of(c) & ID_WORDS
        and (is_label_name(c) or _has_few_words(table, c, 2))
    ]
    if not found:
        return []
    named = [f"{shown(c)} ({_examples(table, c)})" for c in found[:3]]
    more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
    one = len(found) == 1
    return [
        f"Every row counts as a pair that belongs together, though column{'' if one else 's'} "
        f"{', '.join(named)}{more} may judge them. If so, choose {'it' if one else 'one'} as the "
        "label."
    ]


def _examples(table: Table, column: str) -> str:
    cells = [c.strip() for c in table.coded(column).words[:50] if not is_missing(c)]
    return ", ".join([*(shown(c, 20) for c in cells[:3]), *(["…"] if len(cells) > 3 else [])])


def _leaves_two_sides(table: Table, free: Sequence[str], ids: Sequence[str], column: str) -> bool:
    """Whether two sides are left if a column is the label: texts, or ids that name a side."""
    content = [c for c in free if c != column and table.kinds[c] in ("text", "vector")]
    sides = {side_of(c) or c for c in content} | {side_of(c) for c in ids if side_of(c)}
    return len(sides) > 1


def _understood(table: Table, column: str, labels: Labels) -> bool:
    """Whether most cells can be labels; a stray word is reported later, with its row."""
    unknown = sum(
        w.count
        for w in label_words(table, column, labels)
        if w.grade is None and parse_number(w.word, True) is None
    )
    n_known = _n_known(table, column)
    return n_known > 0 and 2 * unknown <= n_known


def _n_known(table: Table, column: str) -> int:
    """In how many rows there is something."""
    coded = table.coded(column)
    known = np.array([not is_missing(c) for c in coded.words], dtype=bool)
    return int(coded.counts[known].sum())


def _words(table: Table, column: str) -> set[str]:
    return {spelled(c) for c in table.coded(column).words}


def _has_few_words(table: Table, column: str, least: int = 1) -> bool:
    """Whether the cells of a column are few and short, and repeat."""
    cells = table.coded(column).words
    if len(cells) > _SPELLINGS or max(map(len, cells)) > 2 * _SHORT:
        return False
    words = {spelled(c) for c in cells if not is_missing(c)}
    n = _n_known(table, column)
    is_few = least <= len(words) <= min(_FEW, max(3, n // 2)) and len(words) < n
    return is_few and max(map(len, words)) <= _SHORT
