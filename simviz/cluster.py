"""Old path of `simviz.jobs.dask`, and of ``python -m simviz.jobs.local_cluster``."""

import sys

from simviz._moved import moved

_JOBS = dict.fromkeys(("ClusterExecutor", "cluster_queue"), "simviz.jobs.dask")

__getattr__ = moved(__name__, {**_JOBS, "fit_s2net": "simviz.scale.gradients"})

if __name__ == "__main__":  # workers are new processes that import this file
    from simviz.jobs.local_cluster import main

    sys.exit(main())
