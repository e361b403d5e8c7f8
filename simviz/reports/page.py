"""A comparison as one page that opens anywhere, from a disk and without a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.charts import RocCurve, dimension_figure, map_figure, roc_figure
from simviz.charts.style import DARK, FONT, LIGHT, Theme, clean_text, method_style
from simviz.data.pairs import PairSet
from simviz.evaluation import Comparisons
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.roc import Roc
from simviz.evaluation.tables import TableRow, best_values
from simviz.exceptions import DatasetError
from simviz.jobs.results import load_map, stopped_by_validation
from simviz.projection.drawing import DRAWING
from simviz.reports import summary
from simviz.reports.code import repeat_code
from simviz.reports.summary import (
    Entry,
    dimension_curve,
    milestones,
    part_words,
    ranked,
    read_runs,
    shared_metrics,
    table_rows,
)
from simviz.store.run import Part, Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Points of a side at most: a page of its own draws them without a graphics card.
MAX_POINTS = 3_000
_RATES = (0.001, 0.01, 0.1)
ThemeName = Literal["light", "dark"]


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A chart with what it shows in words and in figures."""

    id: str
    title: str
    light: go.Figure
    dark: go.Figure
    height: int
    caption: str
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @property
    def alt(self) -> str:
        """What it shows, for those who cannot see it."""
        return str(self.light.layout.meta["alt"])


def roc_chart(told: Sequence[Entry]) -> Chart | None:
    """ROC curves of the runs, or None where none was traced."""
    rocs = [(one, Roc(**arrays)) for one in told if (arrays := _roc(one)) is not None]
    if not rocs:
        return None
    curves = [RocCurve(one.look, one.label, r.fpr, r.tpr, r.auc) for one, r in rocs]
    first = rocs[0][1]
    return Chart(
        id="roc",
        title="How well one threshold separates pairs",
        light=roc_figure(curves, theme="light"),
        dark=roc_figure(curves, theme="dark"),
        height=540,
        caption=(
            f"Over {first.n_positive + first.n_negative:,} pairs of the {told[0].part} part, of "
            f"which {first.n_positive:,} belong together; both directions are the same. The table "
            "says which share of the true pairs is found at a share of false alarms."
        ),
        head=["run", *(f"at {100 * rate:g} %" for rate in _RATES)],
        rows=[[one.label, *(f"{100 * r.tpr_at(x):.1f} %" for x in _RATES)] for one, r in rocs],
    )


def _roc(one: Entry) -> Mapping[str, Any] | None:
    return one.run.part(one.part).roc()


def dimension_chart(told: Sequence[Entry], pairs: PairSet, direction: str) -> Chart | None:
    """Quality by dimension, or None where no method has such a curve."""
    drawn = [(one, c) for one in told if (c := dimension_curve(one, direction)) is not None]
    if not drawn:
        return None
    metric = str(drawn[0][0].measured.curve[0]["metric"])
    curves = [curve for _, curve in drawn]
    return Chart(
        id="dimensions",
        title="How many dimensions it takes",
        light=dimension_figure(curves, metric=metric, theme="light"),
        dark=dimension_figure(curves, metric=metric, theme="dark"),
        height=540,
        caption=(
            f"{metric} of the first dimensions of each model, all from one training, with 95 % "
            f"bands; {part_words(told[0], pairs)}."
        ),
        head=["run", f"best {metric}", "with", "95 % of it with"],
        rows=[[one.label, *milestones(curve)] for one, curve in drawn],
    )


