"""A Dask cluster on this machine."""

from __future__ import annotations

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
