"""Two runs blended: quality at every weight, and the blend kept as a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from pages._shared import plain, state
from pages._shared.compare_choice import Choice
from pages._shared.compare_marks import plain as escaped
from pages._shared.results import CHART_CONFIG
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.data.pairs import PairSet
    from simviz.evaluation import BlendCurve
    from simviz.jobs import JobSpec
    from simviz.store.run import Run

_KEPT, _REFUSAL = "compare-kept", "compare-blend-refusal"


class Curves(NamedTuple):
    """Both curves of a blend; the validation one is None where no query counts."""

    validation: BlendCurve | None
    test: BlendCurve


def take_kept() -> None:
    """Choose a blend that was kept as soon as it is a run."""
    run_id = st.session_state.get(_KEPT)
    if run_id and state.store().has_run(run_id):
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
    learned, lexical = _choose_two(choice)
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
        with st.spinner("Weighing the two against each other", show_time=False):
            curves = _curves(
                learned.run.id,
                lexical.run.id,
                normalization,
                metric,
                learned.run,
                lexical.run,
                choice.pairs,
            )
    except (SimvizError, ValueError) as error:
        plain.problem(error)
        return
    best = None if curves.validation is None else _best(choice, curves.validation)
    alpha = _choose_alpha(learned, lexical, normalization, best)
    left, right = st.columns([4, 3], gap="large")
    with left:
        _draw(choice, curves, alpha, best, metric, (lexical.label, learned.label))
    with right:
        _show_figures(choice, curves, alpha, metric, learned, lexical)
        st.caption(_footnote(choice, curves, best, metric, learned, lexical))
        _offer_to_keep(learned, lexical, alpha, normalization)


def _choose_two(choice: Choice) -> tuple[Entry, Entry]:
    """What is blended with what: one learned, the other lexical where there is one."""
    by_id = {entry.run.id: entry for entry in choice.entries}
    # The best of each kind; a blend comes into another one only where somebody says so.
    kinds = {run_id: _kind(entry) for run_id, entry in by_id.items()}
    lexical = min(kinds, key=lambda i: ("lexical", "learned", "blend").index(kinds[i]))
    others = [i for i in kinds if i != lexical]
    learned = min(others, key=lambda i: ("learned", "lexical", "blend").index(kinds[i]))
    usual = {"learned": learned, "lexical": lexical}
    if len(by_id) == 2:
        return by_id[usual["learned"]], by_id[usual["lexical"]]
    for name, run_id in usual.items():
        if st.session_state.get(f"compare-{name}") not in by_id:
            st.session_state[f"compare-{name}"] = run_id
    if st.session_state["compare-learned"] == st.session_state["compare-lexical"]:
        taken = st.session_state["compare-learned"]
        st.session_state["compare-lexical"] = next(i for i in by_id if i != taken)
    chosen: list[str] = []
    words = {"learned": "A share α of", "lexical": "and the rest of"}
    for column, (name, label) in zip(st.columns(2, gap="medium"), words.items(), strict=True):
        chosen.append(
            column.selectbox(
                label,
                [i for i in by_id if i not in chosen],
                format_func=lambda run_id: by_id[run_id].label,
                key=f"compare-{name}",
                persist_state="session",
            )
        )
    return by_id[chosen[0]], by_id[chosen[1]]


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


@st.cache_resource(show_spinner=False, max_entries=12)
def _curves(
    learned_id: str,
    lexical_id: str,
    normalization: str,
    metric: str,
    _learned: Run,
    _lexical: Run,
    _pairs: PairSet,
) -> Curves:
    """Both parts at 101 weights; runs never change."""
    from simviz.evaluation import blend_curve
    from simviz.pipeline import BlendPipeline

    at = _learned.arrays()
    train, validation, test = (
        (at[f"x_{part}"], at[f"y_{part}"]) for part in ("train", "validation", "test")
    )
    blend = BlendPipeline.of(
        _learned.pipeline(),
        _lexical.pipeline(),
        _pairs.take(*train),
        normalization=normalization,  # type: ignore[arg-type]
    )

    def measured(pairs: PairSet) -> BlendCurve:
        return blend_curve(blend, pairs.x, pairs.y, pairs.relevance, metrics=[metric])

    held_out = None
    if len(validation[0]) and len(validation[1]):
        pairs = _pairs.take(*validation)
        held_out = measured(pairs) if pairs.relevance.positives.nnz else None
    return Curves(held_out, measured(_pairs.take(*test)))


def _direction(choice: Choice) -> str | None:
    return None if choice.direction == "mean" else choice.direction


def _best(choice: Choice, curve: BlendCurve) -> float | None:
    best = curve.best(direction=_direction(choice))  # type: ignore[arg-type]
    return None if best != best else round(best, 2)


def _choose_alpha(learned: Entry, lexical: Entry, normalization: str, best: float | None) -> float:
    usual = 0.5 if best is None else best
    # Another pair of runs, or another scale, begins at its own best weight.
    key = f"compare-alpha-{learned.run.id[:8]}-{lexical.run.id[:8]}-{normalization}"
    if key not in st.session_state:
        st.session_state[key] = usual
    beside = not state.is_narrow()
    with st.container(horizontal=beside, vertical_alignment="bottom", gap="medium"):
        alpha: float = st.slider(
            f"α: share of {escaped(learned.label)}",
            0.0,
            1.0,
            step=0.01,
            key=key,
            help=f"At 0 {escaped(lexical.label)} decides alone, at 1 {escaped(learned.label)}.",
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
    from simviz.charts.blends import WeightCurve, blend_figure

    def curve(label: str, found: BlendCurve) -> WeightCurve:
        values = found.values(direction=_direction(choice))  # type: ignore[arg-type]
        return WeightCurve(label, found.alphas, values)

    figure = blend_figure(
        None if curves.validation is None else curve("validation", curves.validation),
        curve("test", curves.test),
        alpha,
        ends=ends,
        best=best,
        metric=metric,
        theme=state.theme(),
    )
    height = 400 if state.is_narrow() else 460
    figure.update_layout(height=height)
    st.plotly_chart(
        figure,
        theme=None,
        key="compare-blend",
        alt=str(figure.layout.meta["alt"]),
        config=CHART_CONFIG,
        height=height,
    )


def _show_figures(
    choice: Choice, curves: Curves, alpha: float, metric: str, learned: Entry, lexical: Entry
) -> None:
    """The metric at the weight and at both ends, and the gain over each."""
    from simviz.charts.text import clean_text

    parts = [("test", curves.test)]
    if curves.validation is not None:
        parts.insert(0, ("validation", curves.validation))
    columns = []
    for _, curve in parts:
        values = curve.values(direction=_direction(choice))  # type: ignore[arg-type]
        columns.append((values[round(100 * alpha)], values[0], values[-1]))
    low_name, high_name = (clean_text(entry.label, 20) for entry in (lexical, learned))
    rows = [
        ["this blend", *(f"{here:.3f}" for here, *_ in columns)],
        [f"{low_name} alone", *(f"{low:.3f}" for _, low, _ in columns)],
        [f"{high_name} alone", *(f"{high:.3f}" for *_, high in columns)],
        [f"Δ to {low_name}", *(_signed(here - low) for here, low, _ in columns)],
        [f"Δ to {high_name}", *(_signed(here - high) for here, _, high in columns)],
    ]
    plain.table([f"{metric}, α = {alpha:g}", *(name for name, _ in parts)], rows)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


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
    told = learned.measured.told
    if told.get("x_empty") or told.get("y_empty"):
        words += (
            f"Items of which {learned.label} knows nothing keep their score by {lexical.label}, "
            "whatever α is. "
        )
    return escaped(words.strip())


def _offer_to_keep(learned: Entry, lexical: Entry, alpha: float, normalization: str) -> None:
    """A button that makes the blend a run, unless it is one."""
    from simviz.jobs import blend_spec

    if state.share() is not None:
        return
    if refusal := st.session_state.pop(_REFUSAL, None):
        plain.problem(refusal)
    try:
        spec = blend_spec(
            learned.run.info,
            lexical.run.info,
            alpha,
            normalization=normalization,
            workspace=state.workspace(),
        )
    except SimvizError as error:
        plain.problem(error)
        return
    if state.store().has_run(spec.digest):
        st.caption(":material/check: This blend is kept: it is one of the runs above.")
        return
    is_asked = any(
        status.is_active and status.spec is not None and status.spec.digest == spec.digest
        for status in state.queue().jobs(state.workspace())
    )
    if st.button(
        "Keep this blend",
        key="compare-keep",
        icon=":material/bookmark_add:",
        type="primary",
        disabled=is_asked,
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
