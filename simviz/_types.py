"""Names for types that modules share."""

from __future__ import annotations

from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Side = Literal["x", "y"]
Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Positions in an array.
Index = NDArray[np.intp]
#: Of float32 or float64.
Array = NDArray[np.floating]
Mask = NDArray[np.bool_]
#: What a scorer takes for a side: items, or rows of a matrix.
SideT = TypeVar("SideT")
SideT_contra = TypeVar("SideT_contra", contravariant=True)
