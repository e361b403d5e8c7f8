"""Logarithms and powers of two in plain arithmetic, for compiled loops.

numba's (and the C library's) functions are called number by number. These are
sums and products only, of which the compiler makes SIMD. Both take and give
float32 or float64, whichever comes.

- log2(x) = e + log2(m) with m in [√½, √2). In float32 log2(1 + f) = f p(f), with
  p of degree 7 minimising the largest error (5e-8, below the rounding of
  float32); in float64 the series 2/ln 2 (z + z³/3 + ...) of z = (m - 1)/(m + 1),
  cut where its terms fall below 1e-16.
- 2^x = 2^n 2^r with n the nearest integer and r in [-½, ½], the latter by its
  Taylor series, cut where its terms fall below the rounding. 2^0 is exactly 1.
"""

from __future__ import annotations

from math import factorial, log
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

_P0, _P1, _P2, _P3, _P4, _P5, _P6, _P7 = map(
    np.float32,
    (
        1.4426948,
        -0.72135717,
        0.48093945,
        -0.36008722,
        0.28670752,
        -0.250069,
        0.23688993,
        -0.14574403,
    ),
)
_SERIES = tuple(2 / np.log(2) / n for n in range(1, 21, 2))
_Z0, _Z1, _Z2, _Z3, _Z4, _Z5, _Z6, _Z7, _Z8, _Z9 = _SERIES
_POWERS = tuple(log(2) ** n / factorial(n) for n in range(1, 14))
_E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = _POWERS
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = map(np.float32, _POWERS[:7])
_ONE = np.float32(1)
_ROOT_HALF_32 = np.int32(0x3F3504F3)
_EXPONENT_32 = np.int32(-(2**23))
_SHIFT_32 = np.int32(23)
_ROOT_HALF_64 = np.int64(0x3FE6A09E667F3BCD)
_EXPONENT_64 = np.int64(-(2**52))
_SHIFT_64 = np.int64(52)
# A number this large has no bits for fractions: adding it rounds to an integer,
# which then stands in the lowest bits.
_ROUND_32 = np.float32(1.5 * 2**23)
_ROUND_64 = np.float64(1.5 * 2**52)
_BITS_32 = np.int32(_ROUND_32.view(np.int32) - 127)
_BITS_64 = np.int64(_ROUND_64.view(np.int64) - 1023)

# Under its own error model numba would test every divisor for 0, number by number.
_OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy"}


def log2(x: Any) -> Any:
    """Logarithm of a positive normal number."""
    raise NotImplementedError("Only compiled code calls this.")


def exp2(x: Any) -> Any:
    """Power of two, where it is a normal number."""
    raise NotImplementedError("Only compiled code calls this.")


def _log2_single(x: Any) -> Any:
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - _ROOT_HALF_32) & _EXPONENT_32)
    f = np.int32(bits - exponent).view(np.float32) - _ONE
    p = ((((((_P7 * f + _P6) * f + _P5) * f + _P4) * f + _P3) * f + _P2) * f + _P1) * f + _P0
    return p * f + np.float32(np.int32(exponent >> _SHIFT_32))


def _log2_double(x: Any) -> Any:
    bits = np.float64(x).view(np.int64)
    exponent = np.int64(np.int64(bits - _ROOT_HALF_64) & _EXPONENT_64)
    m = np.int64(bits - exponent).view(np.float64)
    z = (m - 1.0) / (m + 1.0)
    w = z * z
    p = ((((_Z9 * w + _Z8) * w + _Z7) * w + _Z6) * w + _Z5) * w + _Z4
    p = (((p * w + _Z3) * w + _Z2) * w + _Z1) * w + _Z0
    return p * z + np.float64(np.int64(exponent >> _SHIFT_64))


def _exp2_single(x: Any) -> Any:
    rounded = np.float32(x + _ROUND_32)
    r = np.float32(x - (rounded - _ROUND_32))
    p = (((((_S7 * r + _S6) * r + _S5) * r + _S4) * r + _S3) * r + _S2) * r + _S1
    scale = np.int32(np.int32(rounded.view(np.int32) - _BITS_32) << _SHIFT_32)
    return (p * r + _ONE) * scale.view(np.float32)


def _exp2_double(x: Any) -> Any:
    rounded = np.float64(x + _ROUND_64)
    r = np.float64(x - (rounded - _ROUND_64))
    p = ((((_E13 * r + _E12) * r + _E11) * r + _E10) * r + _E9) * r + _E8
    p = ((((p * r + _E7) * r + _E6) * r + _E5) * r + _E4) * r + _E3
    p = (p * r + _E2) * r + _E1
    scale = np.int64(np.int64(rounded.view(np.int64) - _BITS_64) << _SHIFT_64)
    return (p * r + 1.0) * scale.view(np.float64)


@overload(log2, jit_options=_OPTIONS)
def _choose_log2(x: Any) -> Any:
    return _log2_single if x == types.float32 else _log2_double


@overload(exp2, jit_options=_OPTIONS)
def _choose_exp2(x: Any) -> Any:
    return _exp2_single if x == types.float32 else _exp2_double
