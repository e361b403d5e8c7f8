"""What an estimator stores: shapes, types and bounds of its fitted attributes, and their check.

A class declares in ``_stored`` what each of its fitted attributes is. Names of
dimensions stand for numbers that have to agree wherever they occur. A function
of the estimator stands for a declaration that depends on its parameters; None
is what it answers where there is no such attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import isfinite
from numbers import Integral, Real
from operator import lt
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simviz.params import validate_params

Sizes = dict[str, int]


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array of finite numbers: its dimensions, in order, and what its values may be."""

    dims: tuple[str | int, ...]
    whole: bool = False  # else float32 or float64
    low: float | None = None
    high: float = float("inf")  # of sizes; those of floats are bounded in any case
    below: str = ""  # values are less than this dimension
    rows: bool = False  # of features, as large as those of items may be
    layout: Literal["dense", "csr", "either"] = "dense"
    empty: bool = False  # whether the first dimension may be 0
    optional: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse another kind or shape; values are not looked at."""
        if not (self.layout != "csr" and isinstance(value, np.ndarray)) and not (
            self.layout != "dense" and isinstance(value, sp.csr_array)
        ):
            raise ValueError(f"is a {type(value).__name__}")
        kinds = "i" if self.whole else "f"
        if value.dtype.kind not in kinds or value.dtype.itemsize not in (4, 8):
            raise ValueError(f"holds {value.dtype}")
        if len(value.shape) != len(self.dims):
            raise ValueError(f"has the shape {value.shape}, expected {len(self.dims)} dimensions")
        for i, (dim, n) in enumerate(zip(self.dims, value.shape, strict=True)):
            agree(sizes, dim, n, low=0 if self.empty and i == 0 else 1)

    def check_values(self, value: Any, sizes: Sizes) -> None:
        """Refuse numbers that are not finite or out of bounds, and faulty rows of a CSR array."""
        if isinstance(value, sp.csr_array):
            value.check_format(full_check=True)
            value = value.data
        if not value.size:
            return
        smallest, largest = value.min(), value.max()  # NaN is both
        if not (np.isfinite(smallest) and np.isfinite(largest)):
            raise ValueError("holds numbers that are not finite")
        if not self.whole and max(largest, -smallest) > self._largest(value.dtype):
            raise ValueError(f"holds {max(largest, -smallest):.3g}, which is too large")
        if self.low is not None and smallest < self.low:
            raise ValueError(f"holds {smallest}, less than {self.low}")
        if self.below and largest >= sizes[self.below]:
            raise ValueError(f"holds {largest}, expected less than {sizes[self.below]}")

    def _largest(self, dtype: Any) -> float:
        """The largest size of a value: products with it, and sums of these, stay finite."""
        largest = largest_value(dtype)
        return min(self.high, largest if self.rows else largest**2)


@dataclass(frozen=True, slots=True)
class StoredArrays:
    """Arrays of finite numbers by name, with these shapes."""

    shapes: Mapping[str, tuple[int, ...]]

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse other names, kinds or shapes."""
        if not isinstance(value, dict) or set(value) != set(self.shapes):
            raise ValueError(f"is no dict of {', '.join(self.shapes)}")
        for name, shape in self.shapes.items():
            StoredArray(shape).check(value[name], sizes)

    def check_values(self, value: Any, sizes: Sizes) -> None:
        """Refuse numbers that are not finite."""
        for name, shape in self.shapes.items():
            StoredArray(shape).check_values(value[name], sizes)


@dataclass(frozen=True, slots=True)
class Size:
    """A whole number that is a dimension."""

    dim: str
    high: int = 2**31 - 1
    optional: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse anything but the dimension."""
        if not _is_number(value, whole=True) or not 1 <= value <= self.high:
            raise ValueError(f"is {value!r}, expected a whole number from 1 to {self.high:,}")
        agree(sizes, self.dim, value)


@dataclass(frozen=True, slots=True)
class Number:
    """A number, finite unless said otherwise."""

    low: float | None = None
    whole: bool = False
    positive: bool = False
    finite: bool = True
    optional: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse other types, and numbers out of bounds."""
        if not _is_number(value, whole=self.whole):
            raise ValueError(f"is {value!r}, expected a {'whole ' * self.whole}number")
        if self.finite and not isfinite(value):
            raise ValueError(f"is {value}, expected a finite number")
        if (self.low is not None and value < self.low) or (self.positive and value <= 0):
            raise ValueError(f"is {value}, which is too small")


@dataclass(frozen=True, slots=True)
class Numbers:
    """Any numbers in a list or tuple, of this length if one is given."""

    length: int | None = None
    optional: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, list | tuple) or not all(map(_is_number, value)):
            raise ValueError("is no list of numbers")
        if self.length is not None and len(value) != self.length:
            raise ValueError(f"has {len(value)} numbers, expected {self.length}")


