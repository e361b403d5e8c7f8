"""Nobody waits for all that another asked for."""

import threading
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from waiting import LONG, until, until_running

from simviz.jobs import JobQueue, JobSpec
from simviz.jobs.worker import DaemonPool, RoundRobin

WAITING = st.lists(st.sets(st.sampled_from("abc"), min_size=1, max_size=2), max_size=12)


def drained(turns, waiting):
    """Indices in the order in which all are really served."""
    left = list(enumerate(waiting))
    served = []
    while left:
        served.append(left.pop(turns.take([whose for _, whose in left]))[0])
    return served


@given(WAITING, WAITING)
def test_the_order_that_is_told_is_the_order_of_serving(earlier, waiting):
    turns = RoundRobin()
    drained(turns, earlier)
    told = turns.order(waiting)
    assert drained(turns, waiting) == told and sorted(told) == list(range(len(waiting)))


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_each_is_served_in_order_and_none_twice_while_another_waits(waiting):
    order = RoundRobin().order(list(waiting))
    for one in "abc":
        own = [i for i in order if waiting[i] == one]
        assert own == sorted(own)
        others = {other for other in waiting if other != one}
        for before, after in pairwise(own):
            between = {waiting[i] for i in order[order.index(before) + 1 : order.index(after)]}
            left = {waiting[i] for i in order[order.index(after) :]}
            assert (others & left) <= between  # who still waits had a turn in between


def test_who_comes_late_is_next_and_twenty_count_for_one():
    turns = RoundRobin()
    waiting = [("ann",)] * 20
    for _ in range(3):
        waiting.pop(turns.take(waiting))
    waiting += [("bob",), ("bob",)]
    served = [waiting[i][0] for i in turns.order(waiting)]
    assert served[:5] == ["bob", "ann", "bob", "ann", "ann"]


def test_what_several_wait_for_is_served_at_the_first_turn_of_any():
    turns = RoundRobin()
    waiting = [("ann",), ("ann",), ("ann", "bob"), ("cleo",)]
    assert turns.order(waiting) == [0, 2, 3, 1]
    assert turns.order([(), ("ann",)]) == [1, 0] and turns.order([]) == []
    assert turns.take([()]) == 0


def test_the_pool_takes_turns_forgets_what_was_cancelled_and_passes_errors_on():
    go, order = threading.Event(), []
    with DaemonPool(1, "test") as pool:
        first = pool.submit_for(lambda: ("ann",), go.wait, LONG)
        until(first.running)
        for i in range(3):
            pool.submit_for(lambda: ("ann",), order.append, f"ann {i}")
        late = [pool.submit_for(lambda: ("bob",), order.append, f"bob {i}") for i in range(3)]
        failing = pool.submit(int, "x")
        assert late[0].cancel()  # which costs bob no turn
        go.set()
        with pytest.raises(ValueError, match="invalid literal"):
            failing.result(LONG)
    assert order == ["bob 1", "ann 0", "bob 2", "ann 1", "ann 2"]
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(int)
    pool.shutdown()  # again


def test_a_visitor_does_not_wait_for_all_jobs_of_another(store, mine, theirs, ask, endless):
    digest = store.datasets.get("demo:emoji").digest
    their = JobSpec("demo:emoji", digest, "bm25", {"k1": 1.0}, workspace=theirs)
    with JobQueue(store, max_workers=1, limit=20) as queue:
        running = queue.submit(endless())
        until_running(queue, running)
        many = [queue.submit(ask(k1=1 + i / 10)) for i in range(4)]
        few = [queue.submit(replace(their, params={"k1": k1})) for k1 in (1.0, 2.0)]
        assert [queue.status(i).queue_position for i in many + few] == [2, 4, 5, 6, 1, 3]
        assert queue.cancel(few[0], theirs) and queue.status(few[1]).queue_position == 1
        gone, now = queue.status(few[0]), queue.status(running)
        assert (gone.state, gone.started, now.queue_position) == ("cancelled", None, None)
        queue.cancel(running)
        statuses = [queue.wait(i, LONG) for i in [few[1], *many]]
        assert {s.state for s in statuses} == {"succeeded"}
        started = [s.started for s in statuses]
        assert started == sorted(started)


def test_a_demo_that_two_wait_for_comes_at_the_first_turn_of_either(store, mine, theirs, endless):
    digest = store.datasets.get("demo:emoji").digest
    demo = [
        JobSpec("demo:emoji", digest, "bm25", {"k1": k1}, workspace=mine) for k1 in (1.0, 1.5, 2.0)
    ]
    with JobQueue(store, max_workers=1) as queue:
        until_running(queue, queue.submit(endless()))
        ids = [queue.submit(spec) for spec in demo]
        assert queue.submit(replace(demo[2], workspace=theirs)) == ids[2]
        assert [queue.status(i).queue_position for i in ids] == [2, 3, 1]
        assert not queue.cancel(ids[2], theirs)  # it goes on for the other, who has to wait
        assert [queue.status(i).queue_position for i in ids] == [1, 2, 3]
        queue.submit(replace(demo[2], workspace=theirs))
        assert not queue.cancel(ids[2], mine) and ids[2] not in [
            job.id for job in queue.jobs(mine)
        ]
        assert queue.status(ids[2], theirs).queue_position == 1
        assert queue.cancel(ids[2], theirs) and queue.status(ids[2], theirs).state == "cancelled"