def map_chart(one: Entry, pairs: PairSet, drawing: str) -> Chart | None:
    """Both sides on one map as a run sees them, or None where it is not kept."""
    if drawing not in one.run.maps():
        return None
    drawn, x_rows, y_rows = load_map(one.run, drawing)
    notes = list(drawn.notes)
    keep = [_sample(len(rows), drawn.seed) for rows in (x_rows, y_rows)]
    if len(keep[0]) < len(x_rows) or len(keep[1]) < len(y_rows):
        drawn = replace(drawn, x=drawn.x[keep[0]], y=drawn.y[keep[1]])
        x_rows, y_rows = x_rows[keep[0]], y_rows[keep[1]]
        notes.append(f"At most {MAX_POINTS:,} items of a side are shown here, drawn at random.")
    x, y = pairs.x.take(x_rows), pairs.y.take(y_rows)
    relevance = pairs.relevance.take(x_rows, y_rows)

    def figure(theme: ThemeName) -> go.Figure:
        return map_figure(
            drawn,
            x,
            y,
            relevance,
            theme=theme,
            x_name=pairs.x_name,
            y_name=pairs.y_name,
            width=1100,
            height=720,
        )

    told = [f"{len(x):,} {pairs.x_name} and {len(y):,} {pairs.y_name} of all parts."]
    if drawn.quality is not None:
        told.append(drawn.quality.describe())
    told += notes
    return Chart(
        id="map",
        title="Both sides on one map",
        light=figure("light"),
        dark=figure("dark"),
        height=720,
        caption=" ".join([f"As seen by {one.label}.", *told]),
    )


def chart_data(figure: go.Figure) -> dict[str, Any]:
    """A figure as JSON's types, drawn with SVG alone."""
    told: dict[str, Any] = json.loads(figure.to_json(validate=False))
    told["layout"].pop("meta", None)  # the page has it in words
    for trace in told["data"]:
        if trace.get("type") == "scattergl":
            trace["type"] = "scatter"
    return told


def _sample(n: int, seed: int | None) -> NDArray[np.intp]:
    if n <= MAX_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed or 0).permutation(n)[:MAX_POINTS])


#: Beside a run whose training watched the part that is shown.
_EARLY = "stopped early by this part"


def plain(text: object, limit: int = 300) -> str:
    """Anybody's text as one line of HTML."""
    return escape(clean_text(text, limit))


def _results(told: Sequence[Entry]) -> str:
    return f"Results on the {told[0].part} part"


def contents(told: Sequence[Entry], charts: Sequence[Chart]) -> str:
    """Links to the sections."""
    wanted = [("results", _results(told)), *((chart.id, chart.title) for chart in charts)]
    wanted += [("compared", "What was compared"), ("runs", "Settings and code")]
    links = "".join(f'<a href="#section-{name}">{escape(title)}</a>' for name, title in wanted)
    return f'<nav aria-label="Contents">{links}</nav>'


def table(
    told: Sequence[Entry],
    pairs: PairSet,
    metrics: Sequence[str],
    direction: str,
    compared: Comparisons | None,
    main: str,
) -> str:
    """The runs by metric in their order, and what the figures mean."""
    rows = table_rows(told, metrics, direction)
    letters = None if compared is None else compared.letters()
    best = best_values(rows, metrics)
    head = [f'<th scope="col">{plain(m)}</th>' for m in metrics]
    if letters is not None:
        head.insert(1, '<th scope="col">ties</th>')
    lines = []
    part = told[0].part
    early = [part == "validation" and stopped_by_validation(one.run) for one in told]
    for i, row in enumerate(rows):
        cells = [_cell(row, m, best.get(m)) for m in metrics]
        if letters is not None:
            cells.insert(1, f"<td>{plain(letters.get(row.label, '') or '–')}</td>")
        cells.append(f"<td>{'–' if row.dimensions is None else f'{row.dimensions:,}'}</td>")
        cells.append(f"<td>{'–' if row.seconds is None else f'{row.seconds:.1f} s'}</td>")
        name = plain(row.label)
        if not row.is_baseline:
            name = _swatch(told[i].look) + name
            name += f' <span class="se">{_EARLY}</span>' if early[i] else ""
        lines.append(
            f"<tr{' class=base' if row.is_baseline else ''}><td>{name}</td>{''.join(cells)}</tr>"
        )
    words = [
        f"On the {part_words(told[0], pairs)}; ± 95 % intervals; the best of each column is bold. "
        f"Runs are ordered {summary.order(told)}."
    ]
    if any(early):
        words.append(f"What {_EARLY} does a little better on it than elsewhere.")
    if compared is not None:
        n = len(compared.pairs)
        tested = summary.tested_metric(told, pairs, main)
        test = next(iter(compared.pairs.values())).test
        words.append(
            f"Runs that share a letter cannot be told apart at 5 % ({test} of "
            f"{tested}{f', Holm over {n} pairs' if n > 1 else ''})."
        )
    meaning = "".join(
        f"<dt>{plain(name)}</dt><dd>{plain(said)}</dd>"
        for name, said in summary.metric_words(metrics)
    )
    return (
        '<section id="section-results">'
        f"<h2>{plain(_results(told))}</h2>"
        f'<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">run</th>'
        f'{"".join(head)}<th scope="col">dimensions</th><th scope="col">time</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
        f'<p class="note">{plain(" ".join(words), 1_000)}</p>'
        f"<details><summary>What the metrics mean</summary><dl>{meaning}</dl></details></section>"
    )


