"""A map as the bytes that a canvas in a browser draws from, and the scripts that draw it.

The scripts are written as ES modules beside this file. Streamlit and notebooks run one piece of
source, so they are joined: each after those that it imports, their import lines and the word
"export" left out. There is nothing to build and nothing to download.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts.dot_colours import group_items
from simviz.charts.pictures import ink_strength, plain_ground
from simviz.charts.style import DARK, LIGHT, Theme, is_glyph, mix, safe_line, script_json
from simviz.data.description import MISSING, paired_column
from simviz.data.pairs import Items, PairSet
from simviz.projection.joint import JointMap
from simviz.relevance import Relevance

_SOURCE = Path(__file__).parent
_IMPORT = re.compile(r"^import\s.*?from\s+\"\./(\w+\.js)\";\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
#: The style sheet of the canvas.
CSS = (_SOURCE / "canvas.css").read_text(encoding="utf-8")
#: What a drawing keeps, by how it was made.
PRESERVED = {
    "two-sided": "neighbours within and across the sides (two-sided)",
    "umap": "neighbourhoods of all points (UMAP)",
    "mds": "distances (MDS)",
    "pca": "main directions (PCA)",
}
#: Pixels of a sheet at most: beyond, its cells become smaller.
_MAX_PIXELS = 12_000_000
_LARGEST, _SMALLEST = 64, 16
#: How the items of a side are shown where there is room: as their words in place of the dot, as
#: words beside it, as a picture, or never as more than a dot.
Mode = Literal["word", "text", "picture", "dot"]
#: Characters of a text that travel, of a word on the map, and of a value of a column.
_TEXT, _WORD, _VALUE = 300, 28, 60
#: Columns of metadata that are shown of an item, and how long words are on average at most.
_COLUMNS, _SHORT = 5, 11
#: Columns to filter by, the bins of numbers, and the groups that are told apart.
FILTERS, _BINS, _GROUPS = 6, 24, 8
#: The code of an item without a value in a column.
_NO_VALUE = 255
#: Pictures that are spread over the whole map before the others are thought of.
_SPREAD = 400
#: Of what belongs to an item of the x side, as many are known on a page without a server.
_PARTNERS = 60


def bundle(entry: str) -> str:
    """One source out of a module and all that it imports, each once."""
    seen: dict[str, str] = {}

    def add(name: str) -> None:
        if name in seen:
            return
        text = (_SOURCE / name).read_text(encoding="utf-8")
        seen[name] = ""  # modules may import one another in a circle
        for module in _IMPORT.findall(text):
            add(module)
        seen[name] = seen.pop(name) or _EXPORT.sub("", _IMPORT.sub("", text))

    add(entry)
    return "\n".join(seen.values())


def script(source: str) -> str:
    """A source as a script of a page, whose names stay its own."""
    return f'(() => {{\n"use strict";\n{source}}})();'


def content_policy(scripts: Sequence[str]) -> str:
    """What a page may do: run these scripts, show what it holds itself, and ask nobody."""
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )


#: Draws the map of a page that holds an element "map" and, in "map-state", what `page_state` says.
PAGE_SCRIPT = script(bundle("page.js"))


def page_state(packed: Mapping[str, Any]) -> str:
    """What `pack_all` made, as JSON for a page."""
    parts = {n: base64.b64encode(data).decode() for n, data in packed.items() if n != "scene"}
    return script_json({"scene": packed["scene"], **parts})


def make_sheet(pixels: NDArray[np.uint8]) -> tuple[bytes, dict[str, int | bool]]:
    """Lay pictures out in rows of equal cells: a PNG, and what it takes to read it.

    Drawings in grey levels on a plain ground become strengths of ink on a transparent ground
    (`is_ink`): who draws them chooses the ink. Other pictures stay as they are.
    """
    from PIL import Image

    n, height, width = pixels.shape[:3]
    fitting = int(np.sqrt(_MAX_PIXELS / n))
    cell = max(_SMALLEST, min(_LARGEST, max(height, width), fitting))
    columns = max(1, int(np.ceil(np.sqrt(n))))
    grounds = [plain_ground(picture) for picture in pixels]
    is_ink = all(ground is not None for ground in grounds)
    rows = -(-n // columns)
    sheet = Image.new("L" if is_ink else "RGBA", (columns * cell, rows * cell))
    for k, (picture, ground) in enumerate(zip(pixels, grounds, strict=True)):
        if is_ink and ground is not None:
            image = Image.fromarray(ink_strength(picture, ground))
        else:
            image = Image.fromarray(picture).convert("RGBA")
        if max(image.size) != cell:
            scale = cell / max(image.size)
            size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
            image = image.resize(size, Image.Resampling.LANCZOS)
        left = (k % columns) * cell + (cell - image.width) // 2
        sheet.paste(image, (left, (k // columns) * cell + (cell - image.height) // 2))
    if is_ink:
        sheet = Image.merge("LA", (Image.new("L", sheet.size), sheet))
    buffer = io.BytesIO()
    sheet.save(buffer, format="PNG", compress_level=3)
    return buffer.getvalue(), {"cell": cell, "columns": columns, "is_ink": is_ink}


@dataclass(frozen=True, slots=True)
class Part:
    """Something large that is sent once.

    `data` is four bytes with the length of a JSON header, little endian, the header, and then
    the arrays that it lists by type, offset and length. Parts of an equal digest need not be
    sent again.
    """

    digest: str
    data: bytes


def pack_items(
    x_items: Items,
    y_items: Items,
    names: tuple[str, str] = ("x side", "y side"),
    *,
    rows: Sequence[ArrayLike] | None = None,
    columns: Mapping[str, NDArray[Any]] | None = None,
) -> Part:
    """What the items of a map are, wherever they stand on it.

    Items are known by their `rows` in the data set, by side, which are those given when omitted.
    `columns` are what they can be filtered by, values of the x side first. No text is escaped: it
    must never be read as markup.
    """
    sides = (x_items, y_items)
    labels = list(_labels(x_items, y_items))
    modes = list(display_modes(x_items, y_items))
    header: dict[str, Any] = {
        "n_x": len(x_items),
        "names": [safe_line(name, 40) for name in names],
        "texts": [safe_line(name, _TEXT) for items in sides for name in full_names(items)],
        "facts": _facts(x_items, y_items),
    }
    arrays: dict[str, NDArray[Any]] = {}
    for side, items in enumerate(sides):
        first = side * len(x_items)
        if modes[side] == "picture" and items.kind == "image":
            png, layout = make_sheet(items.content)
            arrays["sheet"] = np.frombuffer(png, dtype=np.uint8)
            header["sheet"] = {**layout, "first": first, "count": len(items)}
        elif modes[side] == "picture":
            glyphs = [label if is_glyph(label) else "" for label in labels[side]]
            header["glyphs"] = {"first": first, "labels": glyphs}
            # An item without a glyph is written.
            pairs = zip(glyphs, full_names(items), strict=True)
            labels[side] = [glyph or name for glyph, name in pairs]
    header |= {"labels": [safe_line(label, _WORD) for side in labels for label in side]}
    header |= {"modes": modes, "columns": []}
    rows = rows or [np.arange(len(items)) for items in sides]
    arrays["rows"] = np.concatenate(rows).astype("<u4")
    for k, (name, values) in enumerate([*(columns or {}).items()][:FILTERS]):
        column, arrays[f"column{k}"] = column_codes(values, name)
        header["columns"].append(column)
    return pack(header, arrays)


def pack_places(
    x_points: ArrayLike,
    y_points: ArrayLike,
    order: ArrayLike,
    *,
    parts: Iterable[str] | None = None,
    notes: Iterable[str] | None = None,
) -> Part:
    """Where the items of a map stand, and what a run says of them.

    `order` is that of `importance`. `parts` is what each item is called beside its side, such as
    the part of the split that it is in, and `notes` a further line about it.
    """
    places = np.concatenate([np.asarray(x_points), np.asarray(y_points)])
    names = np.asarray([""] * len(places) if parts is None else list(parts), dtype=str)
    kinds, which = np.unique(names, return_inverse=True)
    if len(kinds) > 256:
        raise ValueError(f"Items can be of 256 parts at most; got {len(kinds)}.")
    header = {
        "parts": kinds.tolist(),
        "notes": None if notes is None else [safe_line(note, 140) for note in notes],
    }
    arrays = {
        "places": places.astype("<f4").ravel(),
        "order": np.asarray(order).astype("<u4"),
        "part": which.ravel().astype(np.uint8),
    }
    return pack(header, arrays)


def column_codes(values: NDArray[Any], name: str) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """What a column is filtered by, and the bin or the group of each item; 255 for no value."""
    description: dict[str, Any] = {"name": safe_line(name, 30)}
    codes = np.full(len(values), _NO_VALUE, dtype=np.uint8)
    if values.dtype.kind == "f":
        known = np.isfinite(values)
        ends = (values[known].min(), values[known].max()) if known.any() else (0.0, 0.0)
        low, high = map(float, ends)
        shares = (values[known] - low) / ((high - low) or 1.0)
        codes[known] = np.minimum((shares * _BINS).astype(int), _BINS - 1)
        return description | {"low": low, "high": high, "bins": _BINS}, codes
    counts = Counter(values.tolist())
    counts.pop(MISSING, None)
    ordered = sorted(counts, key=lambda group: (-counts[group], group))
    place = {group: min(k, _GROUPS) for k, group in enumerate(ordered)}
    codes[:] = [place.get(value, _NO_VALUE) for value in values.tolist()]
    groups = [safe_line(group, 40) for group in ordered[:_GROUPS]]
    if len(ordered) > _GROUPS:
        groups.append(f"{len(ordered) - _GROUPS} others")
    return description | {"groups": groups}, codes


def pack_nearest(
    nearest: NDArray[Any], places: Part, pairs: NDArray[np.integer] | None = None
) -> Part:
    """What a model finds nearest to each item of a drawing: rows of it, or the item itself.

    `pairs` are the rows of what belongs together, two by two.
    """
    header = {"places": places.digest, "k": nearest.shape[1]}
    arrays = {"nearest": nearest.astype("<u4").ravel()}
    if pairs is not None:
        arrays["pairs"] = pairs.astype("<u4").ravel()
    return pack(header, arrays)


def theme_colours(theme: Theme) -> dict[str, Any]:
    """The colours of a theme by what they are for."""
    names = ("name", "paper", "ink", "muted", "faint", "accent")
    return {name: getattr(theme, name) for name in names} | {
        "soft": mix(theme.ink, theme.muted, 0.6),
        "right": theme.palette[2],
        "false": theme.palette[3],
        "missing": theme.palette[4],
        "dim": 0.36,
    }


def mark_legend(
    look: Mapping[str, Any], halos: object, selected: object, spot: object
) -> list[dict[str, Any]]:
    """What marks mean that are on the map just now, a sentence each."""
    marks = [
        (selected or spot, "line", "ink", "nearest in the model"),
        (selected, "dashes", "right", "its match in the data"),
        (
            halos,
            "glow",
            "false",
            "False neighbours: of the other side, drawn near but far in the model.",
        ),
        (
            halos,
            "ring",
            "missing",
            "Missing neighbours: of the other side, near in the model but drawn far away.",
        ),
    ]
    return [
        {"shape": shape, "colour": look[colour], "name": name}
        for there, shape, colour, name in marks
        if there is not None
    ]


def with_positions(places: Part, drawing: JointMap) -> Part:
    """The same part with the items elsewhere."""
    header, arrays = unpack(places)
    points = np.concatenate([drawing.x, drawing.y]).astype("<f4").ravel()
    return pack({k: v for k, v in header.items() if k != "digest"}, arrays | {"places": points})


def pack_all(
    drawing: JointMap,
    pairs: PairSet,
    *,
    nearest: NDArray[Any] | None = None,
    then: tuple[JointMap, NDArray[Any] | None] | None = None,
    color_by: Literal["side"] | str | ArrayLike = "side",
    height: str = "auto",
    scrolls: bool = False,
) -> dict[str, Any]:
    """All that a map needs without a server: its parts as bytes, and the scene for JSON.

    `pairs` are the items on the drawing, `nearest` the rows that `pack_nearest` takes, and `then`
    both of another drawing of the items. What `scrolls` moves under a finger, and nothing can be
    enclosed.
    """
    x, y, n_x = pairs.x, pairs.y, len(pairs.x)
    names, (values, title) = (pairs.x_name, pairs.y_name), colour_values(pairs, color_by)
    items = pack_items(x, y, names)
    order = importance(x, y, drawing.x, drawing.y, pairs.relevance)
    places = pack_places(drawing.x, drawing.y, order)
    positives = pairs.relevance.positives
    degree = np.diff(positives.indptr)
    place = np.arange(positives.nnz) - np.repeat(positives.indptr[:-1], degree)
    partners = np.column_stack([np.repeat(np.arange(n_x), degree), n_x + positives.indices])
    scene: dict[str, Any] = {"height": height, "scrolls": scrolls, "alts": []}
    packed: dict[str, Any] = {"scene": scene, "items": items.data}
    both = {"": (drawing, nearest)} | ({} if then is None else {"then_": then})
    for name, (made, neighbors) in both.items():
        part = with_positions(places, made)
        if neighbors is None:
            neighbors = np.empty((n_x + len(y), 0))
        nearest_part = pack_nearest(neighbors, part, partners[place < _PARTNERS])
        packed |= {f"{name}places": part.data, f"{name}nearest": nearest_part.data}
        scene["alts"].append(map_alt(made, names))
    scene["looks"] = {}
    for theme in (LIGHT, DARK):
        look = theme_colours(theme)
        grouped = group_items(values, pairs.shape, theme, names=names, title=title)
        scene["looks"][theme.name] = {
            "look": look,
            "colours": grouped.colours,
            "legend": grouped.legend,
            "marks": mark_legend(look, None, True, None),
        }
        index = grouped.index
    scene["groups"] = None if index is None else base64.b64encode(index.tobytes()).decode()
    return packed


def colour_values(pairs: PairSet, color_by: str | ArrayLike) -> tuple[Any, str]:
    """What colours say of each item, and what that is called; "side" for the side."""
    if not isinstance(color_by, str):
        return color_by, str(getattr(color_by, "name", None) or "")
    if color_by == "side":
        return color_by, ""
    known = sorted({*pairs.x.metadata, *pairs.y.metadata})
    if color_by not in known:
        raise ValueError(f"color_by must be 'side' or one of {known}; got {color_by!r}.")
    return paired_column(pairs, color_by), color_by


def full_names(items: Items) -> list[str]:
    """What each item is called: its text, else its label."""
    named = items.content if items.kind in ("text", "keyword") else items.labels
    return [str(name) for name in named]


def spread_order(points: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Indices of points such that any first few of them cover the whole map (Gonzalez 1985)."""
    # Each next point is the one farthest from all before it, the first the one nearest to the
    # centre; points that coincide with earlier ones are left out.
    if not len(points) or n < 1:
        return np.empty(0, dtype=np.intp)
    start = int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())
    order = [start]
    distance = ((points - points[start]) ** 2).sum(axis=1)
    while len(order) < min(n, len(points)):
        farthest = int(distance.argmax())
        if distance[farthest] <= 0:
            break
        order.append(farthest)
        np.minimum(distance, ((points - points[farthest]) ** 2).sum(axis=1), out=distance)
    return np.array(order, dtype=np.intp)


