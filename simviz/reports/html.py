"""A comparison as one page that opens anywhere, from a disk and without a network."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from markupsafe import Markup

from simviz.charts import dimension_figure, roc_figure
from simviz.charts.canvas import CSS, PAGE_SCRIPT, content_policy, pack_all, page_state
from simviz.charts.curves import MAX_BANDS
from simviz.charts.style import DARK, FONT, LIGHT, clean_text, method_style, script_json
from simviz.charts.tables import Cell, environment, html_table, read_text
from simviz.data.pairs import PairSet
from simviz.evaluation import Comparisons
from simviz.evaluation.differences import query_metric
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import Asking
from simviz.exceptions import DatasetError
from simviz.projection.pipeline_map import BEST, DRAWING
from simviz.reports import run_summary
from simviz.reports.code import repeat_code
from simviz.reports.run_summary import (
    RunEntry,
    RunTable,
    column,
    dimension_curve,
    milestones,
    part_text,
    ranked,
    read_runs,
    records_by_dimension,
    shared_metrics,
)
from simviz.store.run import Part, Run, load_map

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from jinja2 import Template

#: Items of a side on a map at most, and pictures, each of which takes some kilobytes of the file.
MAX_POINTS, MAX_PICTURES = 3_000, 1_500
_RATES = (0.001, 0.01, 0.1)


#: Beside a run whose training watched the part that is shown.
_EARLY = "stopped early by this part"
_LEFT = {"class": "left"}
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
    drawing: str | None = None,
    created: str | None = None,
    part: Part = "test",
) -> str:
    """Everything about a comparison in one HTML file.

    All runs were measured on that part of one split of `pairs`. They are told apart by the main
    metric, and ordered by it on the validation part; by default it is the first that all runs
    have, and the side asks that asked first when they were measured. p-values and tie groups
    are given on the test part alone.

    By run id, `labels` say what to call a run, `looks` by which id `method_style` knows its
    colour; `others` are requests (`Run.spec`) of further runs, such as the parts of a blend,
    for the code that repeats it. `drawing` names the best run's map in two dimensions, if it is
    kept; by default it is the two-sided one, else that by distances.

    The page has its charts and plotly.js inside. It fetches nothing: its content security
    policy allows its own two scripts, by their digests, and pictures that it holds itself.
    Every text from the data or a name is escaped, and what Plotly would read as a tag, too.

    A ValueError says that there is no run, that the runs were not measured on one split, or
    that metric or direction is unknown; a DatasetError that they were trained on other data; a
    StoreError that one was not measured on that part, or a file is missing or damaged.
    """
    from plotly.offline import get_plotlyjs

    entries = read_runs(runs, labels, looks, part)
    if entries[0].run.spec["dataset_digest"] != pairs.digest:
        raise DatasetError(
            f"These runs were trained on other data than {pairs.name!r} as it is now. Give the "
            "data set they were trained on."
        )
    known = list(entries[0].measured.directions)
    if direction is None or (direction == "mean" and len(known) == 1):
        direction = known[0]
    if direction not in _DIRECTIONS or (direction != "mean" and direction not in known):
        raise ValueError(f"direction must be one of {', '.join(_DIRECTIONS)}, got {direction!r}.")
    metrics = shared_metrics(entries)
    main = metrics[0] if metric is None else parse_metric(metric).name
    if main not in metrics:
        raise ValueError(f"These runs were not measured by {main!r}, but {', '.join(metrics)}.")
    metrics = [main, *(m for m in metrics if m != main)]
    order = [run.id for run in ranked(runs, main, direction, part)]
    entries.sort(key=lambda one: order.index(one.run.id))
    table = RunTable(pairs, entries, cast(Asking, direction), main, metrics)
    compared = run_summary.compare_runs(table)
    charts = [roc_chart(entries), _dimension_chart(table)]
    drawn = [chart for chart in charts if chart is not None]
    packed, caption = _map(entries[0], pairs, drawing)
    # A browser reads line ends as one character, and takes the digest of that.
    plotly = get_plotlyjs().strip().replace("\r\n", "\n").replace("\r", "\n")
    scripts = [plotly, read_text("simviz.reports", "page.js")] if drawn else []
    scripts += [PAGE_SCRIPT] if packed else []
    specs = {**(others or {}), **{one.run.id: one.run.spec for one in entries}}
    text = part_text(entries[0], pairs)
    return _template().render(
        policy=content_policy(scripts),
        title=f"{pairs.name}, compared on the {part} part",
        heading=f"{pairs.name}: {' × '.join(pairs.headings)}",
        part=f"{text[0].upper()}{text[1:]}.",
        findings=run_summary.findings(table),
        results=f"Results on the {part} part",
        table=_results_table(table, compared),
        notes=_notes(table, compared),
        metrics=[(name, parse_metric(name).description) for name in metrics],
        charts=drawn,
        map=Markup(packed),
        caption=caption,
        compared=run_summary.facts(table),
        runs=[_run(one, main, direction, specs) for one in entries],
        made=created or f"{datetime.now(UTC):%Y-%m-%d}",
        version=version("simviz"),
        style=Markup(style() + CSS),
        figures=Markup(_figures(drawn)),
        scripts=[Markup(script) for script in scripts],
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    made = environment()
    made.filters["line"] = lambda text, limit=300: clean_text(text, limit)
    return made.from_string(read_text("simviz.reports", "page.html"))


def style() -> str:
    """The look of a page, light and dark."""
    panels = {"light": (LIGHT, "#f3f1eb"), "dark": (DARK, "#1d2128")}
    colours = {
        name: f"--paper:{theme.paper};--ink:{theme.ink};--muted:{theme.muted};"
        f"--faint:{theme.faint};--accent:{theme.accent};--panel:{panel};color-scheme:{name};"
        for name, (theme, panel) in panels.items()
    }
    return string.Template(read_text("simviz.reports", "page.css")).substitute(colours, font=FONT)


def _figures(charts: Sequence[Chart]) -> str:
    """Both looks of every chart as JSON."""
    figures: dict[str, dict[str, Any]] = {}
    for chart in charts:
        looks = figures[chart.id] = {}
        for name, figure in chart.figures.items():
            look = looks[name] = json.loads(figure.to_json(validate=False))
            look["layout"].pop("meta", None)  # the page has it in words
    return script_json(figures)


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A chart with what it shows in words and in figures."""

    id: str
    title: str
    figures: Mapping[str, go.Figure]
    caption: str
    table: str

    @property
    def alt(self) -> str:
        """What it shows, for those who cannot see it."""
        return str(self.figures["light"].layout.meta["alt"])


