"""Numbers that the papers print, read from ``published.toml``."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files


@functools.cache
def _numbers() -> dict[tuple[str, str, str], dict[str, float]]:
    text = files("simviz.experiments").joinpath("published.toml").read_text(encoding="utf-8")
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for one in tomllib.loads(text)["numbers"]:
        column = found.setdefault((one["paper"], one["where"], one["column"]), {})
        column[one["row"]] = float(one["value"])
    return found


def column(paper: str, where: str, name: str) -> dict[str, float]:
    """Row to number, of a column of a table or section, as the paper orders rows."""
    return dict(_numbers()[paper, where, name])


def ahead(paper: str, where: str, name: str, row: str, other: str) -> str:
    """Both numbers in words, for a claim that one row is ahead of the other; else ValueError."""
    numbers = column(paper, where, name)
    a, b = numbers[row], numbers[other]
    if not a > b:
        raise ValueError(f"{where} has {a:g} for {row!r} and {b:g} for {other!r} ({name}).")
    return f"{a:.{_digits(a, b)}f} and {b:.{_digits(a, b)}f} ({name})"


def _digits(*numbers: float) -> int:
    """Decimals that the paper prints: at least two, at most four."""
    return max(2, *(len(f"{n:.4f}".rstrip("0").partition(".")[2]) for n in numbers))
