"""Powers of two for compiled loops over blocks, as SIMD instructions can take them.

A call of the library's exponential in a loop costs ten nanoseconds; this one
takes less than one. That of numpy is as fast, but it passes over memory once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from simviz.methods._product_kernels import bfloat16_bits

_JOINED = {"fastmath": {"contract"}}

# A number added to this has its nearest integer plus 127, the bias of exponents, in
# its last bits.
_MAGIC = np.float32(3 * 2**22 + 127)
_LEAST = np.float32(-127)

# Least relative error of 2^r for |r| <= 1/2 by a polynomial: 2e-9, found by Remez' exchange.
_C0, _C1, _C2, _C3, _C4, _C5, _C6 = (
    np.float32(c)
    for c in (
        1.0,
        0.6931472057374,
        0.2402264689061,
        0.0555032877661,
        0.0096184889583,
        0.0013399931362,
        0.0001534581201,
    )
)


def power_of_two(x: Any) -> Any:
    """2 to the power of x: of a float32 below 128 to 2e-7, 0 from -127 down."""
    raise NotImplementedError("only for compiled loops")


@overload(power_of_two, strict=False, jit_options=_JOINED)
def _power_of_two(x: Any) -> Any:
    return _single if x == types.float32 else lambda x: np.exp2(x)


def _single(x: Any) -> Any:
    x = max(x, _LEAST)
    shifted = x + _MAGIC
    r = x - (shifted - _MAGIC)
    fraction = _C0 + r * (_C1 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * _C6)))))
    whole = np.uint32(np.float32(shifted).view(np.uint32) << np.uint32(23)).view(np.float32)
    return fraction * whole


def stored(x: Any, before: Any) -> Any:
    """A float as an entry of the type that stood in its place, see `number`."""
    raise NotImplementedError("only for compiled loops")


@overload(stored, strict=False)
def _stored(x: Any, before: Any) -> Any:
    if isinstance(before, types.Integer):
        return lambda x, before: bfloat16_bits(x)
    return lambda x, before: x