def _both_looks(draw: Callable[..., go.Figure], *args: Any, **how: Any) -> dict[str, Any]:
    return {theme.name: draw(*args, theme=theme, **how) for theme in (LIGHT, DARK)}


def roc_chart(entries: Sequence[RunEntry]) -> Chart | None:
    """ROC curves of the runs, or None where none was traced."""
    rocs = run_summary.roc_curves(entries)
    if not rocs:
        return None
    first = rocs[0][1]
    return Chart(
        id="roc",
        title="ROC",
        figures=_both_looks(roc_figure, [curve for curve, _ in rocs]),
        caption=(
            f"Over {first.n_positive + first.n_negative:,} pairs of the {entries[0].part} part, "
            f"of which {first.n_positive:,} are relevant; the same for both directions. The table "
            "gives the true positive rate at false positive rates."
        ),
        table=_table(
            ["run", *(f"at {100 * rate:g} %" for rate in _RATES)],
            [[c.label, *(f"{100 * r.tpr_at(x):.1f} %" for x in _RATES)] for c, r in rocs],
        ),
    )


def _dimension_chart(table: RunTable) -> Chart | None:
    """Quality by dimension, or None where no method has such a curve."""
    metric, entries, pairs = query_metric(table.metric).name, table.entries, table.pairs
    side = table.direction
    made = [dimension_curve(e, side, records_by_dimension(e, metric, pairs)) for e in entries]
    drawn = [(one, curve) for one, curve in zip(entries, made, strict=True) if curve is not None]
    if not drawn:
        return None
    curves = [curve for _, curve in drawn]
    bands = ", with 95 % bands" if len(curves) <= MAX_BANDS else ""
    names = ", ".join(one.label for one, _ in drawn if not one.measured.curve)
    swept = f" Trained at each number of dimensions: {names}." if names else ""
    return Chart(
        id="dimensions",
        title="Quality by dimensions",
        figures=_both_looks(dimension_figure, curves, metric=metric),
        caption=(
            f"{metric} of the first dimensions of each model, all from one training{bands}; "
            f"{part_text(entries[0], pairs)}.{swept}"
        ),
        table=_table(
            ["run", f"best {metric}", "with", "95 % of it with"],
            [[one.label, *milestones(curve)] for one, curve in drawn],
        ),
    )


