"""JSON lines: one object a line, its keys as columns."""

from __future__ import annotations

import json
import re

from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError

_SURROGATE = re.compile("[\ud800-\udfff]")


def looks_like_jsonl(text: str) -> bool:
    r"""Whether the first line that is not blank is a JSON object.

    Examples
    --------
    >>> looks_like_jsonl('\n{"x": 1}\n'), looks_like_jsonl("{x},y\n")
    (True, False)
    """
    start = re.search(r"\S", text)
    if start is None or start.group() != "{":
        return False
    end = text.find("\n", start.start())
    try:
        return isinstance(json.loads(text[start.start() : end if end >= 0 else None]), dict)
    except (ValueError, RecursionError):
        return False


def read_columns(
    name: str, text: str, max_columns: int, max_cells: int
) -> tuple[dict[str, list[str]], list[int], list[str]]:
    """Read one JSON object a line into columns of text.

    Parameters
    ----------
    name : str
        File name for messages.
    text : str
        The whole file.
    max_columns, max_cells : int
        Refuse more than this.

    Returns
    -------
    columns : dict of str to list of str
        In the order in which keys appear; empty where a line lacks the key.
    rows : list of int
        Line numbers, from 1.
    notes : list of str
        Names columns that were left out because they hold lists or objects.

    Raises
    ------
    DatasetError
        If a line is broken or no object.

    Examples
    --------
    >>> read_columns("a.jsonl", '{"x": "a", "y": 2.0}', 9, 9)[0]
    {'x': ['a'], 'y': ['2']}
    """
    columns: dict[str, list[str]] = {}
    rows: list[int] = []
    nested: dict[str, int] = {}
    # Only \n ends a line: a JSON string may hold U+2028 as it is.
    for line, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        for key, value in _object(name, line, raw).items():
            if key not in columns:
                columns[key] = [""] * len(rows)
            if isinstance(value, (dict, list)):
                nested.setdefault(key, line)
                value = None
            columns[key].append(scalar_text(value))
        rows.append(line)
        for cells in columns.values():
            if len(cells) < len(rows):
                cells.append("")
        if len(columns) > max_columns or len(columns) * len(rows) > max_cells:
            raise DatasetError(
                f"{name}, line {line}: more than {max_columns:,} keys or {max_cells:,} cells. "
                "Keep the keys with the pairs and remove the others, or bring a sample."
            )
    if not rows:
        raise DatasetError(f"{name} holds no line with an object. Export it again.")
    notes = []
    if nested:
        listed = ", ".join(f"{shown(k)} (first in line {line})" for k, line in nested.items())
        notes.append(
            f"{name}: {counted(len(nested), 'column')} with lists or objects left out: "
            f"{listed}. Write them as text, one value a key, to keep them."
        )
    kept = {key: cells for key, cells in columns.items() if key not in nested}
    return kept, rows, notes


def scalar_text(value: object) -> str:
    """Text of a scalar: whole floats without a point, nothing for null and NaN.

    Examples
    --------
    >>> [scalar_text(v) for v in ("a", 3.0, True, None, float("nan"))]
    ['a', '3', 'true', '', '']
    """
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


def _object(name: str, line: int, raw: str) -> dict[str, object]:
    """Parse one line, or say what is wrong with it."""
    try:
        value = json.loads(raw)
    except RecursionError:
        raise DatasetError(
            f"{name}, line {line} is nested too deeply. Write one flat object a line."
        ) from None
    except ValueError as error:
        column = f" at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        hint = (
            "The file seems to be one JSON array: write one object a line instead."
            if line == 1 and raw.lstrip().startswith("[")
            else 'Write one complete object a line, as in {"x": "...", "y": "..."}.'
        )
        raise DatasetError(
            f"{name}, line {line} is not valid JSON{column} ({shown(raw.strip())}). {hint}"
        ) from error
    if not isinstance(value, dict):
        raise DatasetError(
            f"{name}, line {line} is a JSON {type(value).__name__}, not an object "
            f'({shown(raw.strip())}). Write one object a line, as in {{"x": "...", "y": "..."}}.'
        )
    if "\\u" in raw:
        # Half of a surrogate pair is no character and cannot be saved as UTF-8.
        value = {
            _SURROGATE.sub("\ufffd", k): _SURROGATE.sub("\ufffd", v) if isinstance(v, str) else v
            for k, v in value.items()
        }
    return value
