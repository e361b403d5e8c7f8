"""Images of a collection: a side of its own, or keywords by folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np

from simviz.data.coded import as_cells
from simviz.data.collection.files import Files
from simviz.data.collection.naming import TABLE_ENDINGS, Plan
from simviz.data.collection.sides import Side
from simviz.data.images import assemble, keys_of
from simviz.data.limits import get_limits
from simviz.data.result import ReadResult
from simviz.data.sprites import ImageError, make_sprite
from simviz.data.tables import Table, read_table
from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError


def side_of_images(files: Files, paths: Sequence[str]) -> Side:
    """Images as the items of a side.

    Parameters
    ----------
    files : Files
        Where they are.
    paths : sequence of str
        Which of them.

    Returns
    -------
    Side
        64 × 64 RGB under their paths; judgments may also call them by their
        file name, with its ending or without, where that is unambiguous.

    Raises
    ------
    DatasetError
        If there are too many, or none can be used.
    """
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
    """Images with a table of keywords or captions, else with folders as keywords.

    Parameters
    ----------
    files : Files
        Images, and perhaps one table.
    plan : Plan
        Which is which.
    title : str
        Name of the data set.

    Returns
    -------
    ReadResult
        x: the keywords or captions; y: the images.

    Raises
    ------
    DatasetError
        If there are several tables, or neither a table nor folders.
    """
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
