"""A data set drawn as a pipeline sees it: coordinates with their items."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from simviz._extras import require
from simviz.charts import printed
from simviz.charts.canvas import (
    CSS,
    PAGE_SCRIPT,
    content_policy,
    full_names,
    pack_alone,
    page_state,
)
from simviz.charts.style import DARK, LIGHT, clean_text
from simviz.charts.tables import template
from simviz.data.pairs import PairSet
from simviz.pipeline import Chosen, Pipeline
from simviz.projection import JointMap, Quality
from simviz.projection.drawing import Placed, draw as lay_out, nearest_of_all

if TYPE_CHECKING:
    import pandas as pd

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

    Raises
    ------
    ValueError
        From `save`, if the file ends in something else than it says.
    """

    map: JointMap
    pairs: PairSet
    nearest: NDArray[np.intp] | None = None

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
            With side, id, text, horizontal and vertical, and the columns of metadata; the x side
            first.
        """
        import pandas as pd

        frames = []
        for side, items, points in (("x", self.pairs.x, self.x), ("y", self.pairs.y, self.y)):
            columns: dict[str, Any] = {"side": side, "id": items.ids, "text": full_names(items)}
            columns |= {"horizontal": points[:, 0], "vertical": points[:, 1]}
            own = {k: v for k, v in items.metadata.items() if k not in columns}
            frames.append(pd.DataFrame(columns | own))
        return pd.concat(frames, ignore_index=True)

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
        color_by: str | ArrayLike = "side",
        *,
        size: tuple[float, float] = (7.0, 5.0),
        dpi: int = 300,
    ) -> None:
        """Write the map to a file whose ending says what it is.

        ``.html`` is a page that needs nothing else; ``.svg`` and ``.png`` are pictures with
        labels, for papers; ``.parquet`` is `to_frame` with a column ``neighbors``, which
        Embedding Atlas reads (``--x horizontal --y vertical --text text --neighbors neighbors``).

        Parameters
        ----------
        path : str or Path
            Where to; an existing file is replaced.
        color_by : str or array-like of shape (n_x + n_y,), default="side"
            "side", a column of metadata, or a value an item, the x side first.
        size : tuple of float, default=(7.0, 5.0)
            Width and height of a picture in inches.
        dpi : int, default=300
            Pixels of an inch of ``.png``.
        """
        kind = Path(path).suffix.lower()
        if kind == ".parquet":
            self._table().to_parquet(path)
        elif kind in (".svg", ".png"):
            picture = printed.laid_out(self, color_by, size)
            made = printed.png(picture, dpi) if kind == ".png" else printed.svg(picture).encode()
            Path(path).write_bytes(made)
        elif kind in (".html", ".htm"):
            Path(path).write_text(self._page(color_by), encoding="utf-8")
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

    def _page(self, color_by: str | ArrayLike) -> str:
        packed = pack_alone(
            self.map, self.pairs, nearest=self.nearest, color_by=color_by, scrolls=True
        )
        title = clean_text(f"{self.pairs.x_name} and {self.pairs.y_name}", 90)
        return template("simviz.charts", "drawing.html").render(
            policy=content_policy([PAGE_SCRIPT]),
            title=title,
            light=LIGHT.paper,
            dark=DARK.paper,
            css=Markup(CSS),
            state=Markup(page_state(packed)),
            script=Markup(PAGE_SCRIPT),
        )

    def __repr__(self) -> str:
        quality = "" if self.quality is None else f"; {self.quality.describe()}"
        sizes = f"{len(self.x):,} {self.pairs.x_name} + {len(self.y):,} {self.pairs.y_name}"
        return f"Drawing({sizes}, {self.map.method}{quality})"

    def _repr_html_(self) -> str:
        return _FRAME.format(page=escape(self._page("side")), said=escape(repr(self)))


def draw(pipeline: Pipeline | Chosen, pairs: PairSet, *, seed: int = 0, **options: Any) -> Drawing:
    """Draw pairs on one map, as a fitted pipeline sees them.

    Parameters
    ----------
    pipeline : PairPipeline, BlendPipeline, CSLSPipeline, Tuned or Blended
        Fitted.
    pairs : PairSet
        What to draw; of many items a sample.
    seed : int, default=0
        Of the map and the sample.
    **options
        See `simviz.joint_map`.

    Returns
    -------
    Drawing
        Coordinates, items and quality. Its notes say what was left out. Of very many pairs
        nothing is `nearest`.

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
    return Drawing(made, pairs.take(x, y), nearest)
