"""The same queries ranked against all items of the data set, for whoever asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import asking, drawings, plain
from pages._shared.compare_choice import Choice
from pages._shared.compare_curves import part_of
from pages._shared.compare_marks import plain as escaped
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.data.splitting import Split
    from simviz.evaluation import Evaluation
    from simviz.store.run import Part, Run

_FEW = ("top-1", "MRR")


def show(choice: Choice) -> None:
    """Offer figures against all items, where a query met only those of its part."""
    from simviz.evaluation.metrics import parse_metric
    from simviz.jobs.spec import IMPORTED

    entries = [entry for entry in choice.entries if entry.run.info.method != IMPORTED]
    if not entries or not _is_narrower(choice):
        return
    fold = st.expander("Against all items", key="compare-all-items", on_change="rerun")
    if not fold.open:
        return
    wanted = dict.fromkeys(m for m in (choice.metric, *_FEW) if m in choice.metrics)
    metrics = [m for m in wanted if parse_metric(m).level == "query"]
    sides = asking.sides(choice.direction)
    rows, pool = [], 0
    with fold:
        try:
            with st.spinner("Ranking against all items", show_time=False):
                for entry in entries:
                    run, pairs = entry.run, choice.pairs
                    found = _ranked(run.id, choice.part, sides, run, pairs)
                    values = [found.value(m, choice.direction) for m in metrics]  # type: ignore[arg-type]
                    rows.append([entry.label, *(f"{value:.3f}" for value in values)])
                    pool = max(int(r.n_candidates.max()) for r in found.rankings.values())
        except SimvizError as error:  # a model that was deleted since, or is damaged
            plain.problem(error)
            return
        plain.table(["method", *metrics], rows)
        asked = part_of(entries[0], choice.pairs)
        st.caption(
            escaped(
                f"The queries of the {choice.part} part ({len(asked.x):,} {asked.x_name}, "
                f"{len(asked.y):,} {asked.y_name}), each ranked against all items of the other "
                f"side, up to {pool:,}; known training pairs are neither candidates nor relevant. "
                "Items of training compete here, as they do in use."
            )
        )


def _is_narrower(choice: Choice) -> bool:
    """Whether a query of the chosen side met fewer candidates than there are items."""
    measured, pairs = choice.entries[0].measured, choice.pairs
    if measured.pool != "split":
        return False
    met = {"x2y": measured.n_y < len(pairs.y), "y2x": measured.n_x < len(pairs.x)}
    return any(met[side] for side in asking.sides(choice.direction))


@st.cache_resource(show_spinner=False, max_entries=64)
def _ranked(
    run_id: str, part: Part, sides: Sequence[str], _run: Run, _pairs: PairSet
) -> Evaluation:
    from simviz.evaluation import evaluate_part

    pipeline = drawings.pipeline(run_id, _run)
    parts = _split_of(_run, _pairs)
    return evaluate_part(pipeline, _pairs, parts, part, pool="all", directions=sides)  # type: ignore[arg-type]


def _split_of(run: Run, pairs: PairSet) -> Split:
    """The split of a run, from the positions that are kept with it."""
    from simviz.data.splitting import PARTS, Split

    at, how = run.arrays(), run.spec["split"]
    x, y = ({part: at[f"{side}_{part}"] for part in PARTS} for side in "xy")
    held = {part: pairs.take(x[part], y[part]) for part in PARTS}
    return Split(**held, by=how["by"], seed=how["seed"], x_index=x, y_index=y)
