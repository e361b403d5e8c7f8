import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from simviz.charts.pictures import AGAINST, FOR, heat_picture, highlighted


def test_text_is_escaped_and_kept():
    text = '<script>alert("x")</script> & more'
    weights = np.linspace(-1, 1, len(text))
    told = highlighted(text, weights)
    assert "<script" not in told
    plain = re.sub(r"</?mark[^>]*>", "", told)
    assert plain == text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(
        '"', "&quot;"
    )


def test_what_speaks_for_and_against_has_its_colour_and_its_sum():
    told = highlighted("good bad", [0.5] * 4 + [0] + [-1.0] * 3)
    assert f'title="+2.000" style="background:color-mix(in srgb, {FOR} ' in told
    assert f'title="-3.000" style="background:color-mix(in srgb, {AGAINST} ' in told


@pytest.mark.parametrize("scale", [0.01, 1, 100])
def test_colour_is_relative_to_the_heaviest_character(scale):
    told = highlighted("abc", scale * np.array([1, -0.5, 0.01]))
    assert re.findall(r" (\d+)%", told) == ["62", "31"]


def test_nothing_is_marked_where_nothing_weighs():
    assert highlighted("plain", np.zeros(5)) == "plain"
    assert highlighted("", []) == ""
    with pytest.raises(ValueError, match="as many weights"):
        highlighted("abc", [1.0])


@pytest.mark.parametrize("shape", [(20, 20), (20, 30, 3)])
def test_patches_are_coloured_where_they_weigh(shape):
    pixels = np.zeros(shape, dtype=np.uint8)
    parts = [(0, 0, 20, 10), (0, 10, 20, shape[1])]
    address = heat_picture(pixels, (parts, np.array([2.0, 0.0])), "dark")
    file = io.BytesIO(base64.b64decode(address.partition(",")[2]))
    drawn = np.asarray(Image.open(file), dtype=int)
    assert drawn[84, 10, 2] > drawn[84, 160, 2] + 50  # blue at the left
    plain = heat_picture(pixels, None)
    assert plain.startswith("data:image/png;base64,") and plain != address
