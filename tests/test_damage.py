"""Damaged and crafted model files of all methods, read in a process of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_no_model_file_does_more_than_answer_or_be_refused():
    command = [sys.executable, ROOT / "tests" / "soak" / "damage.py"]
    done = subprocess.run(
        [*command, "--damaged", "31", "--crafted", "62", "--seed", "5"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b31 files of \d+ models", done.stdout)
