"""Machine code goes from one checkout to another of the same kernels, and to no other."""

import os

import kernels
import pytest


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "KEPT", tmp_path / "kept")

    def enter(name):
        place = tmp_path / name / "simviz"
        (place / "__pycache__").mkdir(parents=True, exist_ok=True)
        monkeypatch.setattr(kernels, "PLACES", {"simviz": place})
        monkeypatch.setattr(kernels, "STAMP", place / "__pycache__" / "kernels")
        return place

    return enter


def test_machine_code_is_found_by_the_digest_of_its_kernels(checkout, tmp_path):
    one, two = (tmp_path / "kept" / f"{digest}.tar" for digest in "ab")
    first = checkout("first")
    kernels.take(one)  # there is nothing yet
    index = first / "ranking" / "__pycache__" / "sort-1.py311.nbi"
    index.parent.mkdir(parents=True)
    index.write_bytes(b"code")
    (index.parent / "sort.pyc").write_bytes(b"no machine code")
    kernels.take(one)
    assert index.exists(), "of the same kernels"
    kernels.keep(one)
    second = checkout("second")
    kernels.take(two)
    assert not kernels.compiled(second)
    kernels.take(one)
    (found,) = kernels.compiled(second)
    assert found == second / "ranking" / "__pycache__" / index.name
    assert found.read_bytes() == b"code"
    kernels.take(two)
    assert not kernels.compiled(second), "other kernels may stand in it"


def test_the_archives_used_last_are_kept(checkout, tmp_path):
    checkout("first")
    kept = [tmp_path / "kept" / f"{k}.tar" for k in range(kernels.MAX_KEPT + 2)]
    for k, archive in enumerate(kept[:-1]):
        kernels.keep(archive)
        os.utime(archive, (k, k))
    kernels.take(kept[1])
    kernels.keep(kept[-1])
    assert {*(tmp_path / "kept").iterdir()} == {kept[1], *kept[3:]}
