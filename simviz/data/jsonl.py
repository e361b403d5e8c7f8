"""JSON: one object a line or an array of objects, their keys as columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import Content, Note, counted, mended, shown
from simviz.data.limits import get_limits, report_progress
from simviz.exceptions import DatasetError

_SPACE = re.compile(r"\s*")


def read_columns(name: str, text: str) -> Content:
    """Read one JSON object a line, or one array of objects, into columns."""
    is_array = text.lstrip().startswith("[")
    limits = get_limits()
    columns: dict[str, list[Any]] = {}
    rows: list[int] = []
    unit = "object" if is_array else "line"
    for line, value in _array(name, text) if is_array else _lines(name, text):
        for key, cell in _flat(value).items():
            is_nested = isinstance(cell, (dict, list))
            cells = columns.setdefault(key, [])
            cells += [""] * (len(rows) - len(cells))
            cells.append(_vector(cell) if is_nested else scalar_text(cell))
        rows.append(line)
        if not len(rows) % 1024:
            report_progress(0.0)
        if len(columns) > limits.columns or len(columns) * len(rows) > limits.cells:
            raise DatasetError(
                f"{name}, {unit} {line}: more than {limits.columns:,} keys or {limits.cells:,} "
                "cells. Keep the keys with the pairs and remove the others, or bring a sample."
            )
    if not rows:
        raise DatasetError(f"{name} holds no {unit} with an object. Export it again.")
    content: dict[str, Any] = {}
    notes, nested = [], list[str]()
    for key, cells in columns.items():
        cells += [""] * (len(rows) - len(cells))
        lists = [line for line, cell in zip(rows, cells, strict=True) if not isinstance(cell, str)]
        if not lists:
            content[key] = cells
        elif len(sizes := {getattr(cell, "size", None) for cell in cells}) == 1 and all(sizes):
            content[key] = np.stack(cells)
        else:
            nested.append(f"{shown(key)} (first in {unit} {lists[0]})")
    if nested:
        message = (
            f"{name}: {counted(len(nested), 'column')} with lists or objects left out: "
            f"{', '.join(nested)}. Write them as text, or as lists of equally many numbers, to "
            "keep them."
        )
        notes.append(Note(message, "lost"))
    return content, rows, notes


def _flat(value: dict[str, Any], before: str = "") -> dict[str, Any]:
    """An object without objects in it: "query.text" for the text of a query."""
    flat: dict[str, Any] = {}
    for key, cell in value.items():
        is_object = isinstance(cell, dict) and cell
        inner = _flat(cell, f"{before}{key}.") if is_object else {before + key: cell}
        for name, part in inner.items():
            flat.setdefault(name, part)
    return flat


def scalar_text(value: object) -> str:
    """Text of a scalar: whole floats without a point, nothing for null and NaN."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        # A minus zero must stay one.
        return "-0.0" if value == 0 and str(value)[0] == "-" else str(int(value))
    return str(value)


def _lines(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """One object a line, with the number of the line."""
    # Only \n ends a line: a JSON string may hold U+2028 as it is.
    for line, raw in enumerate(re.finditer(r"([^\n]*)(?:\n|\Z)", text), start=1):
        if not raw[1].strip():
            continue
        try:
            value = json.loads(raw[1])
        except RecursionError:
            raise _too_deep(name, f"line {line}") from None
        except ValueError as error:
            at = f" at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise DatasetError(
                f"{name}, line {line} is not valid JSON{at} ({shown(raw[1].strip())}). "
                'Write one complete object a line, as in {"x": "...", "y": "..."}.'
            ) from error
        yield line, _checked(name, f"line {line}", value)


def _array(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of one array, taken one by one so that memory stays bounded."""
    decoder = json.JSONDecoder()
    at = _SPACE.match(text, text.index("[") + 1).end()  # type: ignore[union-attr]
    n = 0
    while at < len(text) and text[at] != "]":
        n += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except RecursionError:
            raise _too_deep(name, f"object {n}") from None
        except ValueError as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            raise DatasetError(
                f"{name}, object {n} is not valid JSON (near line {line}). Export it again."
            ) from error
        yield n, _checked(name, f"object {n}", value)
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] == ",":
            at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
        elif text[at : at + 1] != "]":
            raise DatasetError(
                f"{name} breaks off after object {n}: a comma or ']' is missing. Export it again."
            )
    if at >= len(text):
        raise DatasetError(f"{name} ends without ']' after object {n}. Export it again.")


def _checked(name: str, place: str, value: object) -> dict[str, Any]:
    """An object that is not nested too deeply, in text that can be saved."""
    if not isinstance(value, dict):
        raise DatasetError(
            f"{name}, {place} is a JSON {type(value).__name__}, not an object "
            f'({shown(value)}). Write one object a line, as in {{"x": "...", "y": "..."}}.'
        )
    depth, level = 1, [v for v in value.values() if isinstance(v, (dict, list))]
    while level:
        depth += 1
        if depth > get_limits().depth:
            raise _too_deep(name, place)
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    # Half of a surrogate pair is no character and cannot be saved as UTF-8.
    return {mended(k): mended(v) if isinstance(v, str) else v for k, v in value.items()}


def _too_deep(name: str, place: str) -> DatasetError:
    return DatasetError(f"{name}, {place} is nested too deeply. Write flat objects.")


def _vector(value: object) -> NDArray[Any] | None:
    """A list of finite numbers as an array, else None."""
    if not isinstance(value, list) or not value or not set(map(type, value)) <= {float, int}:
        return None
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:
        return None
