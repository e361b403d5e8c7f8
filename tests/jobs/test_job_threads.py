"""Several things at once, and work done elsewhere."""

import threading

import numpy as np
import pytest
from waiting import LONG, until

from simviz.evaluation import evaluate
from simviz.jobs import JobQueue
from simviz.jobs.worker import DaemonPool, limit_threads, threads_per_job
from simviz.pipeline import default_pipeline


def test_two_train_while_a_third_evaluates(store, ask, sentences):
    pipeline = default_pipeline("cl_lsi", sentences, n_components=5).fit(sentences)
    expected = str(evaluate(pipeline, sentences).to_records())
    requests = [ask("cca", n_components=3 + i) for i in range(3)]
    requests += [ask("ssi", max_iter=3 + i, n_components=20) for i in range(3)]

    def figures(**how):
        with JobQueue(store, limit=20, **how) as queue:
            ids = [queue.submit(spec) for spec in requests]
            runs = [store.runs.get(queue.wait(job_id, LONG).run_id) for job_id in ids]
        found = [str(run.part("test").records["run"]) for run in runs]
        for run in runs:
            store.runs.drop(run.id)
        return found

    alone = figures(max_workers=1)
    seen, stop = set(), threading.Event()

    def keep_evaluating():
        while not stop.is_set():
            seen.add(str(evaluate(pipeline, sentences).to_records()))

    third = threading.Thread(target=keep_evaluating)
    third.start()
    try:
        together = figures(max_workers=2)
    finally:
        stop.set()
        third.join()
    assert seen == {expected} and together == alone


def test_a_pool_that_is_shut_down_can_cancel_what_waits():
    go = threading.Event()
    pool = DaemonPool(1, "test")
    running = pool.submit(go.wait, LONG)
    waiting = pool.submit(int)
    until(running.running)
    pool.shutdown(wait=False, cancel_futures=True)
    go.set()
    pool.shutdown()
    assert waiting.cancelled() and running.result()
    with pytest.raises(ValueError, match="max_workers"):
        DaemonPool(0, "test")


@pytest.mark.parametrize(("workers", "cores", "threads"), [(1, 1, 1), (2, 4, 1), (2, 5, 2)])
def test_one_core_is_left_for_pages(workers, cores, threads):
    assert threads_per_job(workers, cores) == threads


def test_the_limit_of_blas_holds_for_good_and_for_all_threads():
    from threadpoolctl import threadpool_info, threadpool_limits

    np.ones((4, 4)) @ np.ones((4, 4))
    blas = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    worker = threading.Thread(target=limit_threads, args=(1,))
    worker.start()
    worker.join()
    try:
        now = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
        assert set(now) == {1}
    finally:
        threadpool_limits(max(blas), user_api="blas")
