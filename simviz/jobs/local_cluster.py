"""A cluster on this machine, for trying and for tests."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

if TYPE_CHECKING:
    from distributed import LocalCluster


def cluster_here(n_workers: int = 2, *, port: int = 0, **how: Any) -> LocalCluster:
    """Start a scheduler and workers that only this machine can reach."""
    # Nobody looks at their dashboard, so they neither serve one nor watch themselves closely,
    # which takes some hundredths of a core each; and where workers are threads, the frames that
    # Dask takes of them can stop a process of Python 3.11 for good.
    import dask
    from distributed import LocalCluster

    calm = {"distributed.admin.tick.interval": "1s", "distributed.worker.profile.enabled": False}
    # Even a scheduler without a dashboard serves its state somewhere; here at any free port.
    usual: dict[str, Any] = {
        "threads_per_worker": 1, "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False},
    }  # fmt: skip
    # A worker that is killed comes back in seconds. Dask looks 15 s later whether it is
    # there, and gives it up for good if it was killed anew just then.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"})
    with dask.config.set(calm):
        return LocalCluster(n_workers=n_workers, scheduler_port=port, **usual | how)


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a scheduler and workers, and wait until they are interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m simviz.jobs.local_cluster",
        description="Start a Dask scheduler and workers that only this machine can reach.",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes, each doing one job")
    parser.add_argument("--port", type=int, default=8786, help="of the scheduler")
    options = parser.parse_args(arguments)
    try:
        cluster = cluster_here(options.workers, port=options.port)
    except (ImportError, RuntimeError) as error:
        sys.stderr.write(f"{error}\nInstall Dask with pip install 'simviz[cluster]'; ")
        sys.stderr.write("choose another --port if this one is taken.\n")
        return 2
    with cluster, suppress(KeyboardInterrupt):
        address = cluster.scheduler_address
        sys.stdout.write(f"{options.workers} workers wait at {address}. In another terminal:\n\n")
        sys.stdout.write(f"    SIMVIZ_SCHEDULER={address} make app\n\nCtrl-C ends them.\n")
        sys.stdout.flush()
        threading.Event().wait()
    return 0


if __name__ == "__main__":  # workers are new processes that import this file
    sys.exit(main())
