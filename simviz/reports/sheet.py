"""How a report looks and what draws its charts; nothing here is anybody's text."""

from __future__ import annotations

from simviz.charts.style import DARK, FONT, LIGHT, Theme


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
