"""Images with keywords: pictures in files and a table of words to learn from."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import Note, as_cells, counted, factorize, first_of, shown
from simviz.data.limits import get_limits, report_progress
from simviz.data.pairs import ItemKind, Items, PairSet
from simviz.data.pairs_from_tables import ReadResult
from simviz.data.roles import ColumnRoles
from simviz.data.tables import Table
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

SPRITE = 64
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
# Only decoders of common formats meet untrusted bytes.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")


class ImageError(ValueError):
    """An image that cannot be used; the text completes "the file ..."."""


def make_sprite(data: bytes, size: int = SPRITE) -> NDArray[np.uint8]:
    """Decode an image and fit it into a white square, aspect kept."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > get_limits().pixels:
                raise ImageError(f"has {image.width:,} × {image.height:,} pixels, too many")
            # A JPEG can be decoded at a fraction of its size.
            image.draft("RGB", (4 * size, 4 * size))
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith("I"):
                # 16-bit greys would be clipped, not scaled.
                upright = Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
            if upright.has_transparency_data:
                paper = Image.new("RGBA", upright.size, "white")
                paper.alpha_composite(upright.convert("RGBA"))
                upright = paper
            # One channel of a grey picture stands for three.
            opaque = upright.convert("L" if upright.mode in ("1", "L") else "RGB")
            square = ImageOps.pad(opaque, (size, size), Image.Resampling.LANCZOS, "white")
    except UnidentifiedImageError as error:
        raise ImageError("is no image, whatever its name says") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError("has too many pixels") from error
    except ImageError:
        raise
    except Exception as error:  # decoders of images raise whatever they like
        raise ImageError("is damaged") from error
    return np.asarray(square.convert("RGB"), dtype=np.uint8)


def _n_pixels(data: bytes) -> int:
    """Pixels that an image says to have; 0 where it is damaged or too large to be decoded."""
    from PIL import Image

    report_progress(0.0)
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            n = image.width * image.height
    except Exception:  # decoders of images raise whatever they like
        return 0
    return n if n <= get_limits().pixels else 0


def make_sprites(
    name: str, read: Callable[[str], bytes], paths: Sequence[str]
) -> tuple[dict[str, NDArray[np.uint8]], list[Note]]:
    """Decode several images by their paths; also say which cannot be used, and why."""
    if len(paths) > get_limits().images:
        raise DatasetError(
            f"{name} holds {len(paths):,} images; the limit is {get_limits().images:,}. Bring a "
            "sample."
        )
    total, limit = sum(map(_n_pixels, map(read, paths))), get_limits().total_pixels
    if total > limit:
        raise DatasetError(
            f"{name} holds images of {total:,} pixels in all; the limit is {limit:,}. Bring "
            "smaller images, or fewer."
        )
    sprites, refused = {}, []
    for i, path in enumerate(paths):
        report_progress(i / len(paths))
        try:
            sprites[path] = make_sprite(read(path))
        except ImageError as error:
            refused.append(f"{shown(path)} {error}")
    listed = f"{counted(len(refused), 'image')} left out: {first_of(refused, 5)}."
    return sprites, [Note(listed, "lost")] if refused else []


