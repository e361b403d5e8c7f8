"""What the operator of a server decided, read from environment variables."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from simviz.exceptions import SimvizError

T = TypeVar("T")
_MEGABYTE = 10**6


@dataclass(frozen=True, slots=True)
class Deployment:
    """What the operator of a server decided."""

    public: bool = False
    base_url: str = ""
    workspace_bytes: int = 4 * 2**30
    idle_days: float = math.inf
    scheduler: str = ""
    datasets: int = 30
    runs: int = 300
    #: That wait or run at once. One person may line up a whole comparison; on a public server,
    #: others wait behind it.
    jobs: int = 40
    log_is_json: bool = False
    #: Of this process, as far as jobs can help it.
    memory_bytes: float = math.inf

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> Deployment:
        """Read the environment."""
        variables = os.environ if environment is None else environment

        def read(name: str, parse: Callable[[str], T], default: T, expected: str) -> T:
            word = variables.get(name, "").strip()
            try:
                return parse(word) if word else default
            except ValueError as error:
                raise SimvizError(f"{name} is {word!r}; set it to {expected}.") from error

        public = read("SIMVIZ_PUBLIC", _flag, False, "1 or 0")
        default = cls(True, "", 500 * _MEGABYTE, 14.0, jobs=8) if public else cls()
        number, whole = "a positive number", "a whole number from 1"
        size = read("SIMVIZ_WORKSPACE_MB", _positive, default.workspace_bytes / _MEGABYTE, number)
        app = "the address at which others open the app, such as https://example.org/simviz"
        dask = "the address of a Dask scheduler, such as tcp://127.0.0.1:8786"
        return cls(
            public,
            read("SIMVIZ_BASE_URL", _address, "", app),
            int(size * _MEGABYTE),
            read("SIMVIZ_IDLE_DAYS", _positive, default.idle_days, number),
            read("SIMVIZ_SCHEDULER", _scheduler, "", dask),
            read("SIMVIZ_WORKSPACE_DATASETS", _count, default.datasets, whole),
            read("SIMVIZ_WORKSPACE_RUNS", _count, default.runs, whole),
            read("SIMVIZ_WORKSPACE_JOBS", _count, default.jobs, whole),
            read("SIMVIZ_LOG", ("text", "json").index, 0, "text or json") == 1,
            read("SIMVIZ_MEMORY_MB", _positive, math.inf, number) * _MEGABYTE,
        )


def _flag(word: str) -> bool:
    if word.lower() not in ("0", "false", "no", "1", "true", "yes"):
        raise ValueError(word)
    return word.lower() in ("1", "true", "yes")


def _positive(word: str) -> float:
    value = float(word)
    if not value > 0:
        raise ValueError(word)
    return value


def _count(word: str) -> int:
    if int(word) < 1:
        raise ValueError(word)
    return int(word)


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(url)
    return url.rstrip("/")


def _scheduler(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname:
        raise ValueError(address)
    return address
