"""The two faces of Home: a picture with demos to choose from, and what a demo found."""

from __future__ import annotations

import time

import streamlit as st

from simviz import compilation
from simviz.datasets import DEMOS, DemoInfo
from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.store.run import RunInfo
from simviz.workbench.shell import forms, frame, preferences, progress, query_params, runs, state
from simviz.workbench.shell.links import demo_link

PICTURES = frame.ROOT / "docs"
PICTURED = "A map on which icons and words that belong together lie side by side."
PROMISE = "Bring pairs that belong together. Train every method. See which one is right, and why."
#: The demo that is pictured, and data sets whose recent runs are listed.
_DEMO, _RECENT = "icons", 4


def show_cards() -> None:
    """Say what this is and offer a first try, beside a picture of what comes out."""
    st.title("Learned similarity, measured honestly")
    st.html(f'<p class="sv-lead">{PROMISE}</p>')
    with st.container(key="home-stage"):
        # The style puts the picture to the left; on a phone, what to do comes first.
        choices, picture = st.columns([1, 2], gap="large")
    with choices, st.container(gap="small"):
        _show_choices()
    recent = st.container(key="home-recent")
    with picture, st.container(key="home-picture"):
        if state.is_warm():
            with recent:
                _show_recent()
            _show_picture()
        else:
            _show_still()
            _wait()


def _show_choices() -> None:
    if forms.button(
        "Upload your file",
        "home-upload",
        icon="upload_file",
        type="primary",
        width="stretch",
        help="A table of pairs as CSV, Excel, JSON or Parquet, or a zip of pictures.",
    ):
        st.switch_page("pages/data.py", query_params={"view": "other"})
    st.caption("Or try a demo")
    originals = [info for info in DEMOS.values() if info.variant_of is None]
    for info in originals:
        _show_card(info)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        forms.quiet_button(
            "Show me around",
            "home-tour",
            frame.begin_tour,
            icon="explore",
            help="A tour of the pages, in three minutes",
        )
        with st.popover("Sources", icon=":material/info:", type="tertiary"):
            for info in originals:
                st.caption(f"**{info.title}.** {info.source}. {info.licence}.")


def _show_card(info: DemoInfo) -> None:
    """What a demo is, as one button, and below it those of its variants."""
    size = f"{info.size}, about\N{NO-BREAK SPACE}{info.seconds}\N{NO-BREAK SPACE}s"
    label, how = f"{info.title}\n\n{info.why_missing() or size}", {"width": "stretch"}
    forms.button(label, f"try-{info.id}", _choose, info.id, help=info.description, **how)
    for variant in DEMOS.values():
        if variant.variant_of == info.id:
            how = {"type": "tertiary", "help": variant.description}
            forms.button(variant.title, f"try-{variant.id}", _choose, variant.id, **how)


def _show_recent() -> None:
    if not state.has_workspace():
        return
    try:
        infos, names = _recent(), state.dataset_names()
    except SimvizError:
        return
    groups: dict[str, list[RunInfo]] = {}
    for info in infos:
        groups.setdefault(info.dataset_id, []).append(info)
    if not groups:
        return
    st.markdown("#### Recent runs")
    own_first = sorted(groups.items(), key=lambda item: item[0].startswith("demo:"))
    for dataset_id, group in own_first[:_RECENT]:
        name = escape_markdown(runs.dataset_title(dataset_id, names.get(dataset_id, dataset_id)))
        titles = list(dict.fromkeys(map(runs.run_title, group)))
        known = escape_markdown(", ".join(titles[:_RECENT]))
        more = ", …" if len(titles) > _RECENT else ""
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{name}** · {known}{more} · {_ago(group[0].created)}")
            for page in ("compare", "map"):
                frame.page_link(f"pages/{page}.py", page.capitalize(), None, data=dataset_id)


def _recent() -> list[RunInfo]:
    """Runs on one's own data, and on demos that were tried here, newest first."""
    infos = state.store().runs.find(state.workspace())
    dataset_ids = {s.spec.dataset_id for s in state.jobs() if s.run_id and s.spec}
    for dataset_id in sorted(filter(state.demo_of, dataset_ids)):
        infos += state.runs(dataset_id)
    return sorted(infos, key=lambda info: -info.created)


def _ago(then: float) -> str:
    seconds = time.time() - then
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit:.0f}\N{NO-BREAK SPACE}{name} ago"
    return "just now"


# -- the picture ------------------------------------------------------------------------


def _show_picture() -> None:
    """Draw the run that was computed beforehand, else a picture of it that was drawn earlier."""
    from simviz import precompile

    run = precompile.picture()
    if run is None:
        _show_still()
        return
    from simviz.workbench.map import scene as map_scene

    where = demo_link(run) or {"demo": _DEMO}
    pairs = state.dataset(f"demo:{_DEMO}")
    map_scene.show_alone(run, pairs, where, "home-map", is_labelled=True)
    st.caption("Computed on this machine: CCA, trained on 70 % of the icons.")


def _show_still() -> None:
    picture = PICTURES / f"home-{state.theme()}.png"
    if picture.exists():
        st.image(str(picture), width="stretch", alt=PICTURED)
        st.caption(
            "CCA, trained on 70 % of the icons. Drawn earlier with simviz; shown where this "
            "machine has computed none."
        )
    if compilation.progress() is not None:
        _show_compiling()


@st.fragment(run_every=1.0)
def _show_compiling() -> None:
    if (text := compilation.progress()) is None:
        st.rerun()
    st.caption(f"{text.capitalize()}. Pages can be read meanwhile.")


@st.fragment(run_every=0.5)
def _wait() -> None:
    if state.is_warm():
        st.rerun()


def _choose(demo: str) -> None:
    st.session_state.dataset_id = f"demo:{demo}"
    query_params.replace({"demo": demo})


def show_demo(demo: str) -> None:
    """Train the demo's methods and show what they found, as it arrives."""
    from simviz.workbench import results  # what draws is not needed before there is a result

    info = DEMOS[demo]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title(info.title)
        st.button("Other demos", on_click=query_params.replace, args=({},), type="tertiary")
    st.caption(f"{info.description} {info.size}. Data: {info.source}. {info.licence}.")
    # Asked for once a session: what the visitor cancelled does not start by itself again.
    key = f"home-jobs-{demo}"
    if key not in st.session_state:
        with st.spinner("Reading the data"):
            specs = progress.demo_specs(demo)
            st.session_state[key] = [state.queue().submit(spec) for spec in specs]
    job_ids = st.session_state[key]
    statuses = progress.show_progress(job_ids, key="home")
    finished = [state.run(s.run_id) for s in statuses if s.run_id is not None]
    if not finished:
        if any(status.is_active for status in statuses):
            _show_outline(len(statuses))
        return
    dataset_id = f"demo:{demo}"
    pairs = state.dataset(dataset_id)
    direction = preferences.current_direction(dataset_id, pairs)
    named = results.show(dataset_id, pairs, finished, info.metric, direction, key="home")
    # Figures first: a drawing would take the processor from what is still trained.
    if named is not None and not any(s.is_active for s in statuses):
        results.show_map(named, pairs)


def _show_outline(n_methods: int) -> None:
    st.skeleton(height=70)
    st.skeleton(height=45 * (n_methods + 3))
    for column in st.columns(2, gap="large"):
        column.skeleton(height=300)
    st.skeleton(height=400)


@frame.page("Home")
def show_page() -> None:
    """Show Home: the demo that the link names, else the cards."""
    demo = query_params.get("demo")
    if demo in DEMOS:
        show_demo(demo)
    else:
        show_cards()
