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
        From `save`, if the file is not to end in ``.html``.
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

    def save(self, path: str | Path, color_by: str | ArrayLike = "side") -> None:
        """Write the map to an HTML file that needs nothing else.

        Parameters
        ----------
        path : str or Path
            Where to; an existing file is replaced.
        color_by : str or array-like of shape (n_x + n_y,), default="side"
            "side", a column of metadata, or a value an item, the x side first.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"A drawing is saved as a page: its file ends in .html, got {Path(path).name!r}. "
                "The page has a button that saves a picture."
            )
        Path(path).write_text(self._page(color_by), encoding="utf-8")

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
