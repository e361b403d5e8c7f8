"""Waiting for what happens elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

#: Seconds after which a test takes it for a hang: a machine may be very busy.
LONG = 600.0


def run_script(code, *arguments):
    """What a program in another process says."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=LONG,
        check=False,
    )


def until(condition):
    """Wait for what another thread or process does."""
    begin = time.monotonic()
    while not condition():
        waited = time.monotonic() - begin
        assert waited < LONG, "it did not happen"
        # Asking takes the processor from what is waited for: the longer it takes, the less often.
        time.sleep(min(0.002 + waited / 20, 0.2))


def until_running(queue, job_id):
    """Wait until a worker has begun a job."""
    until(lambda: queue.status(job_id).state == "running")


def finished(queue, spec):
    """The run that comes of a request."""
    status = queue.wait(queue.submit(spec), LONG)
    assert status.state == "succeeded", status.message
    return queue.store.runs.get(status.run_id)


def until_trained(app):
    """Wait until no job of whoever looks at a page waits or runs."""
    from simviz.workbench.shell import state

    mine = app.session_state.workspace
    for job in state.queue().jobs(mine):
        state.queue().wait(job.id, LONG)
    until(lambda: not any(job.is_active for job in state.queue().jobs(mine)))
