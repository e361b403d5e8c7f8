"""ROC curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts._chart import Chart, floats, listed, rows_of, thinned
from simviz.charts.style import Theme, ThemeName
from simviz.evaluation.roc import Roc

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Where a logarithmic axis of false positives begins.
LOWEST_RATE = 1e-4
_RATES = {"tickformat": ".0%", "showgrid": True}
#: Points drawn on a curved piece of a precision-recall curve.
_BENT = 12


class RocCurve(NamedTuple):
    """One method's ROC curve.

    Parameters
    ----------
    method : str
        Id of the method: it sets colour and dash.
    label : str
        What to call it.
    fpr, tpr : array-like of shape (n,)
        False and true positive rates, both rising from 0 to 1.
    auc : float
        Area under the curve.
    ci : tuple of float, optional
        95 % confidence interval of the area.
    thresholds, precision : array-like of shape (n,), optional
        At which score a pair passes, and how many of those that pass are relevant.
    band : tuple of 3 array-like, optional
        False positive rates, and the lower and upper bound of the curve there.
    """

    method: str
    label: str
    fpr: ArrayLike
    tpr: ArrayLike
    auc: float
    ci: tuple[float, float] | None = None
    thresholds: ArrayLike | None = None
    precision: ArrayLike | None = None
    band: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None


def roc_figure(
    curves: Sequence[RocCurve | tuple[Any, ...]] | Mapping[str, Roc],
    *,
    log_fpr: bool = False,
    max_fpr: float = 1.0,
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw ROC curves over one another, with the diagonal of chance.

    Parameters
    ----------
    curves : sequence of RocCurve, or mapping of str to Roc
        Or of tuples in its order; or by name the ``roc`` of an evaluation.
    log_fpr : bool, default=False
        Show low false positive rates, from 1e-4, on a logarithmic axis.
    max_fpr : float, default=1.0
        Where a linear axis of false positives ends.
    theme : {"light", "dark"} or Theme, default="light"
        Look of the figure.

    Returns
    -------
    plotly Figure
        Best curve first; `roc_records` gives the rows behind it.

    Raises
    ------
    ValueError
        If a curve's rates differ in length or leave [0, 1].

    Examples
    --------
    >>> figure = roc_figure([("cca", "CCA", [0, 0.2, 1], [0, 0.9, 1], 0.85, (0.8, 0.9))])
    >>> figure.data[1].name
    'CCA 0.850 [0.800, 0.900]'
    """
    if isinstance(curves, Mapping):
        curves = [RocCurve(n, n, roc.fpr, roc.tpr, roc.auc) for n, roc in curves.items()]
    chart = Chart(theme)
    drawn = sorted((RocCurve(*curve) for curve in curves), key=lambda curve: -curve.auc)
    chance = np.geomspace(LOWEST_RATE, 1, 60) if log_fpr else np.array([0.0, 1.0])
    chart.dotted(chance, chance)
    for curve in drawn:
        if curve.band is not None:
            band = floats(*curve.band)
            inside = band[0] >= LOWEST_RATE if log_fpr else band[0] <= max_fpr
            chart.band(chart.style(curve.method).colour, *(part[inside] for part in band))
    for curve in drawn:
        index, fpr, tpr = _essential(*_rates(curve), log_fpr, max_fpr)
        hover = "finds %{y:.1%} of the relevant<br>at %{x:.2%} false alarms"
        columns = []
        if curve.thresholds is not None and curve.precision is not None:
            hover += "<br>threshold %{customdata[1]}, precision %{customdata[2]}"
            known = (curve.thresholds, "{:.4g}"), (curve.precision, "{:.1%}")
            columns = [_texts(values, index, form) for values, form in known]
        chart.line(curve, _value(curve.auc, curve.ci), fpr, tpr, hover, *columns, pressed=True)
    title, axis = "false positive rate", {"range": [-0.005 * max_fpr, max_fpr], **_RATES}
    if log_fpr:
        title += ", logarithmic"
        axis |= {"range": [np.log10(LOWEST_RATE), 0], "type": "log"}
        ticks = {1e-4: "0.01%", 1e-3: "0.1%", 1e-2: "1%", 1e-1: "10%", 1: "100%"}
        axis |= {"tickvals": list(ticks), "ticktext": list(ticks.values())}
    return chart.finish(
        f"ROC curves of {len(drawn)} methods, by area under the curve (chance is 0.5): "
        f"{listed((c.label, c.auc) for c in drawn)}.",
        x={"title_text": title, **axis},
        y={"title_text": "true positive rate", "range": [0, 1.005], **_RATES},
        legend="area under the curve",
        square=None if log_fpr else max_fpr,
    )


