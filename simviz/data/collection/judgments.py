"""Judgments between items that are known by their ids."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import PurePosixPath

import numpy as np

from simviz._types import Index, Ints, Reals
from simviz.data.cells import Codes, Note, counted, parse_number, shown
from simviz.data.pairs_from_tables import judged_rows
from simviz.data.roles import ColumnRoles, Labels, is_label_name, known_words, unread_notes
from simviz.data.sources import decode_text, signature
from simviz.data.tables import Record, Table, make_table, read_table
from simviz.exceptions import DatasetError
from simviz.relevance import Kind

_TAG = re.compile(r"<[^<>]{0,200}>")
_BEGINS = re.compile(
    r"(?is)\s*(?:<\?xml[^>]*>\s*)?(?:(?:<\w+>\s*)?<(doc)\b|(?:<topics[^>]*>\s*)?<(top))"
)
_DOC = re.compile(r"(?is)<doc\b([^>]*)>(.*?)</doc>")
_DOCNO = re.compile(r"(?is)<docno>(.*?)</docno>")
_TOP = re.compile(r"(?is)<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?>")
_NUM = re.compile(r"(?is)<num(?:ber)?>\s*(?:number:?)?\s*([^<\s]+)")
_NUMBER = re.compile(r"""(?i)\bnumber\s*=\s*["']?([^"'\s>]+)""")
_FIELD = re.compile(r"(?is)<(title|query|desc(?:ription)?|narr(?:ative)?)>([^<]*)")
#: The second word of TREC's lines, as most programs write it.
_MARKS = ("0", "Q0", "q0")


def read_marked(name: str, text: str, notes: list[Note]) -> Table | None:
    r"""Ids and texts of documents or topics as TREC marks them up; None of any other text."""
    begins = _BEGINS.match(text[:2000])
    if begins is None:
        return None
    keys, texts, lines, line, before = list[str](), list[str](), list[int](), 1, 0
    is_topics = begins.lastindex == 2
    what, mark = ("topic", "num") if is_topics else ("document", "DOCNO")
    for match in (_TOP if is_topics else _DOC).finditer(text):
        attributes, body = match.groups()
        line, before = line + text.count("\n", before, match.start()), match.start()
        lines.append(line)
        number = (
            _NUM.search(body) or _NUMBER.search(attributes) if is_topics else _DOCNO.search(body)
        )
        if number is None:
            raise DatasetError(f"{name}, line {line}: a {what} has no <{mark}>. Give it one.")
        keys.append(number.group(1).strip())
        if not is_topics:
            texts.append(_plain(body.replace(number.group(), " ")))
            continue
        fields = {kind.lower()[:4]: _plain(value) for kind, value in _FIELD.findall(body)}
        title = fields.get("titl") or fields.get("quer") or fields.get("desc") or ""
        title = re.sub(r"(?i)^(topic|description):\s*", "", title)
        if not title:
            where = f"{name}, line {line}: topic {shown(keys[-1])}"
            raise DatasetError(f"{where} has no title, query or description.")
        texts.append(title)
    if not lines:
        ends = "<top> and </top>" if is_topics else "<DOC> and </DOC>"
        raise DatasetError(f"{name} holds no {what} between {ends}.")
    return make_table(name, ({"id": keys, "text": texts}, lines, notes), "line")


def looks_like_qrels(text: str) -> bool:
    r"""Whether the first line is a judgment: query, iteration, document, grade."""
    fields = text.lstrip().split("\n", 1)[0].split()
    return len(fields) == 4 and (fields[1] in _MARKS or parse_number(fields[3]) is not None)


def looks_like_run(text: str) -> bool:
    """Whether the first line is an answer: query, Q0, document, rank, score, name."""
    fields = text.lstrip().split("\n", 1)[0].split()
    if len(fields) not in (5, 6):
        return False
    return fields[1] in _MARKS or None not in map(parse_number, fields[3:5])


def finite(word: str, what: str, place: str) -> float:
    """A number in a file, refused where it is none, NaN or infinite."""
    value = parse_number(word)
    if value is None or not np.isfinite(value):
        raise DatasetError(
            f"{place}: the {what} {shown(word)} is no finite number. Write a decimal number, such "
            "as 12.5 or 1e-3."
        )
    return value


def merge_repeated(
    pair: Ints, values: Reals, what: str, name: str, place: Callable[[int], str]
) -> tuple[Index | slice, str]:
    """Lines to keep where some repeat a pair of query and document, and what to say of it."""
    # trec_eval refuses every repeated line: a document that is listed twice would count twice.
    ordered = np.sort(pair)  # takes a third of the time of argsort
    if (ordered[1:] != ordered[:-1]).all():
        return slice(None), ""
    order = np.argsort(pair, kind="stable")
    repeats = np.flatnonzero(pair[order[1:]] == pair[order[:-1]]) + 1
    former, later = order[repeats - 1], order[repeats]
    if (clash := values[former] != values[later]).any():
        at = np.argmin(np.where(clash, later, len(pair)))
        a, b = int(former[at]), int(later[at])
        raise DatasetError(
            f"{place(b)}: the {what} is {values[b]:.10g}, but {values[a]:.10g} for the same query "
            f"and document in {place(a).removeprefix(name).lstrip(', ')}. Keep one of the two."
        )
    is_kept = np.ones(len(pair), dtype=bool)
    is_kept[later] = False
    sentence = counted(len(repeats), "line repeats another", "lines repeat others")
    return np.flatnonzero(is_kept), f"{name}: {sentence}; each counts once."


def iter_fields(name: str, text: str, n: tuple[int, ...], what: str) -> Iterator[Record]:
    """Lines of words between white space, each with its number."""
    for line, raw in enumerate(text.split("\n"), start=1):
        fields = raw.split()
        if fields and len(fields) not in n:
            raise DatasetError(
                f"{name}, line {line} has {len(fields)} words ({shown(raw.strip())}); {what} has "
                f"{' or '.join(map(str, n))}, with white space between them."
            )
        if fields:
            yield line, fields


def _plain(marked: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", marked)).split())


RowOf = Mapping[str, int]
_COLUMNS = ("query", "iteration", "document", "grade")
RUN_COLUMNS = ("query", "Q0", "document", "rank", "score", "run")


@dataclass(slots=True)
class Judgments:
    """Pairs of positions with their values."""

    x: Codes
    y: Codes
    values: Reals | None
    kind: Kind
    table: Table
    roles: ColumnRoles
    notes: list[Note]


def read_judgments(
    path: str,
    data: bytes,
    x: RowOf,
    y: RowOf,
    threshold: float | None = None,
    labels: Labels | None = None,
    label: str | None = None,
) -> Judgments:
    """Read a list of judgments: TREC's qrels, or a table with two columns of ids."""
    table = read_judgment_table(path, data, x)
    is_trec = tuple(table.frame) == _COLUMNS
    x_column, y_column = id_columns(table, x, y, ("query", "document") if is_trec else ())
    free = [c for c in table.frame if c not in (x_column, y_column, "iteration")]
    labels = labels or {}
    label = _label_column(table, free, labels) if label is None else label or None
    if label is not None and label not in free:
        raise DatasetError(f"{table.name}: column {shown(label)} cannot be the label.")
    x_at, y_at = (positions(table, c, index) for c, index in ((x_column, x), (y_column, y)))
    known = (x_at >= 0) & (y_at >= 0)
    rows, others = np.flatnonzero(known), np.flatnonzero(~known)
    notes = list(table.notes)
    if len(others):
        reasons = [f"no {'x' if x_at[row] < 0 else 'y'} item has that id" for row in others]
        message = (
            f"{counted(len(others), 'row')} of {table.name} left out: they name items that are "
            f"not there ({table.named(others)})."
        )
        notes.append(Note(message, "lost", table.rows[others], reasons=reasons))
    if not len(rows):
        raise DatasetError(
            f"{table.name}: no row names an item of both sides ({table.place(0)}: "
            f"{shown(table[x_column][0])}, {shown(table[y_column][0])}). The "
            "ids must be those of the item files."
        )
    roles = ColumnRoles(
        x=x_column,
        y=y_column,
        label=label,
        threshold=threshold,
        labels=labels,
        reasons={side: f"its cells are ids of {side} items" for side in "xy"},
    )
    if label is None:
        notes += unread_notes(table, [c for c in table.frame if c not in free])
    rows, values, kind, more, unjudged = judged_rows(table, roles, rows)
    notes += more + unjudged
    return Judgments(x_at[rows], y_at[rows], values, kind, table, roles, notes)


def read_judgment_table(path: str, data: bytes, x: RowOf) -> Table:
    """A file of judgments as a table, with a header or without."""
    name = PurePosixPath(path).name
    if signature(data) is None:
        text, notes = decode_text(name, data)
        if looks_like_qrels(text):
            records = [*iter_fields(name, text, (4,), "a judgment")]
            return table_of_records(name, _COLUMNS, records, notes)
    table = read_table(data, name)
    if table.delimiter and next(iter(table.frame)) in x:
        return read_table(data, name, header=False)
    return table


def read_run_lines(name: str, text: str, notes: list[Note]) -> Table:
    """A TREC run as a table; every score is a finite number."""
    records = []
    for line, fields in iter_fields(name, text, (5, 6), "a line of a run"):
        finite(fields[4], "score", f"{name}, line {line}")
        records.append((line, [*fields, ""][:6]))
    return table_of_records(name, RUN_COLUMNS, records, notes)


def score_column(table: Table, free: Sequence[str]) -> str | None:
    """The column that is named like a judgment, else the first one of numbers."""
    numbers = (c for c in free if table.kinds[c] == "number")
    return next(iter([*filter(is_label_name, free), *numbers]), None)


def table_of_records(
    name: str, columns: Sequence[str], records: Sequence[Record], notes: list[Note]
) -> Table:
    """Lines of words as a table."""
    lines, cells = zip(*records, strict=True)
    content = dict(zip(columns, map(list, zip(*cells, strict=True)), strict=True))
    return make_table(name, (content, lines, notes), "line")


def positions(table: Table, column: str, index: RowOf) -> Codes:
    """Position of the item that each cell names."""
    codes, _, words = table.factorize(column)
    return np.array([index.get(word.strip(), -1) for word in words], dtype=np.intp)[codes]


def id_columns(table: Table, x: RowOf, y: RowOf, among: Sequence[str] = ()) -> tuple[str, str]:
    """The columns whose cells are ids of a side."""
    columns = [c for c in among or table.frame if c not in table.vectors]
    # Grades are small numbers, as are many ids.
    others = [c for c in columns if not is_label_name(c)]
    columns = others if len(others) > 1 else columns
    shares = {
        side: {c: float((positions(table, c, index) >= 0).mean()) for c in columns}
        for side, index in (("x", x), ("y", y))
    }

    def rank(pair: tuple[str, str]) -> tuple[float, float, int]:
        a, b = shares["x"][pair[0]], shares["y"][pair[1]]
        return round(min(a, b), 3), round(a + b, 3), -columns.index(pair[0])

    return max(permutations(columns, 2), key=rank)


def _label_column(table: Table, free: Sequence[str], labels: Labels) -> str | None:
    """A column named like a judgment, else the only one with numbers, else one with words."""
    named = [c for c in free if is_label_name(c) and c not in table.vectors]
    numbers = [c for c in free if table.kinds[c] == "number"]
    if named or len(numbers) == 1:
        return (named or numbers)[0]
    return next((c for c in free if known_words(table, c, labels)), None)
