"""Health of data: what would make figures wrong, found before anything is trained."""

from simviz.data.health.checks import check_health, estimate_seconds, find_disputed
from simviz.data.health.findings import Finding, HealthReport, ItemName, Remedy, SharedWords

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
