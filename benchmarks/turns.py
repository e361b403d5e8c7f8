"""How long a page would wait for the interpreter while a job trains (Linux).

    python benchmarks/turns.py cca ssi s2net

trains methods of the emoji demo one after the other in the queue of the app, while another thread
sleeps 5 ms again and again. It is late by what it waited for the interpreter, by what the machine
had no core for it, or both; told is the shorter of two: how late it was less its time in the run
queue, and what the job computed meanwhile. So the figures hold on a busy machine, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from simviz.jobs import JobQueue, JobSpec
from simviz.store import Store

NAP, LONG = 0.005, 0.02  # seconds
#: Fits that are long enough to tell.
PARAMS = {"ssi": {"max_iter": 60}, "s2net": {"max_iter": 30}}


def waits(jobs: JobQueue, job_id: str) -> np.ndarray:
    """Seconds that each nap was too long through the fault of the job."""
    clocks = [
        time.pthread_getcpuclockid(thread.ident)
        for thread in threading.enumerate()
        if thread.name.startswith("simviz-job-") and thread.ident is not None
    ]
    own = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")

    def now() -> tuple[float, float, float]:
        queued = int(own.read_text().split()[1]) / 1e9
        return time.perf_counter(), sum(map(time.clock_gettime, clocks)), queued

    found = []
    while len(found) % 40 or jobs.status(job_id).is_active:
        began, computed, queued = now()
        time.sleep(NAP)
        ended, more, longer = now()
        late = ended - began - NAP - (longer - queued)
        found.append(min(max(0.0, late), more - computed))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=["cca", "opca", "cl_lsi", "ssi", "s2net"])
    parser.add_argument("--turn", type=float, default=0.001, help="as pages set it")
    options = parser.parse_args()
    sys.setswitchinterval(options.turn)
    store = Store(tempfile.mkdtemp())
    mine = store.workspaces.create()
    digest = store.datasets.get("demo:emoji").digest
    print("| method | p99 | longest | in waits over 20 ms |\n|---|---:|---:|---:|")
    with JobQueue(store) as jobs:
        # The first job loads the libraries.
        jobs.wait(jobs.submit(JobSpec("demo:emoji", digest, "tfidf_cosine", workspace=mine)))
        for method in options.methods:
            params = PARAMS.get(method, {})
            spec = JobSpec("demo:emoji", digest, method, params, workspace=mine)
            found = waits(jobs, jobs.submit(spec))
            print(
                f"| {method} | {1e3 * np.quantile(found, 0.99):.1f} ms "
                f"| {1e3 * found.max():.0f} ms | {found[found > LONG].sum():.2f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
