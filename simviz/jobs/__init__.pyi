from .cost import STAGES as STAGES, Cost as Cost, estimate as estimate
from .queue import JobQueue as JobQueue
from .spec import (
    JobError as JobError,
    JobResult as JobResult,
    JobSpec as JobSpec,
    SplitSpec as SplitSpec,
    blend_spec as blend_spec,
    csls_spec as csls_spec,
    divisions_spec as divisions_spec,
    experiment_spec as experiment_spec,
    search_spec as search_spec,
)
from .status import JobStatus as JobStatus
from .training import train as train
