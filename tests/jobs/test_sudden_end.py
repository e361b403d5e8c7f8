"""What is left when the app is killed while it works: all that it said was done."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("killed_at_work.py")
#: More of them find rarer moments.
KILLS = int(os.environ.get("SIMVIZ_KILLS", "4"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_done_is_lost_when_the_app_is_killed_at_random_moments(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), str(KILLS)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=120 + 20 * KILLS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    actions = json.loads(done.stdout)["actions"]
    for action in ("uploaded", "deleted", "trained", "published", "named", "corrected", "looked"):
        assert actions[action] >= KILLS, actions
