"""A real server killed while visitors work on it; `benchmarks/sudden_end.py` has more moments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sudden_end.py"


def test_nothing_acknowledged_is_lost_when_the_server_is_killed():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--moments", "3"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "nothing lost" in done.stdout
