"""Parameters of a method on a command line."""

from __future__ import annotations

import json


def setting(words: str) -> tuple[str, object]:
    """Read NAME=VALUE; a value is a number or true or false where it looks like one."""
    name, _, value = words.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
