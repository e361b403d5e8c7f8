"""How a server of the app was set up: for one person, or open to anybody."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from simviz.exceptions import SimvizError

_MEGABYTE = 10**6


@dataclass(frozen=True, slots=True)
class Deployment:
    """What the operator of a server decided."""

    public: bool = False
    base_url: str = ""
    workspace_bytes: int = 4 * 2**30
    idle_days: float = math.inf
    scheduler: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> Deployment:
        """Read the environment."""
        said = os.environ if environment is None else environment
        public = _flag(said, "SIMVIZ_PUBLIC")
        usual = cls(True, "", 500 * _MEGABYTE, 14.0) if public else cls()
        size, days = (
            _positive(said, name) for name in ("SIMVIZ_WORKSPACE_MB", "SIMVIZ_IDLE_DAYS")
        )
        return cls(
            public,
            _address(said.get("SIMVIZ_BASE_URL", "").strip()),
            usual.workspace_bytes if size is None else int(size * _MEGABYTE),
            usual.idle_days if days is None else days,
            _scheduler(said.get("SIMVIZ_SCHEDULER", "").strip()),
        )


def is_this_computer(host: str, address: str | None) -> bool:
    """Whether a visitor sits at the computer that the app runs on."""
    name = urlsplit(f"//{host}").hostname or ""
    return _is_loopback(name) and (address is None or _is_loopback(address))


def _is_loopback(name: str) -> bool:
    if name in ("", "localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    # A socket for both kinds of address tells 127.0.0.1 as ::ffff:127.0.0.1.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _flag(said: Mapping[str, str], name: str) -> bool:
    word = said.get(name, "").strip().lower()
    if word in ("", "0", "false", "no"):
        return False
    if word in ("1", "true", "yes"):
        return True
    raise SimvizError(f"{name} is {said[name]!r}; set it to 1 or 0.")


def _positive(said: Mapping[str, str], name: str) -> float | None:
    word = said.get(name, "").strip()
    if not word:
        return None
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise SimvizError(f"{name} is {word!r}; set it to a positive number.")
    return value


def _address(url: str) -> str:
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise SimvizError(
            f"SIMVIZ_BASE_URL is {url!r}; set it to the address at which others open the app, "
            "such as https://example.org/simviz."
        )
    return url.rstrip("/")


def _scheduler(address: str) -> str:
    parts = urlsplit(address)
    if address and (parts.scheme not in ("tcp", "tls") or not parts.hostname):
        raise SimvizError(
            f"SIMVIZ_SCHEDULER is {address!r}; set it to the address of a Dask scheduler, "
            "such as tcp://127.0.0.1:8786."
        )
    return address
