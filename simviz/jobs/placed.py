"""A drawing whose items are known by their positions in the data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simviz.projection import JointMap, Neighbors, kept_near

Side = Literal["x", "y"]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A drawing and the items on it.

    A large data set is drawn in part: then the rows of the drawing are not
    those of the data set.

    Parameters
    ----------
    drawing : JointMap
        Positions.
    x_rows, y_rows : ndarray of int
        The items on it by their position in the data set, ascending.

    Examples
    --------
    >>> from simviz.projection import joint_map
    >>> drawn = joint_map([[0.0, 1.0], [1.0, 0.0]], [[0.1, 1.0], [1.0, 0.2]])
    >>> placed = Placed(drawn, np.array([3, 7]), np.array([0, 5]))
    >>> placed.row_of("x", 7), placed.row_of("x", 4)
    (1, None)
    """

    drawing: JointMap
    x_rows: Index
    y_rows: Index

    def rows(self, side: Side) -> Index:
        """The items of one side."""
        return self.x_rows if side == "x" else self.y_rows

    def row_of(self, side: Side, item: int) -> int | None:
        """Row on the drawing of an item of the data set; None if it is not drawn."""
        found = np.flatnonzero(self.rows(side) == item)
        return int(found[0]) if len(found) else None

    def place(self, neighbors: Neighbors) -> Neighbors:
        """Neighbours in the data set as rows of the drawing, without those not drawn."""
        rows = self.rows(neighbors.side)
        is_drawn = np.isin(neighbors.index, rows)
        index = np.searchsorted(rows, neighbors.index[is_drawn])
        return Neighbors(neighbors.side, index, neighbors.scores[is_drawn])

    def kept_near(self, item: int, neighbors: Neighbors) -> Mask:
        """Which neighbours in the model are neighbours on the drawing too.

        Parameters
        ----------
        item : int
            Position in the data set of the item whose neighbours they are.
        neighbors : Neighbors
            By their positions in the data set.

        Returns
        -------
        ndarray of bool, shape (len(neighbors),)
            False for what is not drawn; see `simviz.projection.kept_near`.
        """
        side: Side = "x" if neighbors.side == "y" else "y"
        kept = np.isin(neighbors.index, self.rows(neighbors.side))
        row = self.row_of(side, item)
        if row is None or not kept.any():
            return np.zeros(len(neighbors), dtype=bool)
        kept[kept] = kept_near(self.drawing.x, self.drawing.y, row, self.place(neighbors))
        return kept
