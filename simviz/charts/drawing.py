"""A data set drawn as a pipeline sees it: coordinates with their items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from simviz.charts.map import map_figure
from simviz.data.pairs import PairSet
from simviz.pipeline import Pipeline
from simviz.projection import JointMap, Quality
from simviz.projection.drawing import draw

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawing:
    """A map with the items on it; shows itself in a notebook.

    Parameters
    ----------
    map : JointMap
        Where items stand, and how far to trust it.
    pairs : PairSet
        The items that are drawn.

    Examples
    --------
    >>> from simviz import default_pipeline
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["a red heart", "a blue car"])
    >>> pipeline = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> Drawing.of(pipeline, pairs).to_frame().columns.tolist()
    ['side', 'id', 'text', 'horizontal', 'vertical']
    """

    map: JointMap
    pairs: PairSet

    @classmethod
    def of(cls, pipeline: Pipeline, pairs: PairSet, *, seed: int = 0, **options: Any) -> Self:
        """Draw pairs as a fitted pipeline sees them.

        Parameters
        ----------
        pipeline : PairPipeline or BlendPipeline
            Fitted.
        pairs : PairSet
            What to draw; of many items a sample.
        seed : int, default=0
            Of the map and the sample.
        **options
            See `simviz.projection.joint_map`; the method is "two-sided" when omitted.

        Returns
        -------
        Drawing
            Its notes say what was left out.
        """
        made, x, y = draw(pipeline, pairs, seed=seed, **{"method": "two-sided", **options})
        return cls(made, pairs.take(x, y))

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
            With side, id, text, horizontal and vertical; the x side first.
        """
        import pandas as pd

        x, y = self.pairs.x, self.pairs.y
        points = np.concatenate([self.x, self.y])
        return pd.DataFrame(
            {
                "side": np.repeat(["x", "y"], [len(x), len(y)]),
                "id": np.concatenate([x.ids, y.ids]),
                "text": np.concatenate([x.labels, y.labels]),
                "horizontal": points[:, 0],
                "vertical": points[:, 1],
            }
        )

    def figure(self, **options: Any) -> go.Figure:
        """The map as a figure.

        Parameters
        ----------
        **options
            See `simviz.charts.map_figure`.

        Returns
        -------
        plotly Figure
            Words as words, pictures as pictures, the rest as dots.
        """
        names = {"x_name": self.pairs.x_name, "y_name": self.pairs.y_name}
        sides = self.pairs.x, self.pairs.y, self.pairs.relevance
        return map_figure(self.map, *sides, **{**names, **options})

    def __repr__(self) -> str:
        quality = "" if self.quality is None else f"; {self.quality.describe()}"
        sizes = f"{len(self.x):,} {self.pairs.x_name} + {len(self.y):,} {self.pairs.y_name}"
        return f"Drawing({sizes}, {self.map.method}{quality})"

    def _repr_html_(self) -> str:
        return str(self.figure().to_html(full_html=False, include_plotlyjs=True))
