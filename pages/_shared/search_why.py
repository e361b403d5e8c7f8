"""Why an answer scores as it does: exactly for linear methods, by hiding parts for others."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import compare_items, drawings, plain, state
from simviz.charts.highlight import AGAINST, FOR, heat_picture, highlighted
from simviz.markdown import escape_markdown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pages._shared.search_query import Query
    from pages._shared.search_view import Answered
    from simviz.attribution import Contributions
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet

_BARS = 8
_STYLE = """
<style>
.sv-why { line-height: 1.75; font-size: 1.05rem; overflow-wrap: anywhere; margin: 0;
  max-height: 16rem; overflow-y: auto; white-space: pre-line; }
.sv-why mark { color: inherit; border-radius: .15rem; padding: .08em 0; }
.sv-why img { width: 168px; height: 168px; image-rendering: auto; }
.sv-parts { border-collapse: collapse; font-size: .95rem; width: 100%; max-width: 46rem;
  font-variant-numeric: tabular-nums; }
.sv-parts td { padding: .22rem .6rem .22rem 0; vertical-align: middle; }
.sv-parts .sv-bar { width: 45%; }
.sv-parts .sv-bar div { display: flex; height: .75rem; }
.sv-parts .sv-bar i { display: block; height: 100%; border-radius: .12rem; }
.sv-parts td:last-child { text-align: right; white-space: nowrap; width: 1%; }
.sv-parts .sv-sum td { border-top: 1px solid color-mix(in srgb, currentColor 25%, transparent);
  font-weight: 650; }
