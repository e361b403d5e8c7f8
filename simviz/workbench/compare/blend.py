"""Runs made of others: two blended at a weight, one with its hubs corrected; kept as runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from simviz.charts.style import clean_text
from simviz.charts.tuning import WeightCurve, blend_figure
from simviz.evaluation import (
    BlendCurve,
    ChosenBlend,
    RankFusion,
    blend_curve,
    choose_blend,
    compare_evaluations,
    evaluate,
    parse_metric,
)
from simviz.evaluation.differences import query_metric
from simviz.evaluation.hubs import csls_values
from simviz.jobs import JobSpec, blend_spec, csls_spec
from simviz.markdown import escape_markdown
from simviz.methods import all_methods
from simviz.pipeline import BlendPipeline, Normalization
from simviz.reports.run_summary import RunEntry, RunTable, rank_key
from simviz.store.run import CSLS, MEASURED, Part
from simviz.workbench.compare.choice import choose_two, held_out
from simviz.workbench.shell import display, forms, preferences, state
from simviz.workbench.shell.charts import show_chart

if TYPE_CHECKING:
    from simviz.pipeline._csls import Queries

#: Runs that the best blend is chosen among, the first ones.
_MAX_RUNS = 10
#: Names in the session: what the best blend was chosen for, the blend that was kept, and why one
#: could not be.
_BLEND, _STORED, _REFUSAL = "compare-blend-found", "compare-kept", "compare-blend-refusal"
#: What is blended first: a lexical run with a learned one. A blend comes into another one only
#: where somebody says so.
_KINDS = ("lexical", "learned", "blend")
#: Among what the nearest are looked for.
_NEIGHBORS = {"given": "The other queries", "training": "Training items"}


class Blend(NamedTuple):
    """Two runs whose scores are added, and what the sum is measured by."""

    table: RunTable
    learned: RunEntry
    lexical: RunEntry
    normalization: Normalization
    metric: str

    @property
    def cache_key(self) -> tuple[Any, ...]:
        """What its figures depend on."""
        table, learned, lexical, *how = self
        return learned.run, lexical.run, *how, table.pairs

    @property
    def alpha_key(self) -> str:
        """Where the weight is in the session: other runs or scales have their own."""
        learned, lexical = self.learned.run.id[:8], self.lexical.run.id[:8]
        return f"compare-alpha-{learned}-{lexical}-{self.normalization}"


def take_stored_blend() -> None:
    """Choose a blend that was kept as soon as it is a run."""
    run_id = st.session_state.get(_STORED)
    if run_id and state.store().runs.has(run_id):
        del st.session_state[_STORED]
        run_ids = list(st.session_state.get("run_ids", []))
        st.session_state.run_ids = [*run_ids, run_id] if run_id not in run_ids else run_ids


@st.fragment
@display.problems(ValueError)
def show(table: RunTable) -> None:
    """Choose two of the runs, and a weight between them; the slider runs only this."""
    st.markdown(
        "A blend adds the scores of two runs: a share **α** of the one and the rest of the "
        "other. What was learned finds answers that share no word with the query; what goes by "
        "words finds rare words, names and numbers. Together they often beat both."
    )
    blend = _choose_blend(table)
    with display.problems(ValueError):
        _offer_best(blend)
    parts = MEASURED if table.part == "test" else MEASURED[:1]
    with st.spinner("Measuring at each weight", show_time=False):
        made = {part: _curve(blend, part) for part in parts}
    curves = {part: curve for part, curve in made.items() if curve is not None}
    if not curves:
        st.caption("No query of the validation part has an answer. Switch to *Test*.")
        return
    best, validation = None, curves.get("validation")
    if validation is not None:
        alpha = validation.best(direction=table.direction)
        best = round(alpha, 2) if alpha == alpha else None  # no query has an answer
    alpha = _choose_alpha(blend, best)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _draw(blend, curves, alpha, best)
    with right:
        _show_figures(blend, curves, alpha)
        st.caption(_footnote(blend, validation, best))
        # A button that makes the blend a run, unless it is one.
        infos = blend.learned.run.info, blend.lexical.run.info
        about = "It stays whole when the two runs are deleted."
        options: Any = {"normalization": blend.normalization, "workspace": state.workspace()}
        _offer_to_keep(lambda: blend_spec(*infos, alpha, **options), "blend", about)


# -- two runs -------------------------------------------------------------------------


def _choose_blend(table: RunTable) -> Blend:
    learned, lexical = _default_pair(table.entries)
    if len(table.entries) > 2:
        labels = {"learned": "A share α of", "lexical": "and the rest of"}
        learned, lexical = choose_two(table, labels, [learned.run.id, lexical.run.id])
    one_scale = st.toggle(
        "Bring both to one scale first",
        value=True,
        key="compare-one-scale",
        persist_state="session",
        help="Divides each run's scores by how far they spread in training. Without it, a score "
        "that goes up to 30, such as BM25's, drowns a cosine that ends at 1.",
    )
    # Among all candidates a curve of ranks cannot follow a metric of judged pairs.
    by_rank = learned.measured.pool != "judged"
    metric = query_metric(table.metric).name if by_rank else table.metric
    return Blend(table, learned, lexical, "global_std" if one_scale else "none", metric)


def _default_pair(entries: Sequence[RunEntry]) -> tuple[RunEntry, RunEntry]:
    """The first learned one and the first lexical one; what there is where a kind is missing."""
    lexical = min(entries, key=lambda entry: _KINDS.index(_kind(entry)))
    others = [entry for entry in entries if entry is not lexical]
    return min(others, key=lambda e: ("learned", "lexical", "blend").index(_kind(e))), lexical


def _kind(entry: RunEntry) -> str:
    cls = all_methods().get(entry.run.info.method)
    if cls is None:
        return "learned" if entry.run.info.method == CSLS else "blend"
    return "lexical" if cls.tags.family == "lexical" else "learned"


def _offer_best(blend: Blend) -> None:
    """Offer to choose among the runs and their weights, and say what that gains."""
    entries = blend.table.entries[:_MAX_RUNS]
    table, run_ids = blend.table, [entry.run.id for entry in entries]
    setting = (blend.metric, blend.normalization, table.direction, table.part, *run_ids)
    is_found = st.session_state.get(_BLEND) == setting
    few = f" of the first {_MAX_RUNS} runs" if len(blend.table.entries) > _MAX_RUNS else ""
    forms.quiet_button(
        f"Best blend{few}",
        "compare-blend-best",
        st.session_state.__setitem__,
        _BLEND,
        setting,
        icon="join_inner",
        disabled=is_found,
        help="Chooses runs and their weights on the validation part, as simviz.blend does. Each "
        "fold of its queries is measured by what the others choose, so that choosing does not "
        "flatter.",
    )
    if not is_found:
        return
    with st.spinner("Choosing a blend", show_time=False):
        chosen, lines, text = _best(blend, setting)
    labels = {entry.run.id: escape_markdown(entry.label) for entry in entries}
    if len(chosen.path) == 1:
        st.markdown(
            f"No blend of these runs is better than {labels[chosen.single]} alone, by folds of "
            "the validation queries."
        )
    rows = [
        [name, *(f"{value:.3f}" if value == value else "–" for value in row)]
        for name, *row in lines
    ]
    parts = ["validation, by folds", "test"]
    display.table([blend.metric, *parts[: len(rows[0]) - 1]], rows, look="sv-tight")
    if text:
        st.caption(escape_markdown(text))
    if len(chosen.path) > 1:
        (first, _), (second, share), *others = chosen.path
        two = {first: 1 - share, second: share}
        named = " + ".join(f"{share:.2g} {labels[run]}" for run, share in two.items())
        if others:
            st.markdown(" + ".join(f"{s:.2g} {labels[run]}" for run, s in chosen.shares.items()))
        forms.quiet_button(f"Take {named}", "compare-blend-take", _take, blend, two, icon="done")
        steps = " and then ".join(f"{labels[run]}, α = {share:g}" for run, share in others)
        if steps:
            st.caption(f"Keep these two as a run, and blend that with {steps}.")


@state.cached(16)
def _best(
    blend: Blend, setting: tuple[str, ...]
) -> tuple[ChosenBlend, list[tuple[Any, ...]], str]:
    """What validation chooses, its figures beside the best run and RRF, and the gain in words."""
    # The setting names all that the answer depends on, more than tells one blend from another.
    table = blend.table
    by_id = {entry.run.id: entry for entry in table.entries[:_MAX_RUNS]}
    first = next(iter(by_id.values())).run
    pipelines = {run_id: entry.run.pipeline() for run_id, entry in by_id.items()}
    validation, test = (held_out(first, part, table.pairs) for part in ("validation", "test"))
    metric, directions = blend.metric, preferences.query_sides(table.direction)
    asking, train = table.direction, first.take(table.pairs, "train")
    chosen = choose_blend(
        pipelines, train, validation, metric, asking, normalization=blend.normalization
    )
    is_blend = len(chosen.path) > 1
    fused = list(chosen.shares) if is_blend else list(by_id)[:2]
    ranks = RankFusion([pipelines[run_id] for run_id in fused])
    on_validation = ranks.evaluate(validation, [metric], directions=directions)
    single = by_id[chosen.single].label
    of = "both" if len(fused) == 2 else f"all {len(fused)}"
    values: list[tuple[Any, ...]] = [
        ("best blend", chosen.value),
        (f"{single} alone", chosen.single_value),
        (f"RRF of {of}, nothing chosen", on_validation.value(metric, asking)),
    ]
    if table.part != "test":
        return chosen, values, ""
    sides = test.x, test.y, test.relevance
    results = [
        evaluate(chosen.pipeline, *sides, [metric], directions=directions),
        evaluate(pipelines[chosen.single], *sides, [metric], directions=directions),
        ranks.evaluate(test, [metric], directions=directions),
    ]
    values = [(*row, one.value(metric, asking)) for row, one in zip(values, results, strict=True)]
    if not is_blend:
        return chosen, values, ""
    text, better = "", parse_metric(metric).higher_is_better
    for name, other in ((single, results[1]), ("RRF", results[2])):
        found = compare_evaluations(results[0], other, metric, directions)
        text += f"{found.finding('The best blend', name, metric, higher_is_better=better)}. "
    return chosen, values, f"{text}Paired over queries of the test part."


def _take(blend: Blend, shares: Mapping[str, float]) -> None:
    by_id = blend.table.by_id
    learned, lexical = _default_pair([by_id[run_id] for run_id in shares])
    st.session_state["compare-learned"] = learned.run.id
    st.session_state["compare-lexical"] = lexical.run.id
    taken = blend._replace(learned=learned, lexical=lexical)
    st.session_state[taken.alpha_key] = round(shares[learned.run.id], 2)


# -- curves ---------------------------------------------------------------------------


@state.cached(60)
def _curve(blend: Blend, part: Part) -> BlendCurve | None:
    """A blend at 101 weights on a part; None where there is no pair to choose a weight by."""
    learned, lexical, pairs = blend.learned.run, blend.lexical.run, blend.table.pairs
    held = held_out(learned, part, pairs)
    if part == "validation" and not held.relevance.positives.nnz:
        return None
    pipelines, train = (learned.pipeline(), lexical.pipeline()), learned.take(pairs, "train")
    whole = BlendPipeline.of(*pipelines, train, normalization=blend.normalization)
    return blend_curve(whole, held.x, held.y, held.relevance, metrics=[blend.metric])


# -- the weight -----------------------------------------------------------------------


def _choose_alpha(blend: Blend, best: float | None) -> float:
    key = blend.alpha_key
    if key not in st.session_state:
        st.session_state[key] = 0.5 if best is None else best
    low, high = escape_markdown(blend.lexical.label), escape_markdown(blend.learned.label)
    beside = not state.is_narrow()
    with st.container(horizontal=beside, vertical_alignment="bottom", gap="medium"):
        text = f"At 0 {low} decides alone, at 1 {high}."
        about: dict[str, Any] = {"key": key, "help": text, "persist_state": "session"}
        value: float = st.slider(f"α: share of {high}", 0.0, 1.0, step=0.01, **about)
        alpha = round(value, 2)
        if best is not None:
            press = "compare-alpha-best", st.session_state.update, {key: best}
            label = f"Best on validation: {best:g}"
            forms.quiet_button(label, *press, icon="target", disabled=alpha == best)
    return alpha


def _draw(
    blend: Blend, curves: Mapping[Part, BlendCurve], alpha: float, best: float | None
) -> None:
    lines: dict[str, WeightCurve] = {
        name: WeightCurve(name, curve.alphas, curve.values(direction=blend.table.direction))
        for name, curve in curves.items()
    }
    ends, look = (blend.lexical.label, blend.learned.label), state.theme()
    curves_of = lines.get("validation"), lines.get("test")
    figure = blend_figure(*curves_of, alpha, ends=ends, best=best, metric=blend.metric, theme=look)
    show_chart(figure, "compare-blend", height=400 if state.is_narrow() else 460)


def _show_figures(blend: Blend, curves: Mapping[Part, BlendCurve], alpha: float) -> None:
    """The metric at the weight and at both ends, and the gain over each."""
    low_name, high_name = (clean_text(e.label, 20) for e in (blend.lexical, blend.learned))
    values = np.array([c.values(direction=blend.table.direction) for c in curves.values()])
    here, low, high = values[:, round(100 * alpha)], values[:, 0], values[:, -1]
    rows = [
        ["this blend", *map("{:.3f}".format, here)],
        [f"{low_name} alone", *map("{:.3f}".format, low)],
        [f"{high_name} alone", *map("{:.3f}".format, high)],
        [f"Δ to {low_name}", *map(display.signed, here - low)],
        [f"Δ to {high_name}", *map(display.signed, here - high)],
    ]
    display.table([f"{blend.metric}, α = {alpha:g}", *curves], rows, look="sv-tight")


def _footnote(blend: Blend, validation: BlendCurve | None, best: float | None) -> str:
    """Where the weight comes from, and what its figures may be believed."""
    table, learned, lexical = blend.table, blend.learned, blend.lexical
    text = ""
    if blend.metric != table.metric:
        text += f"{table.metric} compares all pairs; {blend.metric} stands for it here. "
    if validation is None or best is None:
        text += (
            "No query of the validation part has an answer, so no weight could be chosen there. "
            "Half and half is only a beginning; figures of a weight chosen on the test part would "
            "be optimistic. "
        )
    else:
        counts = [
            int((lines[0] == lines[0]).sum())
            for (_, direction), lines in validation.per_query.items()
            if table.direction in ("mean", direction)
        ]
        counted = f" ({sum(counts):,} queries)" if counts else ""
        text += (
            f"The weight is chosen on the validation part{counted}, which neither run was tested "
            "on. The test part only shows what comes of it: figures of a weight chosen there "
            "would be optimistic. "
        )
    if any(learned.measured.shares[f"{side}_empty"] for side in "xy"):
        text += (
            f"Items of which {learned.label} knows nothing keep their score by {lexical.label}, "
            "whatever α is. "
        )
    return escape_markdown(text.strip())


@display.problems()
def _offer_to_keep(made: Callable[[], JobSpec], what: str, about: str) -> None:
    """A button that makes something of runs a run, unless it is one."""
    if state.share() is not None:
        return
    if refusal := st.session_state.pop(_REFUSAL, None):
        display.problem(refusal)
    spec = made()
    if state.store().runs.has(spec.digest):
        st.caption(f":material/check: This {what} is kept: it is one of the runs above.")
        return
    queued = [job.spec for job in state.jobs() if job.is_active and job.spec is not None]
    is_queued = spec.digest in {one.digest for one in queued}
    if st.button(
        f"Keep this {what}",
        key="compare-keep",
        icon=":material/bookmark_add:",
        type="primary",
        disabled=is_queued,
        help="Makes it a run of its own: measured like any run, to be compared, mapped, shared "
        f"and downloaded. {about}",
    ):
        with display.problems(show=display.later(_REFUSAL)):
            state.queue().submit(spec)
            st.session_state[_STORED] = spec.digest
        st.rerun(scope="app")  # the page shows how far the job is


# -- hubs -----------------------------------------------------------------------------


def correctable(table: RunTable) -> Sequence[RunEntry]:
    """Runs whose hubs can be corrected: not what is corrected already, nor answers of others."""
    return [
        entry
        for entry in table.entries
        if entry.run.info.method != CSLS and not entry.run.info.is_imported
    ]


@st.fragment
@display.problems(ValueError)
def show_hubs(table: RunTable) -> None:
    """Choose a run and a form, and show the metric at each k."""
    st.markdown(
        "Some answers are near to very many queries: hubs. CSLS, cross-domain similarity local "
        "scaling, takes the mean similarity of both items to their k nearest off each score."
    )
    names = {entry.run.id: entry.label for entry in correctable(table)}
    run_id = forms.select("Run", names, "compare-scaled")
    text = "The nearest are looked for among"
    queries: Queries = forms.segments(text, _NEIGHBORS, "compare-neighbours")
    with st.spinner("Measuring at each k", show_time=False):
        values = _values_by_k(table, table.by_id[run_id], queries)
    known = {k: value for k, value in values.items() if k and value == value}
    if not known:
        display.quiet("No query of the validation part has an answer, so k cannot be chosen.")
        return
    best = min(known, key=lambda k: rank_key(known[k], table.metric))
    rows = [["without CSLS", f"{values[0]:.3f}", ""]]
    for k in filter(None, values):
        name = f"k = {k}, best" if k == best else f"k = {k}"
        rows.append([name, f"{values[k]:.3f}", display.signed(values[k] - values[0])])
    display.table([f"{table.metric}, validation", "value", "Δ"], rows, look="sv-tight")
    st.caption(
        "As published, CSLS looks at the other queries: a score depends on what else is asked, so "
        "figures are of asking all queries of a part at once. Single queries, as in Search, find "
        "their nearest among training items."
        if queries == "given"
        else "A score depends on its two items and the model alone, however many queries ask."
    )
    about = "It stays whole when that run is deleted."
    how = {"queries": queries, "workspace": state.workspace()}
    info = table.by_id[run_id].run.info
    _offer_to_keep(lambda: csls_spec(info, best, **how), "correction", about)


@state.cached(60)
def _values_by_k(table: RunTable, entry: RunEntry, queries: Queries) -> dict[int, float]:
    """The metric on the validation part at each k, and under 0 without CSLS."""
    run, pairs = entry.run, table.pairs
    held = held_out(run, "validation", pairs)
    if not held.relevance.positives.nnz:
        return {}
    train, metric = run.take(pairs, "train"), parse_metric(table.metric)
    return csls_values(run.pipeline(), train, held, queries, metric, table.direction)
