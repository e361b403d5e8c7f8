"""Files that are brought to be scored or normalised, read within bounds of size and time."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from simviz.data.limits import progress_listener, reading_limits
from simviz.data.tables import Table, read_table
from simviz.exceptions import DatasetError

ENDINGS = ["csv", "tsv", "txt", "xlsx", "parquet", "gz"]
#: The most that a file may hold, and the seconds in which it has to be read.
MEGABYTES, MAX_ROWS, _SECONDS = 20, 100_000, 30


def ask(label: str, key: str, table_key: str) -> Any:
    """Ask for a file; without one, none that was read is kept."""
    file = st.file_uploader(label, ENDINGS, key=key, max_upload_size=MEGABYTES)
    if file is None:
        st.session_state.pop(table_key, None)
    return file


def read(file: Any, key: str, n_columns: int = 2) -> Table:
    """Read an upload once a session, which keeps it under a key."""
    held = st.session_state.get(key)
    if held is not None and held[0] == file.file_id:
        return held[1]  # type: ignore[no-any-return]
    began = time.monotonic()

    def watch(_: float) -> None:
        if time.monotonic() - began > _SECONDS:
            raise DatasetError(
                f"{file.name[-60:]} was not read within {_SECONDS} seconds. Bring a part of it."
            )

    size = MEGABYTES * 2**20
    with (
        st.spinner("Reading the file"),
        progress_listener(watch),
        reading_limits(
            rows=MAX_ROWS, cells=20 * MAX_ROWS, file_bytes=2 * size, unpacked_bytes=4 * size
        ),
    ):
        table = read_table(file.getvalue(), file.name, n_columns=n_columns)
    st.session_state[key] = (file.file_id, table)
    return table
