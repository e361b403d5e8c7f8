"""Health of data: what would make figures wrong, found before anything is trained."""

from simviz.data.health.checks import check_health
from simviz.data.health.findings import Finding, HealthReport, Remedy

__all__ = ["Finding", "HealthReport", "Remedy", "check_health"]
