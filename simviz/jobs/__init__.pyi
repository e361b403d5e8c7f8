from .blending import blend_spec as blend_spec
from .cost import Estimate as Estimate, estimate as estimate
from .queue import JobQueue as JobQueue
from .results import (
    load_evaluation as load_evaluation,
    load_map as load_map,
    pack_map as pack_map,
    stopped_by_validation as stopped_by_validation,
)
from .selection import (
    Found as Found,
    estimate_search as estimate_search,
    search_spec as search_spec,
)
from .spec import JobError as JobError, JobSpec as JobSpec, SplitSpec as SplitSpec
from .status import JobStatus as JobStatus
from .training import STAGES as STAGES, RunResult as RunResult, train as train
