"""Waiting for what happens elsewhere."""

from __future__ import annotations

import time

#: Seconds after which a test takes it for a hang.
LONG = 120.0


def until(condition):
    """Wait for what another thread or process does."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def until_trained(app):
    """Wait until no job of whoever looks at a page waits or runs."""
    from simviz.workbench.shell import state

    mine = app.session_state.workspace
    until(lambda: not any(job.is_active for job in state.queue().jobs(mine)))
