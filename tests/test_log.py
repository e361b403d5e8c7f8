"""The log of a server: one line an event, without what visitors upload."""

import json
import logging
import re
from uuid import UUID

import pytest
from waiting import LONG

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.jobs import JobQueue, JobSpec
from simviz.store import Store, StoreLimits
from simviz.workbench.shell import log

SECRET = "xylophone\n\x1b[31m\u202eevil"


@pytest.fixture
def lines(capsys):
    """What was logged since the last look, line by line."""
    logger = logging.getLogger("simviz")
    before = logger.handlers, logger.level

    def start(is_json=False):
        log.start(is_json=is_json)
        return lambda: capsys.readouterr().err.splitlines()

    yield start
    logger.handlers, logger.level = before


def work(root):
    """A visitor's day; every text of theirs is the secret."""
    store = Store(root, StoreLimits(datasets=1))
    mine = store.workspaces.create()
    texts = [f"{SECRET} {i}" for i in range(12)]
    pairs = PairSet.from_texts(texts, texts[::-1], name=SECRET, x_name=SECRET)
    data = store.datasets.put(pairs, mine, [SECRET])
    with pytest.raises(StoreError):
        store.datasets.put(PairSet.from_texts([SECRET], ["b"]), mine)
    with JobQueue(store) as queue:
        job = queue.submit(JobSpec(data, pairs.digest, "bm25", workspace=mine))
        run = queue.wait(job, LONG).run_id
    token = store.shares.publish(mine, "map", run_ids=[run])
    store.shares.withdraw(token, mine)
    store.runs.delete(run, mine)
    store.datasets.delete(data, mine)
    store.workspaces.delete(mine)
    return mine, token


EVENTS = (
    "workspace made, data set kept, refused, job queued, run kept, job ended, view published, "
    "view withdrawn, run deleted, data set deleted, workspace deleted"
).split(", ")


def test_every_event_is_one_line_without_texts_and_keys(tmp_path, lines):
    lines()
    read = lines()  # a log that is begun twice tells everything once
    mine, token = work(tmp_path)
    told = read()
    assert not any(key in "".join(told) for key in (mine, token, "xylophone", "evil", "\x1b"))
    pattern = r'(\S+\+00:00) (info) ([a-z ]+?)((?: \w+=(?:"[^"]*"|[^\s"]+))*)'
    found = [re.fullmatch(pattern, line) for line in told]
    assert all(found) and [f[3] for f in found if f[3] != "swept"] == EVENTS
    whose = {m[1] for line in told if (m := re.search(r"workspace=(\w+)", line))}
    assert len(whose) == 1, "lines of one visitor belong together"
    [kept] = [line for line in told if " data set kept " in line]
    assert " n_x=12 " in kept and re.search(r" bytes=[1-9]", kept)
    [refused] = [line for line in told if " refused " in line]
    assert refused.endswith('what="data sets" used=1 limit=1')


def test_on_request_every_line_is_json(tmp_path, lines):
    read = lines(is_json=True)
    work(tmp_path)
    told = [json.loads(line) for line in read()]
    assert [line["event"] for line in told if line["event"] != "swept"] == EVENTS
    assert {"time", "level", "event"} <= set.intersection(*(set(line) for line in told))
    kept = told[1]
    assert kept["n_x"] == 12 and kept["bytes"] > 0


@pytest.mark.parametrize("is_json", [False, True])
def test_control_characters_and_messages_of_errors_stay_outside(lines, is_json):
    read = lines(is_json=is_json)
    logger = logging.getLogger("simviz.anything")
    logger.warning("a\r\nb\x00", {"name": SECRET, "share": 0.123456789, "n": 3, "id": UUID(int=0)})
    try:
        raise KeyError(SECRET)
    except KeyError:
        logger.exception("broken")
    first, second = read()
    assert first.isascii() and first.isprintable() and second.isprintable()
    assert "xylophone" not in second and "KeyError" in second and "test_log.py:" in second
    if is_json:
        told = json.loads(first)
        assert told["name"] == SECRET and told["n"] == 3 and told["level"] == "warning"
        assert told["event"] == "a\r\nb\x00" and told["time"].endswith("+00:00")
        assert told["id"] == str(UUID(int=0)), "what JSON does not know is told as text"
    else:
        assert "a\\r\\nb\\x00" in first and "share=0.123457 n=3" in first
