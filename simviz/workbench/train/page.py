"""Choosing methods for a data set and training them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from html import escape
from pathlib import Path

import streamlit as st

from simviz.charts.style import get_theme
from simviz.data.cells import counted
from simviz.data.pairs import PairSet
from simviz.exceptions import SimvizError
from simviz.features import why_impossible
from simviz.features.pretrained import DEFAULT_MODEL, why_unavailable
from simviz.jobs import SplitSpec
from simviz.methods import all_methods
from simviz.pipeline import Features
from simviz.store.directory import LOCAL_WORKSPACE
from simviz.workbench.data import split
from simviz.workbench.shell import (
    display,
    forms,
    frame,
    preferences,
    progress,
    query_params,
    state,
)
from simviz.workbench.shell.code import show_train
from simviz.workbench.shell.empty import show_no_data
from simviz.workbench.shell.runs import dataset_title
from simviz.workbench.train import jobs, method_lines, runs as train_runs
from simviz.workbench.train.method_lines import MethodChoice, Setting, Task, memory

TITLE = "Train"
#: What texts become, as the page asks for it, and what pictures and texts do.
FEATURES = {"usual": "Words and characters", "pretrained": "Pretrained sentence vectors"}
OF_PICTURES = {"usual": "Edges, light and colour", "pretrained": "Pretrained vectors"}
_STYLE = Path(__file__).with_name("style.css")
#: Methods up to which the bar names each.
_NAMED = 6


@frame.page("Train")
def show_page() -> None:
    """Show the Train page: the methods, the jobs, and the runs that came of them."""
    dataset_id = state.current_dataset_id()
    if query_params.get("share"):
        _show_no_data(
            "Nothing can be trained in a published view. Use data of your own, or a demo."
        )
    elif dataset_id is None:
        _show_no_data("Training needs data: upload your own pairs, or start with a demo.")
    else:
        try:
            pairs = state.dataset(dataset_id)
        except SimvizError as error:
            _show_no_data("", error)
        else:
            _show_head(dataset_id, pairs)
            _show_choice(dataset_id, pairs)
            jobs.show_jobs(dataset_id)
            jobs.show_searches(dataset_id)
            train_runs.show_runs(dataset_id, pairs)


def _show_no_data(text: str, problem: object = None) -> None:
    show_no_data("train", TITLE, text, problem, icon="play_arrow")


def _show_head(dataset_id: str, pairs: PairSet) -> None:
    look = get_theme(state.theme())
    st.html(_STYLE)
    st.html(
        f"<style>:root {{ --sv-accent: {look.accent}; }} "
        f".st-key-train-bar {{ background: {look.paper}; }}</style>"
    )
    display.style()
    st.title(TITLE)
    n = pairs.relevance.positives.nnz
    title = dataset_title(dataset_id, pairs.name)
    st.html(
        f'<p class="sv-lead">{escape(title)}: {len(pairs.x):,} {escape(pairs.nouns[0])}, '
        f"{len(pairs.y):,} {escape(pairs.nouns[1])}, {n:,} matching pairs.</p>"
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        how = preferences.current_split(dataset_id)
        text = _split_text(how, pairs)
        st.html(f'<p class="sv-quiet">{escape(text)}</p>', width="content")
        label, icon = "Change the split", ":material/call_split:"
        frame.page_link("pages/data.py", label, icon, data=dataset_id)
    if problem := split.parts_of(pairs, how).problem:
        display.problem(f"Nothing can be trained on this split. {problem}")


def _split_text(split: SplitSpec, pairs: PairSet) -> str:
    train, validation, test = (f"{100 * part:.0f} %" for part in split.fractions)
    apart = {
        "pair": "no item of a test pair occurs in training",
        "x": f"the test asks for new {pairs.nouns[0]}",
        "y": f"the test asks for new {pairs.nouns[1]}",
        "group": f"groups by {split.group_key} stay whole",
        "time": f"the test asks for the latest by {split.group_key}",
    }
    if split.by == "column":
        return f"Split as the column “{split.group_key}” says."
    return (
        f"Split: {train} training, {validation} validation, {test} test; {apart[split.by]}; "
        f"seed {split.seed}."
    )


@st.fragment
def _show_choice(dataset_id: str, pairs: PairSet) -> None:
    features = _choose_features(dataset_id, pairs)
    methods = all_methods()
    parts = split.parts_of(pairs, preferences.current_split(dataset_id))
    n_rejected = parts.rows[0][-1] if parts.rows else None
    why_not = method_lines.why_not
    reasons = {name: why_not(cls, pairs, features, n_rejected) for name, cls in methods.items()}
    fits = [method for method, reason in reasons.items() if reason is None]
    setting = Setting(dataset_id, pairs, features)
    kind = {"one_vocabulary": setting.one_vocabulary, "on_vectors": setting.on_vectors}
    first = [m for m in setting.start if m in fits and not setting.on_vectors]
    first = first or list(method_lines.first_choice(fits, **kind))
    # Above the methods, though what it says is known only when they are drawn.
    at_once = st.container()
    choices = method_lines.show_lines(first, setting, ticked=True)
    others = [method for method in fits if method not in first]
    if others:
        keys = [method_lines.tick_key(dataset_id, method) for method in others]
        ticked = sum(bool(st.session_state.get(key)) for key in keys)
        label = f"{len(others)} more fit these data" if first else "These fit these data"
        with st.expander(
            label + (f", {ticked} ticked" if ticked else ""),
            key=f"train-{dataset_id}-more",
            icon=":material/widgets:",
            expanded=not first,
        ):
            choices += method_lines.show_families(others, setting)
    with at_once:
        _show_all_or_first(dataset_id, first, choices)
    if unfit := [(method, reason) for method, reason in reasons.items() if reason is not None]:
        names = counted(len(unfit), "method")
        with st.expander(f"{names} cannot be trained on these data here, and why", type="compact"):
            for method, reason in unfit:
                title, key = methods[method].tags.title, f"train-unfit-{method}"
                st.checkbox(title, key=key, disabled=True, width="stretch")
                st.caption(reason)
    _show_start(choices, setting)


def _show_all_or_first(
    dataset_id: str, first: Sequence[str], choices: Sequence[MethodChoice]
) -> None:
    """Tick everything that fits, with what that costs, or only a first try."""
    able = [c for c in choices if c.once.expected.reason_to_refuse is None]
    new = [c.once for c in able if not c.once.mark]
    if len(able) < 2:
        return
    seconds, needed = method_lines.total(new) if new else (0.0, 0.0)
    cost = f": {progress.duration(seconds)}, up to {memory(needed)}" if new else ""
    keys = {c.method: method_lines.tick_key(dataset_id, c.method) for c in choices}
    all_of_them = {c.method for c in able}
    ticked = {c.method for c in choices if c.ticked}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("##### Recommended", width="content")
        forms.quiet_button(
            f"Select all {len(able)}{cost}",
            "train-all",
            _tick,
            keys,
            all_of_them,
            icon="select_all",
            disabled=ticked == all_of_them,
        )
        if ticked != set(first):
            label, icon, key = "Select recommended", "filter_list", "train-first"
            forms.quiet_button(label, key, _tick, keys, set(first), icon=icon)
        by_dimensions = all_of_them.intersection(method_lines.BY_DIMENSIONS)
        if len(by_dimensions) > 1 and ticked != by_dimensions:
            label = f"Select {len(by_dimensions)} for curves by dimension"
            icon, key = "show_chart", "train-by-dimensions"
            forms.quiet_button(label, key, _tick, keys, by_dimensions, "dimensions", icon=icon)


def _tick(keys: Mapping[str, str], ticked: Set[str], curve: str | None = None) -> None:
    for method, key in keys.items():
        st.session_state[key] = method in ticked
    if curve:
        st.session_state["compare-curve"] = curve


def _choose_features(dataset_id: str, pairs: PairSet) -> Features:
    """Choose what texts and pictures become; asked only where an encoder can be had."""
    kinds = (pairs.x.kind, pairs.y.kind)
    pictures, is_owner = "image" in kinds, state.workspace() == LOCAL_WORKSPACE
    # Only who sits at the computer may name a folder of an encoder. None of pictures comes along;
    # of texts a static one is read where that which does cannot be.
    comes_along = not why_impossible("text", "pretrained")
    able = is_owner and comes_along if pictures else "text" in kinds and (is_owner or comes_along)
    if not able:
        return "usual"
    titles = OF_PICTURES if pictures else FEATURES
    features: Features = forms.segments(
        "Input of the methods",
        titles,
        f"train-{dataset_id}-features",
        help="Edges, light and colour of pictures, or the vectors that a pretrained encoder gives "
        "to pictures and texts. On vectors, every method learns an adapter from your pairs."
        if pictures
        else "Words and parts of words, or the vectors of a sentence encoder trained on a "
        "billion English pairs. On vectors, every method learns an adapter from your pairs.",
    )
    if features == "pretrained" and is_owner:
        default = "usual" if pictures or not comes_along else "pretrained"
        return _choose_encoder(dataset_id, default, pictures=pictures)
    return features


def _choose_encoder(dataset_id: str, default: Features, *, pictures: bool) -> Features:
    """Choose a folder that holds an encoder; the usual features until there is one."""
    text = st.text_input(
        "Folder of the encoder",
        key=f"train-{dataset_id}-encoder",
        placeholder="such as ~/models/clip" if pictures else "such as ~/models/multilingual",
        persist_state="session",
        help="A sentence-transformers model that reads pictures, on this computer, such as "
        "`SentenceTransformer('clip-ViT-B-32').save('clip')` writes. Nothing is downloaded."
        if pictures
        else "A sentence-transformers model on this computer, or a static one (model2vec), which "
        "needs no PyTorch. Nothing is downloaded.",
    ).strip()
    read = "methods read " + ("edges, light and colour" if pictures else "words and characters")
    if default == "pretrained":
        read = f"{DEFAULT_MODEL} reads the texts"
    until = f"Until a folder of a model is named, {read}."
    if not text:
        display.quiet(until)
        return default
    problem = f"{text} holds no model: no modules.json and no config.json is there."
    try:
        folder = Path(text).expanduser().resolve()
        if any((folder / name).is_file() for name in ("modules.json", "config.json")):
            problem = why_unavailable(str(folder)) or ""
            if not problem:
                return f"pretrained:{folder}"
    except (OSError, RuntimeError, ValueError):
        pass  # no folder has such a name
    display.problem(f"{problem} {until}")
    return default


def _show_start(choices: Iterable[MethodChoice], setting: Setting) -> None:
    ticked = [choice for choice in choices if choice.ticked]
    tasks = [task for choice in ticked for task in choice.tasks]
    new = [task for task in tasks if task.is_new]
    beside: list[Task] = []
    if new and setting.on_vectors and all(choice.method != "cosine" for choice in ticked):
        # What adapters have to be ahead of; it takes no time to speak of.
        base = setting.task(setting.spec("cosine", {}))
        beside += [base] * base.is_new
    with st.container(key="train-bar", horizontal=True, vertical_alignment="center"):
        what = "method" if len(tasks) <= len(ticked) else "run"
        trained = [task.spec.digest for task in tasks if task.mark == "trained"]
        pressed = new and forms.button(
            f"Train {counted(len(new), what)}",
            "train-start",
            icon="model_training",
            type="primary",
            disabled=setting.problem != "",
            help=setting.problem or None,
        )
        # Nothing is left to train: what comes next takes the button's place.
        if not new and trained:
            where = {"data": setting.dataset_id, "runs": ",".join(trained)}
            label = "See the run" if len(trained) == 1 else f"Compare {len(trained)} runs"
            if forms.button(label, "train-next", icon="leaderboard", type="primary"):
                st.switch_page("pages/compare.py", query_params=where)
        texts = []
        if new:
            seconds, needed = method_lines.total(new)
            texts.append(f"{progress.duration(seconds)} in all, up to {memory(needed)} of memory.")
        if beside:
            texts.append("The cosine of the vectors is measured beside them.")
        for mark in dict.fromkeys(task.mark for task in tasks if task.mark):
            titles = [c.title for c in ticked if any(t.mark == mark for t in c.tasks)]
            names = " and ".join(", ".join(titles).rsplit(", ", 1))
            if len(titles) > _NAMED:
                names = f"{len(titles)} methods"
            texts.append(f"{'Already' if mark == 'trained' else 'Now'} {mark}: {names}.")
        if not ticked:
            texts.append("Tick a method to train it.")
        elif not tasks:
            texts.append("Find the best values first, with the method above.")
        text = " ".join(texts)
        display.quiet(text[:1].upper() + text[1:])
        show_train([(c.title, task.spec) for c in ticked for task in c.tasks], setting.pairs)
    if pressed:
        jobs.submit(task.spec for task in [*new, *beside])
