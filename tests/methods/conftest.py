"""Data that several methods are tried on."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def sides():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((60, 4))
    X = Z @ rng.standard_normal((4, 9)) + 0.5 * rng.standard_normal((60, 9)) + 1.0
    Y = Z @ rng.standard_normal((4, 7)) + 0.5 * rng.standard_normal((60, 7)) - 2.0
    return X, Y