def roc_records(curves: Sequence[RocCurve | tuple[Any, ...]]) -> list[dict[str, Any]]:
    """List the rows behind `roc_figure`: every point of every curve.

    Parameters
    ----------
    curves : sequence of RocCurve
        Or of tuples in its order.

    Returns
    -------
    list of dict
        With ``method``, ``label``, ``fpr``, ``tpr``, ``auc``, and ``threshold`` and
        ``precision`` where the curve knows them.
    """
    rows = []
    for curve in (RocCurve(*curve) for curve in curves):
        fpr, tpr = _rates(curve)
        extra = {"threshold": curve.thresholds, "precision": curve.precision}
        columns = {name: values for name, values in extra.items() if values is not None}
        auc = {"auc": float(curve.auc)}
        rows += [row | auc for row in rows_of(curve, fpr=fpr, tpr=tpr, **columns)]
    return rows


def _rates(curve: RocCurve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both rates as arrays, checked."""
    fpr, tpr = floats(curve.fpr, curve.tpr)
    if fpr.ndim != 1 or fpr.shape != tpr.shape or not len(fpr):
        raise ValueError(
            f"The ROC curve of {curve.label!r} needs equally many false and true positive rates, "
            f"at least one; got shapes {fpr.shape} and {tpr.shape}."
        )
    both = np.concatenate([fpr, tpr])
    if not ((both >= 0) & (both <= 1)).all():
        raise ValueError(
            f"Rates lie between 0 and 1; the ROC curve of {curve.label!r} has "
            f"{both.min():g} to {both.max():g}."
        )
    return fpr, tpr


def _texts(values: ArrayLike, index: NDArray[np.intp], form: str) -> list[str]:
    """Some of the values as text; what is no number, as a dash."""
    shown = np.asarray(values, dtype=np.float64)[index]
    return [form.format(value) if np.isfinite(value) else "–" for value in shown.tolist()]


def _value(value: float, interval: tuple[float, float] | None) -> str:
    """A value with its bounds, as legends show it."""
    bounds = "" if interval is None else f" [{interval[0]:.3f}, {interval[1]:.3f}]"
    return f"{value:.3f}{bounds}"


def _essential(
    fpr: NDArray[np.float64], tpr: NDArray[np.float64], log_fpr: bool, max_fpr: float
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Leave out points on the straight line between their neighbours, then thin."""
    # The first array says which points were kept.
    index = np.arange(len(fpr))
    if log_fpr:
        # A rate of 0 has no logarithm: the curve begins at the left border.
        start = float(np.interp(LOWEST_RATE, fpr, tpr))
        inside = np.flatnonzero(fpr > LOWEST_RATE)
        index = np.r_[inside[0] - 1 if len(inside) and inside[0] else 0, inside]
        fpr, tpr = np.r_[LOWEST_RATE, fpr[inside]], np.r_[start, tpr[inside]]
    elif len(fpr) > 2:
        # A straight line stays straight on linear axes only.
        turn = np.diff(fpr[:-1]) * np.diff(tpr[1:]) - np.diff(fpr[1:]) * np.diff(tpr[:-1])
        index = np.flatnonzero(np.r_[True, np.abs(turn) > 1e-15, True])
        if max_fpr < 1:
            # One point beyond the border, towards which the line leaves.
            index = index[: int(np.searchsorted(fpr[index], max_fpr, side="right")) + 1]
        fpr, tpr = fpr[index], tpr[index]
    across = np.log10(fpr) / -np.log10(LOWEST_RATE) if log_fpr else fpr / max_fpr
    few = thinned(across, tpr)
    return index[few], fpr[few], tpr[few]


class PrecisionCurve(NamedTuple):
    """What one method's pairs do as the threshold falls."""

    method: str
    label: str
    roc: Roc
    value: float
    ci: tuple[float, float] | None = None
    band: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None


def precision_recall_figure(
    curves: Sequence[PrecisionCurve], *, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw precision against recall, with the precision of chance."""
    # Where relevant and other pairs tie, precision runs along a bow rather than a straight line.
    # J. Davis and M. Goadrich. "The relationship between precision-recall and ROC curves." ICML
    # 2006.
    chart = Chart(theme)
    drawn = sorted(curves, key=lambda curve: -curve.value)
    for curve in drawn:
        if curve.band is not None:
            chart.band(chart.style(curve.method).colour, *curve.band)
    base, hover = "", "precision %{y:.1%}, recall %{x:.1%}<br>threshold %{customdata[1]}"
    for curve in drawn:
        fp, tp, thresholds = _counts(curve)
        chance = tp[-1] / (tp[-1] + fp[-1])
        base = f" (chance is {chance:.4f})"
        fp, tp, thresholds = _bowed(fp, tp, thresholds)
        passing = tp + fp > 0
        recall, precision = tp[passing] / tp[-1], tp[passing] / (tp + fp)[passing]
        few = thinned(recall, precision)
        texts, value = _texts(thresholds[passing], few, "{:.4g}"), _value(curve.value, curve.ci)
        chart.line(curve, value, recall[few], precision[few], hover, texts, pressed=True)
    if drawn:
        chart.dotted([0, 1], [chance, chance])
    return chart.finish(
        f"Precision against recall of {len(drawn)} methods, by average precision{base}: "
        f"{listed((c.label, c.value) for c in drawn)}.",
        x={"title_text": "recall", "range": [0, 1], **_RATES},
        y={"title_text": "precision", "range": [0, 1.005], **_RATES},
        legend="average precision",
        square=1.0,
    )


def precision_records(curves: Sequence[PrecisionCurve]) -> list[dict[str, Any]]:
    """List the rows behind the figure: every point of every curve."""
    known = {"threshold": "thresholds", "recall": "tpr", "precision": "precision", "fpr": "fpr"}
    columns = [{name: getattr(c.roc, of) for name, of in known.items()} for c in curves]
    return [row for c, own in zip(curves, columns, strict=True) for row in rows_of(c, **own)]


def _counts(curve: PrecisionCurve) -> list[NDArray[np.float64]]:
    """False and true positives, and thresholds; both classes must be there."""
    roc = curve.roc
    if not roc.n_positive or not roc.n_negative:
        raise ValueError(
            f"The curve of {curve.label!r} needs pairs of both classes; got {roc.n_positive} "
            f"relevant and {roc.n_negative} others."
        )
    return floats(roc.false_positives, roc.true_positives, roc.thresholds)


def _bowed(
    fp: NDArray[np.float64], tp: NDArray[np.float64], thresholds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Points between those that lie on no straight line of precision and recall."""
    long = np.flatnonzero((np.diff(tp) > 0) & ((np.diff(tp) > 1) | (np.diff(fp) > 0)))
    # Few pieces are that long in a curve of many points; those bend the most.
    if len(long) > 300:
        long = long[np.argsort(-np.diff(tp)[long])[:300]]
    share = np.arange(1, _BENT) / _BENT
    at = np.sort(np.concatenate([np.arange(len(fp)), (long[:, None] + share).ravel()]))
    index = np.arange(len(fp))
    # A threshold between two points is that of the next: all of its pairs pass together.
    return (
        np.interp(at, index, fp),
        np.interp(at, index, tp),
        thresholds[np.ceil(at - 1e-9).astype(int)],
    )
