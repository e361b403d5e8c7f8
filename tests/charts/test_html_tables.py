from __future__ import annotations

from markupsafe import Markup

from simviz.charts.tables import Cell, html_table


def test_all_text_is_escaped_and_markup_is_not() -> None:
    head = ["<b>", Cell("NPMI", {"title": 'from "−1" to 1', "class": "number"})]
    made = html_table(head, [["a & b", Markup("<i>c</i>")]], caption="<c>")
    assert "&lt;b&gt;" in made and "a &amp; b" in made and "<caption>&lt;c&gt;" in made
    assert "<td><i>c</i></td>" in made
    assert 'title="from &#34;−1&#34; to 1" class="number">NPMI</th>' in made


def test_rows_cells_and_the_table_have_their_classes() -> None:
    rows = [[1, 2], [Cell("both", {"scope": "rowgroup", "colspan": 2})]]
    made = html_table([], rows, look="wide", row_looks=["", "grey"], label="n", scroll="box")
    assert made == (
        '<div class="box" tabindex="0"><table class="wide" aria-label="n"><tbody>'
        '<tr><td>1</td><td>2</td></tr><tr class="grey"><th scope="rowgroup" colspan="2">both</th>'
        "</tr></tbody></table></div>"
    )