def _cell(row: TableRow, metric: str, best: float | None) -> str:
    value, reach = row.values[metric]
    if isnan(value):
        return "<td>–</td>"
    shown = f"{value:.3f}"
    if not isnan(reach) and not row.is_baseline:
        shown += f' <span class="se">±{reach:.3f}</span>'
    return f"<td{' class=best' if value == best and not row.is_baseline else ''}>{shown}</td>"


def _swatch(look: str) -> str:
    """The line that a run has in the charts, in both looks."""
    made = []
    dashes = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "11 4"}
    for theme in (LIGHT, DARK):
        style = method_style(look, theme)
        dash = dashes.get(style.dash, style.dash.replace("px", "").replace(",", " "))
        made.append(
            f'<svg class="swatch only-{theme.name}" viewBox="0 0 20 10" aria-hidden="true">'
            f'<line x1="0" y1="5" x2="20" y2="5" stroke="{escape(style.colour)}" '
            f'stroke-dasharray="{escape(dash)}"/></svg>'
        )
    return "".join(made)


def figures(charts: Sequence[Chart]) -> list[str]:
    """Curves side by side, the map below."""
    told = {chart.id: _chart(chart) for chart in charts}
    curves = [told[name] for name in ("roc", "dimensions") if name in told]
    row = [f'<div class="two">{"".join(curves)}</div>'] if curves else []
    return [*row, *(told[name] for name in told if name not in ("roc", "dimensions"))]


def _chart(chart: Chart) -> str:
    wide = ' class="wide"' if chart.id == "map" else ""
    table = ""
    if chart.rows:
        table = (
            '<div class="scroll" tabindex="0">' + _plain_table(chart.head, chart.rows) + "</div>"
        )
    return (
        f'<section{wide} id="section-{chart.id}"><h2>{plain(chart.title)}</h2><figure>'
        f'<div class="scroll"><div class="chart" id="{chart.id}" role="img" '
        f'style="height:{chart.height}px" aria-label="{plain(chart.alt, 1_000)}"></div></div>'
        f'<figcaption><p class="note">{plain(chart.caption, 2_000)}</p></figcaption></figure>'
        f"{table}</section>"
    )


