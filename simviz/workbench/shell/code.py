"""The lines of Python that do what a page shows, to take along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz import reports
from simviz.data.pairs import PairSet
from simviz.exceptions import SimvizError
from simviz.jobs import JobSpec, SplitSpec
from simviz.reports.run_summary import RunTable
from simviz.store.run import DERIVED_ROLES, Run
from simviz.workbench.shell import preferences, state
from simviz.workbench.shell.runs import default_metric_of

if TYPE_CHECKING:
    from simviz.workbench.map.view import View
    from simviz.workbench.search.page import Query

_OWN = "YOUR_FILE"
#: Lines that are shown whole, and the height of a box for more, in pixels.
_MAX_LINES, _HEIGHT = 18, 400


def show_data(dataset_id: str, split: SplitSpec) -> None:
    """How to read and split the data set."""
    _show("data", reports.data_code, dataset_id, asdict(split))


def show_train(requests: Sequence[tuple[str, JobSpec]], pairs: PairSet) -> None:
    """How to train what is ticked: requests with what each is called."""
    if not requests:
        return
    dataset_id = requests[0][1].dataset_id
    named = _named((title, spec.to_json()) for title, spec in requests)
    metric = default_metric_of(dataset_id, pairs)
    direction = preferences.current_direction(dataset_id, pairs)
    part = preferences.current_part(dataset_id)
    _show("train", reports.compare_code, named, metric, direction, part=part)


def show_compare(table: RunTable, test: str, correction: str) -> None:
    """How to train and compare the chosen runs."""
    # Tests of published tables rest on their own divisions of the pairs.
    tests = ("randomization", "t", "bootstrap", "wilcoxon", "delong")
    named = _named((entry.label, entry.run.spec) for entry in table.entries)
    known = parts_of([entry.run for entry in table.entries])
    how = {"test": test if test in tests else None, "correction": correction, "part": table.part}
    _show("compare", reports.compare_code, named, table.metric, table.direction, known, **how)


def show_map(view: View, run: Run) -> None:
    """How to draw the map."""
    method, share = view.drawing.removesuffix("-2"), view.across / 100
    known = parts_of([run])
    _show("map", reports.map_code, run.spec, method, view.balance, known, share=share)


def show_search(run: Run, pairs: PairSet, query: Query) -> None:
    """How to ask the first of the chosen runs."""
    item: int | str | None = query.at
    if item is None and query.item.kind in ("text", "keyword"):
        item = str(query.item.content[0])
    other = pairs.y if query.side == "x" else pairs.x
    how = {"answer_has_text": other.kind in ("text", "keyword"), "others": parts_of([run])}
    _show("search", reports.search_code, run.spec, query.side, item, **how)


def show_normalise(run: Run, lines: Sequence[str], threshold: float) -> None:
    """How to find the group of each line of a column."""
    _show("normalise", reports.normalise_code, run.spec, lines, threshold, parts_of([run]))


def parts_of(runs: Iterable[Run]) -> dict[str, Mapping[str, Any]]:
    """What was asked for of runs that others are made of, by id, as far as they can be seen."""
    results: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        if not run.info.is_derived:
            continue
        for role in DERIVED_ROLES:
            part = run.info.spec.get("params", {}).get(role, "")
            try:
                results[part] = state.run(part).spec
            except SimvizError:
                continue
    return results


def _show(page: str, write: Callable[..., str], *args: Any, **how: Any) -> None:
    """A quiet button that opens on the code; nothing where there is none."""
    if st.context.is_embedded:
        return
    try:
        code = write(*args, **how)
    except ValueError:  # runs of other systems, which nothing here trains
        return
    # Within a menu: a popover cannot be in another one.
    place = st.expander if page in ("map", "compare") else partial(st.popover, type="tertiary")
    with place("Code", icon=":material/code:", key=f"{page}-code"):
        is_long = code.count("\n") > _MAX_LINES
        st.code(code, language="python", height=_HEIGHT if is_long else "content")
        if _OWN in code:
            st.caption(f"Replace `{_OWN}` by the name of your file.")


def _named(requests: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Mapping[str, Any]]:
    """Requests by names that are each used once."""
    named: dict[str, Mapping[str, Any]] = {}
    for label, spec in requests:
        names = (label, *(f"{label} ({n})" for n in range(2, len(named) + 2)))
        named[next(name for name in names if name not in named)] = spec
    return named
