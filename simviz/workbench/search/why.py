"""Why one item answers another: the words of both sides, with bars that sum to the score."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from simviz.charts.pictures import AGAINST, FOR, heat_picture, highlighted
from simviz.data import Items, PairSet
from simviz.explain.terms import Contributions, explain, occlude
from simviz.features.spans import character_weights
from simviz.pipeline import PairPipeline, Pipeline
from simviz.store import Run
from simviz.workbench.shell import display, drawings, state

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STYLE = Path(__file__).with_name("why.css")
#: Pairs of terms that are drawn as bars.
_BARS = 8


def show(run: Run, label: str, pairs: PairSet, side: str, item: Items, candidate: int) -> None:
    """Explain one answer of a run to an item of a side, or to words that are asked there."""
    st.html(_STYLE)
    if run.info.is_imported:
        display.quiet("The scores of another system were imported: they cannot be explained.")
        return
    answer = (pairs.y if side == "x" else pairs.x).take([candidate])
    x, y = (item, answer) if side == "x" else (answer, item)
    pipeline, names = drawings.pipeline(run), pairs.headings
    if (exact := _exact_parts(pipeline, x, y)) is not None:
        _show_exact(exact, names, label)
    else:
        _show_hidden(pipeline, x, y, names, label)


def _exact_parts(pipeline: Pipeline, x: Items, y: Items) -> tuple[Contributions, list[str]] | None:
    """Return the score as a sum over pairs of terms, with both texts; None where it is none."""
    if not isinstance(pipeline, PairPipeline) or {x.kind, y.kind} & {"image", "vector"}:
        return None
    try:
        parts = explain(pipeline, x, y, n=_BARS, by_word=True)
    except ValueError:
        return None
    texts = []
    for content, features, terms, totals in (
        (pipeline.x_content(x), pipeline.x_features_, parts.x_terms, parts.x_totals),
        (y.content, pipeline.y_features_, parts.y_terms, parts.y_totals),
    ):
        weighted = character_weights(features, str(content[0]), terms, totals)
        if weighted is None:  # terms that are no text
            return None
        texts.append(_text_html(*weighted))
    return parts, texts


def _show_exact(
    exact: tuple[Contributions, list[str]], names: tuple[str, str], label: str
) -> None:
    parts, texts = exact
    _show_sides(texts, names)
    bars = [(f"{p.x_term.strip()} · {p.y_term.strip()}", p.value, "") for p in parts.pairs]
    for text, value in (
        ("all other pairs", parts.remainder),
        ("the same for all items (means)", parts.offset),
    ):
        if abs(value) > 5e-4:
            bars.append((text, value, "sv-rest"))
    _show_bars(bars, parts.score)
    display.quiet(
        f"Exact: the score of {label} is the sum of these values, each for a word of the one side "
        "and a word of the other."
    )


def _show_hidden(
    pipeline: Pipeline, x: Items, y: Items, names: tuple[str, str], label: str
) -> None:
    """Show what hiding each part changes, for methods whose score is no sum."""
    with st.spinner("Hiding one part after another", show_time=False):
        results = [occlude(pipeline, x, y, side) for side in ("x", "y")]
    blocks = []
    for item, name, hidden in zip((x, y), names, results, strict=True):
        if item.kind == "image":
            effects = None if hidden is None else (hidden.parts, hidden.effects)
            picture = heat_picture(item.content[0], effects, state.theme())
            blocks.append(f'<div class="sv-why"><img src="{picture}" alt="{escape(name)}"></div>')
            continue
        text = display.item_text(item, 0, None)
        weights = np.zeros(len(text))
        for part, effect in zip(hidden.parts, hidden.effects, strict=True) if hidden else ():
            weights[slice(*part)] = effect
        blocks.append(_text_html(text, weights))
    _show_sides(blocks, names)
    display.quiet(
        f"Approximate: the more the score of {label} falls without a part, the stronger its "
        "colour. Effects need not add up."
    )


def _text_html(text: str, weights: NDArray[np.float64]) -> str:
    return f'<p class="sv-why" dir="auto">{highlighted(text, weights)}</p>'


def _show_sides(blocks: Sequence[str], names: tuple[str, str]) -> None:
    for column, block, name in zip(st.columns(2, gap="large"), blocks, names, strict=True):
        with column:
            display.quiet(name)
            st.html(block)


def _show_bars(lines: Sequence[tuple[str, float, str]], score: float) -> None:
    """Show contributions as bars to both sides of a common zero, with their sum."""
    values = [0.0, *(value for _, value, _ in lines)]
    low, high = min(values), max(values)
    width = (high - low) or 1.0
    rows = []
    for text, value, kind in lines:
        start, size = 100 * (min(0.0, value) - low) / width, 100 * abs(value) / width
        colour = FOR if value >= 0 else AGAINST
        rows.append(
            f'<tr class="{kind}"><td dir="auto">{escape(text)}</td><td class="sv-bar"><div>'
            f'<i style="margin-left:{start:.1f}%;width:{size:.1f}%;background:{colour}"></i></div>'
            f"</td><td>{display.signed(value)}</td></tr>"
        )
    rows.append(f'<tr class="sv-sum"><td>score</td><td></td><td>{display.signed(score)}</td></tr>')
    st.html(f'<table class="sv-parts"><tbody>{"".join(rows)}</tbody></table>')
