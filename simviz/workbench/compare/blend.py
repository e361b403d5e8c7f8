"""Two runs blended: quality at every weight, and the blend kept as a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.workbench.compare.choice import Choice
from simviz.workbench.shell import display, state
from simviz.workbench.shell.figures import CHART_CONFIG
from simviz.workbench.shell.marks import plain as escaped

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.evaluation import BlendCurve
    from simviz.evaluation.result import Asking
    from simviz.jobs import JobSpec
    from simviz.pipeline import BlendPipeline
    from simviz.reports.summary import Entry
    from simviz.store.run import Part, Run


class Curves(NamedTuple):
    """Both curves of a blend: None where no query counts, or the test is not looked at."""

    validation: BlendCurve | None
    test: BlendCurve | None


@st.cache_resource(show_spinner=False, max_entries=12)
def blend_curves(
    learned_id: str,
    lexical_id: str,
    normalization: str,
    metric: str,
    part: Part,
    _learned: Run,
    _lexical: Run,
    _pairs: PairSet,
) -> Curves:
    """The validation part at 101 weights, with the test where that is looked at."""
    held_out = validation_curve(
        learned_id, lexical_id, normalization, metric, _learned, _lexical, _pairs
    )
    if part == "validation":
        return Curves(held_out, None)
    blend = _blended(_learned, _lexical, _pairs, normalization)
    return Curves(held_out, _measured(blend, _part(_learned, _pairs, "test"), metric))


@st.cache_resource(show_spinner=False, max_entries=48)
def validation_curve(
    learned_id: str,
    lexical_id: str,
    normalization: str,
    metric: str,
    _learned: Run,
    _lexical: Run,
    _pairs: PairSet,
) -> BlendCurve | None:
    """A blend at 101 weights on the validation part; None where nothing is relevant there."""
    pairs = _part(_learned, _pairs, "validation")
    if not (len(pairs.x) and len(pairs.y) and pairs.relevance.positives.nnz):
        return None
    return _measured(_blended(_learned, _lexical, _pairs, normalization), pairs, metric)


def _part(run: Run, pairs: PairSet, part: str) -> PairSet:
    at = run.arrays()
    return pairs.take(at[f"x_{part}"], at[f"y_{part}"])


def _blended(learned: Run, lexical: Run, pairs: PairSet, normalization: str) -> BlendPipeline:
    from simviz.pipeline import BlendPipeline

    return BlendPipeline.of(
        learned.pipeline(),
        lexical.pipeline(),
        _part(learned, pairs, "train"),
        normalization=normalization,  # type: ignore[arg-type]
    )


def _measured(blend: BlendPipeline, pairs: PairSet, metric: str) -> BlendCurve:
    from simviz.evaluation import blend_curve

    return blend_curve(blend, pairs.x, pairs.y, pairs.relevance, metrics=[metric])


_TRIED = "compare-blend-tried"
#: Runs of which all pairs are tried, the first ones, and rows of the table.
_MOST_RUNS, _ROWS = 6, 5


class Found(NamedTuple):
    """The best weight of a pair of runs."""

    learned: Entry
    lexical: Entry
    alpha: float
    value: float
    gain: float


def show_blend_search(
    entries: Sequence[Entry],
    pair: Callable[[Sequence[Entry]], tuple[Entry, Entry]],
    curve: Callable[[Entry, Entry], BlendCurve | None],
    direction: Asking,
    setting: tuple[str, ...],
) -> None:
    """Offer to try every pair, and show what was found."""
    pairs = [pair(two) for two in combinations(entries[:_MOST_RUNS], 2)]
    if len(pairs) < 2:
        return
    told = (*setting, *(entry.run.id for entry in entries))
    few = f" of the first {_MOST_RUNS} runs" if len(entries) > _MOST_RUNS else ""
    st.button(
        f"Try all {len(pairs)} pairs{few}",
        key="compare-blend-try",
        icon=":material/join_inner:",
        type="tertiary",
        disabled=st.session_state.get(_TRIED) == told,
        on_click=st.session_state.__setitem__,
        args=(_TRIED, told),
        help="Blends every two of the chosen runs at 101 weights each, and keeps the best weight "
        "of each pair. Only the validation part is looked at.",
    )
    if st.session_state.get(_TRIED) != told:
        return
    with st.spinner(f"Trying {len(pairs)} pairs", show_time=False):
        found = _tried(pairs, curve, direction)
    if not found:
        display.quiet("No query of the validation part has an answer, so no pair can be chosen.")
        return
    _show_found(found, setting)


def _tried(
    pairs: Sequence[tuple[Entry, Entry]],
    curve: Callable[[Entry, Entry], BlendCurve | None],
    direction: Asking,
) -> list[Found]:
    """Each pair at its best weight, the best pair first."""
    found = []
    for learned, lexical in pairs:
        measured = curve(learned, lexical)
        if measured is None:
            continue
        alpha = measured.best(direction=direction)
        if alpha != alpha:
            continue
        values = measured.values(direction=direction)
        value = float(values[round(100 * alpha)])
        gain = value - float(max(values[0], values[-1]))
        found.append(Found(learned, lexical, round(alpha, 2), value, gain))
    return sorted(found, key=lambda one: -one.value)


def _show_found(found: Sequence[Found], setting: tuple[str, ...]) -> None:
    metric, normalization = setting[:2]
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
    best = found[0]
    st.button(
        f"Take {escaped(best.learned.label)} and {escaped(best.lexical.label)}",
        key="compare-blend-take",
        icon=":material/done:",
        type="tertiary",
        on_click=_take,
        args=(best, normalization),
    )


def alpha_key(learned_id: str, lexical_id: str, normalization: str) -> str:
    """Where the weight of a blend is in the session."""
    return f"compare-alpha-{learned_id[:8]}-{lexical_id[:8]}-{normalization}"


def _take(best: Found, normalization: str) -> None:
    learned, lexical = best.learned.run.id, best.lexical.run.id
    st.session_state["compare-learned"] = learned
    st.session_state["compare-lexical"] = lexical
    st.session_state[alpha_key(learned, lexical, normalization)] = best.alpha


_KEPT, _REFUSAL = "compare-kept", "compare-blend-refusal"


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
    _offer_search(choice, metric, normalization)
    try:
        with st.spinner("Weighing the two against each other", show_time=False):
            curves = blend_curves(
                learned.run.id,
                lexical.run.id,
                normalization,
                metric,
                choice.part,
                learned.run,
                lexical.run,
                choice.pairs,
            )
    except (SimvizError, ValueError) as error:
        display.problem(error)
        return
    if curves == (None, None):
        st.caption("No query of the validation part has an answer. Switch to *Test*.")
        return
    best = None if curves.validation is None else _best(choice, curves.validation)
    alpha = _choose_alpha(learned, lexical, normalization, best)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _draw(choice, curves, alpha, best, metric, (lexical.label, learned.label))
    with right:
        _show_figures(choice, curves, alpha, metric, learned, lexical)
        st.caption(_footnote(choice, curves, best, metric, learned, lexical))
        _offer_to_keep(learned, lexical, alpha, normalization)


def _choose_two(choice: Choice) -> tuple[Entry, Entry]:
    """What is blended with what: one learned, the other lexical where there is one."""
    by_id = {entry.run.id: entry for entry in choice.entries}
    learned, lexical = _pair(choice.entries)
    usual = {"learned": learned.run.id, "lexical": lexical.run.id}
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


def _pair(entries: Sequence[Entry]) -> tuple[Entry, Entry]:
    """The first learned one and the first lexical one; what there is where a kind is missing."""
    # A blend comes into another one only where somebody says so.
    lexical = min(entries, key=lambda e: ("lexical", "learned", "blend").index(_kind(e)))
    others = [entry for entry in entries if entry is not lexical]
    return min(others, key=lambda e: ("learned", "lexical", "blend").index(_kind(e))), lexical


def _offer_search(choice: Choice, metric: str, normalization: str) -> None:
    """Which two of the runs to blend, where there are more."""

    def curve(learned: Entry, lexical: Entry) -> BlendCurve | None:
        ids = learned.run.id, lexical.run.id
        runs = learned.run, lexical.run
        return validation_curve(*ids, normalization, metric, *runs, choice.pairs)

    try:
        show_blend_search(
            [entry for entry in choice.entries if _kind(entry) != "blend"],
            _pair,
            curve,
            choice.direction,  # type: ignore[arg-type]
            (metric, normalization, choice.direction),
        )
    except (SimvizError, ValueError) as error:
        display.problem(error)


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


def _best(choice: Choice, curve: BlendCurve) -> float | None:
    best = curve.best(direction=choice.direction)  # type: ignore[arg-type]
    return None if best != best else round(best, 2)


def _choose_alpha(learned: Entry, lexical: Entry, normalization: str, best: float | None) -> float:
    usual = 0.5 if best is None else best
    # Another pair of runs, or another scale, begins at its own best weight.
    key = alpha_key(learned.run.id, lexical.run.id, normalization)
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
    from simviz.charts.search import WeightCurve, blend_figure

    def curve(label: str, found: BlendCurve) -> WeightCurve:
        values = found.values(direction=choice.direction)  # type: ignore[arg-type]
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
    from simviz.charts.style import clean_text

    both = (("validation", curves.validation), ("test", curves.test))
    parts = [(name, curve) for name, curve in both if curve is not None]
    columns = []
    for _, curve in parts:
        values = curve.values(direction=choice.direction)  # type: ignore[arg-type]
        columns.append((values[round(100 * alpha)], values[0], values[-1]))
    low_name, high_name = (clean_text(entry.label, 20) for entry in (lexical, learned))
    rows = [
        ["this blend", *(f"{here:.3f}" for here, *_ in columns)],
        [f"{low_name} alone", *(f"{low:.3f}" for _, low, _ in columns)],
        [f"{high_name} alone", *(f"{high:.3f}" for *_, high in columns)],
        [f"Δ to {low_name}", *(_signed(here - low) for here, low, _ in columns)],
        [f"Δ to {high_name}", *(_signed(here - high) for here, _, high in columns)],
    ]
    display.table([f"{metric}, α = {alpha:g}", *(name for name, _ in parts)], rows, tight=True)


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
    told = learned.measured.evaluation
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
