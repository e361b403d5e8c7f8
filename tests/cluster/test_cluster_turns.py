"""On a cluster too, nobody waits for all that another asked for."""

from local_cluster import cluster_here
from waiting import LONG, until

from simviz.jobs import JobSpec
from simviz.jobs.cluster_queue import cluster_queue


def test_who_comes_late_does_not_wait_for_all_of_another(store, theirs, ask, endless):
    digest = store.datasets.get("demo:emoji").digest
    with (
        cluster_here(1, processes=False, protocol="tcp://") as cluster,
        cluster_queue(store, cluster.scheduler_address) as queue,
    ):
        running = queue.submit(endless())
        until(lambda: queue.status(running).state == "running")
        many = [queue.submit(ask(k1=1 + i / 10)) for i in range(5)]
        late = queue.submit(JobSpec("demo:emoji", digest, "bm25", workspace=theirs))
        assert queue.status(late).queue_position == 2
        executor = queue._executor
        until(lambda: all(call.task is not None for call in list(executor._calls.values())))
        queue.cancel(running)
        statuses = [queue.wait(job_id, LONG) for job_id in (*many, late)]
        assert {status.state for status in statuses} == {"succeeded"}
        *began, late_began = [status.started for status in statuses]
        assert began == sorted(began)
        # A worker may have been given two of them before.
        assert sum(start < late_began for start in began) <= 2
        executor.shutdown()