def _plain_table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{plain(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{plain(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def subject(told: Sequence[Entry], pairs: PairSet, direction: str) -> str:
    """The data, the split and the test."""
    rows = "".join(
        f"<dt>{plain(name)}</dt><dd>{plain(value)}</dd>"
        for name, value in summary.facts(told, pairs, direction)
    )
    return f'<section id="section-compared"><h2>What was compared</h2><dl>{rows}</dl></section>'


def runs_section(
    told: Sequence[Entry], metric: str, direction: str, specs: Mapping[str, Mapping[str, Any]]
) -> str:
    """Everything that it takes to have the runs again."""
    parts = [_run(one, metric, direction, specs) for one in told]
    return f'<section id="section-runs"><h2>Settings and code</h2>{"".join(parts)}</section>'


def _run(one: Entry, metric: str, direction: str, specs: Mapping[str, Mapping[str, Any]]) -> str:
    """Everything that it takes to have a run again."""
    seconds = one.run.meta.get("seconds", {})
    told = [
        ("Method", str(one.run.spec["method"])),
        ("Run", one.run.id),
        ("Seconds", ", ".join(f"{stage} {value:.1f}" for stage, value in seconds.items())),
        ("Versions", ", ".join(f"{n} {v}" for n, v in one.run.meta.get("versions", {}).items())),
        *(("Note", str(note)) for note in one.run.meta.get("notes", ())),
    ]
    rows = "".join(f"<dt>{plain(name)}</dt><dd>{plain(value, 600)}</dd>" for name, value in told)
    params = "".join(
        f"<tr{' class=set' if given else ''}><td>{plain(name)}</td>"
        f'<td class="left">{plain(value, 2_000)}</td></tr>'
        for name, value, given in summary.settings(one)
    )
    code = escape(repeat_code(one.run.spec, metric, direction, specs, one.part))
    table = (
        '<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">parameter</th>'
        f'<th scope="col" class="left">value</th></tr></thead><tbody>{params}</tbody></table>'
        "</div>"
    )
    return (
        f"<h3>{_swatch(one.look)}{plain(one.label)}</h3><dl>{rows}</dl>{table if params else ''}"
        f"<pre><code>{code}</code></pre>"
    )


def _colours(theme: Theme, panel: str) -> str:
    return (
        f"--paper:{theme.paper};--ink:{theme.ink};--muted:{theme.muted};--faint:{theme.faint};"
        f"--accent:{theme.accent};--panel:{panel};color-scheme:{theme.name};"
    )


STYLE = f"""
:root {{ {_colours(LIGHT, "#f3f1eb")} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_colours(DARK, "#1d2128")} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 1180px; padding: 2.4rem 1.5rem 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.55 {FONT}; overflow-wrap: anywhere; }}
h1, h2, h3 {{ font-family: 'Iowan Old Style', 'Palatino Linotype', Palatino, Georgia, serif;
  font-weight: 500; line-height: 1.25; }}
h1 {{ font-size: 2rem; margin: 0 0 .3rem; }}
h2 {{ font-size: 1.4rem; margin: 2.6rem 0 .7rem; }}
h3 {{ font-size: 1.1rem; margin: 1.8rem 0 .5rem; }}
summary {{ cursor: pointer; margin: .5rem 0; }}
p {{ max-width: 62rem; margin: .5rem 0; }}
.lead {{ font-size: 1.15rem; line-height: 1.5; }}
.note {{ color: var(--muted); font-size: .9rem; }}
nav {{ display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 1rem 0 0; font-size: .92rem; }}
a {{ color: var(--accent); }}
dl {{ display: grid; grid-template-columns: minmax(7rem, 11rem) 1fr; gap: .25rem 1rem;
  margin: 0; }}
dt {{ color: var(--muted); }}
dd {{ margin: 0; }}
.scroll {{ overflow-x: auto; overflow-wrap: normal; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; }}
th, td {{ padding: .34rem .8rem .34rem 0; text-align: right; border-bottom: 1px solid var(--faint);
  white-space: nowrap; }}
th {{ font-weight: 500; color: var(--muted); font-size: .9rem; }}
th:first-child, td:first-child {{ text-align: left; padding-right: 1.4rem; }}
td.best {{ font-weight: 650; }}
tr.base td, .se {{ color: var(--muted); }}
.se {{ font-size: .85em; font-weight: 400; }}
.swatch {{ display: inline-block; width: 20px; height: 10px; margin-right: .5rem; }}
.swatch line {{ stroke-width: 2.4; }}
.only-dark {{ display: none; }}
@media screen and (prefers-color-scheme: dark) {{
  .only-dark {{ display: inline-block; }} .only-light {{ display: none; }}
}}
.two {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr));
  gap: 0 2.4rem; }}
.chart {{ width: 100%; }}
.wide .chart {{ min-width: 900px; }}
pre {{ background: var(--panel); border-radius: .4rem; padding: .8rem 1rem; overflow-x: auto;
  overflow-wrap: normal; font: 13px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }}
th.left, td.left {{ text-align: left; white-space: normal; }}
.set td {{ font-weight: 650; }}
footer {{ margin-top: 3rem; color: var(--muted); font-size: .9rem; }}
@media print {{
  body {{ max-width: none; padding: 0; font-size: 11pt; }}
  nav, .modebar-container {{ display: none; }}
  figure, tr, dl, pre {{ break-inside: avoid; }}
  pre {{ white-space: pre-wrap; }}
  .wide .chart {{ min-width: 0; }}
}}
figure {{ margin: 0; }}
@media screen and (max-width: 600px) {{
  body {{ padding: 1.2rem 1rem 3rem; }}
  dl {{ grid-template-columns: 6.2rem 1fr; }}
  #roc {{ height: 460px !important; }}
}}
"""

#: Draws the charts in the reader's look, and in the light one on paper.
SCRIPT = """
"use strict";
(function () {
  var text = document.getElementById("figures").textContent;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var camera = window.Plotly.Icons.camera;
  function save(format) {
    return {
      name: "Save as " + format.toUpperCase(),
      title: "Save as " + format.toUpperCase(),
      icon: camera,
      click: function (chart) {
        window.Plotly.downloadImage(chart, { format: format, scale: 2, filename: chart.id });
      }
    };
  }
  var config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d"],
    modeBarButtonsToAdd: [save("png"), save("svg")]
  };
  function draw(look) {
    // Read anew each time: Plotly writes into what it is given.
    var figures = JSON.parse(text);
    Object.keys(figures).forEach(function (id) {
      var chosen = figures[id][look];
      chosen.layout.images = figures[id].images;
      window.Plotly.react(id, chosen.data, chosen.layout, config);
    });
  }
  function follow() { draw(dark.matches ? "dark" : "light"); }
  follow();
  dark.addEventListener("change", follow);
  window.addEventListener("beforeprint", function () { draw("light"); });
  window.addEventListener("afterprint", follow);
})();
"""


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
    if told[0].run.spec["dataset_digest"] != pairs.digest:
        raise DatasetError(
            f"These runs were trained on other data than {pairs.name!r} as it is now. Give the "
            "data set they were trained on."
        )
    known = list(told[0].measured.evaluation["directions"])
    if direction is None or (direction == "mean" and len(known) == 1):
        direction = known[0]
    if direction not in _DIRECTIONS or (direction != "mean" and direction not in known):
        raise ValueError(f"direction must be one of {', '.join(_DIRECTIONS)}, got {direction!r}.")
    metrics = shared_metrics(told)
    main = metrics[0] if metric is None else parse_metric(metric).name
    if main not in metrics:
        raise ValueError(f"These runs were not measured by {main!r}, but {', '.join(metrics)}.")
    metrics = [main, *(m for m in metrics if m != main)]
    results = {one.run.id: one.result for one in told}
    order = [run.id for run in ranked(runs, results, main, direction, part)]
    told.sort(key=lambda one: order.index(one.run.id))
    compared = summary.compare_runs(told, pairs, main, direction)
    charts = [
        roc_chart(told),
        dimension_chart(told, pairs, direction),
        map_chart(told[0], pairs, drawing),
    ]
    drawn = [chart for chart in charts if chart is not None]
    specs = {**(others or {}), **{one.run.id: one.run.spec for one in told}}
    names = " and ".join([pairs.x_name, pairs.y_name])
    words = part_words(told[0], pairs)
    body = [
        f"<h1>{plain(f'{pairs.name}: {len(told)} ways to match {names}')}</h1>"
        if len(told) > 1
        else f"<h1>{plain(f'{pairs.name}: matching {names}')}</h1>",
        f"<p class=note>{plain(f'{words[0].upper()}{words[1:]}.')}</p>",
        *(
            f"<p{' class=lead' if i == 0 else ''}>{plain(said, 1_000)}</p>"
            for i, said in enumerate(summary.findings(told, pairs, main, direction, compared))
        ),
        contents(told, drawn),
        table(told, pairs, metrics, direction, compared, main),
        *figures(drawn),
        subject(told, pairs, direction),
        runs_section(told, main, direction, specs),
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
