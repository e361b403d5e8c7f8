"""Links: which run a link means, and the link that means a run.

A link to a run of a demo says how it is trained (``?demo=icons&method=cca&k=50``) and so works on
a server that has never seen it: the job is asked for, and the same request gives the same run. Own
runs are named by their id, which only their owner can open; a share opens them for others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode, urlsplit

import streamlit as st

from simviz.data.cells import counted
from simviz.exceptions import SimvizError, StoreError
from simviz.markdown import escape_markdown
from simviz.workbench.shell import drawings, preferences, progress, query_params, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs import JobSpec
    from simviz.params import ParamSpec
    from simviz.store.run import Run
    from simviz.store.store import Share

SHORT = {"k": "n_components"}  # parameters with a short name in links
_ITEM = re.compile(r"([xy])(\d{1,9})")


def demo_link(run: Run) -> dict[str, str] | None:
    """Parameters of the link that trains a demo's run anew, or None where there is none."""
    # Own runs have none, and neither have blends: they are of two runs that no link can mean.
    # Nor have runs on augmented pairs, whose lists are too long for a link.
    # And a link can mean no split but the demo's own.
    from simviz.jobs import JobSpec

    spec, demo = run.spec, state.demo_of(run.spec["dataset_id"])
    if demo is None or run.info.is_derived or spec.get("augment"):
        return None
    if spec.get("features", "usual") != "usual":  # chosen terms, or an encoder's vectors
        return None
    if JobSpec.from_json(spec).split != preferences.demo_split(demo):
        return None
    long = {name: short for short, name in SHORT.items()}
    params = {long.get(name, name): _text(value) for name, value in spec["params"].items()}
    return {"demo": spec["dataset_id"].removeprefix("demo:"), "method": run.info.method, **params}


def requested_spec() -> JobSpec | None:
    """The request that a demo link describes, or None where it describes none."""
    # Only parameters that the method declares, with values it allows, are taken.
    from simviz.datasets import DEMOS
    from simviz.methods import all_methods

    demo, method = query_params.get("demo"), query_params.get("method")
    if demo not in DEMOS or method not in all_methods():
        return None
    params = _params(all_methods()[method], query_params.current())
    return progress.demo_spec(demo, method, params)


def requested_run(dataset_id: str) -> Run | None:
    """The run that the link asks for, if it is there and may be seen."""
    # A demo link whose run is not there yet starts its job; show `requested_jobs` meanwhile.
    try:
        spec = requested_spec()
        if spec is not None:
            if state.store().runs.has(spec.digest):
                return state.run(spec.digest)
            started = st.session_state.setdefault("link-jobs", {})
            if spec.digest not in started:
                started[spec.digest] = [state.queue().submit(spec)]
            return None
        run_id = query_params.get("run")
        run = state.run(run_id) if run_id else None
    except SimvizError:
        return None
    return run if run is not None and run.info.dataset_id == dataset_id else None


def requested_jobs() -> list[str]:
    """Jobs that were started because a link asked for their run."""
    spec = requested_spec()
    started: dict[str, list[str]] = st.session_state.get("link-jobs", {})
    return [] if spec is None else started.get(spec.digest, [])


def linked_item(text: str, pairs: PairSet) -> tuple[Literal["x", "y"], int] | None:
    """Return the side and the row that a short id such as "x7" means; None if there is none."""
    match = _ITEM.fullmatch(text)
    if not match:
        return None
    side: Literal["x", "y"] = "x" if match[1] == "x" else "y"
    row = int(match[2])
    return (side, row) if row < len(pairs.x if side == "x" else pairs.y) else None


