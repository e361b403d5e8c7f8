"""Visitors who need no browser: `Tab` speaks to a server as a browser does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from server import ROOT
from waiting import LONG, until

sys.path.append(str(ROOT / "tests" / "soak"))
import app_client

__all__ = ["ENDLESS", "Tab", "states", "until_running", "visit"]

#: One tab of a visitor, by the port of a server; a machine may be very busy.
Tab = partial(app_client.Tab, patience=LONG)
#: The address of a job that takes longer than a test on any machine, and by its estimate less
#: than jobs may even where others keep the processor busy.
ENDLESS = "demo=emoji&method=ssi&max_iter=15000&patience=15000"


def states(home: Path) -> list[str]:
    """What the jobs of a store have come to."""
    return [json.loads(job.read_text())["state"] for job in home.glob("jobs/*/status.json")]


def until_running(home: Path) -> None:
    """Wait until a job of a store runs."""
    until(lambda: "running" in states(home))


def visit(visitor: Coroutine[Any, Any, Any]) -> Any:
    """Do what a visitor does, in a thread: a browser has a loop of events in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, visitor).result()
