"""Training in the background: requests, progress, results."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.jobs.blending import blend_spec
    from simviz.jobs.cost import Estimate, estimate
    from simviz.jobs.drawing import draw, drawing_name
    from simviz.jobs.queue import JobQueue
    from simviz.jobs.results import load_evaluation, load_map, pack_map
    from simviz.jobs.selection import Found, estimate_search, search_spec
    from simviz.jobs.spec import JobError, JobSpec, SplitSpec
    from simviz.jobs.status import JobStatus
    from simviz.jobs.stopping import stopped_by_validation
    from simviz.jobs.training import STAGES, RunResult, train

# No module bears the name of what it exports: importing a submodule binds its
# name on the package and would hide the function.
_WHERE = {
    "STAGES": "training",
    "Estimate": "cost",
    "Found": "selection",
    "JobError": "spec",
    "JobQueue": "queue",
    "JobSpec": "spec",
    "JobStatus": "status",
    "RunResult": "training",
    "SplitSpec": "spec",
    "blend_spec": "blending",
    "draw": "drawing",
    "drawing_name": "drawing",
    "estimate": "cost",
    "estimate_search": "selection",
    "load_evaluation": "results",
    "load_map": "results",
    "pack_map": "results",
    "search_spec": "selection",
    "stopped_by_validation": "stopping",
    "train": "training",
}

__all__ = [
    "STAGES",
    "Estimate",
    "Found",
    "JobError",
    "JobQueue",
    "JobSpec",
    "JobStatus",
    "RunResult",
    "SplitSpec",
    "blend_spec",
    "draw",
    "drawing_name",
    "estimate",
    "estimate_search",
    "load_evaluation",
    "load_map",
    "pack_map",
    "search_spec",
    "stopped_by_validation",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"simviz.jobs.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
