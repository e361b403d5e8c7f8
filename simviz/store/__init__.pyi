from .records import (
    DatasetInfo as DatasetInfo,
    Limits as Limits,
    RunInfo as RunInfo,
    Share as Share,
)
from .run import PartFiles as PartFiles, Run as Run, RunFiles as RunFiles, RunPart as RunPart
from .store import Store as Store