def _params(method: type, given: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of a method out of a link; what does not fit is left out."""
    from simviz.params import param_specs, validate_params

    values: dict[str, Any] = {}
    for spec in param_specs(method):
        short = next((s for s, name in SHORT.items() if name == spec.name), spec.name)
        if short in given:
            value = _value(spec, given[short])
            if value is not None:
                values[spec.name] = value
    try:
        validate_params(method(**values))
    except ValueError:
        return {}
    return values


def _value(spec: ParamSpec, text: str) -> Any:
    """A parameter's value out of its text, or None if it is not one."""
    if text in spec.choices:
        return text
    if text in ("true", "false"):
        return text == "true" if spec.kind == "bool" else None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_PAGES = ("data", "train", "compare", "map", "search", "methods", "papers")
#: How long a published view may be seen, in days; None: until it is withdrawn.
_DAYS = {"in a week": 7, "in a month": 30, "in a year": 365, "never": None}

#: Where what is shared works, and for how long.
_KINDS = (
    "A link to a demo works on every simviz server, a published view on this one until it "
    "expires or is withdrawn, {} in every browser for good."
)


@st.fragment
def show_button(kind: str, runs: Sequence[Run]) -> None:
    """Offer a link to this screen, as it is when the offer is opened."""
    if not runs or state.share() is not None or st.context.is_embedded:
        return
    runs = [state.run(run.id) for run in runs]  # as they are kept, whatever marks they follow
    box = st.popover("Share", icon=":material/share:", key=f"{kind}-share", on_change="rerun")
    if not box.open:
        return
    view = query_params.view_params()
    with box:
        st.caption(_KINDS.format("*Report as one page*" if kind == "compare" else "a file"))
        # No link trains a blend or another system: they are of this server.
        repeatable = not any(run.info.is_derived or run.info.is_imported for run in runs)
        demo = demo_link(runs[0]) if repeatable else None
        if kind == "compare" and runs[0].info.is_demo and repeatable:
            st.markdown(
                "Opens this comparison. On another server it first offers to train the demo's "
                "methods; runs with other settings are on this one only."
            )
            _show_link(url(kind, {"data": runs[0].info.dataset_id} | view))
        elif demo is not None:
            st.markdown("Trains the same run wherever it is opened.")
            _show_link(url(kind, demo | view))
        else:
            _publish(kind, runs)
        if kind != "compare":
            _show_file(kind, runs[0])
        _show_published()


def url(page: str, params: Mapping[str, str]) -> str:
    """Address of a page on this server, with parameters, as others reach it."""
    return f"{_base()}/{page}?{urlencode({n: v for n, v in params.items() if v})}"


def _base() -> str:
    """The address that the operator gave, else the one that this browser uses."""
    base_url = state.deployment().base_url
    if base_url:
        return base_url
    here = urlsplit(st.context.url or "")
    folder, _, last = here.path.rpartition("/")
    root = folder if last in _PAGES else here.path
    return f"{here.scheme}://{here.netloc}{root.rstrip('/')}" if here.netloc else ""


def _show_link(link: str) -> None:
    """A link to copy, its embedded form, and what keeps it from reaching a colleague."""
    st.code(link, language=None, wrap_lines=True)
    if state.is_this_computer(urlsplit(link).netloc, None):
        st.caption(
            "Opens on this computer only. For others, set `SIMVIZ_BASE_URL` to this server's "
            "address, or send a file."
        )
        return
    with st.expander("Embed"):
        framed = escape(f"{link}&embed=true", quote=True)
        st.code(
            f'<iframe src="{framed}" width="100%" height="720" style="border:0"></iframe>',
            language="html",
            wrap_lines=True,
        )


def _show_file(kind: str, run: Run) -> None:
    """Offer the model with its map as one file."""
    from simviz.exports import why_not
    from simviz.exports.html import page_contents

    pairs = state.dataset(run.info.dataset_id)
    try:
        reason = why_not(drawings.pipeline(run), "page")
    except SimvizError as error:
        reason = str(error)
    st.download_button(
        "As a file",
        partial(_page, run, pairs),
        f"{run.info.method}.html",
        "text/html",
        key=f"{kind}-file",
        on_click="ignore",
        disabled=bool(reason),
        icon=":material/draft:",
    )
    text = f"Answers, says why and draws the map by itself. {page_contents(pairs)}"
    st.caption(escape_markdown(reason or text))


def _page(run: Run, pairs: PairSet) -> bytes:
    """A model as a page, with the best drawing that is kept, or the one that is made first."""
    from simviz.charts.drawing import Drawing
    from simviz.exports import model_page
    from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now, map_name
    from simviz.projection.pipeline_map import Placed, nearest_of_all
    from simviz.store import load_map

    if (name := drawings.best_stored(run)) is None:
        draw_now(run, pairs, name := QUICK_LAYOUT)
    pipeline, placed = run.pipeline(), Placed(*load_map(run, map_name(name)))
    nearest = nearest_of_all(pipeline, pairs, placed)
    drawing = Drawing(placed.drawing, pairs.take(placed.x_rows, placed.y_rows), nearest)
    return model_page(pipeline, pairs, drawing=drawing).encode()


def _publish(kind: str, runs: Sequence[Run]) -> None:
    st.markdown(
        "Publishes a read-only view of these runs, their models and their data for anyone with "
        "its link, on this server and until it expires."
    )
    st.selectbox("Expires", list(_DAYS), index=1, key=f"{kind}-share-days")
    if state.deployment().public:
        st.caption(f"{state.retention_notice()} Its links stop working with it.")
    # By a callback: a page that is drawn anew on the way would publish once more.
    st.button(
        "Publish this view",
        key=f"{kind}-publish",
        type="primary",
        on_click=_put_share,
        args=(kind, runs),
    )
    if problem := st.session_state.pop(f"{kind}-publish-problem", ""):
        st.text(problem)
    token = st.session_state.get(f"{kind}-published")
    if token:
        _show_link(url(kind, {"share": token}))


def _put_share(kind: str, runs: Sequence[Run]) -> None:
    try:
        st.session_state[f"{kind}-published"] = state.store().shares.publish(
            state.workspace(),
            kind,
            run_ids=[run.id for run in runs],
            dataset_ids=[runs[0].info.dataset_id],
            view=query_params.view_params(),
            days=_DAYS[st.session_state[f"{kind}-share-days"]],
        )
    except StoreError as error:
        st.session_state[f"{kind}-publish-problem"] = str(error)


def _show_published() -> None:
    published = state.store().shares.find(state.workspace())
    if not published:
        return
    st.caption(f"Published: {len(published)}")
    for share in published:
        runs = counted(len(share.run_ids), "run")
        left, right = st.columns([3, 2], vertical_alignment="center")
        left.page_link(
            f"pages/{share.kind}.py",
            label=f"{share.kind.capitalize()}, {runs}{_until(share)}",
            query_params={"share": share.token} | query_params.nonce(),
        )
        right.button(
            "Withdraw",
            key=f"withdraw-{share.token}",
            on_click=_withdraw,
            args=(share.token,),
            type="tertiary",
        )


def _until(share: Share) -> str:
    if share.expires is None:
        return ""
    days = (share.expires - time.time()) / 86_400
    return f", {days:.0f} days left" if days >= 2 else f", {max(1, 24 * days):.0f} h left"


def _withdraw(token: str) -> None:
    try:
        state.store().shares.withdraw(token, state.workspace())
    except StoreError as error:
        st.toast(escape_markdown(str(error)))
        return
    for kind in _PAGES:
        if st.session_state.get(f"{kind}-published") == token:
            del st.session_state[f"{kind}-published"]
