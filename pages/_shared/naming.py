"""What runs and requests are called on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.store.records import RunInfo


def dataset_title(dataset_id: str, name: str) -> str:
    """What a data set is called: a demo by its title, one's own by its name.

    Parameters
    ----------
    dataset_id : str
        Its id.
    name : str
        That its content bears.

    Returns
    -------
    str
        Such as "Two languages".
    """
    from simviz.datasets import DEMOS

    demo = DEMOS.get(dataset_id.removeprefix("demo:")) if dataset_id[:5] == "demo:" else None
    return name if demo is None else demo.title


def run_title(info: RunInfo) -> str:
    """The name a run was given, else that of what was trained."""
    return info.name or trained_title(info.method, info.spec)


def trained_title(method: str, spec: Mapping[str, Any]) -> str:
    """The title of a method, with what its texts and pairs became where not the usual.

    Parameters
    ----------
    method : str
        Its id, "blend" or "experiment".
    spec : mapping
        The request, as JSON.

    Returns
    -------
    str
        Such as "S2Net on pretrained vectors", "CCA, augmented", or "0.3 CCA + 0.7 BM25".
    """
    from simviz.jobs.spec import BLEND, EXPERIMENT, IMPORTED
    from simviz.methods import get_method

    if method == BLEND:
        return _blend_title(spec.get("params", {}))
    if method == IMPORTED:
        return f"{spec.get('params', {}).get('name', 'another system')} (imported)"
    if method == EXPERIMENT:
        return _experiment_title(spec.get("params", {}))
    title = get_method(method).tags.title
    if spec.get("search") is not None:
        title = f"Best values for {title}"
    if spec.get("features", "").startswith("pretrained"):
        title += " on pretrained vectors"
    return f"{title}, augmented" if spec.get("augment") else title


def usual_params(method: str) -> dict[str, Any]:
    """Parameters that tell runs of a method apart, with their defaults."""
    from simviz.jobs.spec import BLEND, IMPORTED
    from simviz.methods import get_method

    if method == BLEND:
        return {"normalization": "global_std"}
    if method == IMPORTED:
        return {}
    return dict(get_method(method)().get_params())


def differing(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a run that are not the usual ones."""
    if method == "imported":
        return {}  # its parameters are where it came from
    usual = usual_params(method)
    return {name: value for name, value in params.items() if usual.get(name, value) != value}


def _experiment_title(params: Mapping[str, Any]) -> str:
    from simviz.experiments import all_experiments

    cls = all_experiments().get(str(params.get("name")))
    return cls.title if cls else "experiment"


def _blend_title(params: Mapping[str, Any]) -> str:
    from simviz.methods import all_methods

    shares = float(params.get("alpha", 0.5)), 1 - float(params.get("alpha", 0.5))
    known = all_methods()
    parts = []
    for share, role in zip(shares, ("learned", "lexical"), strict=True):
        cls = known.get(params.get(f"{role}_method", ""))
        parts.append(f"{round(share, 6):g} {cls.tags.title if cls else 'blend'}")
    return " + ".join(parts)
