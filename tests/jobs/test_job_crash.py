"""What is left of jobs when their process ends in the middle."""

import os
import subprocess
import sys
import textwrap

import pytest

# One process imports everything once and forks a child for every moment.
KILLED = """
    import os, signal, sys, time
    from simviz.data import PairSet
    from simviz.jobs import JobQueue, JobSpec, load_evaluation, load_map
    from simviz.jobs.status import ACTIVE
    from simviz.store import Store
    import simviz.jobs.queue, simviz.evaluation.scoring, simviz.projection.joint

    root = sys.argv[1]
    mine = Store(root).create_workspace()
    texts = [f"{a} {b} {a}{b}" for a in "abcdefgh" for b in "qrstuvwx"]
    pairs = PairSet.from_texts(texts, [t[::-1] for t in texts])
    dataset_id = Store(root).put_dataset(pairs, mine)

    def spec(method, k1, **params):
        params = {"k1": 1 + k1 / 64} if method == "bm25" else params
        return JobSpec(dataset_id, pairs.digest, method, params, workspace=mine)

    def train(moment):
        with JobQueue(Store(root)) as jobs:
            ids = [jobs.submit(spec("bm25", moment))]
            ids += [jobs.submit(spec("cca", 0, n_components=2 + moment, shared=False))]
            for job_id in ids:
                status = jobs.wait(job_id, 60)
                assert status.state == "succeeded", status
                os.write(pipe, (job_id + "\\n").encode())

    def forked(moment, seconds):
        pid = os.fork()
        if not pid:
            train(moment)
            os._exit(0)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.002)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    read, pipe = os.pipe()
    os.set_blocking(read, False)

    def acknowledged():
        try:
            return os.read(read, 65536).decode().split()
        except BlockingIOError:
            return []

    start = time.monotonic()
    forked(0, 60)
    whole = time.monotonic() - start
    told, ended = acknowledged(), []
    assert len(told) == 2
    for moment in range(1, 11):
        forked(moment, whole * moment / 11)
        told += acknowledged()
        store = Store(root)
        with JobQueue(store) as jobs:
            for status in jobs.jobs(mine):
                assert status.state in ("succeeded", "interrupted"), status
                assert status.state == "succeeded" or status.id not in told
                if status.state == "succeeded":
                    run = store.get_run(status.run_id, mine)
                    assert load_evaluation(run).value("MRR") > 0
                    assert len(load_map(run, "mds-2-center")[0].x) == 64
                    assert run.pipeline().model_
            ended = [status.state for status in jobs.jobs(mine)]
        rows = {r.id for r in store.list_runs(mine)}
        assert {p.name for p in (store.root / "runs").iterdir()} == rows
        assert not list((store.root / "drafts").iterdir())
    assert ended.count("interrupted") >= 3, ended
    with JobQueue(Store(root)) as jobs:
        for status in jobs.jobs(mine):
            if status.state == "interrupted":
                assert jobs.wait(jobs.repeat(status.id, mine), 60).state == "succeeded"
    print("done", len(ended), ended.count("interrupted"))
"""

LEFT = """
    import sys
    from simviz.jobs import JobQueue, JobSpec
    from simviz.store import Store

    store = Store(sys.argv[1])
    mine = store.create_workspace()
    digest = store.get_dataset("demo:emoji").digest
    jobs = JobQueue(store, max_workers=1)
    for seed in (0, 1):
        params = {"max_iter": 3_000, "patience": 3_000, "random_state": seed}
        job_id = jobs.submit(JobSpec("demo:emoji", digest, "ssi", params, workspace=mine))
        print(job_id)
"""


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=300,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_finished_is_lost_when_the_trainer_is_killed_at_ten_moments(tmp_path):
    done = run(KILLED, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("done")


def test_the_interpreter_ends_without_waiting_for_what_would_take_minutes(tmp_path):
    from simviz.jobs import JobQueue
    from simviz.store import Store

    done = run(LEFT, tmp_path)
    assert done.returncode == 0, done.stderr
    with JobQueue(Store(tmp_path)) as jobs:
        states = [jobs.status(job_id).state for job_id in done.stdout.split()]
    assert states == ["interrupted", "interrupted"]
