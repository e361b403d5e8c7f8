import numpy as np
import pytest
import scipy.sparse as sp

from simviz.features import empty_share
from simviz.features._base import normalize_rows
from simviz.features.vectors import Vectors


@pytest.mark.parametrize(
    ("given", "kept"), [(np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64)]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_type_and_form_are_kept(given, kept, sparse):
    dense = np.array([[1, 0], [0, 2]], dtype=given)
    got = Vectors().fit_transform(sp.coo_array(dense) if sparse else dense)
    assert got.dtype == kept
    assert isinstance(got, sp.csr_array if sparse else np.ndarray)
    np.testing.assert_array_equal(got.toarray() if sparse else got, dense)


@pytest.mark.parametrize("sparse", [False, True])
def test_normalized_rows_have_length_one_and_leave_the_input_alone(sparse):
    dense = np.array([[3, 4], [0, 0], [1e-30, 0]], dtype=np.float32)
    given = sp.csr_array(dense) if sparse else dense
    got = Vectors(normalize=True).fit_transform(given)
    expected = np.array([[0.6, 0.8], [0, 0], [1, 0]], dtype=np.float32)
    np.testing.assert_allclose(got.toarray() if sparse else got, expected, rtol=1e-6)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(given.toarray() if sparse else given, dense)


def test_other_width_is_refused():
    vectors = Vectors().fit(np.ones((2, 3)))
    with pytest.raises(ValueError, match="fitted on 3 columns, got 2"):
        vectors.transform(np.ones((2, 2)))


@pytest.mark.parametrize("texts", [["heart"], np.array(["heart"], dtype=object)])
def test_texts_are_refused_in_words(texts):
    with pytest.raises(ValueError, match=r"is vectors, and 'heart' is a text.*Give vectors"):
        Vectors().fit(np.eye(2)).transform(texts)


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        Vectors().fit([[1.0, np.nan]])


def test_names_are_passed_on_or_made():
    vectors = Vectors().fit(np.ones((1, 2)))
    assert list(vectors.get_feature_names_out()) == ["v0", "v1"]
    assert list(vectors.get_feature_names_out(["age", "size"])) == ["age", "size"]


def test_empty_share_counts_rows_of_zeros():
    dense = np.array([[1, 0], [0, 0], [0, -1], [0, 0]])
    stored_zero = sp.csr_array(([1.0, 0.0, -1.0], [0, 1, 1], [0, 1, 2, 3, 3]), shape=(4, 2))
    assert empty_share(dense) == empty_share(sp.csr_array(dense)) == 0.5
    assert empty_share(stored_zero) == 0.5
    assert empty_share(np.empty((0, 3))) == 0


def test_matrix_without_rows_can_be_normalized():
    assert normalize_rows(sp.csr_array((0, 3), dtype=np.float32)).shape == (0, 3)
    assert normalize_rows(np.empty((0, 3))).shape == (0, 3)
