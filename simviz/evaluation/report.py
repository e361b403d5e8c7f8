"""Findings in plain words."""

from __future__ import annotations

from simviz.evaluation.metrics import MAP, MRR, NDCG, Metric, Precision, TopOne, parse_metric


def finding(
    method: str,
    metric: Metric | str,
    value: float,
    n_queries: int,
    *,
    query_name: str,
    answer_name: str,
    baseline: float | None = None,
    baseline_name: str = "guessing by popularity",
    unseen: bool = True,
    part: str = "test",
    candidates: str = "",
) -> str:
    """Say what a figure means to someone who does not know the metric.

    Parameters
    ----------
    method : str
        Title of the method.
    metric : Metric or str
        What was measured.
    value : float
        Its mean, between 0 and 1.
    n_queries : int
        Queries behind the mean.
    query_name, answer_name : str
        What queries and answers are called, in the plural.
    baseline : float, optional
        The same metric of a baseline.
    baseline_name : str
        What the baseline does.
    unseen : bool, default=True
        Whether the queries were kept from training; where only the answers
        were, the sentence does not call the queries unseen.
    part : str, default="test"
        The part of the split that was measured on.
    candidates : str, optional
        What a query was ranked against, see `ranked_against`.

    Returns
    -------
    str
        One or two sentences.

    Examples
    --------
    >>> finding("CCA", "P@5", 0.32, 268, query_name="icons", answer_name="tags")
    'Of the 5 tags that CCA gives an unseen icon, 1.6 are right on average (268 icons of ...).'
    """
    metric = parse_metric(metric) if isinstance(metric, str) else metric
    tail, new = "", "unseen " if unseen else ""
    if isinstance(metric, TopOne):
        if baseline is not None:
            tail = f"; {baseline_name} does for {_percent(baseline)}"
        among = candidates.removesuffix(f" of the {part} part") or f"all {answer_name}"
        return (
            f"{method} puts the right one first for {_percent(value)} of {n_queries:,} {new}"
            f"{query_name} of the {part} part, out of {among}{tail}."
        )
    if isinstance(metric, Precision):
        if baseline is not None:
            tail = f"; {baseline_name} gets {baseline * metric.k:.1f}"
        which = "an unseen" if unseen else "each"
        return (
            f"Of the {metric.k} {answer_name} that {method} gives {which} "
            f"{_singular(query_name)}, {value * metric.k:.1f} are right on average "
            f"({n_queries:,} {query_name} of the {part} part){tail}."
        )
    if baseline is not None:
        tail = f"; {baseline_name} reaches {baseline:.3f}"
    return (
        f"{method} reaches {metric!r} {value:.3f} over {n_queries:,} {new}{query_name} of the "
        f"{part} part ({_means(metric)}){tail}."
    )


def ranked_against(
    pool: str,
    direction: str,
    part: str,
    names: tuple[str, str],
    sizes: tuple[int, int],
    whole: tuple[int, int],
) -> str:
    """Say what a query was ranked against.

    Parameters
    ----------
    pool : {"split", "all", "judged"}
        Of the evaluation.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.
    part : str
        The part of the split that was measured on.
    names : tuple of two str
        What x and y items are called.
    sizes, whole : tuple of two int
        Items of the part, and of the data set: x, y.

    Returns
    -------
    str
        Without a full stop.

    Examples
    --------
    >>> ranked_against("split", "x2y", "test", ("queries", "documents"), (20, 1239), (100, 1239))
    'all 1,239 documents'
    >>> ranked_against("split", "y2x", "test", ("queries", "documents"), (20, 1239), (100, 1239))
    'the 20 queries of the test part'
    """
    if direction == "mean":
        sides = (ranked_against(pool, one, part, names, sizes, whole) for one in ("x2y", "y2x"))
        return " or ".join(sides)
    at = 1 if direction == "x2y" else 0
    if pool == "judged":
        return f"the judged {names[at]} of the query"
    if sizes[at] == whole[at]:
        return f"all {whole[at]:,} {names[at]}"
    return f"the {sizes[at]:,} {names[at]} of the {part} part"


def _means(metric: Metric) -> str:
    """What the figure is, where no sentence of its own was written."""
    if isinstance(metric, MRR):
        return "1 would be the right one always first, ½ always second"
    if isinstance(metric, MAP | NDCG):
        return "1 would be everything relevant before everything else"
    return "1 is perfect"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.095 else f"{100 * share:.1f} %"


def _singular(plural: str) -> str:
    """Good enough for names of sides: "icons" to "icon", "queries" to "query"."""
    if plural.endswith("ies"):
        return plural[:-3] + "y"
    return plural[:-1] if plural.endswith("s") else plural