def display_modes(x_items: Items, y_items: Items) -> tuple[Mode, Mode]:
    """How the items of both sides are shown; one side at most has pictures of a sheet."""
    first, second = map(_mode, (x_items, y_items), _labels(x_items, y_items))
    if first == second == "picture":
        return "dot", "picture"
    return first, second


def importance(
    x_items: Items,
    y_items: Items,
    x_points: ArrayLike,
    y_points: ArrayLike,
    relevance: Relevance | None = None,
) -> NDArray[np.uint32]:
    """Items in the order in which they are given room on a map.

    Pictures are spread over the whole map first, words that belong to more come first; the sides
    take turns in proportion to their sizes. Rows of the y side are shifted by those of the x side.
    """
    degrees = [np.zeros(len(items), dtype=int) for items in (x_items, y_items)]
    if relevance is not None:
        positives = relevance.positives
        partners = np.bincount(positives.indices, minlength=len(y_items))
        degrees = [np.diff(positives.indptr), partners]
    places, modes = [], display_modes(x_items, y_items)
    for mode, points, degree in zip(modes, (x_points, y_points), degrees, strict=True):
        where = np.asarray(points, dtype=np.float64)
        n = len(where)
        if mode == "picture":
            first = spread_order(where, _SPREAD)
            rest = np.setdiff1d(np.arange(n), first)
            order = np.concatenate([first, np.random.default_rng(0).permutation(rest)])
        else:
            # Of equal ones any: the order of the file would favour its beginning.
            order = np.lexsort((np.random.default_rng(0).permutation(n), -degree))
        place = np.empty(n)
        place[order] = (np.arange(n) + 0.5) / max(n, 1)
        places.append(place)
    return np.argsort(np.concatenate(places), kind="stable").astype("<u4")


