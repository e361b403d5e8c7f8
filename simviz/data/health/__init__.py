"""Health of data: what would make figures wrong, found before anything is trained."""

from simviz.data.health.check import check_health, estimate_seconds, find_disputed
from simviz.data.health.finding import Finding, HealthReport, ItemName, SharedWords
from simviz.data.health.remedies import Remedy

__all__ = [
    "Finding",
    "HealthReport",
    "ItemName",
    "Remedy",
    "SharedWords",
    "check_health",
    "estimate_seconds",
    "find_disputed",
]
