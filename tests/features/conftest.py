"""A small model that reads texts and pictures, for all tests of features."""

import importlib.util
import shutil
from collections.abc import Iterator

import pytest
from tiny_clip import TINY_CLIP, make


@pytest.fixture(scope="session", autouse=True)
def tiny_clip() -> Iterator[None]:
    """Make it where the library that reads it is installed, and remove it in the end."""
    if importlib.util.find_spec("sentence_transformers") is None:
        yield
        return
    make()
    yield
    shutil.rmtree(TINY_CLIP)
