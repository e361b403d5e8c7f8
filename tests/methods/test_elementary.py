"""Logarithms and powers of two in compiled loops."""

from __future__ import annotations

import numpy as np
import pytest

from simviz._numba import njit
from simviz.base._jensen_shannon_kernels import exp2, log2


@njit()
def _logs(x, out):
    for i in range(len(x)):
        out[i] = log2(x[i])


@njit()
def _powers(x, out):
    for i in range(len(x)):
        out[i] = exp2(x[i])


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-7), (np.float64, 1e-15)])
def test_logarithms_and_powers_are_exact_to_rounding(dtype, error):
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(-60, 60, 10_001)).astype(dtype)
    out = np.empty_like(x)
    _logs(x, out)
    exact = np.log2(x.astype(np.longdouble))
    assert (np.abs(out - exact) < error * np.maximum(1, np.abs(exact))).all()
    x = rng.uniform(-80, 80, 10_001).astype(dtype)
    _powers(x, out)
    assert np.abs(out / np.exp2(x.astype(np.longdouble)) - 1).max() < error


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_powers_have_no_error(dtype):
    n = np.arange(-100, 101)
    out = np.empty(len(n), dtype)
    _powers(n.astype(dtype), out)
    np.testing.assert_array_equal(out, 2.0**n)
    _logs(out.copy(), out)
    np.testing.assert_array_equal(out, n)
    with pytest.raises(NotImplementedError, match="Only compiled code"):
        exp2(dtype(1))
    with pytest.raises(NotImplementedError, match="Only compiled code"):
        log2(dtype(1))
