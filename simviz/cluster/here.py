"""A cluster on this machine, for trying and for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import LocalCluster


def cluster_here(n_workers: int = 2, *, port: int = 0, **how: Any) -> LocalCluster:
    """Start a scheduler and workers that only this machine can reach.

    Nobody looks at their dashboard, so they neither serve one nor watch
    themselves closely, which takes some hundredths of a core each.

    Parameters
    ----------
    n_workers : int, default=2
        Worker processes, each doing one task at a time.
    port : int, default=0
        Of the scheduler; any that is free when 0.
    **how : dict
        Further arguments of `distributed.LocalCluster`.

    Returns
    -------
    distributed.LocalCluster
        Running; a context manager that ends it.

    Raises
    ------
    ImportError
        If Dask is not installed.
    RuntimeError
        If the port is taken.
    """
    import dask
    from distributed import LocalCluster

    calm = {"distributed.admin.tick.interval": "1s", "distributed.worker.profile.enabled": False}
    usual: dict[str, Any] = {
        "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None,
    }  # fmt: skip
    with dask.config.set(calm):
        return LocalCluster(n_workers=n_workers, scheduler_port=port, **usual | how)
