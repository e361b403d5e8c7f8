"""Text as Markdown: nothing in it is markup unless it is meant."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-!|<>~$^=&])")


def escape_markdown(text: str) -> str:
    """Escape a text, so that a reader of Markdown sees it as it was, on one line."""
    # An invisible space after colons within words and in addresses: icons between colons and
    # bare addresses are found after the backslashes are gone.
    escaped = _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text)).replace("@", "@\u200b")
    escaped = re.sub(r":(?=\S)", ":\u200b", escaped)
    escaped = re.sub(r"(?i)\b(www)\.", "\\1\u200b.", escaped)
    # A line that starts with a number and a point would be an entry of a list.
    return re.sub(r"^(\s*\d+)\.", r"\1\\.", escaped)
