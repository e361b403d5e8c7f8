"""HTML by templates that escape what they are given: tables, and whole reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment, Template


class Cell(NamedTuple):
    """The content of a cell with HTML attributes, such as `class`, `title` or `colspan`."""

    content: object
    attributes: Mapping[str, object]


_TABLE = """
{%- if scroll %}<div class="{{ scroll }}" tabindex="0">{% endif -%}
<table{{ attributes|xmlattr }}>
{%- if caption %}<caption>{{ caption }}</caption>{% endif -%}
{%- if head %}<thead><tr>
{%- for content, attributes in head -%}
<th scope="col"{% if attributes %}{{ attributes|xmlattr }}{% endif %}>{{ content }}</th>
{%- endfor -%}
</tr></thead>{% endif -%}
<tbody>
{%- for css, row in rows -%}
<tr{% if css %} class="{{ css }}"{% endif %}>
{%- for content, attributes in row -%}
{% set tag = "th" if "scope" in attributes else "td" -%}
<{{ tag }}{% if attributes %}{{ attributes|xmlattr }}{% endif %}>{{ content }}</{{ tag }}>
{%- endfor -%}
</tr>
{%- endfor -%}
</tbody></table>
{%- if scroll %}</div>{% endif -%}
"""


def html_table(
    head: Iterable[object],
    rows: Iterable[Sequence[object]],
    *,
    look: str = "",
    row_looks: Sequence[str] = (),
    caption: object = "",
    label: str = "",
    scroll: str = "",
) -> str:
    """Render a table: texts are escaped, `Markup` is not, a `Cell` has attributes."""
    # A cell with the attribute `scope` is a heading. `look` and `row_looks` are CSS classes of the
    # table and of each row, `label` names it for those who cannot see it, and `scroll` is the
    # class of a box around it that scrolls sideways.
    lines = [[_cell(cell) for cell in row] for row in rows]
    return _table().render(
        head=[_cell(cell) for cell in head],
        rows=zip(row_looks or [""] * len(lines), lines, strict=True),
        attributes={"class": look or None, "aria-label": label or None},
        caption=caption,
        scroll=scroll,
    )


def environment() -> Environment:
    """Return templates that escape all that is no `markupsafe.Markup`."""
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined)


@lru_cache(maxsize=1)
def _table() -> Template:
    return environment().from_string(_TABLE)


def _cell(content: object) -> Cell:
    return content if isinstance(content, Cell) else Cell(content, {})
