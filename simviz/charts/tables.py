"""HTML by templates that escape what they are given: tables, and whole reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment, Template


class Cell(NamedTuple):
    """The content of a cell with HTML attributes, such as `class`, `title` or `colspan`."""

    content: object
    attributes: Mapping[str, object]


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
    return template("simviz.charts", "table.html").render(
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


@lru_cache
def template(package: str, name: str) -> Template:
    """Return a template that lies in a package, see `environment`."""
    return environment().from_string(read_text(package, name))


def read_text(package: str, name: str) -> str:
    """Return a text that lies in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _cell(content: object) -> Cell:
    return content if isinstance(content, Cell) else Cell(content, {})