@dataclass(frozen=True, slots=True)
class Texts:
    """Distinct strings, one a column, in code point order; `more` columns follow theirs."""

    dim: str
    more: int = 0
    ordered: bool = True
    single: bool = False  # each of one character
    optional: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, list | np.ndarray) or not set(map(type, value)) <= {str, np.str_}:
            raise ValueError("is no list of strings")
        if self.single and set(map(len, value)) != {1}:
            raise ValueError("holds strings of several characters")
        agree(sizes, self.dim, len(value) + self.more)
        ascending = self.ordered and all(map(lt, value, islice(value, 1, None)))
        if not ascending and (self.ordered or len(set(value)) != len(value)):
            raise ValueError("holds a string twice, or strings that are out of order")


@dataclass(frozen=True, slots=True)
class Equal:
    """What parameters and other attributes determine; whole numbers may add up to a dimension."""

    expected: Any
    dim: str = ""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse anything else."""
        if type(value) is not type(self.expected) or value != self.expected:
            raise ValueError(f"is {str(value)[:80]}, expected {str(self.expected)[:80]}")
        if self.dim:
            agree(sizes, self.dim, sum(self.expected.values()))


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some values, or a function that the reader trusts."""

    values: tuple[str | bool, ...]
    optional: bool = False
    functions: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse others."""
        if self.functions and callable(value):
            return
        if not isinstance(value, str | bool) or value not in self.values:
            raise ValueError(f"is {str(value)[:80]!r}, expected one of {self.values}")


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted method of the same two sides."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Refuse what is fitted to other widths; `check_stored` goes on with what it stores."""
        if not isinstance(value, BaseEstimator) or not hasattr(value, "similarity"):
            raise ValueError(f"is a {type(value).__name__}, expected a method")
        for name, dim in (("n_features_in_", "x_features"), ("n_features_y_", "y_features")):
            Size(dim).check(getattr(value, name, None), sizes)


Stored: TypeAlias = (
    StoredArray | StoredArrays | Size | Number | Numbers | Texts | Equal | OneOf | Model
)  # fmt: skip
Declared: TypeAlias = Mapping[str, Stored | Callable[[Any], Stored | None]]
#: Of a later check of values: what to say of what is wrong, and how to look.
Pending = tuple[str, Callable[[], None]]


#: What methods tell of the strength of each component.
SPECTRUM: Declared = {"spectrum_": StoredArray(("components",))}
#: What methods tell of their iterations.
ITERATIONS: Declared = {
    "n_iter_": Number(0, whole=True),
    "best_iter_": Number(0, whole=True),
    "loss_curve_": Numbers(),
    "validation_scores_": Numbers(optional=True),
}


def largest_value(dtype: Any) -> float:
    """The largest value of features whose squares leave room for sums of some ten million."""
    return float(np.finfo(dtype).max) ** 0.4


def _is_number(value: Any, whole: bool = False) -> bool:
    return isinstance(value, Integral if whole else Real) and not isinstance(value, bool)


def agree(sizes: Sizes, dim: str | int, n: int, low: int = 1) -> None:
    """Give a dimension its size, or refuse another one than it has."""
    expected = dim if isinstance(dim, int) else sizes.setdefault(dim, n)
    if n != expected or n < low:
        raise ValueError(f"has {n:,} {dim}, expected {max(expected, low):,}")


def check_stored(estimator: Any, *, fitted: bool = True) -> tuple[Sizes, list[Pending]]:
    """Check parameters, and shapes and types of what is stored; return sizes and what is left.

    What is left are checks of the values of arrays, which need not be there yet.
    """
    cls = type(estimator)
    getattr(estimator, "_check_parameters", lambda: validate_params(estimator))()
    sizes: Sizes = {}
    pending: list[Pending] = []
    inner = [v for v in vars(estimator).values() if isinstance(v, BaseEstimator)]
    present = {k for k in vars(estimator) if k.endswith("_") and not k.startswith("_")}
    if fitted or present:
        specs: dict[str, Stored | Callable[[Any], Stored | None]] = {}
        for base in reversed(cls.__mro__):
            specs |= vars(base).get("_stored", {})
        # A method of somebody else need not say what it adds to what its base declares.
        if cls.__module__.startswith("simviz.") and not present <= set(specs):
            raise ValueError(f"{cls.__name__} has no {min(present - set(specs))}.")
        for name, spec in specs.items():
            stored = spec(estimator) if callable(spec) else spec
            value = getattr(estimator, name, None)
            if value is None and getattr(stored, "optional", stored is None):
                continue
            try:
                if stored is None:
                    raise ValueError("is not used with these parameters")
                stored.check(value, sizes)
            except ValueError as error:
                raise ValueError(f"{cls.__name__}.{name} {error}.") from error
            if isinstance(stored, StoredArray | StoredArrays):
                pending.append(
                    (f"{cls.__name__}.{name}", partial(stored.check_values, value, sizes))
                )
        if getattr(estimator, "_one_space", False) and sizes["x_features"] != sizes["y_features"]:
            raise ValueError(f"{cls.__name__} has one space for both sides, but {sizes}.")
    for part in inner:
        pending += check_stored(part, fitted=False)[1]
    return sizes, pending


def check_values(pending: list[Pending]) -> None:
    """Do what `check_stored` left until the values of arrays are there."""
    for name, check in pending:
        try:
            check()
        except ValueError as error:
            raise ValueError(f"{name} {error}.") from error
