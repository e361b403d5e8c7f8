"""How many cores a job takes, so that pages keep answering."""

from __future__ import annotations

import os

#: Read by libraries that are loaded later, such as torch.
_VARIABLE = "OMP_NUM_THREADS"


def threads_per_job(max_workers: int, cores: int | None = None) -> int:
    """Threads of linear algebra for each of some jobs, one core left for pages.

    Parameters
    ----------
    max_workers : int
        Jobs that run at once.
    cores : int, optional
        Cores of the machine; those this process may use when omitted.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> [threads_per_job(2, cores) for cores in (1, 2, 8, 16)]
    [1, 1, 3, 7]
    """
    if cores is None:
        affinity = getattr(os, "sched_getaffinity", None)
        cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, (cores - 1) // max_workers)


def limit_threads(n: int) -> None:
    """Limit BLAS, OpenMP and compiled kernels, from the thread of a job.

    The limit of OpenBLAS holds for the whole process, whichever thread sets
    it (that of OpenMP and numba only for the thread). Setting it for a while
    would therefore take effect in pages and other jobs at random, and the
    last one to leave would restore what another still needs. So it is set
    for good: pages, whose products are small, compute with as many threads
    as a job does.

    Parameters
    ----------
    n : int
        Threads.
    """
    import numba
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    os.environ.setdefault(_VARIABLE, str(n))
    threadpool_limits(limits=n)  # not as a context: nothing is to be restored
    numba.set_num_threads(max(1, min(n, numba.config.NUMBA_NUM_THREADS)))
