"""Quality of two blended runs at every weight, computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.evaluation import BlendCurve
    from simviz.pipeline import BlendPipeline
    from simviz.store.run import Part, Run


class Curves(NamedTuple):
    """Both curves of a blend: None where no query counts, or the test is not looked at."""

    validation: BlendCurve | None
    test: BlendCurve | None


@st.cache_resource(show_spinner=False, max_entries=12)
def curves(
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
    held_out = validation(
        learned_id, lexical_id, normalization, metric, _learned, _lexical, _pairs
    )
    if part == "validation":
        return Curves(held_out, None)
    blend = _blended(_learned, _lexical, _pairs, normalization)
    return Curves(held_out, _measured(blend, _part(_learned, _pairs, "test"), metric))


@st.cache_resource(show_spinner=False, max_entries=48)
def validation(
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
