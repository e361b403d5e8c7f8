"""What `tests/golden.py` calls a difference."""

import copy
import json
import subprocess
import sys

import golden
import pytest

BEFORE = {
    "bm25 on emoji": {
        "metrics": {"test MRR mean": 0.5, "test AUC pairs": float("nan")},
        "similarities": [-4.0, 2.0],
    },
    "ssi on emoji": {"error": "ValueError: too few"},
}


@pytest.fixture
def after():
    return copy.deepcopy(BEFORE)


@pytest.fixture
def compared(after, tmp_path, capsys):
    def compare():
        paths = tmp_path / "before.json", tmp_path / "after.json"
        for path, cells in zip(paths, (BEFORE, after), strict=True):
            path.write_text(json.dumps({"versions": {}, "cells": cells}))
        n = golden.compare(*paths)
        return n, capsys.readouterr().out

    return compare


def test_equal_cells_and_rounding_are_no_difference(after, compared):
    after["bm25 on emoji"]["similarities"][1] += 3e-6  # less than 1e-6 of 4
    after["bm25 on emoji"]["metrics"]["test MRR mean"] += 5e-7
    assert compared() == (0, "2 cells in both, 0 differences\n")
    assert len(list(golden.differences(BEFORE, after, golden.SAME))) == 2


def test_a_metric_that_only_the_newer_file_has_is_only_mentioned(after, compared):
    after["bm25 on emoji"]["metrics"]["test MAP mean"] = 0.1
    n, said = compared()
    assert n == 0
    assert "Metrics only after: test MAP mean" in said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c["similarities"].__setitem__(1, 2.00001), "similarities off by 2.5e-06"),
        (lambda c: c["similarities"].__setitem__(1, float("nan")), "similarities off by inf"),
        (lambda c: c["similarities"].pop(), "2 similarities -> 1"),
        (lambda c: c["metrics"].update({"test MRR mean": 0.51}), "test MRR mean 0.500000 -> 0.51"),
        (lambda c: c["metrics"].update({"test AUC pairs": 0.5}), "test AUC pairs nan -> 0.5"),
        (lambda c: c["metrics"].pop("test MRR mean"), "test MRR mean only before"),
        (lambda c: c.update(error="ValueError: no"), "no error -> ValueError: no"),
    ],
)
def test_what_changed_is_a_difference(after, compared, change, told):
    change(after["bm25 on emoji"])
    n, said = compared()
    assert n == 1
    assert f"bm25 on emoji: {told}" in said


@pytest.mark.soak("fits every method four times, in processes of their own")
def test_threads_and_hashes_change_nothing():
    words = ["same", "--demo", "emoji", "--items", "100"]
    done = subprocess.run(
        [sys.executable, golden.__file__, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_cell_of_one_file_is_a_difference(after, compared):
    after["lsa on emoji"] = after.pop("bm25 on emoji")
    n, said = compared()
    assert n == 2
    assert "bm25 on emoji: only before" in said and "lsa on emoji: only after" in said


def test_another_error_is_a_difference(after, compared):
    after["ssi on emoji"]["error"] = "TypeError: other"
    assert compared()[0] == 1


def test_the_command_fails_where_something_differs(tmp_path, monkeypatch):
    paths = [tmp_path / "before.json", tmp_path / "after.json"]
    for path, cells in zip(paths, (BEFORE, {}), strict=True):
        path.write_text(json.dumps({"versions": {}, "cells": cells}))
    monkeypatch.setattr("sys.argv", ["golden.py", "compare", *map(str, paths)])
    with pytest.raises(SystemExit) as ended:
        golden.main()
    assert ended.value.code == 1


def test_a_method_has_a_tolerance_of_its_own(after, compared, monkeypatch):
    after["bm25 on emoji"]["similarities"][0] += 4e-4
    assert compared()[0] == 1
    monkeypatch.setitem(golden.TOLERANCES, "bm25", 1e-3)
    assert compared()[0] == 0