def _map(one: RunEntry, pairs: PairSet, drawing: str | None) -> tuple[str, str]:
    """Both sides on one map as a run sees them, and its caption; empty where it is not kept."""
    known = one.run.maps()
    if drawing is None:
        drawing = BEST if BEST in known else DRAWING
    if drawing not in known:
        return "", ""
    drawn, x_rows, y_rows = load_map(one.run, drawing)
    notes = list(drawn.notes)
    keep = []
    for rows, items in ((x_rows, pairs.x), (y_rows, pairs.y)):
        mixed = np.random.default_rng(drawn.seed or 0).permutation(len(rows))
        keep.append(np.sort(mixed[: MAX_PICTURES if items.kind == "image" else MAX_POINTS]))
    if len(keep[0]) < len(x_rows) or len(keep[1]) < len(y_rows):
        drawn = replace(drawn, x=drawn.x[keep[0]], y=drawn.y[keep[1]])
        x_rows, y_rows = x_rows[keep[0]], y_rows[keep[1]]
        notes.append("Of more items, so many at random.")
    sizes = f"{len(x_rows):,} {pairs.nouns[0]} and {len(y_rows):,} {pairs.nouns[1]} of all parts."
    quality = [] if drawn.quality is None else [drawn.quality.describe()]
    texts = [f"Run: {one.label}.", sizes, *quality, *notes]
    packed = pack_all(drawn, pairs.take(x_rows, y_rows), height="min(720px, 130vw)", scrolls=True)
    return page_state(packed), " ".join(texts)


def _table(
    head: Sequence[object], rows: Sequence[Sequence[object]], row_looks: Sequence[str] = ()
) -> Markup:
    """A table that scrolls sideways; each text on one line."""

    def clean(cell: object) -> object:
        return cell if isinstance(cell, Cell | Markup) else clean_text(cell, 300)

    lines = [[clean(cell) for cell in row] for row in rows]
    return Markup(html_table(map(clean, head), lines, row_looks=row_looks, scroll="scroll"))


def _results_table(table: RunTable, compared: Comparisons | None) -> Markup:
    """The runs by metric in their order."""
    entries, names = table.entries, list[object](table.row_names)
    for i, one in enumerate(entries):
        early = Markup(' <span class="sv-se">{}</span>').format(_EARLY)
        names[i] = _named(one) + (early if one.is_stopped_early else "")
    columns = table.page_columns(table.metrics, table.metric)
    if compared is not None:
        letters = compared.letters()
        columns.insert(1, column("group", [letters.get(n) or "–" for n in table.row_names]))
    head, *lines = zip(["run", *names], *columns, strict=True)
    looks = [""] * len(entries) + ["base"] * (len(names) - len(entries))
    return _table([getattr(cell, "content", cell) for cell in head], lines, looks)


def _named(one: RunEntry) -> Markup:
    """A run's name behind the line that it has in the charts, in both looks."""
    made = Markup()
    dashes = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "11 4"}
    for theme in (LIGHT, DARK):
        style = method_style(one.look, theme)
        dash = dashes.get(style.dash, style.dash.replace("px", "").replace(",", " "))
        made += Markup(
            '<svg class="swatch only-{}" viewBox="0 0 20 10" aria-hidden="true"><line x1="0" '
            'y1="5" x2="20" y2="5" stroke="{}" stroke-dasharray="{}"/></svg>'
        ).format(theme.name, style.colour, dash)
    return made + clean_text(one.label, 300)


def _notes(table: RunTable, compared: Comparisons | None) -> list[str]:
    """What the figures of the table mean."""
    texts = [
        f"On the {part_text(table.entries[0], table.pairs)}; ± 95 % intervals; what the first "
        f"sentence says is bold. Runs are ordered {run_summary.order(table.entries)}."
    ]
    if any(one.is_stopped_early for one in table.entries):
        texts.append(f"Runs {_EARLY} do a little better on it than elsewhere.")
    if compared is not None:
        n = len(compared.pairs)
        tested = run_summary.tested_metric(table)
        test = next(iter(compared.pairs.values())).test
        texts.append(
            f"Runs that share a letter cannot be told apart at 5 % ({test} of "
            f"{tested}{f', Holm over {n} pairs' if n > 1 else ''})."
        )
    return [*texts, *run_summary.nothing_known(table)]


def _run(
    one: RunEntry, metric: str, direction: str, specs: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Everything that it takes to have a run again."""
    code = ""
    with suppress(ValueError):  # answers of another system, which nothing here trains
        code = repeat_code(one.run.spec, metric, direction, specs, one.part)
    seconds, versions = (one.run.about.get(name, {}) for name in ("seconds", "versions"))
    settings = run_summary.settings(one)
    rows = [[name, Cell(clean_text(value, 2_000), _LEFT)] for name, value, _ in settings]
    looks = ["set" if is_set else "" for _, _, is_set in settings]
    return {
        "name": _named(one),
        "facts": [
            ("Method", one.run.spec["method"]),
            ("Run", one.run.id),
            ("Seconds", ", ".join(f"{stage} {value:.1f}" for stage, value in seconds.items())),
            ("Versions", ", ".join(f"{name} {value}" for name, value in versions.items())),
            *(("Note", note) for note in one.run.about.get("notes", ())),
        ],
        "settings": _table(["parameter", Cell("value", _LEFT)], rows, looks) if rows else "",
        "code": code,
    }
