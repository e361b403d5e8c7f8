"""Which runs were stopped by the validation part, so that figures on it flatter them."""

from __future__ import annotations

from simviz.jobs.spec import BLEND
from simviz.methods import all_methods
from simviz.pipeline import BlendPipeline, Pipeline
from simviz.store.run import Run


def stopped_by_validation(run: Run) -> bool:
    """Whether the training of a run watched the validation part and stopped by it.

    Parameters
    ----------
    run : Run
        A stored run.

    Returns
    -------
    bool
        As the tag ``stops_early`` of its method says; of a blend, whether
        that holds of any part. What another system did is not known: False.

    Raises
    ------
    StoreError
        If a blend of blends has to be read and cannot be.
    """
    if run.info.method != BLEND:
        return _stops_early(run.info.method)
    params = run.info.spec.get("params", {})
    parts = [str(params.get(f"{role}_method", "")) for role in ("learned", "lexical")]
    # What a blend inside a blend is made of stands in its file alone.
    return any(map(_stops_early, parts)) or (BLEND in parts and _is_inside(run.pipeline()))


def _stops_early(method: str) -> bool:
    known = all_methods()
    return method in known and known[method].tags.stops_early


def _is_inside(pipeline: Pipeline) -> bool:
    """Whether a trained pipeline holds a method that stops early."""
    if isinstance(pipeline, BlendPipeline):
        return _is_inside(pipeline.learned_) or _is_inside(pipeline.lexical_)
    return pipeline.model_.tags.stops_early
