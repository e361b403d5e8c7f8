import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from simviz.data import PairSet
from simviz.datasets import DEMOS
from simviz.exceptions import StoreError
from simviz.store import Store, StoreLimits

PATHS = ["", ".", "..", "../../etc/passwd", "/etc/passwd", "a" * 32 + "/.."]
ODD = ["A" * 32, "0" * 32 + "\n", "0" * 32 + "\0", "\ud800", None, 7, b"0" * 32, "' OR 1=1 --"]
HOSTILE = [*PATHS, *ODD, "demo:../../x", "demo:"]


def many(n, start=0):
    return PairSet.from_texts([f"{start + i}" for i in range(n)], [f"y{i}" for i in range(n)])


def test_workspaces_are_unguessable_and_known(store):
    ids = {store.workspaces.create() for _ in range(20)}
    assert len(ids) == 20 and min(map(len, ids)) >= 24
    assert all(map(store.workspaces.has, ids))
    assert not store.workspaces.has("nobody")


@pytest.mark.parametrize("workspace", HOSTILE)
def test_unknown_workspaces_are_refused_everywhere(store, pairs, workspace):
    for call in (
        store.workspaces.touch,
        store.datasets.find,
        store.runs.find,
        store.shares.find,
        store.workspaces.delete,
        lambda w: store.datasets.put(pairs, w),
        lambda w: store.shares.publish(w, "map", dataset_ids=["demo:icons"]),
    ):
        with pytest.raises(StoreError, match="workspace"):
            call(workspace)


def test_a_data_set_is_kept_once_and_described(store, mine, pairs):
    first = store.datasets.put(pairs, mine, notes=["3 rows left out"])
    assert store.datasets.put(pairs, mine) == first
    (info,) = (d for d in store.datasets.find(mine) if not d.is_demo)
    assert (info.id, info.name, info.notes) == (first, "words", ("3 rows left out",))
    assert (info.n_x, info.n_y, info.n_relevant, info.n_judged) == (12, 12, 12, 12)
    assert (info.x_kind, info.digest) == ("text", pairs.digest)
    on_disk = sum(p.stat().st_size for p in (store.root / "datasets" / first).iterdir())
    assert info.n_bytes == on_disk
    assert store.datasets.get(first, mine).digest == pairs.digest


def test_a_data_set_belongs_to_its_workspace(store, mine, theirs, pairs):
    own = store.datasets.put(pairs, mine)
    assert store.datasets.put(pairs, theirs) != own
    words = set()
    for dataset_id in (own, "0" * 32):
        for call in (store.datasets.get, store.datasets.delete):
            with pytest.raises(StoreError) as error:
                call(dataset_id, theirs)
            words.add(str(error.value))
    assert len(words) == 1  # the answer does not tell whether it exists
    assert store.datasets.get(own).digest == pairs.digest  # a job is trusted


@pytest.mark.parametrize("dataset_id", HOSTILE)
def test_hostile_data_set_ids_are_refused(store, mine, dataset_id):
    data = store.datasets
    for call in (data.get, data.info, data.delete, store.runs.get, store.jobs.folder):
        with pytest.raises(StoreError):
            call(dataset_id, mine)
    with pytest.raises(StoreError):
        store.shares.resolve(dataset_id)


def test_demos_are_there_for_all_and_need_no_state(store, mine):
    demos = [d for d in store.datasets.find(mine) if d.is_demo]
    assert [d.id for d in demos] == [f"demo:{name}" for name in DEMOS]
    assert store.datasets.get("demo:emoji", mine) is store.datasets.get("demo:emoji")
    assert not list((store.root / "datasets").iterdir())
    with pytest.raises(StoreError, match="belongs to all"):
        store.datasets.delete("demo:emoji", mine)


