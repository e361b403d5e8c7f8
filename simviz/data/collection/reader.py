"""Several files as one data set: whatever people keep pairs in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from simviz.data.cells import as_cells, counted, shown
from simviz.data.collection.files import (
    TABLE_ENDINGS,
    Files,
    Plan,
    Sources,
    from_folder,
    from_mapping,
    from_zip,
    plan_parts,
    read_matrices,
)
from simviz.data.collection.judgments import Judgments, read_judgments
from simviz.data.collection.sides import (
    Side,
    read_ids,
    read_picture_files,
    read_side,
    side_of_images,
    side_of_matrix,
)
from simviz.data.columns import SPLIT_WORDS, Roles
from simviz.data.items import Items
from simviz.data.labels import Labels
from simviz.data.metadata import typed
from simviz.data.pairs import PairSet
from simviz.data.readers import ReadResult, read_pairs
from simviz.data.sources import load_bytes
from simviz.data.tables import Table, read_table
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance, Unjudged

_SEPARATOR = " | "


def attach_table(path: str, data: bytes, x: Side, y: Side) -> list[str]:
    """Add the columns of a table to the items that it names."""
    name = PurePosixPath(path).name
    table = read_table(data, name)
    side_name, column = _subject(table, PurePosixPath(path).stem, x, y)
    side = x if side_name == "x" else y
    index = {key: i for i, key in enumerate(side.ids)}
    keys = [cell.strip() for cell in table.columns[column]]
    at = np.array([index.get(key, -1) for key in keys], dtype=np.intp)
    n_known = int((at >= 0).sum())
    if not n_known:
        return [f"{name} was not used: it names no item of either side."]
    notes = []
    for other in table.columns:
        if other == column or other in table.vectors:
            continue
        values: dict[int, list[str]] = defaultdict(list)
        for i, cell in zip(at, table.columns[other], strict=True):
            if i >= 0 and cell.strip() and cell.strip() not in values[int(i)]:
                values[int(i)].append(cell.strip())
        cells = as_cells([_SEPARATOR.join(values.get(i, ())) for i in range(len(side.ids))])
        words = {c.lower() for v in values.values() for c in v}
        title = other
        if words and words <= SPLIT_WORDS.keys() and all(len(v) < 2 for v in values.values()):
            cells, title = as_cells([SPLIT_WORDS.get(c.lower(), "") for c in cells]), "split"
        side.metadata[title] = typed(cells, title in ("group", "split", "fold"))
        notes.append(f"{name} says {shown(title)} of {counted(len(values), f'{side_name} item')}.")
    return notes


def _subject(table: Table, stem: str, x: Side, y: Side) -> tuple[str, str]:
    """The side and the column of ids: by name, else where most cells are ids."""
    columns = [c for c in table.columns if c not in table.vectors]
    best = ("x", columns[0], -1.0)
    for side_name, side in (("x", x), ("y", y)):
        known = set(side.ids)
        for column in columns:
            factorized = table.factorize(column)
            hits = np.array([word.strip() in known for word in factorized.uniques], dtype=bool)
            share = float(hits[factorized.codes].mean())
            share += 2.0 * column.lower().startswith(f"{side_name}_")
            share += 2.0 * stem.lower().startswith(f"{side_name}_")
            if share > best[2]:
                best = (side_name, column, share)
    return best[0], best[1]


Index = dict[str, int]


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

    Understood are items of two sides with judgments: the layout of BEIR
    (``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``), TREC's documents,
    topics and qrels, and any files whose names say what they are (``x``,
    ``queries``, ...; ``y``, ``documents``, ...; ``relevance``, ``qrels``,
    ...). A side may be texts (a table, lines), vectors (.npy, .npz, .mtx,
    .svmlight, a column of lists) with ``ids.txt``, or images. Without
    judgments, items of equal ids belong together; with one side only, the
    judgments link its items. ``split``, ``folds`` and ``groups`` describe
    items. Images with a table of keywords, images in folders that are named
    after keywords, and a single table are understood, too.

    Parameters
    ----------
    source : str, Path, bytes or mapping
        A folder or zip by its path; the content of a zip; or file names to
        contents or paths.
    name : str, optional
        Of the data set, where the source has none.
    parts : mapping of str to str, optional
        "x", "y" or "relevance" to a file, where names do not tell.
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
    plan = plan_parts(files.name, files, parts)
    alone = _alone(files, plan)
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
    x, y, one_side, notes = _sides(files, plan)
    notes = [*files.notes, *_said(plan), *notes]
    x_index, y_index = _index(x), _index(y)
    found = [
        (path, read_judgments(path, files.read(path), x_index, y_index, threshold, labels))
        for path in plan.relevance
    ]
    judged = _joined(found) if found else None
    if judged is not None:
        relevance = Relevance.from_pairs(
            judged.x,
            judged.y,
            judged.values,
            shape=(len(x.ids), len(y.ids)),
            unjudged=unjudged,
            kind=judged.kind,
            threshold=threshold if judged.kind == "score" else None,
        )
        notes += judged.notes
        _split_by_file(found, x, len(x.ids), notes)
    else:
        relevance = _by_equal_ids(files.name, x, y, notes)
        if unjudged is not None:
            relevance = replace(relevance, unjudged=unjudged)
    for path in plan.about:
        notes += attach_table(path, files.read(path), x, y)
    x_items = x.items()
    pairs = PairSet(
        x_items,
        x_items if one_side else y.items(),
        relevance,
        name=title,
        x_name=_called(plan.x or (plan.y if one_side else None), "x"),
        y_name=_called(plan.y or (plan.x if one_side else None), y.kind),
    )
    if judged is None:
        table, roles = _preview(files.name, pairs)
        return ReadResult(pairs, tuple(notes), (), table, roles)
    left_out = tuple(sorted(judged.left_out, key=lambda item: item.row))
    return ReadResult(pairs, tuple(notes), left_out, judged.table, judged.roles)


def open_files(source: str | Path | bytes | Sources, name: str | None = None) -> Files:
    """The files of a folder, a zip, or of those handed in one by one."""
    if isinstance(source, Mapping):
        if len(source) == 1:
            path, content = next(iter(source.items()))
            if path.lower().endswith(".zip"):
                return from_zip(*load_bytes(content, path))
        return from_mapping(name or "the files", source)
    if not isinstance(source, bytes) and Path(source).is_dir():
        return from_folder(Path(source).resolve())
    return from_zip(*load_bytes(source, name))


def _alone(files: Files, plan: Plan) -> str | None:
    """The only table, where nothing else could be a side."""
    if plan.images or plan.ids or [p for p in (plan.x, plan.y) if p]:
        return None
    tables = [*plan.relevance, *plan.left_over, *plan.about]
    tables = [p for p in tables if PurePosixPath(p).suffix.lower() in TABLE_ENDINGS]
    tables = [p for p in tables if not p.lower().endswith((".md", "readme.txt", "readme"))]
    if len(tables) == 1:
        return tables[0]
    matrices = [p for p in files if p.lower().endswith((".npz", ".npy"))]
    if tables or not matrices:
        listed = ", ".join(shown(p) for p in list(files)[:8])
        raise DatasetError(
            f"{files.name}: it is not clear which file holds what ({listed}). Name the items of "
            "the two sides x... and y... (or queries..., documents...) and the judgments "
            "relevance... or qrels...; or give one table with pairs."
        )
    return None


def _sides(files: Files, plan: Plan) -> tuple[Side, Side, bool, list[str]]:
    """The items of both sides, and whether they are one collection."""
    ids = {side: read_ids(path, files.read(path)) for side, path in plan.ids.items()}
    read: dict[str, Side] = {}
    for side, path in (("x", plan.x), ("y", plan.y)):
        if path is not None:
            read[side] = read_side(path, files.read(path), ids.get(side, ids.get("")))
    if not read:
        read = _two_matrices(files, ids)
    notes = [note for found in read.values() for note in found.notes]
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
    notes.append("One collection stands on both sides: the judgments link its items.")
    return only, only, True, notes


def _two_matrices(files: Files, ids: Mapping[str, Sequence[str]]) -> dict[str, Side]:
    """Matrices x and y in one .npz."""
    path = next(p for p in files if p.lower().endswith((".npz", ".npy")))
    name = PurePosixPath(path).name
    found = read_matrices(name, files.read(path))
    keys = {k.lower()[:1]: k for k in found if k.lower() in ("x", "y", "x_vectors", "y_vectors")}
    if set(keys) != {"x", "y"}:
        listed = ", ".join(shown(k) for k in found if k) or "one matrix without a name"
        raise DatasetError(
            f"{name} holds {listed}. Save both sides as arrays x and y of one .npz, or as two "
            "files x.npy and y.npy."
        )
    return {
        side: side_of_matrix(f"{name}, array {key}", found[key], ids.get(side, ids.get("")))
        for side, key in sorted(keys.items())
    }


def _index(side: Side) -> Index:
    """Positions by id, and by what else judgments may call an item."""
    own = {key: i for i, key in enumerate(side.ids)}
    return {alias: own[key] for alias, key in side.aliases.items() if key in own} | own


def _joined(found: Sequence[tuple[str, Judgments]]) -> Judgments:
    """Judgments of several files as one; the first file is the one that is shown."""
    first = found[0][1]
    if len(found) == 1:
        return first
    parts = [judged for _, judged in found]
    kinds = {"score" if judged.kind == "score" else "grade" for judged in parts}
    values = [np.ones(len(j.x)) if j.values is None else j.values for j in parts]
    return Judgments(
        np.concatenate([j.x for j in parts]),
        np.concatenate([j.y for j in parts]),
        np.concatenate(values),
        "score" if kinds == {"score"} else "grade",
        first.table,
        first.roles,
        first.left_out,
        [note for judged in parts for note in judged.notes],
    )


def _split_by_file(
    found: Sequence[tuple[str, Judgments]], x: Side, n_x: int, notes: list[str]
) -> None:
    """Files that are called train, dev and test say to which part their x items belong."""
    words = {p: SPLIT_WORDS.get(PurePosixPath(p).stem.lower()) for p, _ in found}
    if len(found) < 2 or None in words.values() or "split" in x.metadata:
        return
    order = ("train", "validation", "test")
    parts = as_cells([""] * n_x)
    for path, judged in sorted(found, key=lambda item: -order.index(str(words[item[0]]))):
        parts[np.unique(judged.x)] = words[path]
    x.metadata["split"] = parts
    said = ", ".join(f"{int((parts == part).sum()):,} {part}" for part in order)
    notes.append(f"The files of judgments give the split: {said}.")


def _by_equal_ids(name: str, x: Side, y: Side, notes: list[str]) -> Relevance:
    """Without judgments, what bears the same id belongs together."""
    y_at = {key: i for i, key in enumerate(y.ids)}
    rows = [(i, y_at[key]) for i, key in enumerate(x.ids) if key in y_at]
    if not rows:
        raise DatasetError(
            f"{name} holds no judgments, and no id occurs on both sides. Add relevance.tsv with "
            "the columns x_id, y_id, grade; or give partners the same id."
        )
    alone = len(x.ids) + len(y.ids) - 2 * len(rows)
    notes.append(f"No judgments were given: {counted(len(rows), 'pair')} by equal ids.")
    if alone:
        notes.append(f"{counted(alone, 'item has', 'items have')} no partner of the same id.")
    at = np.array(rows, dtype=np.int64)
    return Relevance.from_pairs(
        at[:, 0], at[:, 1], shape=(len(x.ids), len(y.ids)), unjudged="negative"
    )


def _said(plan: Plan) -> list[str]:
    parts = [("x", plan.x), ("y", plan.y), *(("judgments", p) for p in plan.relevance)]
    notes = [
        f"{path} was read as the {part if part == 'judgments' else part + ' side'}: "
        f"{plan.reasons[path]}."
        for part, path in parts
        if path in plan.reasons
    ]
    if plan.left_over:
        listed = ", ".join(plan.left_over[:8])
        notes.append(f"Not used: {listed}{' and more' if len(plan.left_over) > 8 else ''}.")
    return notes


def _called(path: str | None, otherwise: str) -> str:
    """What the items of a side are called, from the name of their file."""
    if path is None:
        return {"image": "images", "vector": "y"}.get(otherwise, otherwise)
    return PurePosixPath(path).stem


def _preview(name: str, pairs: PairSet, n: int = 200) -> tuple[Table, Roles]:
    """Some pairs as a table, where there is no file that lists them."""
    at = pairs.relevance.matrix.tocoo()
    rows, columns = at.row[:n], at.col[:n]
    names = (pairs.x_name, pairs.y_name if pairs.y_name != pairs.x_name else f"{pairs.y_name} ")
    cells: dict[str, Any] = {
        names[0]: _labels(pairs.x)[rows],
        names[1]: _labels(pairs.y)[columns],
    }
    table = Table(name, cells, np.arange(1, len(rows) + 1), "row")
    return table, Roles(x=names[0], y=names[1])


def _labels(items: Items) -> Any:
    return as_cells([str(label) for label in items.labels])
