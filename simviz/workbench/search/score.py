"""Score pairs: a threshold by its false-alarm rate, two texts by hand, a file of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from simviz.data.cells import counted, cut
from simviz.data.pairs import PairSet
from simviz.data.roles import named_roles
from simviz.data.splitting import groups
from simviz.data.tables import Table
from simviz.evaluation import Estimate, OperatingPoint, choose_threshold, operating_point
from simviz.evaluation.tables import csv_text
from simviz.markdown import escape_markdown
from simviz.store import Run, RunInfo
from simviz.workbench.search.normalise import ask_for_file, choose_run, read_file
from simviz.workbench.shell import display, drawings, forms, query_params, sharing, state

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Pairs scored between two looks at whether the visitor has gone on.
_AT_ONCE = 20_000
#: Pairs listed around the threshold, and characters of a text there.
_LISTED, _SHOWN = 40, 160
LONGEST = 5_000  # characters of a text, or of a query
ABOVE = "above the threshold"
# In the session: the rate, the prevalence, the file that was read, and its scores.
_RATE, _PREVALENCE, _TABLE, _SCORES = "score-rate", "score-prevalence", "score-table", "score-of"


def show(pairs: PairSet, infos: Sequence[RunInfo]) -> None:
    """Draw the mode, given data and runs, the best by validation first."""
    own = [info for info in infos if not info.is_imported]
    if not own:
        display.quiet(
            "These runs are imported scores without a model. Train a method to score pairs."
        )
        return
    with st.container(horizontal=not state.is_narrow(), vertical_alignment="bottom"):
        run = choose_run(own)
        rate, prevalence = _choose_rate()
    point = None
    with display.problems(ValueError):
        point = _point(run, pairs, rate, prevalence)
    if point is not None:
        _show_point(point, rate)
    limit = float("nan") if point is None else point.threshold
    _score_by_hand(run, pairs, limit)
    _score_file(run, pairs, limit)
    sharing.show_button("search", [run])


def _choose_rate() -> tuple[float, float | None]:
    """Choose a false-alarm rate and, where it differs from the data's, a prevalence."""
    st.session_state.setdefault(_RATE, 1.0)
    with suppress(ValueError):
        rate = float(query_params.new_params().pop("rate", ""))
        st.session_state[_RATE] = min(50.0, max(0.01, rate))
    width: Any = "stretch" if state.is_narrow() else 210
    rate = st.number_input(
        "False alarms, %",
        0.01,
        50.0,
        step=0.5,
        format="%.4g",
        key=_RATE,
        width=width,
        persist_state="session",
        help="Share of the pairs that do not belong together and still score above the threshold, "
        "which is the lowest that keeps to this share on the validation part.",
    )
    prevalence = st.number_input(
        "Prevalence, %",
        0.001,
        99.9,
        value=None,
        format="%.4g",
        key=_PREVALENCE,
        placeholder="as in validation",
        width=width,
        persist_state="session",
        help="Share of your pairs that belong together. Precision depends on it.",
    )
    query_params.put(rate=f"{rate:g}")
    return rate / 100, None if prevalence is None else prevalence / 100


@state.cached(64, "Choosing a threshold")
def _point(
    run: Run, pairs: PairSet, rate: float, prevalence: float | None
) -> OperatingPoint | None:
    """Return the threshold of a run and what to expect of it; None without validation pairs."""
    arrays = run.arrays()
    x, y = (arrays.get(f"{side}_validation", np.empty(0, dtype=np.intp)) for side in "xy")
    if not len(x) or not len(y):
        return None
    part, pipeline = pairs.take(x, y), drawings.pipeline(run)
    sides = part.x, part.y, part.relevance
    threshold = choose_threshold(pipeline, *sides, false_alarm_rate=rate)
    how = run.spec["split"]
    together = groups(part, how["group_key"] or "group")[0] if how["by"] == "group" else None
    return operating_point(
        pipeline, *sides, threshold=threshold, prevalence=prevalence, groups=together
    )


def _show_point(point: OperatingPoint, rate: float) -> None:
    entries = [(display.number(point.threshold), "threshold")]
    for name in ("recall", "precision", "false_alarm_rate"):
        share: Estimate = getattr(point, name)
        text = "false alarms" if name == "false_alarm_rate" else name
        if np.isfinite(share.value):
            interval = f"{in_percent(share.low)} to {in_percent(share.high)}"
            entries.append((f"{in_percent(share.value)} %", f"{text} ({interval})"))
    display.figures(entries)
    if not point.false_alarm_rate.value and not point.recall.value:
        display.quiet(
            f"No pair reaches it: more than {in_percent(rate)} % of the pairs that do not belong "
            "together share the highest score."
        )
    n_pairs = point.n_positive + point.n_negative
    display.quiet(
        f"Estimated on {n_pairs:,} pairs of the validation part, with 95 % intervals; precision "
        f"for data of which {in_percent(point.prevalence)} % of the pairs belong together."
    )


def in_percent(share: float) -> str:
    """Write a share as a percentage with two or three digits."""
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.2g}"


