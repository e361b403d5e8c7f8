"""Powers of two and bfloat16 in compiled loops are those of NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simviz._numba import njit
from simviz.methods._product_kernels import bfloat16_bits, number
from simviz.methods._s2net_kernels import power_of_two, stored


@njit()
def powers(x, out):
    for i in range(len(x)):
        out[i] = power_of_two(x[i])


@njit()
def forth_and_back(x, bits, out):
    for i in range(len(x)):
        bits[i] = bfloat16_bits(x[i])
        out[i] = stored(number(bits[i]), x[i])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-7), (np.float64, 1e-15)])
def test_powers_of_two(dtype, tolerance):
    x = np.linspace(-125, 127, 100_001).astype(dtype)
    out = np.empty_like(x)
    powers(x, out)
    np.testing.assert_allclose(out, np.exp2(x.astype(float)), rtol=tolerance)
    powers(np.array([-np.inf, -1e30, 0, 1], dtype), out[:4])
    assert out[:4].tolist() == [0, 0, 1, 2]


def test_bits_are_those_of_torch():
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(10_000) * 10.0 ** rng.integers(-30, 30, 10_000)).astype(np.float32)
    x[:6] = 0, -0.0, np.inf, -np.inf, 1 + 2.0**-8, 1 + 3 * 2.0**-8  # the last two are ties
    bits, out = np.empty(len(x), np.uint16), np.empty_like(x)
    forth_and_back(x, bits, out)
    expected = torch.from_numpy(x).bfloat16()
    np.testing.assert_array_equal(bits, expected.view(torch.int16).numpy().view(np.uint16))
    np.testing.assert_array_equal(out, expected.float().numpy())
    forth_and_back(np.array([np.nan], np.float32), bits[:1], out[:1])
    assert np.isnan(out[0])
