"""Tables leave as CSV that no spreadsheet runs and LaTeX that compiles."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
from numpy import nan

from simviz.evaluation.tables import (
    TableRow,
    csv_text,
    table_csv,
    table_latex,
)

METRICS = ["MRR", "rank loss"]
ROWS = [
    TableRow("=SUM(A1)", {"MRR": (0.5, 0.02), "rank loss": (0.2, nan)}, 20, 1.25),
    TableRow("50%_a & b\\{x}\n\nsecond", {"MRR": (0.4, 0.03)}),
    TableRow("chance", {"MRR": (0.9, nan), "rank loss": (0.01, nan)}, is_baseline=True),
]


def test_csv_reads_back():
    head, first, second, _ = csv.reader(io.StringIO(table_csv(ROWS, METRICS)))
    assert head[:3] == ["method", "MRR", "MRR ± (95 %)"]
    assert first == ["'=SUM(A1)", "0.5", "0.02", "0.2", "", "20", "1.25"]
    assert second[0] == ROWS[1].label
    assert second[3:] == ["", "", "", ""]


def test_texts_are_escaped_and_numbers_stay_numbers():
    lines = list(csv.reader(io.StringIO(csv_text([["@cmd", "+1", -0.5], ["a,b", '"', None]]))))
    assert lines == [["'@cmd", "'+1", "-0.5"], ["a,b", '"', ""]]


def test_a_number_that_is_none_is_an_empty_cell():
    numbers = [np.inf, -np.inf, np.nan, np.float32("inf"), np.float64("-inf"), 10**400, True, 0.5]
    line = next(csv.reader(io.StringIO(csv_text([numbers]))))
    assert line == ["", "", "", "", "", str(10**400), "True", "0.5"]


def test_latex_is_escaped_and_marks_the_headline():
    text = table_latex(ROWS, METRICS, caption="50 % of R&D")
    assert r"\textbf{0.500} {\footnotesize $\pm$ 0.020} & 0.200 & 20 & 1.2 \\" in text
    assert table_latex(ROWS[::-1], METRICS).count("textbf") == 1, "of the first, better or not"
    assert r"50\%\_a \& b\textbackslash{}\{x\} second & 0.400" in text
    assert r"\caption{50 \% of R\&D}" in text
    lines = text.splitlines()
    assert lines[lines.index(r"\midrule") + 1].startswith("chance")
    assert all(line.count(" & ") == 4 for line in lines if line.endswith(r"\\"))
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_what_a_test_found_stands_in_further_columns():
    tested = [
        replace(ROWS[0], further={"ties": "a", "Δ to B": -0.125, "p": "<0.001"}),
        replace(ROWS[1], further={"ties": "b", "Δ to B": None, "p": None}),
        ROWS[2],
    ]
    head, first, second, chance = csv.reader(io.StringIO(table_csv(tested, METRICS)))
    assert head[5:] == ["ties", "Δ to B", "p", "dimensions", "seconds"]
    assert first[5:8] == ["a", "-0.125", "<0.001"]
    assert second[5:8] == ["b", "", ""]
    assert chance[5:8] == ["", "", ""]
    text = table_latex(tested, METRICS)
    assert r"& a & $-0.125$ & $<$0.001 & 20 &" in text
    assert r"ties & $\Delta$ to B & p & dimensions" in text