def resize_like(sprite: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """An image in the form that the images of a data set have."""
    from PIL import Image

    height, width = others.shape[1:3]
    image = Image.fromarray(sprite).resize((width, height), Image.Resampling.LANCZOS)
    pixels = np.asarray(image if others.ndim == 4 else image.convert("L"), dtype=np.uint8)
    is_white = len(others) > 0 and np.median(others[:, 0]) > 127
    return pixels if others.ndim == 4 or is_white else 255 - pixels


_SENTENCE = 5  # words; keywords separated by commas are rarely as many
_WORDS = re.compile(r"(?i)keyword|tag|label|word|caption|text|description")


def assemble(
    name: str, read: Callable[[str], bytes], images: Sequence[str], table: Table, title: str
) -> ReadResult:
    """Match a table to images, and render those that have a keyword."""
    by_key = keys_of(images)
    file_column, word_column = _columns(table, by_key)
    captions = _are_captions(table, word_column)
    cells = table[word_column]
    # The first of | ; , that occurs at all separates keywords.
    delimiter = next((d for d in "|;," if any(d in c for c in cells) and not captions), None)
    notes = list(table.notes)
    if captions:
        notes.append(Note(f"Column {shown(word_column)} holds captions: each is one text."))
    if delimiter:
        where = f"column {shown(word_column)}"
        notes.append(Note(f"Keywords in {where} are separated by {delimiter!r}."))
    links: list[tuple[str, str]] = []  # path in the zip, keyword
    unknown, empty = list[int](), list[int]()
    for row, (file, cell) in enumerate(zip(table[file_column], cells, strict=True)):
        path = _find(by_key, file)
        words = [" ".join(w.split()) for w in (cell.split(delimiter) if delimiter else [cell])]
        if path is None:
            unknown.append(row)
        elif not any(words):
            empty.append(row)
        else:
            links += [(path, word) for word in words if word]
    if unknown:
        example = shown(table[file_column][unknown[0]])
        why = f"no image in {name} has that file name ({table.named(unknown)}; {example})"
        notes.append(_left_out(table, unknown, "no image of that name", why))
    if empty:
        why = f"no keyword (the first is {table.unit} {table.rows[empty[0]]})"
        notes.append(_left_out(table, empty, "no keyword", why))
    needed = {path for path, _ in links}
    sprites, more = make_sprites(name, read, [path for path in images if path in needed])
    notes += more
    if len(needed) < len(images):
        n = counted(len(images) - len(needed), "image")
        notes.append(Note(f"{n} without a keyword left out.", "lost"))
    if not sprites:
        raise DatasetError(
            f"{name}: no image can be used. {' '.join(notes)} "
            f"Check the file names in column {shown(file_column)} of {table.name}."
        )
    pairs = _pair_set(title, sprites, links, "text" if captions else "keyword")
    reasons = {"x": "the column with keywords", "y": "its cells name files in the zip"}
    roles = ColumnRoles(word_column, file_column, reasons=reasons)
    return ReadResult(pairs, tuple(notes), table, roles)


def _left_out(table: Table, rows: list[int], reason: str, why: str) -> Note:
    """Say which rows of the table are not used, and why."""
    sentence = f"{counted(len(rows), 'row')} of {table.name} left out: {why}."
    return Note(sentence, "lost", table.rows[rows], reasons=[reason] * len(rows))


def _pair_set(
    name: str, sprites: dict[str, np.ndarray], links: Iterable[tuple[str, str]], kind: ItemKind
) -> PairSet:
    images = {path: i for i, path in enumerate(sprites)}
    links = [(path, word) for path, word in links if path in images]
    rows, first, _ = factorize(as_cells([word.casefold() for _, word in links]))
    words, columns = [links[i][1] for i in first], [images[path] for path, _ in links]
    y, shape = np.stack(list(sprites.values())), (len(words), len(images))
    relevance = Relevance.from_pairs(rows, columns, shape=shape, unjudged="negative")
    sides = Items(words, words, kind), Items(list(images), y, "image")
    x_name = "keywords" if kind == "keyword" else "captions"
    return PairSet(*sides, relevance, name or "images", x_name, "images")


def keys_of(images: Iterable[str]) -> dict[str, str | None]:
    """What a table may call an image: its path or its file name; None if ambiguous."""
    keys: dict[str, str | None] = {}
    images = list(images)
    for image in images:
        path = PurePosixPath(image)
        for key in {path.name.casefold(), path.stem.casefold()} - {str(path).casefold()}:
            keys[key] = None if key in keys else image
    # A full path always wins over another file's short name.
    return keys | {str(PurePosixPath(image)).casefold(): image for image in images}


def _find(keys: dict[str, str | None], cell: str) -> str | None:
    path = cell.strip().replace("\\", "/").removeprefix("./").casefold()
    return keys.get(path)


def _columns(table: Table, keys: dict[str, str | None]) -> tuple[str, str]:
    """The column that names files and the one with keywords."""
    n_named = {
        column: sum(_find(keys, cell) is not None for cell in table[column])
        for column in table.frame
    }
    file_column = max(n_named, key=n_named.__getitem__)
    if not n_named[file_column]:
        raise DatasetError(
            f"{table.name}: no column names an image in the zip; {table.place(0)} begins with "
            f"{shown(table.frame.iat[0, 0])}. Write the file names, one a row."
        )
    others = [c for c in table.frame if c != file_column]
    named = [c for c in others if _WORDS.search(c)]
    text = [c for c in others if table.kinds[c] == "text"]
    return file_column, (named or text or others)[0]


def _are_captions(table: Table, column: str) -> bool:
    """Whether cells are sentences about one picture rather than keywords of many."""
    cells = [c for c in table[column] if c.strip()]
    n_words = float(np.median([len(c.split()) for c in cells])) if cells else 0.0
    delimited = any("|" in c or ";" in c for c in cells)
    return n_words >= _SENTENCE and not delimited
