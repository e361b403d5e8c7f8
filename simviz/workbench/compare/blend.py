"""Two runs blended: quality at every weight, and the blend kept as a run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.workbench.compare.choice import Choice, choose_two, held_out
from simviz.workbench.shell import display, state
from simviz.workbench.shell.figures import show_chart

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.evaluation import BlendCurve
    from simviz.jobs import JobSpec
    from simviz.pipeline import BlendPipeline
    from simviz.reports.summary import Entry
    from simviz.store.run import Run

#: Runs of which all pairs are tried, the first ones, and rows of the table.
_MOST_RUNS, _ROWS = 6, 5
#: Names in the session: what was tried, the blend that was kept, and why one could not be.
_TRIED, _KEPT, _REFUSAL = "compare-blend-tried", "compare-kept", "compare-blend-refusal"


class Curves(NamedTuple):
    """Both curves of a blend: None where no query counts, or the test is not looked at."""

    validation: BlendCurve | None
    test: BlendCurve | None


class Best(NamedTuple):
    """The best weight of a pair of runs."""

    learned: Entry
    lexical: Entry
    alpha: float
    value: float
    gain: float


def take_kept() -> None:
    """Choose a blend that was kept as soon as it is a run."""
    run_id = st.session_state.get(_KEPT)
    if run_id and state.store().runs.has(run_id):
        del st.session_state[_KEPT]
        chosen = list(st.session_state.get("run_ids", []))
        st.session_state.run_ids = [*chosen, run_id] if run_id not in chosen else chosen


def show(choice: Choice) -> None:
    """Choose two of the runs, and a weight between them."""
    st.markdown(
        "A blend adds the scores of two runs: a share **α** of the one and the rest of the "
        "other. What was learned finds answers that share no word with the query; what goes by "
        "words finds rare words, names and numbers. Together they often beat both."
    )
    _show_blend(choice)


@st.fragment
def _show_blend(choice: Choice) -> None:
    """Run by itself, so that the slider leaves the rest of the page alone."""
    learned, lexical = _choose_pair(choice)
    one_scale = st.toggle(
        "Bring both to one scale first",
        value=True,
        key="compare-one-scale",
        persist_state="session",
        help="Divides each run's scores by how far they spread in training. Without it, a score "
        "that goes up to 30, such as BM25's, drowns a cosine that ends at 1.",
    )
    normalization = "global_std" if one_scale else "none"
    metric = _metric(choice, learned)
    try:
        _offer_search(choice, metric, normalization)
    except (SimvizError, ValueError) as error:
        display.problem(error)
    try:
        with st.spinner("Weighing the two against each other", show_time=False):
            curves = blend_curves(choice, learned, lexical, normalization, metric)
    except (SimvizError, ValueError) as error:
        display.problem(error)
        return
    if curves == (None, None):
        st.caption("No query of the validation part has an answer. Switch to *Test*.")
        return
    best = None
    if curves.validation is not None:
        alpha = curves.validation.best(direction=choice.direction)
        best = None if alpha != alpha else round(alpha, 2)
    alpha = _choose_alpha(learned, lexical, normalization, best)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _draw(choice, curves, alpha, best, metric, (lexical.label, learned.label))
    with right:
        _show_figures(choice, curves, alpha, metric, learned, lexical)
        st.caption(_footnote(choice, curves, best, metric, learned, lexical))
        _offer_to_keep(learned, lexical, alpha, normalization)


# -- two runs -------------------------------------------------------------------------


def _choose_pair(choice: Choice) -> tuple[Entry, Entry]:
    """What is blended with what: one learned, the other lexical where there is one."""
    learned, lexical = _usual_pair(choice.entries)
    if len(choice.entries) == 2:
        return learned, lexical
    labels = {"learned": "A share α of", "lexical": "and the rest of"}
    return choose_two(choice, labels, [learned.run.id, lexical.run.id])


def _usual_pair(entries: Sequence[Entry]) -> tuple[Entry, Entry]:
    """The first learned one and the first lexical one; what there is where a kind is missing."""
    # A blend comes into another one only where somebody says so.
    lexical = min(entries, key=lambda e: ("lexical", "learned", "blend").index(_kind(e)))
    others = [entry for entry in entries if entry is not lexical]
    return min(others, key=lambda e: ("learned", "lexical", "blend").index(_kind(e))), lexical


def _kind(entry: Entry) -> str:
    from simviz.methods import all_methods

    cls = all_methods().get(entry.run.info.method)
    if cls is None:
        return "blend"
    return "lexical" if cls.tags.family == "lexical" else "learned"


def _metric(choice: Choice, learned: Entry) -> str:
    """The main metric, or what stands for it where a curve of ranks cannot follow it."""
    from simviz.evaluation.differences import query_metric

    if learned.measured.pool == "judged":
        return choice.metric
    return query_metric(choice.metric).name


def _offer_search(choice: Choice, metric: str, normalization: str) -> None:
    """Offer to try every pair, and show what was found."""
    entries = [entry for entry in choice.entries if _kind(entry) != "blend"]
    pairs = [_usual_pair(two) for two in combinations(entries[:_MOST_RUNS], 2)]
    if len(pairs) < 2:
        return
    ids = (entry.run.id for entry in entries)
    setting = (metric, normalization, choice.direction, *ids)
    few = f" of the first {_MOST_RUNS} runs" if len(entries) > _MOST_RUNS else ""
    st.button(
        f"Try all {len(pairs)} pairs{few}",
        key="compare-blend-try",
        icon=":material/join_inner:",
        type="tertiary",
        disabled=st.session_state.get(_TRIED) == setting,
        on_click=st.session_state.__setitem__,
        args=(_TRIED, setting),
        help="Blends every two of the chosen runs at 101 weights each, and keeps the best weight "
        "of each pair. Only the validation part is looked at.",
    )
    if st.session_state.get(_TRIED) != setting:
        return
    with st.spinner(f"Trying {len(pairs)} pairs", show_time=False):
        tried = [_best(choice, *pair, normalization, metric) for pair in pairs]
    found = sorted((one for one in tried if one is not None), key=lambda one: -one.value)
    if not found:
        display.quiet("No query of the validation part has an answer, so no pair can be chosen.")
        return
    rows = [
        [
            f"{one.learned.label} and {one.lexical.label}",
            f"{one.value:.3f}",
            f"{one.gain:+.3f}",
            f"{one.alpha:g}",
        ]
        for one in found[:_ROWS]
    ]
    display.table(["blend", metric, "Δ to the better", "best α"], rows)
    more = f" The best {_ROWS} of {len(found)} pairs." if len(found) > _ROWS else ""
    st.caption(f"On the validation part; Δ: ahead of the better of the two alone.{more}")
    learned, lexical = escape_markdown(found[0].learned.label), found[0].lexical.label
    st.button(
        f"Take {learned} and {escape_markdown(lexical)}",
        key="compare-blend-take",
        icon=":material/done:",
        type="tertiary",
        on_click=_take,
        args=(found[0], normalization),
    )


def _best(
    choice: Choice, learned: Entry, lexical: Entry, normalization: str, metric: str
) -> Best | None:
    """A pair at its best weight."""
    curve = _validation_curve(learned.run, lexical.run, normalization, metric, choice.pairs)
    if curve is None:
        return None
    alpha = curve.best(direction=choice.direction)
    if alpha != alpha:
        return None
    values = curve.values(direction=choice.direction)
    value = float(values[round(100 * alpha)])
    gain = value - float(max(values[0], values[-1]))
    return Best(learned, lexical, round(alpha, 2), value, gain)


def _take(best: Best, normalization: str) -> None:
    st.session_state["compare-learned"] = best.learned.run.id
    st.session_state["compare-lexical"] = best.lexical.run.id
    st.session_state[_alpha_key(best.learned, best.lexical, normalization)] = best.alpha


# -- curves ---------------------------------------------------------------------------


def blend_curves(
    choice: Choice, learned: Entry, lexical: Entry, normalization: str, metric: str
) -> Curves:
    """The validation part at 101 weights, with the test where that is looked at."""
    given = learned.run, lexical.run, normalization, metric, choice.pairs
    validation = _validation_curve(*given)
    return Curves(validation, None if choice.part == "validation" else _test_curve(*given))


@state.cached(48)
def _validation_curve(
    learned: Run, lexical: Run, normalization: str, metric: str, pairs: PairSet
) -> BlendCurve | None:
    """A blend at 101 weights on the validation part; None where nothing is relevant there."""
    part = held_out(learned, "validation", pairs)
    if not (len(part.x) and len(part.y) and part.relevance.positives.nnz):
        return None
    return _measured(_blended(learned, lexical, pairs, normalization), part, metric)


@state.cached(12)
def _test_curve(
    learned: Run, lexical: Run, normalization: str, metric: str, pairs: PairSet
) -> BlendCurve:
    blend = _blended(learned, lexical, pairs, normalization)
    return _measured(blend, held_out(learned, "test", pairs), metric)


def _blended(learned: Run, lexical: Run, pairs: PairSet, normalization: str) -> BlendPipeline:
    from simviz.pipeline import BlendPipeline

    at = learned.arrays()
    train = pairs.take(at["x_train"], at["y_train"])
    pipelines = learned.pipeline(), lexical.pipeline()
    return BlendPipeline.of(*pipelines, train, normalization=normalization)


def _measured(blend: BlendPipeline, part: PairSet, metric: str) -> BlendCurve:
    from simviz.evaluation import blend_curve

    return blend_curve(blend, part.x, part.y, part.relevance, metrics=[metric])


# -- the weight -----------------------------------------------------------------------


def _alpha_key(learned: Entry, lexical: Entry, normalization: str) -> str:
    """Where the weight of a blend is in the session."""
    return f"compare-alpha-{learned.run.id[:8]}-{lexical.run.id[:8]}-{normalization}"


def _choose_alpha(learned: Entry, lexical: Entry, normalization: str, best: float | None) -> float:
    usual = 0.5 if best is None else best
    # Another pair of runs, or another scale, begins at its own best weight.
    key = _alpha_key(learned, lexical, normalization)
    if key not in st.session_state:
        st.session_state[key] = usual
    low, high = escape_markdown(lexical.label), escape_markdown(learned.label)
    beside = not state.is_narrow()
    with st.container(horizontal=beside, vertical_alignment="bottom", gap="medium"):
        alpha: float = st.slider(
            f"α: share of {high}",
            0.0,
            1.0,
            step=0.01,
            key=key,
            help=f"At 0 {low} decides alone, at 1 {high}.",
        )
        if best is not None:
            st.button(
                f"Best on validation: {best:g}",
                key="compare-alpha-best",
                icon=":material/target:",
                type="tertiary",
                disabled=round(alpha, 2) == best,
                on_click=st.session_state.__setitem__,
                args=(key, best),
            )
    return round(alpha, 2)


def _draw(
    choice: Choice,
    curves: Curves,
    alpha: float,
    best: float | None,
    metric: str,
    ends: tuple[str, str],
) -> None:
    from simviz.charts.search import WeightCurve, blend_figure

    def curve(label: str, found: BlendCurve) -> WeightCurve:
        values = found.values(direction=choice.direction)
        return WeightCurve(label, found.alphas, values)

    figure = blend_figure(
        None if curves.validation is None else curve("validation", curves.validation),
        None if curves.test is None else curve("test", curves.test),
        alpha,
        ends=ends,
        best=best,
        metric=metric,
        theme=state.theme(),
    )
    show_chart(figure, "compare-blend", height=400 if state.is_narrow() else 460)


def _show_figures(
    choice: Choice, curves: Curves, alpha: float, metric: str, learned: Entry, lexical: Entry
) -> None:
    """The metric at the weight and at both ends, and the gain over each."""
    from simviz.charts.style import clean_text

    columns = {}
    for name, curve in curves._asdict().items():
        if curve is not None:
            values = curve.values(direction=choice.direction)
            columns[name] = values[round(100 * alpha)], values[0], values[-1]
    low_name, high_name = (clean_text(entry.label, 20) for entry in (lexical, learned))
    figures = columns.values()
    rows = [
        ["this blend", *(f"{here:.3f}" for here, *_ in figures)],
        [f"{low_name} alone", *(f"{low:.3f}" for _, low, _ in figures)],
        [f"{high_name} alone", *(f"{high:.3f}" for *_, high in figures)],
        [f"Δ to {low_name}", *(display.signed(here - low) for here, low, _ in figures)],
        [f"Δ to {high_name}", *(display.signed(here - high) for here, _, high in figures)],
    ]
    display.table([f"{metric}, α = {alpha:g}", *columns], rows, look="sv-tight")


def _footnote(
    choice: Choice,
    curves: Curves,
    best: float | None,
    metric: str,
    learned: Entry,
    lexical: Entry,
) -> str:
    """Where the weight comes from, and what its figures may be believed."""
    words = ""
    if metric != choice.metric:
        words += f"{choice.metric} compares all pairs; {metric} stands for it here. "
    if best is None:
        words += (
            "No query of the validation part has an answer, so no weight could be chosen there. "
            "Half and half is only a beginning; a weight chosen on the test part would flatter "
            "the blend. "
        )
    else:
        asked = [
            int((lines[0] == lines[0]).sum())
            for (_, direction), lines in (
                curves.validation.per_query.items() if curves.validation else ()
            )
            if choice.direction in ("mean", direction)
        ]
        counted = f" ({sum(asked):,} queries)" if asked else ""
        words += (
            f"The weight is chosen on the validation part{counted}, which neither run was tested "
            "on. The test part only shows what comes of it: a weight chosen there would flatter "
            "the blend. "
        )
    evaluated = learned.measured.evaluation
    if evaluated.get("x_empty") or evaluated.get("y_empty"):
        words += (
            f"Items of which {learned.label} knows nothing keep their score by {lexical.label}, "
            "whatever α is. "
        )
    return escape_markdown(words.strip())


def _offer_to_keep(learned: Entry, lexical: Entry, alpha: float, normalization: str) -> None:
    """A button that makes the blend a run, unless it is one."""
    from simviz.jobs import blend_spec

    if state.share() is not None:
        return
    if refusal := st.session_state.pop(_REFUSAL, None):
        display.problem(refusal)
    try:
        spec = blend_spec(
            learned.run.info,
            lexical.run.info,
            alpha,
            normalization=normalization,
            workspace=state.workspace(),
        )
    except SimvizError as error:
        display.problem(error)
        return
    if state.store().runs.has(spec.digest):
        st.caption(":material/check: This blend is kept: it is one of the runs above.")
        return
    is_queued = any(
        status.is_active and status.spec is not None and status.spec.digest == spec.digest
        for status in state.queue().jobs(state.workspace())
    )
    if st.button(
        "Keep this blend",
        key="compare-keep",
        icon=":material/bookmark_add:",
        type="primary",
        disabled=is_queued,
        help="Makes it a run of its own: measured like any run, to be compared, mapped, shared "
        "and downloaded. It stays whole when the two runs are deleted.",
    ):
        _keep(spec)
        st.rerun(scope="app")  # the page shows how far the job is


def _keep(spec: JobSpec) -> None:
    try:
        state.queue().submit(spec)
    except SimvizError as error:
        st.session_state[_REFUSAL] = str(error)
        return
    st.session_state[_KEPT] = spec.digest
