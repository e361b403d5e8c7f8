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
    told = re.sub(r"</?mark[^>]*>", "", highlighted(text, weights))
    assert told == "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; more"


@pytest.mark.parametrize("scale", [0.01, 1, 100])
def test_what_speaks_for_and_against_has_its_sum_and_a_colour_by_its_share(scale):
    told = highlighted("good bad.", scale * np.array([1] * 4 + [0] + [-0.5] * 3 + [0.01]))
    found = re.findall(r'title="(.+?)" style="background:color-mix\(in srgb, (\S+) (\d+)%', told)
    assert found == [(f"{4 * scale:+.3f}", FOR, "62"), (f"{-1.5 * scale:+.3f}", AGAINST, "31")]


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
