"""A comparison that leaves whole: for a reader, for a spreadsheet, for other programs."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages._shared import code_view
from pages._shared.compare_choice import Choice
from pages._shared.compare_marks import plain


def show(choice: Choice, table: Callable[[], str]) -> None:
    """Buttons for everything but the printed table; each file is made when it is asked for.

    Parameters
    ----------
    choice : Choice
        What the page shows.
    table : callable
        Writes the table as Markdown.
    """
    from simviz.evaluation.trec import why_no_qrels

    # The files are made outside of this page's run: nothing there may ask the page.
    runs = [entry.run for entry in choice.entries]
    labels = {entry.run.id: entry.label for entry in choice.entries}
    looks = {entry.run.id: entry.look for entry in choice.entries}
    pairs, metric, direction = choice.pairs, choice.metric, choice.direction
    every, others, part = list(choice.metrics), code_view.parts_of(runs), choice.part

    def report() -> bytes:
        from simviz.reports import html_report

        return html_report(
            runs,
            pairs,
            metric=metric,
            direction=direction,
            labels=labels,
            looks=looks,
            others=others,
            part=part,
        ).encode()

    def queries() -> bytes:
        from simviz.reports import query_csv

        text = query_csv(runs, pairs, every, labels=labels, part=part)
        return text.encode("utf-8", "replace")

    def trec() -> bytes:
        from simviz.reports import trec_zip

        asked = ("x2y", "y2x") if direction == "mean" else (direction,)
        return trec_zip(runs, pairs, directions=asked, labels=labels, part=part)  # type: ignore[arg-type]

    # A demo is read from installed packages, and those may have been renewed.
    same = all(run.info.spec.get("dataset_digest") == pairs.digest for run in runs)
    stale = "" if same else "The data changed since these runs were trained. Train them again."
    st.download_button(
        "Table as Markdown",
        table,
        f"comparison-{part}.md",
        "text/markdown",
        key="compare-md",
        on_click="ignore",
    )
    st.download_button(
        "Queries of all runs as CSV",
        queries,
        f"comparison-{part}-queries.csv",
        "text/csv",
        key="compare-every-query",
        on_click="ignore",
        disabled=not same,
        help=stale
        or f"One line a query of the {part} part with the rank of its first relevant answer and "
        "the metrics of each run.",
    )
    reason = stale or why_no_qrels(pairs.relevance)
    st.download_button(
        "TREC run and judgments",
        trec,
        f"comparison-{part}-trec.zip",
        "application/zip",
        key="compare-trec",
        on_click="ignore",
        disabled=bool(reason),
        help=plain(reason)
        or f"For trec_eval and its kin: up to 1,000 answers to each query of the {part} part.",
    )
    st.download_button(
        "Report as one page",
        report,
        f"comparison-{part}.html",
        "text/html",
        key="compare-report",
        icon=":material/description:",
        on_click="ignore",
        disabled=not same,
        help=stale
        or f"Table and curves of the {part} part, map, settings, seeds, versions and the code to "
        "repeat it, in one HTML file that opens without a network.",
    )
