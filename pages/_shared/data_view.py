"""The data set being worked on: how much, what it looks like, how it is split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import (
    chrome,
    code_view,
    describe_view,
    health_view,
    plain,
    split_view,
    splits,
    state,
)
from pages._shared.upload_view import column_width, show_counts, table_height

if TYPE_CHECKING:
    import pandas as pd

    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.jobs import SplitSpec
    from simviz.store import DatasetInfo

ROWS = 200
_CELL = 300  # characters of a cell
_FORMATS = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSONL", ".parquet": "Parquet"}


def show(info: DatasetInfo) -> None:
    """Show a data set the visitor may see.

    Parameters
    ----------
    info : DatasetInfo
        Of the data set.
    """
    with st.spinner("Reading the data"):
        pairs = state.dataset(info.id)
    is_shared = state.share() is not None
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        plain.name(info.name)
        if not is_shared and (chrome.ROOT / "pages/train.py").exists():
            to_train = st.button(
                "Train on it", key="data-train", type="primary", icon=":material/arrow_forward:"
            )
            if to_train:
                st.switch_page("pages/train.py", query_params={"data": info.id})
    _show_origin(info)
    show_counts(pairs)
    plain.quiet(_meaning(pairs))
    left, right = st.columns([3, 2], gap="large")
    with right:
        st.markdown("#### How it is split")
        if is_shared:
            spec = _shared_split(info.id)
            split_view.tell(info.id, pairs, spec)
        else:
            chosen = splits.current_split(info.id)
            spec = split_view.choose(info.id, pairs, chosen, splits.suggested_split(info.id))
            if spec != chosen:
                splits.choose_split(info.id, spec)
        if info.notes:
            with st.expander(f"What was done to read it ({len(info.notes)})"):
                plain.notes(info.notes)
    with left:
        st.markdown("#### What is in it")
        _show_rows(info.id, pairs, spec)
        describe_view.show(pairs)
    health_view.show(info, pairs, spec)


def _shared_split(dataset_id: str) -> SplitSpec:
    """The split that the runs of a published view were trained on."""
    from simviz.jobs import JobSpec

    runs = state.runs(dataset_id)
    return JobSpec.from_json(runs[0].spec).split if runs else splits.current_split(dataset_id)


def _show_origin(info: DatasetInfo) -> None:
    from simviz.datasets import DEMOS

    if info.is_demo:
        demo = DEMOS[info.id.removeprefix("demo:")]
        plain.quiet(f"{demo.description} Data: {demo.source}. {demo.licence}.")


def _meaning(pairs: PairSet) -> str:
    relevance = pairs.relevance
    if relevance.unjudged == "negative":
        return "A pair that is not listed counts as not relevant."
    judged = "scored" if relevance.kind == "score" else "judged"
    return f"A pair that is not listed is unknown: only {judged} pairs count."


def _show_rows(dataset_id: str, pairs: PairSet, spec: SplitSpec) -> None:
    """Some rows of the pairs or of a side, and the way out as a file."""
    ways = {"pairs": "pairs", "x": pairs.x_name, "y": pairs.y_name}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # Not a segmented control: its labels are markdown, and names may be the visitor's.
        way = st.selectbox(
            "Some of",
            list(ways),
            format_func=ways.__getitem__,
            key="data-rows",
            label_visibility="collapsed",
            width=260,
        )
        _show_download(dataset_id, pairs)
        code_view.show_data(dataset_id, spec)
    frame, config = _pair_rows(pairs) if way == "pairs" else _item_rows(pairs, way)
    row_height = 56 if any(items.kind == "image" for items in _shown_items(pairs, way)) else 35
    st.dataframe(
        frame,
        hide_index=True,
        column_config=config,
        height=table_height(len(frame), 360, row_height),
        row_height=row_height,
        key=f"data-frame-{dataset_id}-{way}",
    )
    total = pairs.relevance.matrix.nnz if way == "pairs" else len(_shown_items(pairs, way)[0])
    if total > len(frame):
        plain.quiet(f"{len(frame):,} of {total:,}, spread evenly over all.")


def _shown_items(pairs: PairSet, way: str) -> list[Items]:
    return {"pairs": [pairs.x, pairs.y], "x": [pairs.x], "y": [pairs.y]}[way]


def _pair_rows(pairs: PairSet) -> tuple[pd.DataFrame, dict[Any, Any]]:
    import numpy as np
    import pandas as pd

    matrix = pairs.relevance.matrix
    at = _spread(matrix.nnz)
    x = np.searchsorted(matrix.indptr, at, side="right") - 1
    y, values = matrix.indices[at], matrix.data[at]
    frame = pd.DataFrame({"x": _cells(pairs.x, x), "y": _cells(pairs.y, y)})
    has_values = len(np.unique(pairs.relevance.matrix.data)) > 1
    config = {
        side: _column(items, name, 2 + has_values)
        for side, items, name in (("x", pairs.x, pairs.x_name), ("y", pairs.y, pairs.y_name))
    }
    if has_values:
        frame["value"] = values
        label = "score" if pairs.relevance.kind == "score" else "grade"
        config["value"] = st.column_config.NumberColumn(label, format="%g", width="small")
    return frame, config


def _item_rows(pairs: PairSet, side: str) -> tuple[pd.DataFrame, dict[Any, Any]]:
    import pandas as pd

    items, name = (pairs.x, pairs.x_name) if side == "x" else (pairs.y, pairs.y_name)
    index = _spread(len(items))
    frame = pd.DataFrame({"content": _cells(items, index), "id": _short(items.ids[index])})
    config = {"content": _column(items, name, 2), "id": st.column_config.TextColumn("id")}
    for i, (column, values) in enumerate(items.metadata.items()):
        frame[f"m{i}"] = _short(values[index]) if values.dtype.kind in "OUS" else values[index]
        config[f"m{i}"] = st.column_config.Column(column)
    return frame, config


def _spread(n: int) -> Any:
    """Positions from all of a list: its first entries are often much alike."""
    import numpy as np

    return np.linspace(0, n - 1, min(ROWS, n)).astype(np.int64)


def _cells(items: Items, index: Any) -> list[str]:
    """What stands for each item in a table."""
    if items.kind == "image":
        from simviz.charts._thumbnails import data_uri
        from simviz.charts.style import get_theme

        ink = get_theme(state.theme()).ink
        return [data_uri(items.content[i], ink) for i in index]
    if items.kind == "vector":
        return [f"{items.ids[i]} ({items.content.shape[1]:,} numbers)" for i in index]
    return _short(items.content[index])


def _short(cells: Any) -> list[str]:
    texts = [str(cell) for cell in cells]
    return [text if len(text) <= _CELL else text[:_CELL] + "…" for text in texts]


def _column(items: Items, name: str, n: int) -> Any:
    width = column_width(n)
    if items.kind == "image":
        return st.column_config.ImageColumn(name, width=width)
    return st.column_config.TextColumn(name, width=width)


def _show_download(dataset_id: str, pairs: PairSet) -> None:
    """The pairs as a file that can be read back."""
    from simviz.data import dump_pairs

    if not {pairs.x.kind, pairs.y.kind} <= {"text", "keyword"}:
        return
    with st.popover("Download", type="tertiary", icon=":material/download:"):
        for suffix, label in _FORMATS.items():
            st.download_button(
                label,
                lambda suffix=suffix: dump_pairs(pairs, suffix),
                f"{_file_name(pairs.name)}{suffix}",
                "application/octet-stream",
                key=f"data-download-{suffix[1:]}",
                on_click="ignore",
                type="tertiary",
            )
        st.caption("One judgment a row, with ids and all that is known; it is read back exactly.")


def _file_name(name: str) -> str:
    kept = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
    return kept[:60].strip("_") or "pairs"
