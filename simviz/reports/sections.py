"""The sections of a report as HTML: every text in them is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isnan
from typing import Any

from simviz.charts.style import DARK, LIGHT, method_style
from simviz.charts.text import clean_text
from simviz.data.pairs import PairSet
from simviz.evaluation import Comparisons
from simviz.evaluation.tables import TableRow, best_values
from simviz.jobs.stopping import stopped_by_validation
from simviz.reports import facts
from simviz.reports.figures import Chart
from simviz.reports.lines import repeat_code
from simviz.reports.told import Told, part_words, table_rows

#: Beside a run whose training watched the part that is shown.
_EARLY = "stopped early by this part"


def plain(text: object, limit: int = 300) -> str:
    """Anybody's text as one line of HTML."""
    return escape(clean_text(text, limit))


def _results(told: Sequence[Told]) -> str:
    return f"Results on the {told[0].part} part"


def contents(told: Sequence[Told], charts: Sequence[Chart]) -> str:
    """Links to the sections."""
    wanted = [("results", _results(told)), *((chart.id, chart.title) for chart in charts)]
    wanted += [("compared", "What was compared"), ("runs", "Settings and code")]
    links = "".join(f'<a href="#section-{name}">{escape(title)}</a>' for name, title in wanted)
    return f'<nav aria-label="Contents">{links}</nav>'


def table(
    told: Sequence[Told],
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
        f"Runs are ordered {facts.order(told)}."
    ]
    if any(early):
        words.append(f"What {_EARLY} does a little better on it than elsewhere.")
    if compared is not None:
        n = len(compared.pairs)
        tested = facts.tested_metric(told, pairs, main)
        test = next(iter(compared.pairs.values())).test
        words.append(
            f"Runs that share a letter cannot be told apart at 5 % ({test} of "
            f"{tested}{f', Holm over {n} pairs' if n > 1 else ''})."
        )
    meaning = "".join(
        f"<dt>{plain(name)}</dt><dd>{plain(said)}</dd>"
        for name, said in facts.metric_words(metrics)
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


def subject(told: Sequence[Told], pairs: PairSet, direction: str) -> str:
    """The data, the split and the test."""
    rows = "".join(
        f"<dt>{plain(name)}</dt><dd>{plain(value)}</dd>"
        for name, value in facts.facts(told, pairs, direction)
    )
    return f'<section id="section-compared"><h2>What was compared</h2><dl>{rows}</dl></section>'


def runs(
    told: Sequence[Told], metric: str, direction: str, specs: Mapping[str, Mapping[str, Any]]
) -> str:
    """Everything that it takes to have the runs again."""
    parts = [_run(one, metric, direction, specs) for one in told]
    return f'<section id="section-runs"><h2>Settings and code</h2>{"".join(parts)}</section>'


def _run(one: Told, metric: str, direction: str, specs: Mapping[str, Mapping[str, Any]]) -> str:
    """Everything that it takes to have a run again."""
    seconds = one.meta.get("seconds", {})
    told = [
        ("Method", str(one.spec["method"])),
        ("Run", one.run.id),
        ("Seconds", ", ".join(f"{stage} {value:.1f}" for stage, value in seconds.items())),
        ("Versions", ", ".join(f"{n} {v}" for n, v in one.meta.get("versions", {}).items())),
        *(("Note", str(note)) for note in one.meta.get("notes", ())),
    ]
    rows = "".join(f"<dt>{plain(name)}</dt><dd>{plain(value, 600)}</dd>" for name, value in told)
    params = "".join(
        f"<tr{' class=set' if given else ''}><td>{plain(name)}</td>"
        f'<td class="left">{plain(value, 2_000)}</td></tr>'
        for name, value, given in facts.settings(one)
    )
    code = escape(repeat_code(one.spec, metric, direction, specs, one.part))
    table = (
        '<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">parameter</th>'
        f'<th scope="col" class="left">value</th></tr></thead><tbody>{params}</tbody></table>'
        "</div>"
    )
    return (
        f"<h3>{_swatch(one.look)}{plain(one.label)}</h3><dl>{rows}</dl>{table if params else ''}"
        f"<pre><code>{code}</code></pre>"
    )
