"""A data set drawn as a pipeline sees it: coordinates with their items."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from simviz._extras import require
from simviz.charts.canvas import (
    CSS,
    PAGE_SCRIPT,
    colour_values,
    content_policy,
    full_names,
    importance,
    pack_all,
    page_state,
    theme_colours,
)
from simviz.charts.dot_colours import group_items
from simviz.charts.style import DARK, LIGHT, clean_text, is_glyph, safe_line
from simviz.charts.tables import read_text, template
from simviz.data.cells import counted, numbered, percent
from simviz.data.pairs import PairSet
from simviz.pipeline import BestPipeline, Pipeline
from simviz.projection import JointMap, Quality
from simviz.projection.pipeline_map import (
    N_CHANGED,
    Placed,
    draw as lay_out,
    nearest_of_all,
    neighbors_changed,
)

if TYPE_CHECKING:
    import pandas as pd
    from PIL.ImageFont import FreeTypeFont, ImageFont

    from simviz.charts.widget import MapWidget

#: Light letters around it say that the notebook is dark. The words are for a notebook that is not
#: trusted: it shows no frame.
_FRAME = """<iframe sandbox="allow-scripts" style="width:100%;height:600px;border:0"
onload="const pen = new OffscreenCanvas(1, 1).getContext('2d');
pen.fillStyle = getComputedStyle(this).color;
pen.fillRect(0, 0, 1, 1);
const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
this.contentWindow.postMessage(r + g + b &gt; 382 ? 'dark' : 'light', '*')"
srcdoc="{page}">{said}</iframe>"""

#: What colours mean where two models were drawn; items that are listed.
CHANGED, _LISTED = "nearest of the other side changed", 100

#: Points of an inch, size of letters, radius of a dot, and the space around it all.
_INCH, _LETTERS, _DOT, _MARGIN = 72.0, 7.0, 1.1, 8.0
#: Items that get a label at most, and letters of one.
_LABELS, _LETTERS_OF = 400, 32
_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "arial.ttf")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawing:
    """A map with the items on it, as `simviz.draw` makes it; shows itself in a notebook.

    Parameters
    ----------
    map : JointMap
        Where items stand, and how far to trust it.
    pairs : PairSet
        The items that are drawn.
    nearest : ndarray of shape (n_x + n_y, k), optional
        What the model finds nearest to each item, as rows of both sides, the x side first; the
        item itself where there are fewer than k.
    name : str, default=""
        What the model is called.
    then : Drawing, optional
        The same items as another model sees them, lying on this drawing as well as it can.
    changed : ndarray of shape (n_x + n_y,), optional
        How much of the neighbourhood of each item is another in that model, see
        `simviz.projection.neighbors_changed`.

    Raises
    ------
    ValueError
        From `save`, if the file ends in something else than it says.
    """

    map: JointMap
    pairs: PairSet
    nearest: NDArray[np.intp] | None = None
    name: str = ""
    then: Drawing | None = None
    changed: NDArray[np.float64] | None = None

    @property
    def x(self) -> NDArray[np.float64]:
        """Coordinates of the x side, of shape (n_x, 2)."""
        return self.map.x

    @property
    def y(self) -> NDArray[np.float64]:
        """Coordinates of the y side, of shape (n_y, 2)."""
        return self.map.y

    @property
    def quality(self) -> Quality | None:
        """How far to trust the map, within and across the sides."""
        return self.map.quality

    def to_frame(self) -> pd.DataFrame:
        """Where each item stands.

        Returns
        -------
        pandas.DataFrame
            With side, id, text, horizontal and vertical, changed where there is another model,
            and the columns of metadata; the x side first.
        """
        import pandas as pd

        frames = []
        for side, items, points in (("x", self.pairs.x, self.x), ("y", self.pairs.y, self.y)):
            columns: dict[str, Any] = {"side": side, "id": items.ids, "text": full_names(items)}
            columns |= {"horizontal": points[:, 0], "vertical": points[:, 1]}
            taken = columns if self.changed is None else {*columns, "changed"}
            own = {k: v for k, v in items.metadata.items() if k not in taken}
            frames.append(pd.DataFrame(columns | own))
        frame = pd.concat(frames, ignore_index=True)
        if self.changed is not None:
            frame.insert(5, "changed", self.changed)
        return frame

    def widget(self, color_by: str | ArrayLike = "side", height: int = 560) -> MapWidget:
        """The map of the app as a widget of Jupyter or marimo; needs anywidget.

        Parameters
        ----------
        color_by : str or array-like of shape (n_x + n_y,), default="side"
            "side", a column of metadata, or a value an item, the x side first.
        height : int, default=560
            In pixels.

        Returns
        -------
        MapWidget
            Its ``selected`` are the rows that the reader selected, and its ``frame()`` the items.
            Click on an item, or draw around several.

        Raises
        ------
        MissingLibraryError
            If anywidget is not installed; a drawing shows itself all the same.
        """
        require("notebook", "A widget")
        from simviz.charts.widget import MapWidget

        return MapWidget(self, color_by=color_by, height=f"{height}px")

    def save(
        self,
        path: str | Path,
        color_by: str | ArrayLike | None = None,
        *,
        size: tuple[float, float] = (7.0, 5.0),
        dpi: int = 300,
    ) -> None:
        """Write the map to a file whose ending says what it is.

        ``.html`` is a page that needs nothing else, on which items glide from one model to the
        other where two were drawn, beside a list of those that changed most; ``.svg`` and
        ``.png`` are pictures with labels, for papers; ``.parquet`` is `to_frame` with a column
        ``neighbors``, which Embedding Atlas reads
        (``--x horizontal --y vertical --text text --neighbors neighbors``).

        Parameters
        ----------
        path : str or Path
            Where to; an existing file is replaced.
        color_by : str or array-like of shape (n_x + n_y,), optional
            "side", a column of metadata, or a value an item, the x side first. By default what
            changed, of one model the side.
        size : tuple of float, default=(7.0, 5.0)
            Width and height of a picture in inches.
        dpi : int, default=300
            Pixels of an inch of ``.png``.
        """
        kind = Path(path).suffix.lower()
        if kind == ".parquet":
            self._table().to_parquet(path)
        elif kind in (".svg", ".png"):
            picture = _laid_out(self, self._colours(color_by), size)
            made = _png(picture, dpi) if kind == ".png" else _svg(picture).encode()
            Path(path).write_bytes(made)
        elif kind in (".html", ".htm"):
            Path(path).write_text(self.to_html(color_by), encoding="utf-8")
        else:
            raise ValueError(
                "A drawing is saved as .html, .svg, .png or .parquet; got "
                f"{Path(path).name!r}. Give the file one of these endings."
            )

    def _table(self) -> pd.DataFrame:
        """The frame with neighbours as rows of it, the nearest on the map first."""
        frame, points = self.to_frame(), np.concatenate([self.x, self.y])
        for name in [name for name, kind in frame.dtypes.items() if kind.kind == "O"]:
            # A column of Parquet has one type, and half a pair of surrogates is no text.
            frame[name] = frame[name].map(
                lambda v: str(v).encode("utf-8", "replace").decode(), na_action="ignore"
            )
        if self.nearest is not None:
            lists = []
            for i, row in enumerate(self.nearest):
                own = row[row != i]
                away = np.linalg.norm(points[own] - points[i], axis=1)
                order = np.argsort(away, kind="stable")
                lists.append({"ids": own[order].tolist(), "distances": away[order].tolist()})
            frame["neighbors"] = lists
        return frame

    def _colours(self, color_by: str | ArrayLike | None) -> str | ArrayLike:
        """What was asked for, else what is usual."""
        if color_by is not None or self.changed is None:
            return "side" if color_by is None else color_by
        import pandas as pd

        return pd.Series(self.changed, name=CHANGED)

    def to_html(self, color_by: str | ArrayLike | None = None) -> str:
        """The page that `save` writes.

        Parameters
        ----------
        color_by : str or array-like of shape (n_x + n_y,), optional
            See `save`.

        Returns
        -------
        str
            It needs nothing else, and asks no other computer.
        """
        then = None if self.then is None else (self.then.map, self.then.nearest)
        packed = pack_all(
            self.map, self.pairs, nearest=self.nearest, then=then,
            color_by=self._colours(color_by), scrolls=True,
        )  # fmt: skip
        names: list[str] = []
        if self.then is not None and self.changed is not None:
            names = numbered([clean_text(one.name, 60) for one in (self, self.then)])
            packed["scene"]["changed"] = changed_most(
                self.pairs, self.changed, [*map(range, self.pairs.shape)]
            )
        title = clean_text(f"{self.pairs.x_name} and {self.pairs.y_name}", 90)
        return template("simviz.charts", "drawing.html").render(
            policy=content_policy([PAGE_SCRIPT]),
            title=title,
            names=names,
            about=f"{len(self.x):,} {self.pairs.x_name} and {len(self.y):,} {self.pairs.y_name}",
            said=changed_text(self.changed) if names else "",
            looks=(theme_colours(LIGHT), theme_colours(DARK)),
            canvas=Markup(CSS),
            css=Markup(read_text("simviz.charts", "page.css")),
            state=Markup(page_state(packed)),
            script=Markup(PAGE_SCRIPT),
        )

    def __repr__(self) -> str:
        quality = "" if self.quality is None else f"; {self.quality.describe()}"
        sizes = f"{len(self.x):,} {self.pairs.x_name} + {len(self.y):,} {self.pairs.y_name}"
        return f"Drawing({sizes}, {self.map.method}{quality})"

    def _repr_html_(self) -> str:
        return _FRAME.format(page=escape(self.to_html()), said=escape(repr(self)))


@dataclass(frozen=True, slots=True)
class _Picture:
    """What stands where, in points from the upper left corner."""

    width: float
    height: float
    dots: list[tuple[float, float, int, str]]
    labels: list[tuple[float, float, str]]
    legend: list[tuple[float, dict[str, Any]]]


def _laid_out(drawing: Drawing, color_by: str | ArrayLike, size: tuple[float, float]) -> _Picture:
    """Place dots, as many labels as there is room for, and the legend; `size` in inches."""
    pairs, (width, height) = drawing.pairs, (_INCH * side for side in size)
    names, (values, title) = (pairs.x_name, pairs.y_name), colour_values(pairs, color_by)
    grouped = group_items(values, pairs.shape, LIGHT, names=names, title=title)
    points = np.concatenate([drawing.x, drawing.y])
    foot = _MARGIN + 2 * _LETTERS
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([width, height - foot]) - 2 * (_MARGIN + _DOT)
    scale = float((room / np.maximum(high - low, 1e-12)).min())
    middle = np.array([width / 2, (height - foot) / 2])
    at = middle + (points - (low + high) / 2) * [scale, -scale]
    n_x = len(pairs.x)
    side = (np.arange(len(at)) >= n_x).astype(int)
    group = side if grouped.index is None else grouped.index
    # In any order, or the one side would lie on the other.
    dots = [
        (float(at[i, 0]), float(at[i, 1]), int(side[i]), grouped.colours[group[i]])
        for i in np.random.default_rng(0).permutation(len(at))
    ]
    texts = [
        safe_line(name, _LETTERS_OF) for items in (pairs.x, pairs.y) for name in full_names(items)
    ]
    order = importance(pairs.x, pairs.y, drawing.x, drawing.y, pairs.relevance)
    labels: list[tuple[float, float, str]] = []
    taken = np.empty((0, 4))
    for i in order:
        if len(labels) == _LABELS:
            break
        text, (x, y) = texts[i], at[i]
        wide = _width(text)
        left = x + 2 * _DOT if x + wide + 2 * _DOT < width - 2 else x - wide - 2 * _DOT
        box = np.array([left - 1, y - 0.6 * _LETTERS, left + wide + 1, y + 0.6 * _LETTERS])
        apart = (taken[:, :2] >= box[2:]).any(axis=1) | (taken[:, 2:] <= box[:2]).any(axis=1)
        if text and not is_glyph(text) and left > 2 and apart.all():
            taken = np.vstack([taken, box])
            labels.append((float(left), float(y), text))
    legend, left = [], _MARGIN
    for entry in grouped.legend:
        if "scale" in entry:
            name = f"{entry['name']}: {entry['low']} to {entry['high']}"
            entry = {"name": name, "shape": "square", "colour": entry["scale"][-1]}
        legend.append((left, entry))
        left += _width(entry["name"]) + 4 * _LETTERS
    return _Picture(width, height, dots, labels, [one for one in legend if one[0] < width - _INCH])


def _svg(picture: _Picture) -> str:
    """The picture as SVG: labels stay text, which can be searched and set anew."""
    look = {"ink": LIGHT.ink, "paper": LIGHT.paper, "letters": _LETTERS, "dot": _DOT}
    return template("simviz.charts", "printed.svg").render(
        picture=picture, foot=picture.height - _MARGIN, inch=_INCH, **look
    )


def _png(picture: _Picture, dpi: int) -> bytes:
    """The picture in pixels."""
    from PIL import Image, ImageDraw

    scale = dpi / _INCH
    size = round(picture.width * scale), round(picture.height * scale)
    # Drawn at twice the size: edges of dots are smooth.
    image = Image.new("RGB", (2 * size[0], 2 * size[1]), "white")
    pen, k = ImageDraw.Draw(image), 2 * scale
    for x, y, side, colour in picture.dots:
        _mark(pen, k * x, k * y, k * _DOT, "diamond" if side else "circle", colour)
    for left, entry in picture.legend:
        y = picture.height - _MARGIN
        _mark(pen, k * (left + 2), k * y, k * 2, entry["shape"], entry["colour"])
    font = _font(_LETTERS * k)
    texts = [*picture.labels]
    texts += [(x + 8, picture.height - _MARGIN, e["name"]) for x, e in picture.legend]
    for x, y, text in texts:
        pen.text((k * x, k * y), text, LIGHT.ink, font, "lm", stroke_width=k, stroke_fill="white")
    buffer = io.BytesIO()
    image.resize(size, Image.Resampling.LANCZOS).save(buffer, "PNG", dpi=(dpi, dpi))
    return buffer.getvalue()


def _mark(pen: Any, x: float, y: float, r: float, shape: str, colour: str) -> None:
    if shape == "circle":
        pen.ellipse((x - r, y - r, x + r, y + r), colour)
    elif shape == "square":
        pen.rectangle((x - r, y - r, x + r, y + r), colour)
    else:
        r *= 1.25
        pen.polygon([(x - r, y), (x, y - r), (x + r, y), (x, y + r)], colour)


@lru_cache(8)
def _font(size: float) -> FreeTypeFont | ImageFont:
    """A font of this computer with letters of many scripts, else that of Pillow."""
    from PIL import ImageFont

    for name in _FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def _width(text: str) -> float:
    """Points that a text takes, with some to spare: readers have other fonts."""
    return 1.06 * float(_font(10 * _LETTERS).getlength(text)) / 10


def model_name(pipeline: Any) -> str:
    """What a fitted pipeline is called: its method, and how many dimensions it has."""
    model = getattr(pipeline, "model_", None)
    if model is None:
        return type(pipeline).__name__.removesuffix("Pipeline")
    k = getattr(model, "n_components_", None)
    title = str(model.tags.title)
    return title if k is None else f"{title}, {counted(k, 'dimension')}"


def changed_most(
    pairs: PairSet, changed: NDArray[np.float64], rows: Sequence[Iterable[int]]
) -> dict[str, Any]:
    """A list of the items of a drawing whose neighbourhood changed most, for beside the map.

    `rows` are those of each side in the data set.
    """
    # Of equal ones those of both sides take turns; NaN comes last.
    turns = np.concatenate([np.arange(n) / max(n, 1) for n in pairs.shape])
    order = np.lexsort((turns, -changed))[: min(_LISTED, np.count_nonzero(changed > 0))]
    names = [name for items in (pairs.x, pairs.y) for name in full_names(items)]
    keys = [f"{side}{row}" for side, own in zip("xy", rows, strict=True) for row in own]
    entries = [[int(i), keys[i], safe_line(names[i], 120), percent(changed[i])] for i in order]
    return {"title": "Changed most", "entries": entries, "filters": False}


def changed_text(changed: NDArray[np.float64] | None) -> str:
    """What changed between two models, in a sentence or two."""
    if changed is None or np.isnan(changed).all():
        return "Neither model finds anything nearer than anything else."
    share = percent(float(np.nanmean(changed)))
    return (
        f"Of the {N_CHANGED} nearest items of the other side, {share} are others in the second "
        "model, on average. Counted and coloured by the models themselves, whatever the drawings "
        "show."
    )


def draw(
    pipeline: Pipeline | BestPipeline,
    pairs: PairSet,
    *,
    seed: int = 0,
    then: Pipeline | BestPipeline | None = None,
    **options: Any,
) -> Drawing:
    """Draw pairs on one map, as a fitted pipeline sees them, or as two do.

    Parameters
    ----------
    pipeline : PairPipeline, BlendPipeline, CSLSPipeline, Tuned or Blended
        Fitted.
    pairs : PairSet
        What to draw; of many items a sample.
    seed : int, default=0
        Of the map and the sample.
    then : PairPipeline, BlendPipeline, CSLSPipeline, Tuned or Blended, optional
        Another model of the same pairs: the drawing has its own as ``then``, and what ``changed``.
    **options
        See `simviz.joint_map`.

    Returns
    -------
    Drawing
        Coordinates, items and quality. Its notes say what was left out. Of very many pairs
        nothing is `nearest`.

    Raises
    ------
    ValueError
        If the other model can draw only a part of the items.

    Examples
    --------
    >>> import simviz
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["a red heart", "a blue car"])
    >>> pipeline = simviz.default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> simviz.draw(pipeline, pairs).to_frame().columns.tolist()
    ['side', 'id', 'text', 'horizontal', 'vertical']
    """
    best: Any = getattr(pipeline, "best", pipeline)
    made, x, y = lay_out(best, pairs, seed=seed, **options)
    nearest = nearest_of_all(best, pairs, Placed(made, x, y))
    drawing = Drawing(made, pairs.take(x, y), nearest, model_name(best))
    if then is None:
        return drawing
    other = draw(then, drawing.pairs, seed=seed, **options)
    if other.pairs.shape != drawing.pairs.shape:
        raise ValueError(
            f"{other.name} can draw {other.pairs.shape} of these {drawing.pairs.shape} items: "
            "give draw fewer pairs, or this model first."
        )
    best_then: Any = getattr(then, "best", then)
    changed = neighbors_changed(best, best_then, drawing.pairs)
    other = replace(other, map=other.map.turned_onto(made))
    return replace(drawing, then=other, changed=changed)
