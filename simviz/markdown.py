"""Text as Markdown: nothing in it is markup unless it is meant."""

from __future__ import annotations

import re

# Markup wherever it stands; dashes where they would be drawn as one sign; and what makes a list,
# a heading or a rule at the start. No more: where a label is read aloud backslashes are heard.
_SPECIAL = re.compile(r"([\\`*_{}\[\]|<>~$^&]|-(?=[->])|(?<=[-<])-|(?<=[<>~])=|^\s*[#+\-=])")


def escape_markdown(text: str) -> str:
    """Escape a text, so that a reader of Markdown sees it as it was, on one line."""
    # An invisible space after colons within words and in addresses: icons between colons and
    # bare addresses are found after the backslashes are gone.
    escaped = _SPECIAL.sub(_escaped, re.sub(r"\s+", " ", text)).replace("@", "@\u200b")
    escaped = re.sub(r":(?=\S)", ":\u200b", escaped)
    escaped = re.sub(r"(?i)\b(www)\.", "\\1\u200b.", escaped)
    # A line that starts with a number and a point or bracket would be an entry of a list.
    return re.sub(r"^(\s*\d+)([.)])", r"\1\\\2", escaped)


def _escaped(match: re.Match[str]) -> str:
    """A mark with a backslash before it, and the space before that as it was."""
    return f"{match[0][:-1]}\\{match[0][-1]}"
