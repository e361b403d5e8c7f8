"""The items of one side, from whatever file holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import as_cells, counted, is_missing, shown
from simviz.data.collection import judgments
from simviz.data.collection.files import ENDINGS, TABLE_ENDINGS, Files, Plan, read_matrices
from simviz.data.images import ImageError, assemble, keys_of, make_sprite
from simviz.data.items import ItemKind, Items
from simviz.data.limits import get_limits
from simviz.data.metadata import typed
from simviz.data.readers import ReadResult
from simviz.data.sources import decode_text, signature
from simviz.data.tables import Table, read_table
from simviz.exceptions import DatasetError

_ID_NAMES = ("id", "_id", "docid", "docno", "doc_id", "document_id", "qid", "query_id", "x_id")
_TEXT_NAMES = ("text", "contents", "content", "body", "title", "query", "question", "name")


@dataclass(slots=True)
class Side:
    """Items without their partners."""

    ids: Sequence[str]
    content: Any
    kind: ItemKind
    metadata: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def items(self) -> Items:
        """As the side of a pair set."""
        return Items(self.ids, self.content, self.kind, self.metadata)


def read_side(path: str, data: bytes, ids: Sequence[str] | None = None) -> Side:
    """Read the items of one side."""
    name = PurePosixPath(path).name
    if PurePosixPath(path).suffix.lower() in ENDINGS or data.startswith(b"\x93NUMPY"):
        return side_of_matrix(name, _only(name, read_matrices(name, data)), ids)
    if signature(data) is None:
        text, notes = decode_text(name, data)
        if judgments.looks_like_documents(text):
            return _of_rows(name, judgments.read_documents(name, text), notes)
        if judgments.looks_like_topics(text):
            return _of_rows(name, judgments.read_topics(name, text), notes)
        if _is_plain(name, text):
            return _of_lines(name, text, notes)
    return side_of_table(_table(name, data))


def side_of_matrix(name: str, matrix: Any, ids: Sequence[str] | None) -> Side:
    """Vectors under their ids."""
    n = matrix.shape[0]
    if ids is not None and len(ids) != n:
        raise DatasetError(
            f"{name} has {n:,} rows, but {len(ids):,} ids are given. Write one id a row."
        )
    notes = [f"{name}: {n:,} vectors of {matrix.shape[1]:,} numbers."]
    return Side([str(i) for i in range(n)] if ids is None else ids, matrix, "vector", {}, notes)


def side_of_table(table: Table) -> Side:
    """Items from a table with a column of ids and one of texts or vectors."""
    id_column = _id_column(table)
    free = [c for c in table.columns if c != id_column]
    texts = [c for c in free if table.kinds[c] in ("text", "number")]
    named = [c for n in _TEXT_NAMES for c in texts if c.lower() == n]
    worded = [c for c in texts if table.kinds[c] == "text"]
    column = next(iter([*named, *sorted(worded, key=lambda c: -_length(table, c))]), None)
    if column is None:
        if not table.vectors:
            raise DatasetError(
                f"{table.name} has no column with text or vectors beside the id "
                f"({', '.join(shown(c) for c in table.columns)}). Name it 'text'."
            )
        return _vectors_of_table(table, id_column)
    cells = table.columns[column]
    title = next((c for c in worded if c.lower() == "title" and c != column), None)
    used = {id_column, column}
    if id_column == "_id" and title is not None:
        # BEIR keeps the title apart from the text and searches both.
        cells = as_cells([f"{t} {c}" for t, c in zip(table.columns[title], cells, strict=True)])
    rows = list(zip(table.columns[id_column], cells, strict=True))
    side, kept = _distinct(table.name, rows, table)
    said = f"{table.name}: ids in {shown(id_column)}, texts in {shown(column)}."
    side.notes = [*table.notes, said, *side.notes]
    for other in table.columns:
        if other not in used and other not in table.vectors and table.kinds[other] != "empty":
            side.metadata[other] = typed(table.columns[other][kept], False)
    return side


def read_ids(path: str, data: bytes) -> list[str]:
    """One id a line."""
    text, _ = decode_text(PurePosixPath(path).name, data)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _table(name: str, data: bytes) -> Table:
    table = read_table(data, name)
    first = next(iter(table.columns))
    # A list of ids and texts often has no header: its first line is an item.
    if table.delimiter and len(table.columns) == 2 and first.strip().isdecimal():
        return read_table(data, name, header=False)
    return table


def _only(name: str, matrices: Mapping[str, Any]) -> Any:
    if len(matrices) != 1:
        listed = ", ".join(map(shown, matrices)) or "none"
        raise DatasetError(
            f"{name} holds {len(matrices)} matrices ({listed}); one side needs one. Save it alone."
        )
    return next(iter(matrices.values()))


def _is_plain(name: str, text: str) -> bool:
    """Lines of text without columns, as sentence collections have them."""
    if PurePosixPath(name).suffix.lower() not in ("", ".txt") and not _is_language(name):
        return False
    head = text[:100_000].split("\n")[:200]
    return "\t" not in text[:100_000] and not all("|" in line for line in head if line.strip())


def _is_language(name: str) -> bool:
    ending = PurePosixPath(name).suffix[1:]
    return len(ending) == 2 and ending.isalpha() and ending.islower()


def _of_lines(name: str, text: str, notes: list[str]) -> Side:
    """One item a line, its id the number of the line, so that gaps stay gaps."""
    rows = [(str(i), line.strip()) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not rows:
        raise DatasetError(f"{name} holds only blank lines. Export it again.")
    if len(rows) > get_limits().rows:
        raise DatasetError(f"{name} has {len(rows):,} lines; the limit is {get_limits().rows:,}.")
    side = Side([r[0] for r in rows], as_cells([r[1] for r in rows]), "text")
    side.notes = [*notes, f"{name}: {counted(len(rows), 'line')}, one item each."]
    return side


def _of_rows(name: str, rows: judgments.Rows, notes: list[str]) -> Side:
    side, _ = _distinct(name, rows, None)
    side.notes = [*notes, *side.notes]
    return side


def _distinct(
    name: str, rows: Sequence[tuple[str, str]], table: Table | None
) -> tuple[Side, NDArray[np.intp]]:
    """Items by id in order; an id may come again with the same text only."""
    seen: dict[str, str] = {}
    kept: list[int] = []
    empty: list[int] = []
    for i, (raw, cell) in enumerate(rows):
        key, text = raw.strip(), cell.strip()
        if not key or not text:
            empty.append(i)
        elif key not in seen:
            seen[key] = text
            kept.append(i)
        elif seen[key] != text:
            where = name if table is None else table.place(i)
            raise DatasetError(
                f"{where}: id {shown(key)} stands for {shown(text)} here and for "
                f"{shown(seen[key])} before. Give one of them another id."
            )
    if not kept:
        raise DatasetError(f"{name} holds no item with an id and a text.")
    notes = []
    if empty:
        where = "" if table is None else f" ({table.named(empty)})"
        notes.append(f"{name}: {counted(len(empty), 'item')} without id or text left out{where}.")
    # What is its own id is a keyword rather than a text.
    kind: ItemKind = "keyword" if all(k == v for k, v in seen.items()) else "text"
    side = Side(list(seen), as_cells(list(seen.values())), kind, {}, notes)
    return side, np.array(kept, dtype=np.intp)


def _vectors_of_table(table: Table, id_column: str) -> Side:
    column = next(iter(table.vectors))
    ids = [cell.strip() for cell in table.columns[id_column]]
    if len(set(ids)) < len(ids) or "" in ids:
        raise DatasetError(
            f"{table.name}: column {shown(id_column)} does not tell the vectors apart. Give every "
            "row an id of its own."
        )
    side = side_of_matrix(table.name, table.vectors[column], ids)
    for other in table.columns:
        if other != id_column and other not in table.vectors and table.kinds[other] != "empty":
            side.metadata[other] = typed(table.columns[other], False)
    return side


def _id_column(table: Table) -> str:
    """The column with ids: by its name, else the first that tells all rows apart."""
    for name in _ID_NAMES:
        for column in table.columns:
            if column.lower() == name and column not in table.vectors:
                return column
    for column in table.columns:
        if column not in table.vectors:
            factorized = table.factorize(column)
            known = [w for w in factorized.uniques if not is_missing(w)]
            if len(known) == len(table) and column.lower() not in _TEXT_NAMES:
                return column
    raise DatasetError(
        f"{table.name} has no column that tells its rows apart "
        f"({', '.join(shown(c) for c in table.columns)}). Name one 'id'."
    )


def _length(table: Table, column: str) -> float:
    factorized = table.factorize(column)
    sizes = np.fromiter(
        map(len, factorized.uniques), dtype=np.int64, count=len(factorized.uniques)
    )
    return float(sizes @ factorized.counts) / len(table)


def side_of_images(files: Files, paths: Sequence[str]) -> Side:
    """Images as the items of a side."""
    limit = get_limits().images
    if len(paths) > limit:
        raise DatasetError(
            f"{files.name} holds {len(paths):,} images; the limit is {limit:,}. Bring a sample."
        )
    sprites, refused = {}, []
    for path in paths:
        try:
            sprites[path] = make_sprite(files.read(path))
        except ImageError as error:
            refused.append(f"{shown(path)} {error}")
    if not sprites:
        raise DatasetError(f"{files.name}: no image can be used. {', '.join(refused[:5])}.")
    notes = [f"{counted(len(sprites), 'image')}, each made 64 × 64 pixels."]
    if refused:
        more = f", and {len(refused) - 5:,} more" if len(refused) > 5 else ""
        notes.append(f"{counted(len(refused), 'image')} left out: {', '.join(refused[:5])}{more}.")
    names = {alias: path for alias, path in keys_of(sprites).items() if path is not None}
    # Judgments are compared with capitals as they are, so both forms are known.
    names |= {PurePosixPath(p).name: p for p in sprites if names.get(_folded(p)) == p}
    names |= {PurePosixPath(p).stem: p for p in sprites if names.get(_folded_stem(p)) == p}
    return Side(list(sprites), np.stack(list(sprites.values())), "image", {}, notes, names)


def read_picture_files(files: Files, plan: Plan, title: str) -> ReadResult:
    """Images with a table of keywords or captions, else with folders as keywords."""
    candidates = [*plan.relevance, *plan.about, *plan.left_over, *(p for p in (plan.x,) if p)]
    tables = [
        p
        for p in dict.fromkeys(candidates)
        if PurePosixPath(p).suffix.lower() in TABLE_ENDINGS and "readme" not in p.lower()
    ]
    if len(tables) > 1:
        listed = ", ".join(map(shown, tables[:4]))
        raise DatasetError(
            f"{files.name} holds several tables ({listed}). Keep one with the columns file and "
            "keywords."
        )
    if tables:
        table = read_table(files.read(tables[0]), PurePosixPath(tables[0]).name)
        notes: tuple[str, ...] = ()
    else:
        table, notes = _by_folder(files, plan.images)
    found = assemble(files.name, files.read, plan.images, table, title)
    return ReadResult(
        found.pairs, (*notes, *found.notes), found.left_out, found.table, found.roles
    )


def _by_folder(files: Files, paths: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    """A table of keywords from the names of the folders that images lie in."""
    folders = [PurePosixPath(path).parent.parts for path in paths]
    if not all(folders):
        raise DatasetError(
            f"{files.name} holds images but no table of keywords, and not every image lies in a "
            "folder. Add a CSV with the columns file and keywords, or put the images of a keyword "
            "into a folder of its name."
        )
    # A folder around all of them says nothing.
    depth = 0
    while len({f[: depth + 1] for f in folders}) == 1 and all(len(f) > depth + 1 for f in folders):
        depth += 1
    words = [f[depth].replace("_", " ").replace("-", " ").strip() or f[depth] for f in folders]
    table = Table(
        name=files.name,
        columns={"file": as_cells(list(paths)), "keyword": as_cells(words)},
        rows=np.arange(1, len(paths) + 1),
        unit="row",
    )
    said = f"The folders are the keywords: {', '.join(map(shown, sorted(set(words))[:8]))}."
    return table, (said,)


def _folded(path: str) -> str:
    return PurePosixPath(path).name.casefold()


def _folded_stem(path: str) -> str:
    return PurePosixPath(path).stem.casefold()
