from .records import (
    DatasetInfo as DatasetInfo,
    Limits as Limits,
    RunInfo as RunInfo,
    Share as Share,
)
from .results import (
    RunResult as RunResult,
    load_evaluation as load_evaluation,
    load_map as load_map,
    pack_map as pack_map,
    stopped_by_validation as stopped_by_validation,
)
from .run import PartFiles as PartFiles, Run as Run, RunFiles as RunFiles, RunPart as RunPart
from .store import Store as Store
