"""Waiting for what happens elsewhere."""

from __future__ import annotations

import time

#: Seconds after which a test takes it for a hang: a machine may be very busy.
LONG = 600.0


def until(condition):
    """Wait for what another thread or process does."""
    begin = time.monotonic()
    while not condition():
        waited = time.monotonic() - begin
        assert waited < LONG, "it did not happen"
        # Asking takes the processor from what is waited for: the longer it takes, the less often.
        time.sleep(min(0.002 + waited / 20, 0.2))


def until_trained(app):
    """Wait until no job of whoever looks at a page waits or runs."""
    from simviz.workbench.shell import state

    mine = app.session_state.workspace
    for job in state.queue().jobs(mine):
        state.queue().wait(job.id, LONG)
    until(lambda: not any(job.is_active for job in state.queue().jobs(mine)))
