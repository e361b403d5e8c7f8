"""Work in the background that waits until a test has it done."""

from __future__ import annotations

from concurrent.futures import Executor, Future

import pytest

from simviz.jobs.background import BackgroundTasks


class Later(Executor):
    """Keeps what it is given until somebody says go."""

    def __init__(self):
        self.calls = []

    def submit(self, fn, /, *args, **kwargs):
        self.calls.append(lambda: fn(*args, **kwargs))
        return Future()

    def go(self):
        while self.calls:
            self.calls.pop(0)()


@pytest.fixture
def later():
    return Later()


@pytest.fixture
def background(later):
    return BackgroundTasks(later)
