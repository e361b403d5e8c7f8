"""Tables leave as CSV that no spreadsheet runs and LaTeX that compiles; findings are sentences."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from numpy import nan

from simviz.evaluation.tables import Figure, csv_text, finding, table_csv, table_latex

NAMES = ["method", "=SUM(A1)", "50%_a & b\\{x}\n\nsecond", "chance"]
FIGURES = [
    ["MRR", Figure(0.5, 0.02), Figure(0.4, 0.03), Figure(0.9, nan)],
    ["rank loss", Figure(0.2, nan), Figure(nan, nan), Figure(0.01, nan)],
]
COSTS = [["dimensions", 20, None, None], ["seconds", 1.25, None, None]]
TABLE = [NAMES, *FIGURES, *COSTS]


def test_csv_reads_back():
    head, first, second, _ = csv.reader(io.StringIO(table_csv(TABLE)))
    assert head[:3] == ["method", "MRR", "MRR ± (95 %)"]
    assert first == ["'=SUM(A1)", "0.5", "0.02", "0.2", "", "20", "1.25"]
    assert second[0] == NAMES[2]
    assert second[3:] == ["", "", "", ""]


def test_texts_are_escaped_and_numbers_stay_numbers():
    lines = list(csv.reader(io.StringIO(csv_text([["@cmd", "+1", -0.5], ["a,b", '"', None]]))))
    assert lines == [["'@cmd", "'+1", "-0.5"], ["a,b", '"', ""]]


def test_a_number_that_is_none_is_an_empty_cell():
    numbers = [np.inf, -np.inf, np.nan, np.float32("inf"), np.float64("-inf"), 10**400, True, 0.5]
    line = next(csv.reader(io.StringIO(csv_text([numbers]))))
    assert line == ["", "", "", "", "", str(10**400), "True", "0.5"]


def test_latex_is_escaped_and_marks_the_headline():
    text = table_latex(TABLE, 2, caption="50 % of R&D")
    assert r"\textbf{0.500} {\footnotesize $\pm$ 0.020} & 0.200 & 20 & 1.2 \\" in text
    turned = [[head, *cells[::-1]] for head, *cells in TABLE]
    assert table_latex(turned, 2).count("textbf") == 1, "of the first, better or not"
    assert r"50\%\_a \& b\textbackslash{}\{x\} second & 0.400" in text
    assert r"\caption{50 \% of R\&D}" in text
    lines = text.splitlines()
    assert lines[lines.index(r"\midrule") + 1].startswith("chance")
    assert all(line.count(" & ") == 4 for line in lines if line.endswith(r"\\"))
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_what_a_test_found_stands_in_further_columns():
    found = [["ties", "a", "b", None], ["Δ to B", -0.125, nan, None], ["p", "<0.001", "", None]]
    tested = [NAMES, *FIGURES, *found, *COSTS]
    head, first, second, chance = csv.reader(io.StringIO(table_csv(tested)))
    assert head[5:] == ["ties", "Δ to B", "p", "dimensions", "seconds"]
    assert first[5:8] == ["a", "-0.125", "<0.001"]
    assert second[5:8] == ["b", "", ""]
    assert chance[5:8] == ["", "", ""]
    text = table_latex(tested, 2)
    assert r"& a & $-0.125$ & $<$0.001 & 20 &" in text
    assert r"ties & $\Delta$ to B & p & dimensions" in text


ITEMS = {"query_name": "queries", "answer_name": "documents"}


@pytest.mark.parametrize(
    ("metric", "value", "baseline", "words"),
    [
        (
            "top-1",
            0.584,
            0.0026,
            "CCA puts the right one first for 58 % of 1,385 queries of the test part, out of "
            "all documents; guessing by popularity does for 0.3 %.",
        ),
        (
            "P@5",
            0.32,
            0.066,
            "Of its first 5 answers (documents), CCA gets 1.6 right on average, over 1,385 "
            "queries of the test part; guessing by popularity gets 0.3.",
        ),
        (
            "MRR",
            0.6432,
            None,
            "CCA reaches MRR 0.643 over 1,385 queries of the test part (1 is always "
            "first, ½ always second).",
        ),
        (
            "MAP",
            0.5,
            0.25,
            "CCA reaches MAP 0.500 over 1,385 queries of the test part (1 would be "
            "everything relevant before everything else); guessing by popularity reaches 0.250.",
        ),
    ],
)
def test_sentences(metric, value, baseline, words):
    assert finding("CCA", metric, value, 1385, baseline=baseline, **ITEMS) == words


@pytest.mark.parametrize("metric", ["top-1", "P@5", "MRR"])
def test_queries_are_named_in_brackets(metric):
    names = {**ITEMS, "query_name": "Job title (raw)"}
    assert "1,385 queries (Job title (raw)) of the" in finding("CCA", metric, 0.3, 1385, **names)
