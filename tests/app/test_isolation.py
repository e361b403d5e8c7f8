"""Nobody reads what is another's, whatever they write into the address."""

from __future__ import annotations

from pathlib import Path

import pytest

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.jobs import JobQueue

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "pages").glob("*.py"))
SECRET = "xylophone"  # stands in every text of the owner, and nowhere else


@pytest.fixture(scope="module")
def home(make_home):
    """An owner's data set, run, job and share, all of which tell the secret; and a stranger."""
    texts = [f"{SECRET} {a}{b}" for a in "abcde" for b in "fghi"]
    pairs = PairSet.from_texts(texts, [t[::-1] for t in texts], name=SECRET, x_name=SECRET)
    home = make_home({"own": pairs}, {"cca": ("own", "cca", {"n_components": 3})})
    store, owner = home.store, home.mine
    data, run = home.data["own"], home.runs["cca"]
    store.runs.rename(run, owner, SECRET, SECRET)
    store.feedback.put(data, owner, [(SECRET, SECRET, 1.0)])
    return {
        "root": home.root,
        "store": store,
        "owner": owner,
        "stranger": store.workspaces.create(),
        "data": data,
        "run": run,
        "job": home.jobs["cca"],
        "token": store.shares.publish(owner, "map", run_ids=[run]),
    }


@pytest.fixture
def visit(home, serve, open_page, monkeypatch):
    """Open a page with an address of one's own making."""
    monkeypatch.setenv("SIMVIZ_PUBLIC", "1")
    serve(home["root"])

    def opened(page, who, **params):
        app = open_page(page, home[who])
        app.query_params.update(params)
        return app.run()

    return opened


@pytest.mark.parametrize("page", PAGES)
def test_addresses_of_others_show_nothing(visit, home, page):
    guesses = (
        {"data": home["data"]},
        {"data": home["data"], "run": home["run"], "job": home["job"]},
        {"data": "demo:emoji", "run": home["run"], "runs": home["run"]},
        {"share": home["token"][:-1] + ("A" if home["token"][-1] != "A" else "B")},
        {"share": home["run"], "data": home["data"]},
        {"share": home["owner"]},
        {"data": f"{home['data']}/../{home['data']}"},
    )
    for params in guesses:
        app = visit(page, "stranger", **params)
        assert not app.exception, params
        assert SECRET not in str(app._tree), params
        assert SECRET not in str(app.query_params), params


def test_what_was_seen_as_owner_is_not_kept_for_the_next(visit, home):
    shown = 0
    for page in PAGES:
        shown += SECRET in str(visit(page, "owner", data=home["data"], run=home["run"])._tree)
        assert SECRET not in str(visit(page, "stranger", data=home["data"], run=home["run"])._tree)
    assert shown >= 4


def test_ids_of_others_open_nothing_in_the_store(home):
    store, stranger = home["store"], home["stranger"]
    with JobQueue(store) as queue:
        for read in (
            lambda: store.datasets.get(home["data"], stranger),
            lambda: store.datasets.info(home["data"], stranger),
            lambda: store.runs.get(home["run"], stranger),
            lambda: store.runs.delete(home["run"], stranger),
            lambda: store.runs.restore(home["run"], stranger),
            lambda: store.runs.rename(home["run"], stranger, "mine"),
            lambda: store.datasets.delete(home["data"], stranger),
            lambda: store.shares.withdraw(home["token"], stranger),
            lambda: store.shares.publish(stranger, "map", run_ids=[home["run"]]),
            lambda: store.feedback.put(home["data"], stranger, [("a", "b", 1.0)]),
            lambda: queue.status(home["job"], stranger),
            lambda: queue.cancel(home["job"], stranger),
            lambda: queue.repeat(home["job"], stranger),
            lambda: queue.result(home["job"], stranger),
        ):
            with pytest.raises(StoreError) as refused:
                read()
            assert SECRET not in str(refused.value)
        assert store.runs.find(stranger, home["data"]) == []
        assert store.feedback.find(home["data"], stranger) == []
        assert all(info.is_demo for info in store.datasets.find(stranger))
        assert queue.jobs(stranger) == [] and store.shares.find(stranger) == []
