"""A map as a widget of a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from simviz.charts.canvas import CSS, bundle, pack_all

if TYPE_CHECKING:
    import pandas as pd

    from simviz.charts.drawing import Drawing


class MapWidget(anywidget.AnyWidget):
    """The canvas of a map in a notebook, made by `Drawing.widget`; what is selected comes back.

    Attributes
    ----------
    selected : list of int
        Rows of ``drawing.to_frame()``: one where an item was clicked on, all that an outline
        encloses, none after Escape. Set it, and the map shows it.
    """

    _esm = bundle("widget.js")
    _css = CSS
    scene = traitlets.Dict().tag(sync=True)
    items = traitlets.Bytes().tag(sync=True)
    places = traitlets.Bytes().tag(sync=True)
    nearest = traitlets.Bytes().tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, drawing: Drawing, **options: Any) -> None:
        packed = pack_all(drawing.map, drawing.pairs, nearest=drawing.nearest, **options)
        self._drawing = drawing
        super().__init__(**packed)

    def __repr__(self) -> str:
        return f"MapWidget({self._drawing!r})"

    @traitlets.validate("selected")
    def _check(self, proposal: dict[str, Any]) -> list[int]:
        n = sum(self._drawing.pairs.shape)
        rows: list[int] = proposal["value"]
        wrong = next((row for row in rows if not 0 <= row < n), None)
        if wrong is not None:
            raise traitlets.TraitError(
                f"Rows of a drawing of {n} items are 0 to {n - 1}; got {wrong}."
            )
        return rows

    def frame(self) -> pd.DataFrame:
        """What is selected, as rows of ``drawing.to_frame()``."""
        return self._drawing.to_frame().iloc[self.selected]
