"""Charts and rows on a page, and their files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import unescape
from typing import Any

import streamlit as st
from markupsafe import Markup

from simviz.charts.style import label_ends
from simviz.workbench.shell import display, forms, state

CHART_CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d"],
    # A press near the end of an axis is one on the chart.
    "showAxisRangeEntryBoxes": False,
}
#: Pixels of a chart, and of one on a narrow screen.
_HEIGHT, _NARROW_HEIGHT = 500, 360
_IMAGES = {"svg": "SVG", "png": "PNG"}


def show_chart(figure: Any, key: str, *, alt: str = "", height: int | None = None) -> None:
    """Show a chart, as every chart of the app looks."""
    if height is not None:
        figure.update_layout(height=height)
    st.plotly_chart(
        figure,
        theme=None,
        key=key,
        alt=alt or str(figure.layout.meta["alt"]),
        config=CHART_CONFIG,
        height=height or "content",
    )


def cached_figure(
    kind: str, curves: Sequence[Any], drawn_by: Iterable[object], make: Callable[[], Any]
) -> Any:
    """A figure of curves over all pairs, made once for all who see the same."""
    # Names are a visitor's own words: they go into one digest rather than into a key.
    named = [[curve.method, curve.label] for curve in curves]
    text = json.dumps([kind, named, state.theme(), *map(str, drawn_by)])
    return _figure(hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), _height(), make)


def _height() -> int:
    return _NARROW_HEIGHT if state.is_narrow() else _HEIGHT


@st.cache_resource(show_spinner=False, max_entries=32)
def _figure(digest: str, height: int, _make: Callable[[], Any]) -> Any:
    figure = _make()
    label_ends(figure, height)
    return figure


def draw(figure: Any, name: str, *, height: int | None = None, pressed: bool = False) -> Any:
    """Show a chart, whose camera saves it as was chosen; return the points that were pressed."""
    curves = [trace.meta for trace in figure.data if trace.meta]
    height = height or _height()
    if figure.layout.height != height:  # the figure may be one that others are shown, too
        label_ends(figure, height) if curves else figure.update_layout(height=height)
    saved = st.session_state.get("compare-image", "svg")
    box = st.container(key=f"compare-seen-{name}")
    if curves:
        _show_names(name, curves, figure)
    return box.plotly_chart(
        figure,
        theme=None,
        key=f"compare-{name}",
        on_select="rerun" if pressed else "ignore",
        selection_mode="points",
        alt=str(figure.layout.meta["alt"]),
        config={
            **CHART_CONFIG,
            "toImageButtonOptions": {"format": saved, "filename": f"simviz-{name}", "scale": 2},
        },
        height=height,
    )


def _show_names(name: str, curves: Sequence[Mapping[str, str]], figure: Any) -> None:
    """Name the curves below the chart where it is too narrow for names at their ends."""
    n_named = sum(one.xref == "paper" for one in figure.layout.annotations)
    rules = f".st-key-compare-seen-{name} {{ --sv-names: {figure.layout.margin.r - 28}px; }}"
    names = Markup()
    for i, curve in enumerate(curves):
        rules += f".sv-key-{name}-{i} {{ background-image: {display.mark(curve['look'])}; }}"
        item = '<li><span class="sv-mark sv-key-{}-{}"></span>{}</li>'
        names += Markup(item).format(name, i, unescape(curve["label"]))
    look = "sv-key" if n_named == len(curves) else "sv-key sv-all"
    st.html(f'<style>{rules}</style><ul class="{look}">{names}</ul>')


def show_beside(
    columns: Sequence[Any],
    name: str,
    figure: Any,
    rows: Callable[[], Sequence[dict[str, Any]]],
    head: Sequence[str],
    lines: Iterable[Sequence[str]],
    *captions: str,
    height: int | None = None,
    pressed: bool = False,
) -> Any:
    """Show a chart with the rows behind it in one column, a table and what it means in another."""
    left, right = columns
    with right:
        display.table(head, lines, look="sv-slim")
        for text in filter(None, captions):
            st.caption(text)
        show_rows(name, rows)
    with left:
        return draw(figure, name, height=height, pressed=pressed)


def show_rows(name: str, rows: Callable[[], Sequence[dict[str, Any]]]) -> None:
    """The table behind a chart, once somebody opens it, and what its camera saves."""
    fold = st.expander("Numbers and picture", key=f"compare-rows-{name}", on_change="rerun")
    if not fold.open:
        return

    def text() -> str:
        from simviz.evaluation.tables import csv_text

        lines = rows()
        names = list(lines[0]) if lines else []
        return csv_text([names, *(map(line.get, names) for line in lines)]) if lines else ""

    with fold:
        import pandas as pd

        table = pd.DataFrame(rows()).drop(columns="method", errors="ignore")
        st.dataframe(table, hide_index=True, height=260, key=f"compare-frame-{name}")
        with st.container(horizontal=True, vertical_alignment="center"):
            label, file_name = "These numbers as CSV", f"simviz-{name}.csv"
            forms.download(label, text, file_name, key=f"compare-csv-{name}")
            forms.segments("The camera above the chart saves", _IMAGES, "compare-image")
