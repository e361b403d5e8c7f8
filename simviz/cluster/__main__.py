"""A cluster on this machine, for trying: ``python -m simviz.cluster``."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait
from simviz.cluster.here import cluster_here


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a scheduler and workers, and wait until they are interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line when omitted.

    Returns
    -------
    int
        0, or 2 where it cannot be started.
    """
    parser = argparse.ArgumentParser(
        prog="python -m simviz.cluster",
        description="Start a Dask scheduler and workers that only this machine can reach.",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes, each doing one job")
    parser.add_argument("--port", type=int, default=8786, help="of the scheduler")
    asked = parser.parse_args(arguments)
    try:
        cluster = cluster_here(asked.workers, port=asked.port)
    except (ImportError, RuntimeError) as error:
        sys.stderr.write(f"{error}\nInstall Dask with pip install 'simviz[cluster]'; ")
        sys.stderr.write("choose another --port if this one is taken.\n")
        return 2
    with cluster, suppress(KeyboardInterrupt):
        address = cluster.scheduler_address
        sys.stdout.write(f"{asked.workers} workers wait at {address}. In another terminal:\n\n")
        sys.stdout.write(f"    SIMVIZ_SCHEDULER={address} make app\n\nCtrl-C ends them.\n")
        sys.stdout.flush()
        threading.Event().wait()
    return 0


if __name__ == "__main__":  # workers are new processes that import this file
    sys.exit(main())