def test_quotas_are_said_clearly(tmp_path):
    store = Store(tmp_path, StoreLimits(datasets=2))
    mine, other = store.workspaces.create(), store.workspaces.create()
    kept = [store.datasets.put(many(3, start), mine) for start in (0, 10)]
    with pytest.raises(StoreError, match="holds 2 data sets, as many as it may"):
        store.datasets.put(many(3, 20), mine)
    assert store.datasets.put(many(3, 10), mine) == kept[1]  # there already
    store.datasets.put(many(3), other)
    store.datasets.delete(kept[0], mine)
    store.datasets.put(many(3, 20), mine)


def test_bytes_are_counted_to_the_last_and_nothing_is_left_of_a_refusal(tmp_path, pairs):
    roomy = Store(tmp_path / "roomy")
    mine = roomy.workspaces.create()
    roomy.datasets.put(pairs, mine)
    size = roomy.workspaces.usage(mine).bytes
    exact, short = (Store(tmp_path / str(n), StoreLimits(bytes=n)) for n in (size, size - 1))
    exact.datasets.put(pairs, exact.workspaces.open(mine))
    assert exact.workspaces.usage(mine).bytes == size
    for store, kept, refused in ((exact, 1, many(3)), (short, 0, pairs)):
        with pytest.raises(StoreError, match=r"This needs 0\.0 MB, .* holds 0\.0 of 0 MB"):
            store.datasets.put(refused, store.workspaces.open(mine))
        assert store.workspaces.usage(mine).datasets == kept
        assert len(list((store.root / "datasets").iterdir())) == kept
        assert not list((store.root / "drafts").iterdir())


def test_the_root_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMVIZ_HOME", str(tmp_path / "here"))
    assert Store().root == tmp_path / "here"
    monkeypatch.delenv("SIMVIZ_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store().root == tmp_path / ".local" / "share" / "simviz"


def test_a_root_that_cannot_be_used_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="SIMVIZ_HOME"):
        Store(tmp_path / "file")
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="index"):
        Store(tmp_path)


def files_below(root):
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*.*")}


@pytest.mark.parametrize(
    ("of_others", "writer"),
    [
        ("UPDATE written_by SET simviz='0.9.7'; PRAGMA user_version=99", "simviz 0.9.7 and .* 99"),
        ("DROP TABLE written_by; PRAGMA user_version=6", "another simviz and .* 6"),
    ],
)
def test_a_store_of_another_version_is_refused_and_left_as_it_is(tmp_path, of_others, writer):
    store = Store(tmp_path)
    dataset_id = store.datasets.put(many(3), store.workspaces.create())
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        db.executescript(of_others)
    (tmp_path / "uploads").rmdir()
    before, names = files_below(tmp_path), sorted(tmp_path.iterdir())
    message = f"was written by {writer}; simviz .*plain files in (.*), a directory each"
    with pytest.raises(StoreError, match=message) as refused:
        Store(tmp_path)
    place = re.search(message, str(refused.value))[1]
    with zipfile.ZipFile(Path(place) / dataset_id / "pairs.simviz") as archive:
        assert b'"y1"' in archive.read("objects.json")
    assert files_below(tmp_path) == before and sorted(tmp_path.iterdir()) == names


def test_other_names_change_neither_content_nor_id(store, mine, theirs):
    data, sides = store.datasets.put(many(3), mine), ("queries", "right items (b ?)")
    store.datasets.rename(data, mine, "*shop* \ud800", *sides)
    for data_id, workspace in ((data, theirs), ("demo:icons", mine), ("0" * 32, mine)):
        with pytest.raises(StoreError):
            store.datasets.rename(data_id, workspace, "a", "b", "c")
    kept, info = store.datasets.get(data, mine), store.datasets.info(data, mine)
    assert (kept.name, kept.x_name, kept.y_name) == ("*shop* \ud800", *sides)
    assert (info.name, info.x_name, info.y_name) == ("*shop* ?", *sides)
    assert kept.digest == many(3).digest == info.digest
