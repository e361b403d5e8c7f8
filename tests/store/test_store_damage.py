"""A store whose files were damaged answers with what it holds or a StoreError, nothing else."""

import random
import shutil
import sqlite3

import pytest

from simviz.exceptions import StoreError
from simviz.store import Store, load_map

RUN = "1" * 32
CASES = 240


@pytest.fixture(scope="module")
def whole(tmp_path_factory, pairs, result, drawn):
    """A store with one of each, its workspace and the token of its share."""
    root = tmp_path_factory.mktemp("whole")
    store = Store(root)
    mine = store.workspaces.create()
    dataset_id = store.datasets.put(pairs, mine, notes=["read"])
    store.runs.put(RUN, result, {"dataset_id": dataset_id, "method": "cca"}, mine)
    store.runs.get(RUN, mine).put_map("mds-2", *drawn)
    share = store.shares.publish(mine, "map", run_ids=[RUN], view={"k": "2"})
    with sqlite3.connect(root / "index.sqlite") as index:
        index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    index.close()
    return root, mine, dataset_id, share


def read_all(root, mine, dataset_id, token):
    """Every way in; what one refuses does not keep from the others."""
    store = Store(root)
    run = None

    def get_run():
        nonlocal run
        run = store.runs.get(RUN, mine)

    ways = [
        get_run,
        lambda: store.datasets.get(dataset_id, mine),
        *(
            lambda part=part: part.find(mine)
            for part in (store.datasets, store.runs, store.shares)
        ),
        lambda: store.shares.resolve(token),
        lambda: (run.spec, run.about),
        lambda: run.arrays(),
        lambda: run.pipeline(),
        lambda: load_map(run, "mds-2"),
    ]
    for part in ("validation", "test"):
        ways += [
            lambda part=part: run.part(part).records["run"],
            lambda part=part: run.part(part).curve,
            lambda part=part: run.read_objects(f"{part}/learning"),
            lambda part=part: run.part(part).evaluation.to_records(),
        ]
    for way in ways:
        try:
            way()
        except StoreError:
            if run is None:
                return


def damage(path, rng):
    data = bytearray(path.read_bytes())
    how = rng.randrange(5)
    if how == 0:
        data = data[: rng.randrange(len(data))]
    elif how == 1:
        at = rng.randrange(len(data))
        data[at : at + rng.choice([4, 500])] = b""
    elif how == 2 and path.suffix == ".json":
        values = [b"null", b"[]", b"{}", b'"x"', b"[1]", b'[{"metric": 5}]', b"-1e999"]
        values.append(b"[" * 99_999)
        data = rng.choice(values)
    else:
        for _ in range(rng.choice([1, 3, 40])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_of_a_store_are_a_store_error(whole, tmp_path, seed):
    root, *names = whole
    rng = random.Random(seed)
    files = [p.relative_to(root) for p in sorted(root.rglob("*.*")) if p.is_file()]
    index = next(p for p in files if p.name == "index.sqlite")
    for case in range(CASES // 4):
        copy = tmp_path / str(case)
        shutil.copytree(root, copy)
        damage(copy / (index if case % 3 == 0 else rng.choice(files)), rng)
        try:
            read_all(copy, *names)
        except StoreError:
            pass
        shutil.rmtree(copy)
