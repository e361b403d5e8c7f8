"""What stands beside other programs gives the same in both; `make docs` installs them."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

import simviz

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"


@pytest.mark.filterwarnings("ignore")  # of the other programs
def test_both_sides_give_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = doctest.testfile(
        str(PAGE),
        module_relative=False,
        globs={"np": np, "simviz": simviz},
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
        encoding="utf-8",
    )
    assert told.attempted > 20 and not told.failed
