"""Ways in: one file, several that belong together, or lines that are pasted."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import streamlit as st

from pages._shared import plain, upload

TABLES = "csv tsv tab txt jsonl ndjson json parquet pq arrow arrows feather xlsx gz".split()
ENDINGS = [*TABLES, "zip", *(ending[1:] for ending in upload.VECTORS)]
# What several files may be beside tables and vectors.
_PARTS = "sgml xml trec topics qrels qrel dat all png jpg jpeg gif webp bmp".split()
_WAYS = {"one": "One file", "several": "Several files", "paste": "Paste lines"}
MAX_MEGABYTES = 200


def show_uploader() -> None:
    """Take one file, several that belong together, or lines that are pasted."""
    way = st.segmented_control(
        "What you bring",
        list(_WAYS),
        format_func=_WAYS.__getitem__,
        default="one",
        required=True,
        key="data-way",
        label_visibility="collapsed",
    )
    parts = {"one": _one_file, "several": _several_files, "paste": _pasted}[way or "one"]()
    # The uploader is also empty while a file replaces another, and after another
    # page: what waits is dropped by its own button only.
    if parts:
        upload.take(*parts)
        if upload.problem():
            plain.problem(upload.problem())


def _one_file() -> list[Any]:
    """A table or a zip; a table beside it where the zip holds pictures alone."""
    file = st.file_uploader(
        "A table, or a zip of several files",
        ENDINGS,
        key=f"data-file-{upload.turn()}",
        max_upload_size=MAX_MEGABYTES,
        help="CSV, TSV, JSON, JSONL, Parquet, Arrow, Feather or Excel, also gzipped; NumPy .npz "
        "with arrays x and y; or a zip, such as pictures with a table of keywords.",
    )
    keywords = None
    if file is not None and upload.is_zip(file):
        keywords = st.file_uploader(
            "A table of keywords, where pictures have none in the zip",
            TABLES,
            key=f"data-keywords-{upload.turn()}",
            max_upload_size=MAX_MEGABYTES,
        )
    return [part for part in (file, keywords) if part is not None]


def _several_files() -> list[Any]:
    """Items of the two sides, their judgments, and what else there is."""
    files = st.file_uploader(
        "Items of the two sides, and what belongs together",
        [*ENDINGS, *_PARTS],
        accept_multiple_files=True,
        key=f"data-files-{upload.turn()}",
        max_upload_size=MAX_MEGABYTES,
    )
    plain.quiet(
        "Names say which is which: x, queries, topics · y, documents, corpus, images · "
        "relevance, qrels · split, folds, groups · ids. Texts, vectors and pictures may be mixed."
    )
    # One file alone says nothing yet: the others are still to come.
    return list(files) if len(files) > 1 else []


def _pasted() -> list[Any]:
    text = st.text_area(
        "Lines, the first with the names of the columns",
        placeholder="query, document, grade\nhow to boil an egg, Seven minutes in hot water., 2",
        height=140,
        key=f"data-pasted-{upload.turn()}",
        max_chars=200_000,
    )
    read = st.button("Read these lines", key="data-paste", disabled=not text.strip())
    # Kept in the widget, so that a rerun shows the same.
    return [upload.Pasted(text)] if text.strip() and (read or upload.was_taken(text)) else []


def show_templates() -> None:
    """Small files to begin with, one for each shape."""
    from simviz.data.templates import TEMPLATES, make_template

    with st.popover("Templates", type="tertiary", icon=":material/download:"):
        for name, what in TEMPLATES.items():
            st.download_button(
                f"{what} ({PurePosixPath(name).suffix})",
                lambda name=name: make_template(name),
                name,
                "application/octet-stream",
                key=f"data-template-{name}",
                on_click="ignore",
                type="tertiary",
            )
