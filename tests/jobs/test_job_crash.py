"""What is left of jobs when their process ends in the middle."""

import threading

from waiting import LONG, run_script, until

from simviz.jobs import JobQueue, JobSpec
from simviz.store import Store

LEFT = """
    import sys
    from simviz.jobs import JobQueue, JobSpec
    from simviz.store import Store

    store = Store(sys.argv[1])
    mine = store.workspaces.create()
    digest = store.datasets.get("demo:emoji").digest
    jobs = JobQueue(store, max_workers=1)
    for seed in (0, 1):
        params = {"max_iter": 3_000, "patience": 3_000, "random_state": seed}
        job_id = jobs.submit(JobSpec("demo:emoji", digest, "ssi", params, workspace=mine))
        print(job_id)
"""


def test_a_queue_that_is_closed_leaves_no_thread_in_a_library(store, mine):
    digest = store.datasets.get("demo:emoji").digest
    before = set(threading.enumerate())
    jobs = JobQueue(store, max_workers=1)
    params = {"max_iter": 3_000, "patience": 3_000}
    job_id = jobs.submit(JobSpec("demo:emoji", digest, "ssi", params, workspace=mine))
    until(lambda: jobs.status(job_id).fraction > 0)
    jobs.close(LONG)
    assert set(threading.enumerate()) <= before


def test_the_interpreter_ends_without_waiting_for_what_would_take_minutes(tmp_path):
    done = run_script(LEFT, tmp_path)
    assert done.returncode == 0, done.stderr
    with JobQueue(Store(tmp_path)) as jobs:
        states = [jobs.status(job_id).state for job_id in done.stdout.split()]
    assert states == ["interrupted", "interrupted"]
