"""Files of the store that are damaged under a running server: pages say so, the rest stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from on_page import go, html, run, said

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.store import Store

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "pages").glob("*.py"))


@pytest.fixture(scope="module")
def home(make_home):
    """Two data sets with two runs each, of which the first ones are going to be damaged."""
    texts = [f"{a}{b} {b}{a}" for a in "abcdefgh" for b in "ijklm"]
    pairs = {
        name: PairSet.from_texts(texts, [f"{t[::-1]} {name}" for t in texts], name=name)
        for name in ("first", "second")
    }
    few = {"n_components": 3}
    runs = {
        f"{name} {method}": (name, method, params)
        for name in pairs
        for method, params in (("cca", few), ("bm25", {}))
    }
    return make_home(pairs, runs)


def gone(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])


def foreign(path):
    """Replace a file by a directory, and a directory by a file."""
    is_file = path.is_file()
    gone(path)
    if is_file:
        path.mkdir()
    else:
        path.write_text("not yours")


def empty(path):
    path.write_bytes(b"")


DATA = ["datasets/*/pairs.simviz", "datasets/*/names.json"]
RUN = ["runs/*/*.json", "runs/*/*.simviz", "runs/*/*/*.json", "runs/*/*/*.simviz"]
#: Kind of what is damaged, how, which files; and the pages that show it.
FEW = [
    ("data", gone, "datasets/*/pairs.simviz", ["map"]),
    ("data", foreign, "datasets/*", ["train"]),
    ("run", cut, "runs/*/about.json", ["compare"]),
    ("run", cut, "runs/*/*/run.simviz", ["compare"]),
    ("run", gone, "runs/*", ["compare", "search"]),
    ("run", empty, "runs/*/pipeline.simviz", ["search"]),
    ("job", foreign, "jobs/*/*", ["train"]),
]
MANY = [
    *[("data", how, path, PAGES) for how in (gone, cut, foreign, empty) for path in DATA],
    *[("run", how, path, PAGES) for how in (gone, cut, foreign, empty) for path in RUN],
    *[("run", foreign, path, PAGES) for path in ("runs/*", "runs/*/test")],
    *[("job", how, "jobs/*/*", PAGES) for how in (gone, cut, empty)],
    *[("job", how, "jobs/*", PAGES) for how in (gone, foreign)],
]


def names(case):
    return f"{case[1].__name__} {case[2]}"


def check(home, tmp_path, serve, open_page, case):
    what, how, pattern, pages = case
    ours = home.copy(tmp_path / "store")
    serve(ours.root)
    open_page(None, ours.mine).run()
    mine = {"data": ours.data["first"], "run": ours.runs["first cca"]}
    name = mine.get(what, ours.jobs["first cca"])
    damaged = [path for path in sorted(ours.root.glob(pattern)) if name in path.parts]
    for path in damaged:
        how(path)
    assert damaged

    def opened(page, data):
        app = open_page(page, ours.mine)
        go(app, data=ours.data[data])
        shown = html(app) + said(app)
        assert not app.exception, app.exception
        assert "Traceback" not in shown and str(tmp_path) not in shown
        return shown

    shown = {page: opened(page, "first") for page in pages}
    if what == "data":
        assert all("Delete the data set" in shown[page] for page in {*pages} & {*SHOW_DATA})
    elif "compare" in shown:
        assert "BM25" in shown["compare"]  # what is whole is compared still
    assert "BM25" in opened("compare", "second")
    return shown


SHOW_DATA = ("compare", "map", "search", "train")


@pytest.mark.parametrize("case", FEW, ids=names)
def test_pages_say_what_is_damaged(home, tmp_path, serve, open_page, case):
    shown = check(home, tmp_path, serve, open_page, case)
    if case[0] != "job":
        assert all('role="alert"' in text or "cannot be read" in text for text in shown.values())


@pytest.mark.soak("every page of a server of its own for each damage")
@pytest.mark.parametrize("case", MANY, ids=names)
def test_no_page_breaks_on_any_damage(home, tmp_path, serve, open_page, case):
    check(home, tmp_path, serve, open_page, case)


def test_an_index_that_is_gone_is_told_and_costs_nothing(home, tmp_path, serve, open_page):
    ours = home.copy(tmp_path / "store")
    serve(ours.root)
    open_page(None, ours.mine).run()
    kept = (ours.root / "index.sqlite").read_bytes()
    for damage in (gone, empty):
        damage(ours.root / "index.sqlite")
        for path in ours.root.glob("index.sqlite-*"):
            path.unlink()
        app = open_page("compare", ours.mine)
        go(app, data=ours.data["first"])
        assert "cannot be used" in html(app)
        with pytest.raises(StoreError, match="is missing or empty, and there are datasets"):
            Store(ours.root)  # as a server that is started anew does
        (ours.root / "index.sqlite").write_bytes(kept)
    assert [info.name for info in ours.store.datasets.find(ours.mine)][:2] == ["second", "first"]
    assert ours.run("second bm25").pipeline()


@pytest.mark.parametrize("place", [".", "datasets"])
def test_a_store_that_cannot_be_used_is_told_on_every_page(place, tmp_path, serve, open_page):
    root = tmp_path / "store"
    (root / place).parent.mkdir(exist_ok=True)
    (root / place).write_text("where a directory must be")
    serve(root)
    for page in ("data", "compare", "methods"):
        app = open_page(page)
        run(app)
        assert "Set SIMVIZ_HOME to a directory that can be written" in html(app) + said(app)
    (root / place).unlink()
    app = open_page("data")
    app.run()
    assert [title.value for title in app.title] == ["Data"]
