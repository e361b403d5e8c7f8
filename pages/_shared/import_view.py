"""Other people's results: a run of another system beside the runs of this data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import plain, splits, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet

_ENDINGS = "run txt trec res csv tsv jsonl parquet arrow xlsx gz npy npz mtx".split()
_SAID, _TURN = "import-said", "import-turn"


def show(dataset_id: str, pairs: PairSet) -> None:
    """Offer to bring a run, where runs are one's own.

    Parameters
    ----------
    dataset_id : str
        The data set.
    pairs : PairSet
        Its content.
    """
    if dataset_id.startswith("demo:"):
        return
    if said := st.session_state.pop(_SAID, ""):
        plain.quiet(said)
    with st.expander("Bring a run of another system", icon=":material/upload_file:"):
        plain.quiet(
            "A TREC run, a table of two ids and a score, or a matrix of scores. It is measured on "
            "the current split and stands beside your own runs in Compare. Whether that system "
            "had seen the test part before, only its makers know."
        )
        file = st.file_uploader(
            "Its scores",
            _ENDINGS,
            key=f"import-file-{st.session_state.get(_TURN, 0)}",
            max_upload_size=200,
        )
        if file is None:
            return
        name = st.text_input("Call it", file.name.split(".")[0], 80, key="import-name", width=260)
        if st.button("Measure and keep it", key="import-keep"):
            _keep(dataset_id, pairs, file.name, file.getvalue(), name)


def _keep(dataset_id: str, pairs: PairSet, file_name: str, data: bytes, name: str) -> None:
    from dataclasses import replace

    from simviz.evaluation.imported import read_run
    from simviz.exceptions import SimvizError
    from simviz.jobs.importing import keep_run

    try:
        with st.spinner("Reading and measuring it"):
            run = read_run(data, pairs, file_name)
            run = replace(run, name=name.strip() or run.name)
            split = splits.current_split(dataset_id)
            keep_run(state.store(), dataset_id, pairs, run, split, state.workspace())
    except (SimvizError, ValueError) as error:
        plain.problem(error)
        return
    st.session_state[_SAID] = " ".join(run.notes)
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    st.rerun()