.sv-parts .sv-rest { opacity: .7; }
</style>
"""


def show(answered: Answered, pairs: PairSet, query: Query, candidate: int) -> None:
    """Explain one answer of one run.

    Parameters
    ----------
    answered : Answered
        What the run says.
    pairs : PairSet
        The data set.
    query : Query
        What was asked.
    candidate : int
        The answer, by its position on the other side.
    """
    from simviz.jobs.spec import IMPORTED

    others = pairs.y if query.side == "x" else pairs.x
    answer = others.take([candidate])
    x, y = (query.item, answer) if query.side == "x" else (answer, query.item)
    names = (pairs.x_name, pairs.y_name)
    st.html(_STYLE)
    said = escape_markdown(compare_items.text(answer, 0, 60))
    st.subheader(f"Why {escape_markdown(answered.label)} answers “{said}”", anchor=False)
    if answered.run.info.method == IMPORTED:
        plain.quiet("Of another system only the scores are known, not what they are made of.")
        return
    pipeline = drawings.pipeline(answered.run.id, answered.run)
    exact = _exact(pipeline, x, y)
    if exact is not None:
        _show_exact(exact, pipeline, x, y, names, answered.label)
    else:
        _show_hidden(pipeline, x, y, names, answered.label)


def _exact(pipeline: Any, x: Items, y: Items) -> Contributions | None:
    """The score as a sum over pairs of terms, where it is one."""
    from simviz.attribution import explain
    from simviz.pipeline import PairPipeline

    if not isinstance(pipeline, PairPipeline) or "image" in (x.kind, y.kind):
        return None
    if any(side.kind == "vector" for side in (x, y)):
        return None
    try:
        return explain(pipeline, x, y, n=_BARS, by_word=True)
    except ValueError:
        return None


def _show_exact(
    found: Contributions, pipeline: Any, x: Items, y: Items, names: tuple[str, str], label: str
) -> None:
    from simviz.features.spans import character_weights

    sides = (
        (x, pipeline.x_features_, found.x_terms, found.x_totals),
        (y, pipeline.y_features_, found.y_terms, found.y_totals),
    )
    shown = []
    for item, features, terms, totals in sides:
        found_in = character_weights(features, str(item.content[0]), terms, totals)
        if found_in is None:  # terms such as the numbers of a vector, which say nothing
            _show_hidden(pipeline, x, y, names, label)
            return
        shown.append(found_in)
    _show_texts(shown, names)
    _show_bars(found)
    plain.quiet(
        f"Exact: the score of {label} is a sum over pairs of words, one of each side. The colours "
        "behind the letters add up to the same score."
    )


def _show_bars(found: Contributions) -> None:
    rest = found.remainder
    lines = [(f"{p.x_term.strip()} · {p.y_term.strip()}", p.value, "") for p in found.pairs]
    if abs(rest) > 5e-4:
        lines.append(("all other pairs", rest, "sv-rest"))
    if abs(found.offset) > 5e-4:
        lines.append(("what every item has (the means)", found.offset, "sv-rest"))
    _bars(lines, found.score)


def _show_hidden(pipeline: Any, x: Items, y: Items, names: tuple[str, str], label: str) -> None:
    """What hiding each part changes, for methods whose score is no sum."""
    from simviz.occlusion import occlude

    if getattr(pipeline, "normalization", "") in ("minmax_query", "z_query"):
        plain.quiet(
            "This blend scales each query's scores by all of its answers, so no part of one "
            "score belongs to one answer."
        )
        return
    with st.spinner("Hiding one part after another", show_time=False):
        found = [occlude(pipeline, x, y, side) for side in ("x", "y")]
    columns = st.columns(2, gap="large")
    for column, item, name, hidden in zip(columns, (x, y), names, found, strict=True):
        with column:
            plain.quiet(name)
            if item.kind == "image":
                effects = None if hidden is None else (hidden.parts, hidden.effects)
                picture = heat_picture(item.content[0], effects, state.theme())
                st.html(f'<div class="sv-why"><img src="{picture}" alt="{escape(name)}"></div>')
                continue
            text = compare_items.text(item, 0, None)
            weights = np.zeros(len(text))
            if hidden is not None:
                weights = _on_characters(len(text), hidden.parts, hidden.effects)
            st.html(
                f'<p class="sv-why" dir="auto">{highlighted(text, weights, state.theme())}</p>'
            )
    plain.quiet(
        f"Approximate: {label} gives no score to single words or places, so each part was hidden "
        "in turn; the more the score falls without it, the stronger its colour. Such effects need "
        "not add up."
    )


def _on_characters(
    n: int, parts: Sequence[tuple[int, ...]], effects: NDArray[np.float64]
) -> NDArray[np.float64]:
    weights = np.zeros(n)
    for (start, stop), effect in zip(parts, effects, strict=True):  # type: ignore[misc]
        weights[start:stop] = effect
    return weights


def _show_texts(texts: Sequence[tuple[str, NDArray[np.float64]]], names: tuple[str, str]) -> None:
    columns = st.columns(2, gap="large")
    for column, (text, weights), name in zip(columns, texts, names, strict=True):
        with column:
            plain.quiet(name)
            st.html(
                f'<p class="sv-why" dir="auto">{highlighted(text, weights, state.theme())}</p>'
            )


def _bars(lines: Sequence[tuple[str, float, str]], score: float) -> None:
    """Contributions as bars to both sides of a common zero, with their sum."""
    values = [value for _, value, _ in lines]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    width = (high - low) or 1.0
    rows = []
    for words, value, kind in lines:
        start = 100 * (min(0.0, value) - low) / width
        size = 100 * abs(value) / width
        colour = FOR if value >= 0 else AGAINST
        rows.append(
            f'<tr class="{kind}"><td dir="auto">{escape(words)}</td><td class="sv-bar"><div>'
            f'<i style="margin-left:{start:.1f}%;width:{size:.1f}%;background:{colour}"></i></div>'
            f"</td><td>{_number(value)}</td></tr>"
        )
    rows.append(f'<tr class="sv-sum"><td>score</td><td></td><td>{_number(score)}</td></tr>')
    st.html(f'<table class="sv-parts"><tbody>{"".join(rows)}</tbody></table>')


def _number(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
