"""What the canvas computes, without a browser: in the Node.js that Playwright brings.

Each file of `canvas/` holds tests of the ES modules as they stand, by Node's own test runner.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from nodejs import NODE

from simviz.charts.canvas import pack_items, pack_nearest, pack_places, unpack
from simviz.data import Items

FILES = sorted((Path(__file__).parent / "canvas").glob("*.test.mjs"))


@pytest.fixture(scope="module")
def parts():
    """Parts as they go to a browser, each as base64 and as what is in it."""
    x, y = Items(list("ab"), ["ä word", "<b>"], "keyword"), Items(list("123"), ["é"] * 3, "text")
    columns = {"size": np.array([1.0, 2.0, 3.0, 4.0, 5.0])}
    points = np.linspace(-2, 2, 10).reshape(5, 2)
    places = pack_places(points[:2], points[2:], np.arange(5)[::-1], parts=list("uvuvu"))
    nearest = pack_nearest(np.arange(10).reshape(5, 2), places)
    told = []
    for part in (pack_items(x, y, columns=columns), places, nearest):
        header, arrays = unpack(part)
        content = {name: array.tolist() for name, array in arrays.items()}
        text = base64.b64encode(part.data).decode()
        told.append({"base64": text, "header": header, "arrays": content})
    return json.dumps(told)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name.removesuffix(".test.mjs"))
def test_the_canvas_computes_what_it_should(file, parts):
    done = subprocess.run(
        [NODE, "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test-reporter=tap", file],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SIMVIZ_PARTS": parts},
    )
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0 and passed, done.stdout + done.stderr
    assert int(passed[1]) == file.read_text().count("\ntest("), "each is run"
