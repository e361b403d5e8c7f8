"""A trained model that leaves: whole, or in a form that other programs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.exports.linear import Form
    from simviz.store.run import Run

_LOAD = """from simviz.pipeline import load_pipeline

model = load_pipeline("{file}")
scores = model.similarity(x_items, y_items)  # simviz.data.Items of both sides"""


def show(runs: Sequence[Run], labels: Mapping[str, str]) -> None:
    """Buttons with every form in which one of the runs can leave.

    Parameters
    ----------
    runs : sequence of Run
        To choose from.
    labels : mapping of str to str
        What each is called, by its id.
    """
    ids = [run.id for run in runs]
    chosen = ids[0]
    if len(ids) > 1:
        chosen = st.selectbox(
            "Model of", ids, format_func=lambda run_id: labels[run_id], key="take-model"
        )
    run = next(run for run in runs if run.id == chosen)
    name = f"{run.info.method}.simviz"
    st.download_button(
        "Whole model",
        run.pipeline_bytes,
        name,
        "application/zip",
        key="take-whole",
        on_click="ignore",
        help="Features and method in one file of JSON and arrays, for simviz.",
    )
    st.code(_LOAD.format(file=name), language="python")
    _show_forms(run)


def _show_forms(run: Run) -> None:
    """The forms for programs without simviz, or why there are none."""
    # Reading a model takes its time: once a run, and only when this is opened.
    if not st.toggle("For other programs", key=f"take-forms-{run.id}"):
        return
    try:
        reasons = _reasons(run.id, run)
    except SimvizError as error:
        st.text(str(error))
        return
    for form, (label, file, words) in _FORMS.items():
        reason = reasons[form]
        st.download_button(
            label,
            partial(_written, run, form),
            file,
            "application/zip",
            key=f"take-{form}",
            on_click="ignore",
            disabled=reason is not None,
            help=words,
        )
        if reason is not None:
            st.caption(reason)


_FORMS: dict[Form, tuple[str, str, str]] = {
    "numpy": (
        "NumPy arrays",
        "numpy-model.zip",
        "One matrix a side, the terms of its rows, and a Python file that needs numpy and "
        "scipy only.",
    ),
    "onnx": (
        "ONNX graphs",
        "onnx-model.zip",
        "One graph a side, from features to vectors, for any ONNX runtime.",
    ),
    "dense": (
        "sentence-transformers",
        "dense-modules.zip",
        "One Dense module a side, to be put behind the pretrained encoder.",
    ),
}


@st.cache_data(show_spinner="Reading the model", max_entries=64)
def _reasons(run_id: str, _run: Run) -> dict[str, str | None]:
    from simviz.exports import why_not

    pipeline = _run.pipeline()
    return {form: why_not(pipeline, form) for form in _FORMS}


def _written(run: Run, form: Form) -> bytes:
    from simviz import exports

    write: dict[str, Callable[..., bytes]] = {
        "numpy": exports.numpy_files,
        "onnx": exports.onnx_graphs,
        "dense": exports.dense_modules,
    }
    return write[form](run.pipeline())
