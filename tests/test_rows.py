"""Unit rows without a NaN, however small the row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.base import nonzero_rows, unit_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_get_length_one_or_stay_zero(dtype, make):
    tiny = np.finfo(dtype).smallest_subnormal
    Z = make(np.array([[3, 4], [0, 0], [tiny, 0]], dtype=dtype))
    unit = unit_rows(Z)
    assert unit.dtype == dtype
    dense = unit.toarray() if sp.issparse(unit) else unit
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0, 0], [0, 0]], rtol=1e-6)
    assert nonzero_rows(Z).tolist() == [True, False, True]
