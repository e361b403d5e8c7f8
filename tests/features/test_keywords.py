import numpy as np
import pytest

from simviz.features.keywords import MultiHot


def test_whole_string_is_one_keyword():
    hot = MultiHot().fit(["red heart", " Car ", "car"])
    assert hot.vocabulary_ == ["car", "red heart"]
    np.testing.assert_array_equal(
        hot.transform(["CAR", "heart", "red heart"]).toarray(), [[1, 0], [0, 0], [0, 1]]
    )


def test_delimiter_parts_several():
    hot = MultiHot(delimiter=";").fit(["sea; sky", "sun;;sky ; sky"])
    assert hot.vocabulary_ == ["sea", "sky", "sun"]
    matrix = hot.transform(["sky;sky;moon;sea", ""])
    np.testing.assert_array_equal(matrix.toarray(), [[1, 1, 0], [0, 0, 0]])
    assert matrix.dtype == np.float32
    assert hot.get_feature_names_out().tolist() == hot.vocabulary_


@pytest.mark.parametrize(
    ("delimiter", "strings", "message"),
    [
        ("", ["a"], "Use delimiter=None"),
        (3, ["a"], "delimiter"),
        (None, ["", "  "], "No keyword was found in 2 strings"),
        (",", [",", ""], "delimiter=','"),
        (None, "sea", "Put a single text in a list"),
        (None, [1], "item 0 is a int"),
    ],
)
def test_errors_say_what_to_do(delimiter, strings, message):
    with pytest.raises(ValueError, match=message):
        MultiHot(delimiter).fit(strings)
