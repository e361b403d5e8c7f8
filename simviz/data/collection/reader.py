"""Several files as one data set: whatever people keep pairs in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import Note, as_cells, counted, is_missing, shown
from simviz.data.collection.files import (
    ENDINGS,
    TABLE_ENDINGS,
    Files,
    Plan,
    Sources,
    open_files,
    plan_parts,
    read_matrices,
)
from simviz.data.collection.judgments import Judgments, positions, read_judgments, read_marked
from simviz.data.images import assemble, keys_of, make_sprites
from simviz.data.pairs import GROUP_SEPARATOR, ItemKind, Items, PairSet
from simviz.data.pairs_from_tables import ReadResult, read_pairs, typed
from simviz.data.roles import SPLIT_WORDS, ColumnRoles, Labels, is_label_name
from simviz.data.sources import decode_text, signature
from simviz.data.splitting import PARTS
from simviz.data.tables import Table, items_by_id, make_table, read_table
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance, Unjudged

_FILES, _COLUMNS = ("x", "y", "relevance"), ("x_id", "x_text", "y_id", "y_text", "label")
_ID_NAMES = ("id", "_id", "docid", "docno", "doc_id", "document_id", "qid", "query_id", "x_id")
_TEXT_NAMES = ("text", "contents", "content", "body", "title", "query", "question", "name")

RowOf = dict[str, int]


@dataclass(slots=True)
class ReadSide:
    """Items without their partners."""

    ids: Sequence[str]
    content: Any
    kind: ItemKind
    metadata: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    aliases: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def items(self) -> Items:
        """As the side of a pair set."""
        return Items(self.ids, self.content, self.kind, self.metadata)


def read_collection(
    source: str | Path | bytes | Sources,
    name: str | None = None,
    *,
    parts: Mapping[str, str] | None = None,
    labels: Labels | None = None,
    unjudged: Unjudged | None = None,
    threshold: float | None = None,
) -> ReadResult:
    r"""Read a data set that is spread over several files.

    Items of two sides with judgments: the layout of BEIR, TREC's documents,
    topics and qrels, and any files whose names say what they are (``x``,
    ``queries``, ...; ``y``, ``documents``, ...; ``relevance``, ``qrels``,
    ...). A side may be texts (a table, lines), vectors (.npy, .npz, .mtx,
    .svmlight, a column of lists) with ``ids.txt``, or images. Without
    judgments, items of equal ids belong together; with one side only, the
    judgments link its items. ``split``, ``folds`` and ``groups`` describe
    items. Images with a table of keywords, several in a cell separated by ``|``,
    ``;`` or ``,``, or in folders named after them, and a single table, are read,
    too.

    Parameters
    ----------
    source : str, Path, bytes or mapping
        A folder or zip by its path; the content of a zip; or file names to
        contents or paths, of which one may be a zip.
    name : str, optional
        Of the data set, where the source has none.
    parts : mapping of str to str, optional
        "x", "y" or "relevance" to a file, where names do not tell; "x_id", "x_text", "y_id",
        "y_text" or "label" to a column of theirs, "label" to "" for none.
    labels : mapping of str to float or None, optional
        What words in the label column of the judgments, or of the only
        table, mean; as in `read_pairs`.
    unjudged : {"negative", "ignore"}, optional
        What a pair that is not listed means; guessed when omitted.
    threshold : float, optional
        From which score on a pair is relevant.

    Returns
    -------
    ReadResult
        The pairs, and what was done to get them. Its table is that of the
        judgments, or a preview of the pairs where there are none.

    Raises
    ------
    DatasetError
        If a side or the judgments are missing, or a file cannot be read.

    Examples
    --------
    >>> files = {
    ...     "corpus.jsonl": b'{"_id": "d1", "title": "", "text": "blood pump"}\n',
    ...     "queries.jsonl": b'{"_id": "q1", "text": "heart"}\n',
    ...     "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t2\n",
    ... }
    >>> read_collection(files, "tiny").pairs
    PairSet('tiny': 1 queries × 1 corpus, 1 relevant)
    """
    files = open_files(source, name)
    title = PurePosixPath(name or files.name).stem or "collection"
    parts = parts or {}
    columns = {part: column for part, column in parts.items() if part in _COLUMNS}
    assigned = {part: path for part, path in parts.items() if part not in columns}
    plan = plan_parts(files.name, files.paths, assigned)
    if not parts and (guessed := _by_content(files, plan)):
        plan = plan_parts(files.name, files.paths, guessed)
    alone = _only_table(files, plan)
    if alone is not None:
        single = read_pairs(files.read(alone), PurePosixPath(alone).name, labels=labels)
        return replace(single, pairs=replace(single.pairs, name=title))
    if labels and not plan.relevance:
        raise DatasetError(
            f"{files.name}: labels says what words mean, but no file holds judgments. Call it "
            "relevance... or qrels..., or leave labels out."
        )
    if plan.images and (plan.x is None or not plan.relevance) and plan.y is None:
        return read_picture_files(files, plan, title)
    x, y, one_side, notes = _sides(files, plan, columns)
    notes = [*files.notes, *_part_notes(plan), *notes]
    x_index, y_index = _index(x), _index(y)
    label = columns.get("label")
    by_file = [
        (path, read_judgments(path, files.read(path), x_index, y_index, threshold, labels, label))
        for path in plan.relevance
    ]
    judged = _concatenate(by_file) if by_file else None
    if judged is not None:
        at, kind, shape = (judged.x, judged.y), judged.kind, (len(x.ids), len(y.ids))
        least = threshold if kind == "score" else None
        relevance = Relevance.from_pairs(
            *at, judged.values, shape=shape, unjudged=unjudged, kind=kind, threshold=least
        )
        notes += judged.notes
        _split_by_file(by_file, x, notes)
    else:
        relevance = _by_equal_ids(files.name, x, y, notes)
        if unjudged is not None:
            relevance = replace(relevance, unjudged=unjudged)
    for path in plan.about:
        notes += attach_table(path, files.read(path), x, y)
    x_items = x.items()
    y_items = x_items if one_side else y.items()
    x_name = _name_of_side(plan.x or (plan.y if one_side else None), "x")
    y_name = _name_of_side(plan.y or (plan.x if one_side else None), y.kind)
    pairs = PairSet(x_items, y_items, relevance, title, x_name, y_name)
    if judged is None:
        table, roles = _preview(files.name, pairs)
        return ReadResult(pairs, tuple(notes), table, roles)
    offered = {} if one_side else _part_choices(files, plan, x, y, judged)
    return ReadResult(pairs, tuple(notes), judged.table, judged.roles, parts=offered)


def _part_choices(
    files: Files, plan: Plan, x: ReadSide, y: ReadSide, judged: Judgments
) -> dict[str, tuple[str, ...]]:
    """Which file and column was taken for each part, and after it all that can be."""
    tables = _tables(files.paths)
    taken = {"x": plan.x, "y": plan.y, "relevance": plan.relevance[0]}
    offered = {}
    for part in _FILES if len(plan.relevance) == 1 else ("x", "y"):
        if (path := taken[part]) is not None:
            offered[part] = tuple(dict.fromkeys((path, *tables)))
    for name, side in (("x", x), ("y", y)):
        offered |= {f"{name}_{what}": columns for what, columns in side.columns.items()}
    if len(plan.relevance) == 1:
        roles = judged.roles
        free = [c for c in judged.table.frame if c not in (roles.x, roles.y, "iteration")]
        if free:
            offered["label"] = tuple(dict.fromkeys((roles.label or "", *free, "")))
    return offered


def _by_content(files: Files, plan: Plan) -> dict[str, str]:
    """Which of three tables is which, where names do not tell: one lists ids of the others."""
    named = [plan.x, plan.y, *plan.relevance]
    paths = [p for p in files.paths if p in named or p in plan.left_over]
    others = [*plan.images, *plan.about, *plan.ids]
    if len(paths) != 3 or others or (None not in named and len(named) == 3):
        return {}
    tables = {path: _table(PurePosixPath(path).name, files.read(path)) for path in paths}
    ids: dict[str, set[str]] = {}
    for path, table in tables.items():
        with suppress(DatasetError):  # judgments have no ids of their own
            ids[path] = set(table.stripped(_id_column(table)))
    for path, table in tables.items():
        one, two = (p for p in paths if p != path)
        listed: dict[str, str] = {}
        for column in table.frame:
            if column not in table.vectors and not is_label_name(column):
                cells = table.stripped(column)
                for side in (one, two):
                    if side in ids and cells.isin(list(ids[side])).mean() > 0.5:
                        listed.setdefault(side, column)
        if len(set(listed.values())) == 2:
            x, y = sorted((one, two), key=lambda p: list(table.frame).index(listed[p]))
            if plan.x == y or plan.y == x:
                x, y = y, x
            return {"x": x, "y": y, "relevance": path}
    return {}


def _tables(paths: Iterable[str]) -> list[str]:
    return [p for p in paths if PurePosixPath(p).suffix.lower() in TABLE_ENDINGS]


def _only_table(files: Files, plan: Plan) -> str | None:
    """The only table, where nothing else could be a side."""
    if plan.images or plan.ids or plan.x or plan.y:
        return None
    tables = _tables([*plan.relevance, *plan.left_over, *plan.about])
    tables = [p for p in tables if not p.lower().endswith("readme.txt")]
    if len(tables) == 1:
        return tables[0]
    if tables or not any(p.lower().endswith((".npz", ".npy")) for p in files.paths):
        listed = ", ".join(shown(p) for p in files.paths[:8])
        raise DatasetError(
            f"{files.name}: it is not clear which file holds what ({listed}). Name the items of "
            "the two sides x... and y... (or queries..., documents...) and the judgments "
            "relevance... or qrels...; or give one table with pairs."
        )
    return None


def _sides(
    files: Files, plan: Plan, columns: Mapping[str, str]
) -> tuple[ReadSide, ReadSide, bool, list[Note]]:
    """The items of both sides, and whether they are one collection."""
    ids = {side: read_ids(path, files.read(path)) for side, path in plan.ids.items()}
    read: dict[str, ReadSide] = {}
    for side, path in (("x", plan.x), ("y", plan.y)):
        if path is not None:
            columns_of = (columns.get(f"{side}_id"), columns.get(f"{side}_text"))
            read[side] = read_side(path, files.read(path), ids.get(side, ids.get("")), *columns_of)
    if not read:
        read = _two_matrices(files, plan, ids)
    notes = [note for one in read.values() for note in one.notes]
    if plan.images:
        missing = "y" if "x" in read else "x"
        if missing not in read:
            read[missing] = side_of_images(files, plan.images)
            notes += read[missing].notes
    if len(read) == 2:
        return read["x"], read["y"], False, notes
    (only,) = read.values()
    if not plan.relevance:
        known = plan.x or plan.y or files.name
        raise DatasetError(
            f"{files.name} holds one side only ({known}) and no judgments. Add the items of the "
            "other side, or the links between these as relevance.tsv (x_id, y_id, grade)."
        )
    notes.append(Note("One collection stands on both sides: the judgments link its items."))
    return only, only, True, notes


def _two_matrices(
    files: Files, plan: Plan, ids: Mapping[str, Sequence[str]]
) -> dict[str, ReadSide]:
    """Matrices x and y in one .npz."""
    path = next(p for p in files.paths if p.lower().endswith((".npz", ".npy")))
    name = PurePosixPath(path).name
    arrays = read_matrices(name, files.read(path))
    keys = {k.lower()[:1]: k for k in arrays if k.lower() in ("x", "y", "x_vectors", "y_vectors")}
    if set(keys) != {"x", "y"}:
        listed = ", ".join(shown(k) for k in arrays if k) or "one matrix without a name"
        raise DatasetError(
            f"{name} holds {listed}. Save both sides as arrays x and y of one .npz, or as two "
            "files x.npy and y.npy."
        )
    plan.left_over = [other for other in plan.left_over if other != path]
    return {
        side: side_of_matrix(f"{name}, array {key}", arrays[key], ids.get(side, ids.get("")))
        for side, key in sorted(keys.items())
    }


def _index(side: ReadSide) -> RowOf:
    own = {key: i for i, key in enumerate(side.ids)}
    return {alias: own[key] for alias, key in side.aliases.items() if key in own} | own


def _concatenate(by_file: Sequence[tuple[str, Judgments]]) -> Judgments:
    """Judgments of several files as one; the first file is the one that is shown."""
    if len(by_file) == 1:
        return by_file[0][1]
    parts = [judged for _, judged in by_file]
    first, are_scores = parts[0], all(judged.kind == "score" for judged in parts)
    values = [np.ones(len(j.x)) if j.values is None else j.values for j in parts]
    return Judgments(
        np.concatenate([j.x for j in parts]),
        np.concatenate([j.y for j in parts]),
        np.concatenate(values),
        "score" if are_scores else "grade",
        first.table,
        first.roles,
        # Rows of other files are not those of the table that is shown.
        [*first.notes, *(Note(n, n.kind, n.rows) for one in parts[1:] for n in one.notes)],
    )


def _split_by_file(
    by_file: Sequence[tuple[str, Judgments]], x: ReadSide, notes: list[Note]
) -> None:
    """Files that are called train, dev and test say to which part their x items belong."""
    words = {p: SPLIT_WORDS.get(PurePosixPath(p).stem.lower()) for p, _ in by_file}
    if len(by_file) < 2 or None in words.values() or "split" in x.metadata:
        return
    parts = as_cells([""] * len(x.ids))
    for path, judged in sorted(by_file, key=lambda item: -PARTS.index(str(words[item[0]]))):
        parts[np.unique(judged.x)] = words[path]
    x.metadata["split"] = parts
    sizes = ", ".join(f"{int((parts == part).sum()):,} {part}" for part in PARTS)
    notes.append(Note(f"The files of judgments give the split: {sizes}."))


def _by_equal_ids(name: str, x: ReadSide, y: ReadSide, notes: list[Note]) -> Relevance:
    """Without judgments, what bears the same id belongs together."""
    y_at = {key: i for i, key in enumerate(y.ids)}
    rows = [(i, y_at[key]) for i, key in enumerate(x.ids) if key in y_at]
    if not rows:
        raise DatasetError(
            f"{name} holds no judgments, and no id occurs on both sides. Add relevance.tsv with "
            "the columns x_id, y_id, grade; or give partners the same id."
        )
    alone = len(x.ids) + len(y.ids) - 2 * len(rows)
    notes.append(Note(f"No judgments were given: {counted(len(rows), 'pair')} by equal ids."))
    if alone:
        who = counted(alone, "item has", "items have")
        notes.append(Note(f"{who} no partner of the same id."))
    (at, to), shape = np.transpose(rows), (len(x.ids), len(y.ids))
    return Relevance.from_pairs(at, to, shape=shape, unjudged="negative")


def _part_notes(plan: Plan) -> list[Note]:
    parts = [("x side", plan.x), ("y side", plan.y)]
    parts += [("judgments", path) for path in plan.relevance]
    notes = [
        Note(f"{path} was read as the {part}: {plan.reasons[path]}.", "part")
        for part, path in parts
        if path in plan.reasons
    ]
    if plan.left_over:
        listed = ", ".join(plan.left_over[:8])
        notes.append(Note(f"Not used: {listed}{' and more' if len(plan.left_over) > 8 else ''}."))
    return notes


def _name_of_side(path: str | None, otherwise: str) -> str:
    """What the items of a side are called, from the name of their file."""
    if path is None:
        return {"image": "images", "vector": "y"}.get(otherwise, otherwise)
    return PurePosixPath(path).stem


def _preview(name: str, pairs: PairSet, n: int = 200) -> tuple[Table, ColumnRoles]:
    """Some pairs as a table, where there is no file that lists them."""
    at = pairs.relevance.matrix.tocoo()
    rows, columns = at.row[:n], at.col[:n]
    names = (pairs.x_name, pairs.y_name if pairs.y_name != pairs.x_name else f"{pairs.y_name} ")
    cells = {
        title: [str(items.labels[i]) for i in index]
        for title, items, index in zip(names, (pairs.x, pairs.y), (rows, columns), strict=True)
    }
    table = make_table(name, (cells, range(1, len(rows) + 1), []), "row")
    return table, ColumnRoles(x=names[0], y=names[1])


def read_side(
    path: str,
    data: bytes,
    ids: Sequence[str] | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
) -> ReadSide:
    """Read the items of one side; of a table, from these columns if they are given."""
    name = PurePosixPath(path).name
    if PurePosixPath(path).suffix.lower() in ENDINGS or data.startswith(b"\x93NUMPY"):
        matrices = read_matrices(name, data)
        if len(matrices) != 1:
            listed = ", ".join(map(shown, matrices)) or "none"
            raise DatasetError(
                f"{name} holds {len(matrices)} matrices ({listed}); one side needs one. Save it "
                "alone."
            )
        return side_of_matrix(name, next(iter(matrices.values())), ids)
    if signature(data) is None:
        text, notes = decode_text(name, data)
        if (table := read_marked(name, text, notes)) is not None:
            return side_of_table(table, "id", "text", is_file=False)
        if _is_plain(name, text):
            return _side_of_lines(name, text, notes)
    return side_of_table(_table(name, data), id_column, text_column)


def side_of_matrix(name: str, matrix: Any, ids: Sequence[str] | None) -> ReadSide:
    """Vectors under their ids."""
    n = matrix.shape[0]
    if ids is not None and len(ids) != n:
        raise DatasetError(
            f"{name} has {n:,} rows, but {len(ids):,} ids are given. Write one id a row."
        )
    notes = [Note(f"{name}: {n:,} vectors of {matrix.shape[1]:,} numbers.")]
    return ReadSide(
        [str(i) for i in range(n)] if ids is None else ids, matrix, "vector", {}, notes
    )


def side_of_table(
    table: Table, id_column: str | None = None, column: str | None = None, is_file: bool = True
) -> ReadSide:
    """Items from a table, of a file or made for its lines, by columns of ids and of content."""
    for name in (id_column, column):
        if name is not None and (name not in table.frame or name in table.vectors):
            raise DatasetError(f"{table.name} has no column {shown(name)} with text.")
    id_column = id_column or _id_column(table)
    texts = [c for c in table.frame if c != id_column and table.kinds[c] in ("text", "number")]
    worded = [c for c in texts if table.kinds[c] == "text"]
    if column is None:
        named = [c for n in _TEXT_NAMES for c in texts if c.lower() == n]
        longest = sorted(worded, key=lambda c: -table.frame[c].str.len().mean())
        column = next(iter([*named, *longest, *table.vectors]), None)
    if column is None:
        raise DatasetError(
            f"{table.name} has no column with text or vectors beside the id "
            f"({', '.join(map(shown, table.frame))}). Name it 'text'."
        )
    is_vector = column in table.vectors
    values: Any = table.vectors[column] if is_vector else table.stripped(column)
    title = next((c for c in worded if c.lower() == "title" and c != column), None)
    if id_column == "_id" and title is not None and not is_vector:
        # BEIR keeps the title apart from the text and searches both.
        values = (table.frame[title] + " " + table.frame[column]).str.strip().array
    ids = table.stripped(id_column)
    known = (ids != "") & (is_vector or values != "")
    rows, empty = np.flatnonzero(known), np.flatnonzero(~known)
    if not len(rows):
        raise DatasetError(f"{table.name} holds no item with an id and a text.")
    (_, first), ids = items_by_id(table, column, rows, ids[rows], values[rows])
    item_rows = rows[first]
    if is_vector:
        side = side_of_matrix(table.name, values[item_rows], ids)
    else:
        content = values[item_rows].to_numpy(dtype=object)
        # What is its own id is a keyword rather than a text.
        side = ReadSide(ids, content, "keyword" if (ids == content).all() else "text")
        if is_file:
            text = f"{table.name}: ids in {shown(id_column)}, texts in {shown(column)}."
            side.notes.append(Note(text, "part"))
            cells_of = [c for c in table.frame if c not in table.vectors]
            side.columns = {
                what: tuple(dict.fromkeys((taken, *cells_of)))
                for what, taken in (("id", id_column), ("text", column))
            }
    side.notes = [*table.notes, *side.notes]
    if len(empty):
        items = counted(len(empty), "item")
        text = f"{table.name}: {items} without id or text left out ({table.named(empty)})."
        side.notes.append(Note(text, "lost", table.rows[empty]))
    side.metadata = {
        name: typed(table[name][item_rows], False)
        for name in table.frame
        if name not in (id_column, column) and table.kinds[name] not in ("vector", "empty")
    }
    return side


def read_ids(path: str, data: bytes) -> list[str]:
    """One id a line."""
    text, _ = decode_text(PurePosixPath(path).name, data)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _table(name: str, data: bytes) -> Table:
    table = read_table(data, name)
    first = next(iter(table.frame))
    # A list of ids and texts often has no header: its first line is an item.
    if table.delimiter and table.frame.shape[1] == 2 and first.strip().isdecimal():
        return read_table(data, name, header=False)
    return table


def _is_plain(name: str, text: str) -> bool:
    """Lines of text without columns, as sentence collections have them."""
    ending = PurePosixPath(name).suffix[1:]
    is_language = len(ending) == 2 and ending.isalpha() and ending.islower()
    if ending.lower() not in ("", "txt") and not is_language:
        return False
    head = text[:100_000].split("\n")[:200]
    return "\t" not in text[:100_000] and not all("|" in line for line in head if line.strip())


def _side_of_lines(name: str, text: str, notes: list[Note]) -> ReadSide:
    """One item a line, its id the number of the line, so that gaps stay gaps."""
    lines = {i: line for i, line in enumerate(text.split("\n"), 1) if line.strip()}
    if not lines:
        raise DatasetError(f"{name} holds only blank lines. Export it again.")
    columns = {"id": list(map(str, lines)), "text": list(lines.values())}
    table = make_table(name, (columns, list(lines), notes), "line")
    side = side_of_table(table, "id", "text", is_file=False)
    side.notes.append(Note(f"{name}: {counted(len(lines), 'line')}, one item each."))
    return side


def _id_column(table: Table) -> str:
    """The column with ids: by its name, else the first that tells all rows apart."""
    columns = [c for c in table.frame if c not in table.vectors]
    named = (column for name in _ID_NAMES for column in columns if column.lower() == name)
    if column := next(named, None):
        return column
    for column in columns:
        known = [cell for cell in table.factorize(column)[2] if not is_missing(cell)]
        if len(known) == len(table) and column.lower() not in _TEXT_NAMES:
            return column
    raise DatasetError(
        f"{table.name} has no column that tells its rows apart "
        f"({', '.join(map(shown, table.frame))}). Name one 'id'."
    )


def side_of_images(files: Files, paths: Sequence[str]) -> ReadSide:
    """Images as the items of a side."""
    sprites, refused = make_sprites(files.name, files.read, paths)
    if not sprites:
        raise DatasetError(f"{files.name}: no image can be used. {' '.join(refused)}")
    notes = [Note(f"{counted(len(sprites), 'image')}, each made 64 × 64 pixels."), *refused]
    names = {alias: path for alias, path in keys_of(sprites).items() if path is not None}
    # Judgments are compared with capitals as they are, so both forms are known.
    for path in sprites:
        for alias in (PurePosixPath(path).name, PurePosixPath(path).stem):
            if names.get(alias.casefold()) == path:
                names[alias] = path
    return ReadSide(list(sprites), np.stack(list(sprites.values())), "image", {}, notes, names)


def read_picture_files(files: Files, plan: Plan, title: str) -> ReadResult:
    """Images with a table of keywords or captions, else with folders as keywords."""
    candidates = [*plan.relevance, *plan.about, *plan.left_over, *filter(None, [plan.x])]
    tables = [p for p in _tables(dict.fromkeys(candidates)) if "readme" not in p.lower()]
    if len(tables) > 1:
        listed = ", ".join(map(shown, tables[:4]))
        raise DatasetError(
            f"{files.name} holds several tables ({listed}). Keep one with the columns file and "
            "keywords."
        )
    if tables:
        table = read_table(files.read(tables[0]), PurePosixPath(tables[0]).name)
    else:
        table = _by_folder(files, plan.images)
    return assemble(files.name, files.read, plan.images, table, title)


def _by_folder(files: Files, paths: Sequence[str]) -> Table:
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
    columns = {"file": list(paths), "keyword": words}
    sentence = f"The folders are the keywords: {', '.join(map(shown, sorted(set(words))[:8]))}."
    content = (columns, range(1, len(paths) + 1), [Note(sentence)])
    return make_table(files.name, content, "row")


def attach_table(path: str, data: bytes, x: ReadSide, y: ReadSide) -> list[Note]:
    """Add the columns of a table to the items that it names."""
    name = PurePosixPath(path).name
    table = read_table(data, name)
    side_name, column = _described_side(table, PurePosixPath(path).stem, x, y)
    side = x if side_name == "x" else y
    index = {key: i for i, key in enumerate(side.ids)}
    at = positions(table, column, index)
    n_known = int((at >= 0).sum())
    if not n_known:
        return [Note(f"{name} was not used: it names no item of either side.")]
    notes = []
    for other in table.frame:
        if other == column or other in table.vectors:
            continue
        values: dict[int, list[str]] = defaultdict(list)
        for i, cell in zip(at, table[other], strict=True):
            if i >= 0 and cell.strip() and cell.strip() not in values[int(i)]:
                values[int(i)].append(cell.strip())
        cells = as_cells([GROUP_SEPARATOR.join(values.get(i, ())) for i in range(len(side.ids))])
        words = {c.lower() for v in values.values() for c in v}
        title = other
        if words and words <= SPLIT_WORDS.keys() and all(len(v) < 2 for v in values.values()):
            cells, title = as_cells([SPLIT_WORDS.get(c.lower(), "") for c in cells]), "split"
        side.metadata[title] = typed(cells, title in ("group", "split", "fold"))
        of = counted(len(values), f"{side_name} item")
        notes.append(Note(f"{name} says {shown(title)} of {of}."))
    return notes


def _described_side(table: Table, stem: str, x: ReadSide, y: ReadSide) -> tuple[str, str]:
    """The side and the column of ids: by name, else where most cells are ids."""
    columns = [c for c in table.frame if c not in table.vectors]
    known = {"x": list(x.ids), "y": list(y.ids)}

    def share(at: tuple[str, str]) -> float:
        side, column = at
        n_named = sum(name.lower().startswith(f"{side}_") for name in (column, stem))
        return float(table.stripped(column).isin(known[side]).mean()) + 2.0 * n_named

    return max(product(known, columns), key=share)
