"""What `tests/golden.py` calls a difference."""

import copy
import json
import subprocess
import sys

import golden
import pytest

NAN = float("nan")
BEFORE = {
    "bm25 on emoji": {
        "metrics": {"test MRR mean": 0.5, "test AUC pairs": NAN},
        "similarities": [-4.0, 2.0],
    },
    "ssi on emoji": {"error": "ValueError: too few"},
}


def after(**change):
    """The cells with other similarities, metrics or an error in the first of them."""
    cells = copy.deepcopy(BEFORE)
    cells["bm25 on emoji"] |= change
    return cells


def metrics(**change):
    return {"metrics": BEFORE["bm25 on emoji"]["metrics"] | change}


def test_rounding_and_further_metrics_are_no_difference(monkeypatch):
    near = after(similarities=[-4.0, 2.0 + 3e-6])  # less than 1e-6 of 4
    near["bm25 on emoji"]["metrics"] |= {"test MRR mean": 0.5 + 5e-7, "test MAP mean": 0.1}
    assert not list(golden.differences(BEFORE, near))
    assert len(list(golden.differences(BEFORE, near, golden.SAME))) == 2
    further = after(similarities=[-4.0, 2.0 + 4e-4])
    assert len(list(golden.differences(BEFORE, further))) == 1
    monkeypatch.setitem(golden.TOLERANCES, "bm25", 1e-3)
    assert not list(golden.differences(BEFORE, further))


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (after(similarities=[-4.0, 2.00001]), "similarities off by 2.5e-06"),
        (after(similarities=[-4.0, NAN]), "similarities off by inf"),
        (after(similarities=[-4.0]), "similarities off by inf"),
        (after(**metrics(**{"test MRR mean": 0.51})), "test MRR mean 0.500000 -> 0.51"),
        (after(**metrics(**{"test AUC pairs": 0.5})), "test AUC pairs nan -> 0.5"),
        (after(metrics={"test AUC pairs": NAN}), "test MRR mean 0.500000 -> inf"),
        (after(error="ValueError: no"), "no error -> ValueError: no"),
        ({"ssi on emoji": BEFORE["ssi on emoji"]}, "no error -> no cell"),
    ],
)
def test_what_changed_is_a_difference(cells, told, tmp_path, monkeypatch, capsys):
    paths = [tmp_path / "before.json", tmp_path / "after.json"]
    for path, written in zip(paths, (BEFORE, cells), strict=True):
        path.write_text(json.dumps({"versions": {}, "cells": written}))
    monkeypatch.setattr("sys.argv", ["golden.py", "compare", *map(str, paths)])
    with pytest.raises(SystemExit) as ended:
        golden.main()
    line, count = capsys.readouterr().out.splitlines()
    assert ended.value.code == 1 and count.endswith(" cells, 1 differences")
    assert line.startswith(f"bm25 on emoji: {told}")


@pytest.mark.soak("fits every method four times, in processes of their own")
def test_threads_and_hashes_change_nothing():
    command = [sys.executable, golden.__file__, "same", "--demo", "emoji", "--items", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
