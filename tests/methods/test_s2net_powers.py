"""Powers of two and bfloat16 in compiled loops are those of NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simviz._numba import njit
from simviz.methods._product_kernels import bfloat16_bits, number
from simviz.methods._s2net_kernels import (
    compare_matched,
    power_of_two,
    stored,
    sum_exponentials,
    weigh_exponentials,
)


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


@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
def test_blocks_of_every_type_are_compared_alike(kind):
    rng = np.random.default_rng(0)
    n, m, gamma = 9, 1100, 10.0
    scores = torch.from_numpy(rng.uniform(-1, 1, (n, m))).to(getattr(torch, kind))
    S = scores.double().numpy()
    dtype = np.float64 if kind == "float64" else np.float32
    scale = dtype(gamma / np.log(2))
    a, b = (np.exp(-gamma * rng.uniform(-1, 1, size)).astype(dtype) for size in (n, m))

    def block():
        held = scores.view(torch.int16).numpy().view(np.uint16) if kind == "bfloat16" else (
            scores.numpy()
        )  # fmt: skip
        return held.copy()

    def values(entries):
        if kind != "bfloat16":
            return entries
        return torch.from_numpy(entries.view(np.int16)).view(torch.bfloat16).double().numpy()

    tolerance = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 5e-3}[kind]
    E = np.exp(gamma * S)
    x, y = E * a[:, None], E * b
    entries, rows, cols, logs = block(), np.zeros((3, n)), np.zeros(m), np.zeros(3)
    compare_matched(entries, scale, a, b, 8 if dtype == np.float32 else 1, rows, cols, logs)
    np.testing.assert_allclose(values(entries), x / (1 + x) + y / (1 + y), rtol=tolerance)
    np.testing.assert_allclose(rows.sum(axis=0), (x / (1 + x)).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(cols, (y / (1 + y)).sum(axis=0), rtol=1e-5)
    assert logs.sum() == pytest.approx((np.log1p(x) + np.log1p(y)).sum(), rel=1e-6)

    entries, rows, cols = block(), np.zeros((3, n)), np.zeros(m)
    sum_exponentials(entries, np.array([scale]), rows, cols)
    np.testing.assert_allclose(rows.sum(axis=0), E.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(cols, E.sum(axis=0), rtol=1e-5)
    weigh_exponentials(entries, scale, a, b)
    np.testing.assert_allclose(values(entries), E * (a[:, None] + b), rtol=tolerance)
