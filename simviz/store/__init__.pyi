from .datasets import DatasetInfo as DatasetInfo
from .directory import StoreLimits as StoreLimits
from .run import (
    Run as Run,
    RunInfo as RunInfo,
    RunResult as RunResult,
    load_map as load_map,
    stopped_by_validation as stopped_by_validation,
)
from .store import Share as Share, Store as Store