def unpack(part: Part) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a part, as a browser reads them."""
    start = 4 + int.from_bytes(part.data[:4], "little")
    header = json.loads(part.data[4:start])
    arrays = {
        name: np.frombuffer(part.data[start + at : start + at + length], dtype=f"<{kind}")
        for name, (kind, at, length) in header.pop("arrays").items()
    }
    return header, arrays


def map_alt(drawing: JointMap, names: tuple[str, str]) -> str:
    """Describe a map in words, for readers who cannot see it; not escaped."""
    quality = "" if drawing.quality is None else f" {drawing.quality.describe()}"
    x, y = (safe_line(name, 40) for name in names)
    return (
        f"Map of {len(drawing.x):,} {x} and {len(drawing.y):,} {y}, drawn to keep "
        f"{PRESERVED[drawing.method]}.{quality}"
    )


def pack_bits(mask: ArrayLike) -> bytes:
    """A mask as one bit a row, the first row in the lowest bit of the first byte."""
    return np.packbits(np.asarray(mask, dtype=bool), bitorder="little").tobytes()


def unpack_bits(data: bytes, n: int) -> NDArray[np.intp]:
    """The rows whose bit is set; what lies beyond n is left out."""
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")[:n]
    return np.flatnonzero(bits)


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Part:
    """A header for JSON and arrays as one part."""
    listed, at, blobs = {}, 0, []
    for name, array in arrays.items():
        blob = np.ascontiguousarray(array).tobytes()
        listed[name] = [f"{array.dtype.kind}{array.dtype.itemsize}", at, len(blob)]
        at += len(blob)
        blobs.append(blob)
    digest = hashlib.blake2b(digest_size=12)
    for piece in (json.dumps([header, listed]).encode(), *blobs):
        digest.update(piece)
    head = json.dumps({**header, "arrays": listed, "digest": digest.hexdigest()}).encode()
    return Part(digest.hexdigest(), b"".join([len(head).to_bytes(4, "little"), head, *blobs]))


def _labels(x: Items, y: Items) -> tuple[list[str], list[str]]:
    """What is written for each item: of the y side its label, where it has one."""
    return full_names(x), [str(label) for label in y.labels]


def _mode(items: Items, labels: Sequence[str]) -> Mode:
    if not len(items):
        return "dot"
    if items.kind == "image" or 2 * sum(map(is_glyph, labels)) > len(labels):
        return "picture"
    if items.kind == "vector" and "label" not in items.metadata:
        return "dot"
    return "word" if np.mean([len(label) for label in labels]) <= _SHORT else "text"


def _facts(x: Items, y: Items) -> list[tuple[str, list[str]]]:
    """Columns of metadata, each with a value for every item; empty where there is none."""
    names = sorted({*x.metadata, *y.metadata} - {"label"})[:_COLUMNS]
    return [
        (
            safe_line(name, 30),
            [
                "" if value is None or value != value else safe_line(value, _VALUE)
                for items in (x, y)
                for value in items.metadata.get(name, [None] * len(items))
            ],
        )
        for name in names
    ]
