"""A real server killed while visitors work on it; `benchmarks/sudden_end.py` has more moments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sudden_end.py"


def test_a_second_server_of_the_same_store_is_refused_until_the_first_ends(start_server, browser):
    first = start_server("one")
    page = browser.new_page()
    page.goto(f"{first.url}/data")
    page.get_by_role("heading", name="Data", exact=True).wait_for()
    second = start_server("one")
    other = browser.new_page()
    other.goto(f"{second.url}/data")
    other.get_by_text(f"process {first.process.pid}, serves the directory").wait_for()
    assert not other.locator("input[type=file]").count()
    first.kill()
    other.reload()
    other.get_by_role("heading", name="Data", exact=True).wait_for()
    page.close()
    other.close()


MANY = pytest.param("50", marks=pytest.mark.soak("each kill takes a server and a training"))


@pytest.mark.parametrize("moments", ["1", MANY])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(moments):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--moments", moments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "nothing lost" in done.stdout
