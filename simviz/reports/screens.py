"""The lines of Python that do what a page of the app shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from simviz.jobs.spec import IMPORTED
from simviz.reports.lines import data_lines, fit_lines, quoted
from simviz.store.run import Part

Spec = Mapping[str, Any]
#: Lines of a column that are written out.
_MOST_LINES = 25


def data_code(dataset_id: str, split: Mapping[str, Any]) -> str:
    """Read a data set, split it, and look for what is wrong with it.

    Parameters
    ----------
    dataset_id : str
        Of the store; "demo:emoji" and its kin are read by their name.
    split : mapping
        How it is split, as the request of a run says it.

    Returns
    -------
    str
        Python. For data of one's own the name of the file has to be put in.

    Examples
    --------
    >>> split = {"by": "pair", "fractions": [0.7, 0.1, 0.2], "seed": 0}
    >>> print(data_code("demo:emoji", split))
    import simviz
    from simviz.data.health import check_health
    <BLANKLINE>
    pairs = simviz.load_demo("emoji")
    parts = simviz.split(pairs, by="pair", fractions=(0.7, 0.1, 0.2), seed=0)
    print(len(parts.train.x), len(parts.validation.x), len(parts.test.x))
    for finding in check_health(pairs, parts):
        print(finding.title)
    <BLANKLINE>
    """
    body = [
        *data_lines(dataset_id, split),
        "print(len(parts.train.x), len(parts.validation.x), len(parts.test.x))",
        "for finding in check_health(pairs, parts):",
        "    print(finding.title)",
    ]
    return _joined(["import simviz", "from simviz.data.health import check_health"], body)


def compare_code(
    specs: Mapping[str, Spec],
    metric: str = "MRR",
    direction: str | None = None,
    others: Mapping[str, Spec] | None = None,
    *,
    test: str | None = None,
    correction: str = "holm",
    part: Part = "test",
) -> str:
    """Train what was asked for, measure it, and tell luck from lead.

    Parameters
    ----------
    specs : mapping of str to mapping
        What each run was asked for, by what it is called; all on one split.
    metric : str, default="MRR"
        What to print of each.
    direction : {"x2y", "y2x", "mean"}, optional
        Which side asks; x when omitted.
    others : mapping of str to mapping, optional
        Further requests by run id, for the parts of blends.
    test : str, optional
        Test that tells two runs apart, see `simviz.evaluation.compare`; none
        when omitted. The verdict belongs to the test part: on validation it
        is said how far the first run is ahead of the second.
    correction : {"holm", "bonferroni", "none"}, default="holm"
        For how many comparisons there are.
    part : {"validation", "test"}, default="test"
        Which part of the split to measure on.

    Returns
    -------
    str
        Python, as of `data_code`.

    Raises
    ------
    ValueError
        If no run can be trained again: all were imported.
    """
    able = {label: spec for label, spec in specs.items() if can_repeat(spec)}
    if not able:
        raise ValueError("None of these runs can be trained again: they were imported.")
    first = next(iter(able.values()))
    imports = ["import simviz"]
    body = data_lines(str(first["dataset_id"]), first["split"])
    body += [f"{part} = parts.{part}", "results = {}"]
    known = dict(others or {})
    for label, spec in able.items():
        body += ["", *fit_lines(spec, known, imports)]
        measured = f"simviz.evaluate(model, {part}.x, {part}.y, {part}.relevance)"
        body.append(f"results[{quoted(label)}] = {measured}")
    body += [""]
    for label in specs.keys() - able.keys():
        body.append(f"# {quoted(label)} was imported: its scores come from its file alone.")
    asked = quoted(metric) if direction is None else f"{quoted(metric)}, {quoted(direction)}"
    body += ["for name, result in results.items():", f"    print(name, result.value({asked}))"]
    wanted = "" if direction is None else f"[{quoted(direction)}], "
    if direction == "mean":
        wanted = '["x2y", "y2x"], '
    if test is not None and len(able) > 1 and part == "validation":
        imports.append("from simviz.evaluation import compare_evaluations")
        body += [
            "first, second, *_ = results.values()",
            f'ahead = compare_evaluations(first, second, {quoted(metric)}, {wanted}test="t")',
            "print(ahead.difference, ahead.low, ahead.high)  # with its 95 % interval",
        ]
    elif test is not None and len(able) > 1:
        imports.append("from simviz.evaluation import compare_all_evaluations")
        body += [
            "found = compare_all_evaluations(",
            f"    results, {quoted(metric)}, {wanted}test={quoted(test)},",
            f"    correction={quoted(correction)},",
            ")",
            "print(found.letters())  # runs that share a letter cannot be told apart",
        ]
    return _joined(imports, body)


def map_code(
    spec: Spec,
    method: str = "mds",
    balance: str = "center",
    others: Mapping[str, Spec] | None = None,
) -> str:
    """Train a run again and draw its map into a file.

    Parameters
    ----------
    spec : mapping
        What the run was asked for.
    method : {"mds", "umap", "pca"}, default="mds"
        How its space is made flat.
    balance : str, default="center"
        What is done about the gap between the sides.
    others : mapping of str to mapping, optional
        Further requests by run id, for the parts of a blend.

    Returns
    -------
    str
        Python, as of `data_code`.

    Raises
    ------
    ValueError
        If the run was imported, and so cannot be trained again.
    """
    imports, body = _trained(spec, others)
    imports.append("from simviz.jobs import draw")
    options = f"method={quoted(method)}, balance={quoted(balance)}"
    body += [
        "drawing, x, y = draw(",
        f"    model, pairs, seed={spec['split']['seed']!r}, {options}",
        ")",
        "print(drawing.quality.trustworthiness, drawing.quality.overlap)",
        "figure = simviz.map_figure(",
        "    drawing, pairs.x.take(x), pairs.y.take(y), pairs.relevance.take(x, y)",
        ")",
        'figure.write_html("map.html")',
    ]
    return _joined(imports, body)


def search_code(
    spec: Spec,
    side: Literal["x", "y"],
    query: int | str | None,
    *,
    answer_has_words: bool = True,
    others: Mapping[str, Spec] | None = None,
) -> str:
    """Train a run again and print its first ten answers to a query.

    Parameters
    ----------
    spec : mapping
        What the run was asked for.
    side : {"x", "y"}
        Of which side the query is.
    query : int, str or None
        Its position in the data, or words of one's own; None for a picture,
        whose file then has to be put in.
    answer_has_words : bool, default=True
        Whether answers are texts; else their labels are printed.
    others : mapping of str to mapping, optional
        Further requests by run id, for the parts of a blend.

    Returns
    -------
    str
        Python, as of `data_code`.

    Raises
    ------
    ValueError
        If the run was imported, and so cannot be trained again.
    """
    imports, body = _trained(spec, others)
    other = "y" if side == "x" else "x"
    if isinstance(query, int):
        body.append(f"query = pairs.{side}.take([{query}])")
    elif query is not None:
        body.append(f'query = simviz.Items(["query"], [{quoted(query)}], pairs.{side}.kind)')
    else:
        imports.append("from simviz.data.sprites import as_kept, make_sprite")
        body += [
            'with open("YOUR_PICTURE", "rb") as file:',
            "    sprite = make_sprite(file.read())",
            f"kept = as_kept(sprite, pairs.{side}.content)",
            'query = simviz.Items(["query"], kept[None], "image")',
        ]
    asked = "query, pairs.y)[0]" if side == "x" else "pairs.x, query)[:, 0]"
    words = "content" if answer_has_words else "labels"
    body += [
        f"scores = model.similarity({asked}",
        "for i in (-scores).argsort()[:10]:",
        f'    print(f"{{scores[i]:.3f}}", pairs.{other}.{words}[i])',
    ]
    return _joined(imports, body)


def normalise_code(
    spec: Spec,
    lines: Sequence[str],
    threshold: float = float("-inf"),
    others: Mapping[str, Spec] | None = None,
) -> str:
    """Train a run again and print the group that each line of a column belongs to.

    Parameters
    ----------
    spec : mapping
        What the run was asked for.
    lines : sequence of str
        The column. A few are written out; for more, the name of a file with
        one text a line has to be put in.
    threshold : float, default=-inf
        Below this score a line has no group.
    others : mapping of str to mapping, optional
        Further requests by run id, for the parts of a blend.

    Returns
    -------
    str
        Python, as of `data_code`.

    Raises
    ------
    ValueError
        If the run was imported, and so cannot be trained again.
    """
    imports, body = _trained(spec, others)
    imports.append("from simviz.evaluation.assignment import assign, group_names")
    if len(lines) > _MOST_LINES:
        body += [
            'with open("YOUR_COLUMN.txt", encoding="utf-8") as file:',
            "    lines = file.read().splitlines()",
        ]
    else:
        body += ["lines = [", *(f"    {quoted(line)}," for line in lines), "]"]
    body += [
        "column = simviz.Items([str(i) for i in range(len(lines))], lines, pairs.x.kind)",
        "found = assign(model, column, pairs.y, group_names(pairs))",
        "for line, group, score in zip(lines, found.group, found.score):",
    ]
    # A score that is not known is below no threshold and above none.
    known = "group >= 0"
    if threshold > float("-inf"):
        known += f" and score >= {threshold:.6g}"
    body += [
        f'    name = found.names[group] if {known} else "not in the taxonomy"',
        '    print(f"{score:.3f}", line, "→", name)',
    ]
    return _joined(imports, body)


def can_repeat(spec: Spec) -> bool:
    """Whether what was asked for can be trained; answers of another system cannot."""
    return bool(spec["method"] != IMPORTED)


def _trained(spec: Spec, others: Mapping[str, Spec] | None) -> tuple[list[str], list[str]]:
    """Imports, and lines that end with a fitted `model`."""
    if not can_repeat(spec):
        raise ValueError("This run cannot be trained again: it was imported.")
    imports = ["import simviz"]
    body = data_lines(str(spec["dataset_id"]), spec["split"])
    return imports, body + fit_lines(spec, dict(others or {}), imports)


def _joined(imports: list[str], body: list[str]) -> str:
    # Whole modules before what is taken out of them, as is usual.
    return "\n".join([*imports[:1], *sorted(imports[1:]), "", *body]) + "\n"