@display.problems(ValueError)
def _score_by_hand(run: Run, pairs: PairSet, limit: float) -> None:
    keys = {side: f"score-{side}-{pairs.digest[:12]}" for side in "xy"}
    if keys["x"] not in st.session_state:
        known = pairs.relevance.positives.tocoo()
        inside = np.isin(known.row, run.arrays().get("x_validation", ()))
        for side, items, rows in (("x", pairs.x, known.row), ("y", pairs.y, known.col)):
            text = str(items.content[rows[inside.argmax()]]) if len(rows) else ""
            st.session_state[keys[side]] = text[:LONGEST]
    kept: dict[str, Any] = {"max_chars": LONGEST, "persist_state": "session"}
    with st.container(horizontal=not state.is_narrow(), vertical_alignment="bottom"):
        sides = zip(keys.values(), pairs.headings, strict=True)
        texts = [st.text_input(escape_markdown(name), key=key, **kept) for key, name in sides]
    x, y = (" ".join(text.split()) for text in texts)
    if not x or not y:
        return
    score = float(drawings.pipeline(run).score_pairs([x], [y])[0])
    message = "" if np.isnan(limit) else f", {ABOVE if score >= limit else 'below the threshold'}"
    display.sentence(f"Score {display.number(score)}{message}.")


@display.problems(ValueError)
def _score_file(run: Run, pairs: PairSet, limit: float) -> None:
    """Score a file of pairs, show those around the threshold, and offer all."""
    file = ask_for_file("A file of pairs to score", "score-file", _TABLE)
    if file is None:
        st.session_state.pop(_SCORES, None)
        return
    table = read_file(file, _TABLE)
    columns = _choose_columns(table, pairs, file.file_id)
    if columns is None:
        return
    scores = _scores(run, table, file.file_id, *columns)
    _show_scores(table, columns, scores, limit)
    make, name = partial(scored_csv, table, scores, limit), file.name.split(".")[0][:60]
    forms.download("Download the scores", make, f"{name}-scores.csv", key="score-download")


def _choose_columns(table: Table, pairs: PairSet, file_id: str) -> tuple[str, str] | None:
    """Choose the column of each side: that of its name, else as Data would read the file."""
    names = [name for name in table.frame if name not in table.vectors]
    if len(names) < 2:
        display.problem(f"{table.name} has one column of text; pairs are two.")
        return None
    by_name = {name.casefold(): name for name in names}
    titles = zip("xy", map(str.casefold, pairs.headings), strict=True)
    roles = named_roles(table, {side: by_name[t] for side, t in titles if t in by_name})
    guesses: list[str] = []
    for name, other in ((roles.x, roles.y), (roles.y, roles.x)):
        # A column of vectors is no text: the first one stands for it that the other side leaves.
        free = (n for n in names if n != other and n not in guesses)
        guesses.append(name if name in names else next(free))
    with st.container(horizontal=not state.is_narrow()):
        labels = [f"Column of {escape_markdown(title)}" for title in pairs.headings]
        key = "score-column-{}-" + file_id
        x, y = (
            st.selectbox(label, names, names.index(guess), key=key.format(side))
            for side, label, guess in zip("xy", labels, guesses, strict=True)
        )
    return x, y


def _scores(run: Run, table: Table, file_id: str, x: str, y: str) -> NDArray[np.float64]:
    """Score the rows of a table; NaN where a text is missing."""
    key, held = (run.id, file_id, x, y), st.session_state.get(_SCORES)
    if held is not None and held[0] == key:
        return held[1]
    pipeline = drawings.pipeline(run)
    left, right = (np.asarray(table[c], dtype=object) for c in (x, y))
    scores = np.full(len(table), np.nan)
    rows = np.flatnonzero((left != "") & (right != ""))
    bar = st.progress(0.0, text="Scoring")
    for start in range(0, len(rows), _AT_ONCE):
        at = rows[start : start + _AT_ONCE]
        scores[at] = pipeline.score_pairs(left[at], right[at])
        bar.progress((start + len(at)) / len(rows), text="Scoring")
    bar.empty()
    st.session_state[_SCORES] = (key, scores)
    return scores


def _show_scores(
    table: Table, columns: tuple[str, str], scores: NDArray[np.float64], limit: float
) -> None:
    """Say how many pass, and list those around the threshold."""
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(-scores[known], kind="stable")]
    n_above = int((scores[known] >= limit).sum())
    text = f"{counted(len(known), 'pair')} scored"
    text += "." if np.isnan(limit) else f", {n_above:,} {ABOVE}."
    n_missing = len(scores) - len(known)
    if n_missing:
        text += f" {counted(n_missing, 'row')} without both texts."
    display.sentence(text)
    first = max(0, min(n_above - _LISTED // 2, len(order) - _LISTED))
    listed = order[first : first + _LISTED]
    texts = [[cut(table[name][row], _SHOWN) for name in columns] for row in listed]
    figures = [[display.number(score), "✓" * bool(score >= limit)] for score in scores[listed]]
    rows = (text + figure for text, figure in zip(texts, figures, strict=True))
    display.table([*columns, "score", "above"], rows)
    if len(listed) < len(order):
        what = "with the highest scores" if np.isnan(limit) else "around the threshold"
        display.quiet(f"Shown: the {len(listed)} pairs {what}.")


def scored_csv(table: Table, scores: NDArray[np.float64], limit: float) -> str:
    """Write a table with its scores, and which are above the threshold, safe in a spreadsheet."""
    new = []
    for name in ("score", ABOVE):
        while name in table.frame:
            name += " (simviz)"
        new.append(name)
    passing = np.where(np.isnan(scores + limit), "", np.where(scores >= limit, "yes", "no"))
    numbers = ["" if np.isnan(s) else float(f"{s:.6g}") for s in scores]
    rows = table.frame.itertuples(index=False, name=None)
    lines = ([*row, n, p] for row, n, p in zip(rows, numbers, passing, strict=True))
    return csv_text([[*table.frame, *new], *lines])
