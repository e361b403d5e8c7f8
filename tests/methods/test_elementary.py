"""Logarithms, powers of two and bfloat16 in compiled loops are those of NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simviz._numba import njit
from simviz.base._jensen_shannon_kernels import exp2, log2
from simviz.methods._product_kernels import bfloat16_bits, number
from simviz.methods._s2net_kernels import power_of_two, stored


@njit()
def logs(x, out):
    for i in range(len(x)):
        out[i] = log2(x[i])


@njit()
def powers(x, out, other):
    for i in range(len(x)):
        out[i], other[i] = exp2(x[i]), power_of_two(x[i])


@njit()
def forth_and_back(x, bits, out):
    for i in range(len(x)):
        bits[i] = bfloat16_bits(x[i])
        out[i] = stored(number(bits[i]), x[i])


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-7), (np.float64, 1e-15)])
def test_logarithms_and_powers_are_exact_to_rounding(dtype, error):
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(-60, 60, 10_001)).astype(dtype)
    out, other = np.empty((2, len(x)), dtype)
    logs(x, out)
    exact = np.log2(x.astype(np.longdouble))
    assert (np.abs(out - exact) < error * np.maximum(1, np.abs(exact))).all()
    for most in (80, 125):
        x = rng.uniform(-most, most, 10_001).astype(dtype)
        powers(x, out, other)
        exact = np.exp2(x.astype(np.longdouble))
        assert np.abs(other / exact - 1).max() < 2 * error
        assert most > 80 or np.abs(out / exact - 1).max() < error
    powers(np.array([-np.inf, -1e30, 0, 1], dtype), out[:4], other[:4])
    assert other[:4].tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_powers_have_no_error(dtype):
    n = np.arange(-100, 101)
    out, other = np.empty((2, len(n)), dtype)
    powers(n.astype(dtype), out, other)
    np.testing.assert_array_equal(out, 2.0**n)
    logs(out.copy(), out)
    np.testing.assert_array_equal(out, n)
    for function in (exp2, log2):
        with pytest.raises(NotImplementedError, match="Only compiled code"):
            function(dtype(1))


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
