"""The lines of Python that do what a page of the app shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from simviz.store.records import BLEND, DEMO_PREFIX, IMPORTED
from simviz.store.run import Part

Spec = Mapping[str, Any]
#: Lines of a column that are written out.
_MOST_LINES = 25


def repeat_code(
    spec: Spec,
    metric: str = "MRR",
    direction: str | None = None,
    others: Mapping[str, Spec] | None = None,
    part: Part = "test",
) -> str:
    """The lines of Python that train a run again and measure it.

    Parameters
    ----------
    spec : mapping
        What the run was asked for, as `Run.spec` gives it.
    metric : str, default="MRR"
        What to print in the end.
    direction : {"x2y", "y2x", "mean"}, optional
        Which side asks; x when omitted.
    others : mapping of str to mapping, optional
        Such requests by run id, among them those of a blend's parts; for a
        part that is missing, its method's usual settings are written.
    part : {"validation", "test"}, default="test"
        The part of the split to measure on.

    Returns
    -------
    str
        For a demo they run as they are; else the name of the file has to be
        put in.

    Raises
    ------
    ValueError
        If the run was imported, and so cannot be trained again.

    Examples
    --------
    >>> from simviz.jobs import JobSpec
    >>> print(repeat_code(JobSpec("demo:emoji", "", "cca", {"n_components": 50}).to_json()))
    import simviz
    <BLANKLINE>
    pairs = simviz.load_demo("emoji")
    parts = simviz.split(pairs, by="pair", fractions=(0.7, 0.1, 0.2), seed=0)
    model = simviz.default_pipeline("cca", parts.train, n_components=50).fit(
        parts.train, parts.validation
    )
    result = simviz.evaluate(model, parts.test.x, parts.test.y, parts.test.relevance)
    print(result.value("MRR"))
    <BLANKLINE>
    """
    imports, body = _trained(spec, others)
    asked = _quoted(metric) if direction is None else f"{_quoted(metric)}, {_quoted(direction)}"
    body += [
        f"result = simviz.evaluate(model, parts.{part}.x, parts.{part}.y, parts.{part}.relevance)",
        f"print(result.value({asked}))",
    ]
    return _joined(imports, body)


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
        *_data_lines(dataset_id, split),
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
    able = {label: spec for label, spec in specs.items() if _can_repeat(spec)}
    if not able:
        raise ValueError("None of these runs can be trained again: they were imported.")
    first = next(iter(able.values()))
    imports = ["import simviz"]
    body = _data_lines(str(first["dataset_id"]), first["split"])
    body += [f"{part} = parts.{part}", "results = {}"]
    known = dict(others or {})
    for label, spec in able.items():
        body += ["", *_fit_lines(spec, known, imports)]
        measured = f"simviz.evaluate(model, {part}.x, {part}.y, {part}.relevance)"
        body.append(f"results[{_quoted(label)}] = {measured}")
    body += [""]
    for label in specs.keys() - able.keys():
        body.append(f"# {_quoted(label)} was imported: its scores come from its file alone.")
    asked = _quoted(metric) if direction is None else f"{_quoted(metric)}, {_quoted(direction)}"
    body += ["for name, result in results.items():", f"    print(name, result.value({asked}))"]
    wanted = "" if direction is None else f"[{_quoted(direction)}], "
    if direction == "mean":
        wanted = '["x2y", "y2x"], '
    if test is not None and len(able) > 1 and part == "validation":
        imports.append("from simviz.evaluation import compare_evaluations")
        body += [
            "first, second, *_ = results.values()",
            f'ahead = compare_evaluations(first, second, {_quoted(metric)}, {wanted}test="t")',
            "print(ahead.difference, ahead.low, ahead.high)  # with its 95 % interval",
        ]
    elif test is not None and len(able) > 1:
        imports.append("from simviz.evaluation import compare_all_evaluations")
        body += [
            "found = compare_all_evaluations(",
            f"    results, {_quoted(metric)}, {wanted}test={_quoted(test)},",
            f"    correction={_quoted(correction)},",
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
    imports.append("from simviz.projection import draw")
    options = f"method={_quoted(method)}, balance={_quoted(balance)}"
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
        body.append(f'query = simviz.Items(["query"], [{_quoted(query)}], pairs.{side}.kind)')
    else:
        imports.append("from simviz.data.images import as_kept, make_sprite")
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
        body += ["lines = [", *(f"    {_quoted(line)}," for line in lines), "]"]
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


def _can_repeat(spec: Spec) -> bool:
    """Whether what was asked for can be trained; answers of another system cannot."""
    parts = (spec["params"].get(f"{role}_method") for role in ("learned", "lexical"))
    return IMPORTED not in (spec["method"], *parts)


def _trained(spec: Spec, others: Mapping[str, Spec] | None) -> tuple[list[str], list[str]]:
    """Imports, and lines that end with a fitted `model`."""
    if not _can_repeat(spec):
        raise ValueError("This run cannot be trained again: it was imported.")
    imports = ["import simviz"]
    body = _data_lines(str(spec["dataset_id"]), spec["split"])
    return imports, body + _fit_lines(spec, dict(others or {}), imports)


def _joined(imports: list[str], body: list[str]) -> str:
    # Whole modules before what is taken out of them, as is usual.
    return "\n".join([*imports[:1], *sorted(imports[1:]), "", *body]) + "\n"


def _data_lines(dataset: str, split: Mapping[str, Any]) -> list[str]:
    """Lines that read the data into `pairs` and split them into `parts`."""
    if dataset.startswith(DEMO_PREFIX):
        lines = [f"pairs = simviz.load_demo({_quoted(dataset.removeprefix(DEMO_PREFIX))})"]
    else:
        lines = ['pairs = simviz.read_pairs("YOUR_FILE").pairs']
    how = f"by={_quoted(split['by'])}, fractions={tuple(split['fractions'])!r}, "
    how += f"seed={split['seed']!r}"
    if split.get("group_key") is not None:
        how += f", group_key={_quoted(split['group_key'])}"
    return [*lines, f"parts = simviz.split(pairs, {how})"]


def _fit_lines(spec: Spec, known: Mapping[str, Spec], imports: list[str]) -> list[str]:
    """Lines that fit what was asked for as `model`; what they need to be imported is added."""
    if spec["method"] != BLEND:
        return _model_lines("model", spec, imports)
    body: list[str] = []
    params = spec["params"]
    for role in ("learned", "lexical"):
        part = known.get(params[role])
        if part is None or part["method"] == BLEND:
            method = params[f"{role}_method"]
            body.append(f"# Settings of run {params[role]} are not known here: the usual ones.")
            part = {"method": method, "params": {}}
        body += _model_lines(role, part, imports)
    return [
        *body,
        "model = simviz.BlendPipeline.of(",
        f"    learned, lexical, parts.train, {params['alpha']!r}, "
        f"normalization={_quoted(params['normalization'])}",
        ")",
    ]


def _model_lines(name: str, spec: Spec, imports: list[str]) -> list[str]:
    """Lines that fit one pipeline; what they need to be imported is added."""
    lines, train = [], "parts.train"
    if spec.get("augment"):
        if (wanted := "from simviz.data.augment import augment, from_json") not in imports:
            imports.append(wanted)
        train = "train" if name == "model" else f"{name}_train"
        lines += [
            "held_out = [",
            "    text",
            "    for part in (parts.validation, parts.test)",
            "    for side in (part.x, part.y)",
            '    if side.kind == "text"',
            "    for text in side.content",
            "]",
            f"{train} = augment(parts.train, from_json({_literal(spec['augment'])}), held_out)",
        ]
    given = dict(spec.get("params", {}))
    if spec.get("features", "usual") != "usual":
        given = {"features": spec["features"], **given}
    params = "".join(f", {key}={_literal(value)}" for key, value in given.items())
    return [
        *lines,
        f"{name} = simviz.default_pipeline({_quoted(spec['method'])}, {train}{params}).fit(",
        f"    {train}, parts.validation",
        ")",
    ]


def _literal(value: object) -> str:
    """A value of JSON's types as Python reads it, on one line whatever stands in it."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)


def _quoted(text: str) -> str:
    """A Python string in double quotes that ends where it should, in visible characters."""
    return '"' + "".join(map(_visible, str(text))) + '"'


def _visible(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if c.isprintable() else c.encode("unicode_escape").decode()
