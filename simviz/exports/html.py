"""A model as one HTML file that answers in a browser, without a server and without a network."""

from __future__ import annotations

import base64
import logging
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from simviz.base import LinearPairModel
from simviz.charts.canvas import (
    CSS,
    bundle,
    content_policy,
    pack,
    pack_all,
    page_state,
    script,
    theme_colours,
)
from simviz.charts.drawing import Drawing, draw, model_name
from simviz.charts.style import DARK, LIGHT, clean_text
from simviz.charts.tables import read_text, template
from simviz.data.pairs import PairSet
from simviz.exports.linear import described, why_not
from simviz.methods.bm25 import BM25
from simviz.projection.pipeline_map import MAX_DRAWN

if TYPE_CHECKING:
    from simviz.pipeline import BestPipeline, Pipeline

logger = logging.getLogger(__name__)
#: Halves have 11 bits of precision from 2^-14 on, and end at 2^16.
_LARGEST = 15


def model_page(
    pipeline: Pipeline | BestPipeline,
    pairs: PairSet,
    *,
    drawing: Drawing | None = None,
    color_by: str | ArrayLike = "side",
) -> str:
    """Write a model with its items as a page that answers while one types.

    Terms, matrices (16 bits), items, the map and what terms add to a score are in the page and
    computed there: it opens from a disk or any web space and asks no other computer.

    Parameters
    ----------
    pipeline : PairPipeline or Tuned
        Fitted, with TF-IDF, BM25 or a linear method, and terms of texts or keywords on one side
        at least.
    pairs : PairSet
        The items that are found; of many the sample that is drawn.
    drawing : Drawing, optional
        Their map, where it was drawn already.
    color_by : str or array-like of shape (n_x + n_y,), default="side"
        As for `Drawing.save`.

    Returns
    -------
    str
        An HTML page. Its similarities are those of `pipeline` to about three digits. Whoever has
        it can read the items: a line of the log says how many there are of what.

    Raises
    ------
    ValueError
        If the pipeline cannot leave so; see `why_not`.

    Examples
    --------
    >>> import simviz
    >>> pairs = PairSet.from_texts(["red heart", "blue car"], ["corazón rojo", "coche azul"])
    >>> pipeline = simviz.default_pipeline("cca", pairs, n_components=1).fit(pairs)
    >>> simviz.model_page(pipeline, pairs)[:15]
    '<!DOCTYPE html>'
    """
    best: Any = getattr(pipeline, "best", pipeline)
    if reason := why_not(best, "page"):
        raise ValueError(reason)
    drawing = draw(best, pairs) if drawing is None else drawing
    pairs = drawing.pairs
    logger.info("%s", page_contents(pairs))
    model = _model(best, pairs)
    packed = pack_all(drawing.map, pairs, nearest=drawing.nearest, color_by=color_by, scrolls=True)
    program = script(bundle("model_page.js"))
    names = [clean_text(name, 60) for name in (pairs.x_name, pairs.y_name)]
    return template("simviz.exports", "page.html").render(
        policy=content_policy([program]),
        title=" and ".join(names),
        method=model_name(best),
        names=names,
        counts=[len(pairs.x), len(pairs.y)],
        name=clean_text(pairs.name, 60),
        asked=model[0]["asked"],
        looks=(theme_colours(LIGHT), theme_colours(DARK)),
        canvas=Markup(CSS),
        css=Markup(
            read_text("simviz.charts", "page.css") + read_text("simviz.exports", "page.css")
        ),
        map=Markup(page_state(packed)),
        model=base64.b64encode(zlib.compress(pack(*model).data, 6)).decode(),
        script=Markup(program),
    )


def page_contents(pairs: PairSet) -> str:
    """What items leave with a page, in one sentence."""
    x, y = (min(n, MAX_DRAWN) for n in pairs.shape)
    return (
        f"The file holds {x:,} {pairs.x_name} and {y:,} {pairs.y_name} of {pairs.name!r}: "
        "whoever has it can read them."
    )


def _model(pipeline: Any, pairs: PairSet) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a browser needs to compare items: a header for JSON, and arrays."""
    model = pipeline.model_
    is_linear = isinstance(model, LinearPairModel)
    sides: dict[str, dict[str, Any]] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, features, items in (
        ("x", pipeline.x_features_, pairs.x),
        ("y", pipeline.y_features_, pairs.y),
    ):
        side = sides[name] = {}
        if is_linear:
            offset = getattr(model, f"{name}_offset_")
            offset = np.zeros(model.n_components_) if offset is None else offset
            arrays[f"{name}_offset"] = np.asarray(offset, dtype="<f4")
        terms = described(features)
        if terms is not None and terms["kind"] != "vectors":
            content = pipeline.x_content(items) if name == "x" else items.content
            side |= {"terms": terms, "texts": [str(text) for text in content]}
            if is_linear:
                A = getattr(model, f"{name}_projection_")
                if name == "y" and np.array_equal(A, model.x_projection_):
                    continue  # a page takes that of x
                halves, side["scale"] = _halves(A)
                # Terms of the same training texts, as many parts of a rare word are, share a row.
                rows, places = np.unique(halves, axis=0, return_inverse=True)
                arrays[f"{name}_places"] = places.ravel().astype("<u4")
                arrays[f"{name}_projection"] = _split(rows)
        else:
            points = model.coordinates_of(pipeline.rows(items, name), name)
            vectors, side["scale"] = _halves(points)
            arrays[f"{name}_vectors"] = _split(vectors)
    if isinstance(model, BM25):
        shared = {"k1": model.k1, "b": model.b}
        sides["x"]["weigh"] = shared | {"average": model.x_average_length_}
        idf = {"idf": model.idf_.tolist(), "unseen": model.unseen_idf_}
        sides["y"]["weigh"] = shared | idf | {"average": model.average_length_}
    header = {
        "kind": model.similarity_kind if is_linear else "terms",
        "names": [clean_text(name, 60) for name in (pairs.x_name, pairs.y_name)],
        "asked": [name for name, side in sides.items() if "texts" in side],
        "sides": sides,
    }
    return header, arrays


def _halves(values: ArrayLike) -> tuple[NDArray[np.float16], float]:
    """Numbers of 16 bits, and the power of 2 to multiply them by."""
    wide = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(wide).max(initial=0.0))
    exponent = int(np.frexp(largest)[1]) - _LARGEST if largest else 0
    return np.ldexp(wide, -exponent).astype("<f2"), float(np.ldexp(1.0, exponent))


def _split(halves: NDArray[np.float16]) -> NDArray[np.uint8]:
    """All low bytes before all high ones: these repeat, and are packed where they lie together."""
    return np.ascontiguousarray(halves).view(np.uint8).reshape(-1, 2).T.ravel()
