"""Charts and rows on a page, and their files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.workbench.shell import state

if TYPE_CHECKING:
    pass


CHART_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


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


def show_figures(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A few numbers a run, beside the chart."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    st.html(
        '<div class="sv-scroll" tabindex="0"><table class="sv-table sv-slim">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def kept_figure(
    kind: str, curves: Sequence[Any], drawn_by: Iterable[object], make: Callable[[], Any]
) -> Any:
    """A figure of curves over all pairs, made once for all who see the same."""
    # Names are a visitor's own words: they go into one digest rather than into a key.
    named = [[curve.method, curve.label] for curve in curves]
    told = json.dumps([kind, named, state.theme(), _usual_height(), *map(str, drawn_by)])
    return _figure(hashlib.blake2b(told.encode(), digest_size=16).hexdigest(), make)


@st.cache_resource(show_spinner=False, max_entries=32)
def _figure(digest: str, _make: Callable[[], Any]) -> Any:
    figure = _make()
    figure.update_layout(height=_usual_height())
    return figure


def _usual_height() -> int:
    return 430 if state.is_narrow() else 560


def draw(figure: Any, name: str, *, height: int | None = None, pressed: bool = False) -> Any:
    """Show a chart, whose camera saves it as was chosen."""
    # Where points can be pressed, answers with those that are.
    height = height or _usual_height()
    if figure.layout.height != height:  # the figure may be one that others are shown, too
        figure.update_layout(height=height)
    saved = st.session_state.get("compare-image", "svg")
    return st.plotly_chart(
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


def show_rows(name: str, rows: Callable[[], Sequence[dict[str, Any]]]) -> None:
    """The table behind a chart, once somebody opens it, and what its camera saves."""
    fold = st.expander("Numbers and picture", key=f"compare-rows-{name}", on_change="rerun")
    if not fold.open:
        return
    with fold:
        import pandas as pd

        table = pd.DataFrame(rows()).drop(columns="method", errors="ignore")
        st.dataframe(table, hide_index=True, height=260, key=f"compare-frame-{name}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.download_button(
                "These numbers as CSV",
                lambda: _csv(rows()),
                f"simviz-{name}.csv",
                "text/csv",
                key=f"compare-csv-{name}",
                icon=":material/download:",
                type="tertiary",
            )
            if "compare-image" not in st.session_state:
                st.session_state["compare-image"] = "svg"
            st.segmented_control(
                "The camera above the chart saves",
                list(_IMAGES),
                format_func=_IMAGES.__getitem__,
                key="compare-image",
                required=True,
                persist_state="session",
            )


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    from simviz.evaluation.tables import csv_text

    if not rows:
        return ""
    return csv_text([list(rows[0]), *([line.get(name) for name in rows[0]] for line in rows)])
