"""A comparison as one page that opens anywhere, from a disk and without a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from typing import Any

from simviz.data.pairs import PairSet
from simviz.evaluation.metrics import parse_metric
from simviz.exceptions import DatasetError
from simviz.jobs.drawing import DRAWING
from simviz.reports import facts, sections
from simviz.reports.figures import Chart, chart_data, dimension_chart, map_chart, roc_chart
from simviz.reports.sections import plain
from simviz.reports.sheet import SCRIPT, STYLE
from simviz.reports.told import part_words, ranked, read_runs, shared_metrics
from simviz.store.run import Part, Run

_DIRECTIONS = ("x2y", "y2x", "mean")


def html_report(
    runs: Sequence[Run],
    pairs: PairSet,
    *,
    metric: str | None = None,
    direction: str | None = None,
    labels: Mapping[str, str] | None = None,
    looks: Mapping[str, str] | None = None,
    others: Mapping[str, Mapping[str, Any]] | None = None,
    drawing: str = DRAWING,
    made: str | None = None,
    part: Part = "test",
) -> str:
    """Everything about a comparison in one HTML file.

    Parameters
    ----------
    runs : sequence of Run
        Stored runs that were measured on that part of one split.
    pairs : PairSet
        The data set that they were trained and measured on.
    metric : str, optional
        The main metric, by which runs are told apart, and ordered by the
        validation part; the first that all runs have when omitted.
    direction : {"x2y", "y2x", "mean"}, optional
        Which side asks; "mean" is that of both. When omitted, the side that
        asked first when the runs were measured.
    labels, looks : mapping of str to str, optional
        By run id, what to call a run, and the style id by which
        `simviz.charts.method_style` knows its colour.
    others : mapping of str to mapping, optional
        Requests (`Run.spec`) of further runs by id, such as the parts of a
        blend: they are written into the code that repeats it.
    drawing : str, default="mds-2-center"
        Which of the best run's maps to show, in two dimensions; none is shown
        where it is not kept.
    made : str, optional
        When it was made, as it is to be written; today when omitted.
    part : {"validation", "test"}, default="test"
        The part of the split that all figures are of. The verdict with its
        p-values and tie groups is given on the test part alone.

    Returns
    -------
    str
        A page with its charts and plotly.js inside. It fetches nothing: its
        content security policy allows its own two scripts, by their digests,
        and pictures that it holds itself. Every text from the data or a name
        is escaped, and what Plotly would read as a tag, too.

    Raises
    ------
    ValueError
        If there is no run, the runs were not measured on one split, or the
        metric or direction is unknown.
    DatasetError
        If the runs were trained on other data than `pairs`.
    StoreError
        If a run was not measured on that part, or a file is missing or
        damaged.
    """
    told = read_runs(runs, labels, looks, part)
    if told[0].spec["dataset_digest"] != pairs.digest:
        raise DatasetError(
            f"These runs were trained on other data than {pairs.name!r} as it is now. Give the "
            "data set they were trained on."
        )
    known = list(told[0].evaluation["directions"])
    if direction is None or (direction == "mean" and len(known) == 1):
        direction = known[0]
    if direction not in _DIRECTIONS or (direction != "mean" and direction not in known):
        raise ValueError(f"direction must be one of {', '.join(_DIRECTIONS)}, got {direction!r}.")
    metrics = shared_metrics(told)
    main = metrics[0] if metric is None else parse_metric(metric).name
    if main not in metrics:
        raise ValueError(f"These runs were not measured by {main!r}, but {', '.join(metrics)}.")
    metrics = [main, *(m for m in metrics if m != main)]
    told = ranked(told, main, direction)
    compared = facts.compare_runs(told, pairs, main, direction)
    charts = [
        roc_chart(told),
        dimension_chart(told, pairs, direction),
        map_chart(told[0], pairs, drawing),
    ]
    drawn = [chart for chart in charts if chart is not None]
    specs = {**(others or {}), **{one.run.id: one.spec for one in told}}
    names = " and ".join([pairs.x_name, pairs.y_name])
    words = part_words(told[0], pairs)
    body = [
        f"<h1>{plain(f'{pairs.name}: {len(told)} ways to match {names}')}</h1>"
        if len(told) > 1
        else f"<h1>{plain(f'{pairs.name}: matching {names}')}</h1>",
        f"<p class=note>{plain(f'{words[0].upper()}{words[1:]}.')}</p>",
        *(
            f"<p{' class=lead' if i == 0 else ''}>{plain(said, 1_000)}</p>"
            for i, said in enumerate(facts.findings(told, pairs, main, direction, compared))
        ),
        sections.contents(told, drawn),
        sections.table(told, pairs, metrics, direction, compared, main),
        *sections.figures(drawn),
        sections.subject(told, pairs, direction),
        sections.runs(told, main, direction, specs),
        f"<footer>Made {plain(made or f'{datetime.now(UTC):%Y-%m-%d}')} with simviz "
        f"{plain(version('simviz'))}. The charts can be saved as PNG or SVG from their menus; "
        "nothing on this page is fetched from anywhere.</footer>",
    ]
    return _page(f"{pairs.name}, compared on the {part} part", "\n".join(body), drawn)


def _page(title: str, body: str, charts: Sequence[Chart]) -> str:
    """The whole file: policy, style, content, figures and the scripts that draw them."""
    from plotly.offline import get_plotlyjs

    scripts = [] if not charts else [get_plotlyjs().strip(), SCRIPT]
    # A browser reads line ends as one character, and takes the digest of that.
    scripts = [script.replace("\r\n", "\n").replace("\r", "\n") for script in scripts]
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    figures = {}
    for chart in charts:
        looks = {
            name: chart_data(fig) for name, fig in (("light", chart.light), ("dark", chart.dark))
        }
        images = [look["layout"].pop("images", []) for look in looks.values()]
        figures[chart.id] = {"images": images[0], **looks}
    data = _json(figures)
    inline = "\n".join(f"<script>{script}</script>" for script in scripts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{plain(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'{body}\n<script type="application/json" id="figures">{data}</script>\n'
        f"{inline}\n</body>\n</html>\n"
    )


def _json(value: object) -> str:
    """JSON that ends no element and no line of a script, whatever stands in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        text = text.replace(c, f"\\u{ord(c):04x}")
    # A lone surrogate could not be written to a file.
    return text.encode("utf-8", "backslashreplace").decode()


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
