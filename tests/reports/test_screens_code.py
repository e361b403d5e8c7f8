"""The code of each page runs as it is and prints what the page shows."""

from __future__ import annotations

import ast

import pytest
from waiting import finished

from simviz.data import Items
from simviz.data.health import check_health
from simviz.datasets import load_demo
from simviz.evaluation.assignment import assign, group_names
from simviz.jobs import JobQueue, JobSpec, SplitSpec
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now
from simviz.projection.pipeline_map import DRAWING
from simviz.reports import (
    compare_code,
    data_code,
    map_code,
    normalise_code,
    repeat_code,
    search_code,
)
from simviz.store import Store, load_map


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two quick runs on the emoji demo."""
    store = Store(tmp_path_factory.mktemp("screens"))
    mine = store.workspaces.create()
    digest = store.datasets.get("demo:emoji").digest
    split = SplitSpec(seed=1)
    methods = (("bm25", {}), ("cl_lsi", {"n_components": 20}))
    with JobQueue(store) as queue:
        runs = [
            finished(queue, JobSpec("demo:emoji", digest, *method, split, workspace=mine))
            for method in methods
        ]
    draw_now(runs[1], store.datasets.get("demo:emoji"), QUICK_LAYOUT)
    return runs


def execute(code):
    names = {}
    exec(code, names)
    return names


def test_data_page(capsys):
    split = {"by": "pair", "fractions": [0.6, 0.2, 0.2], "seed": 3}
    names = execute(data_code("demo:emoji", split))
    lines = capsys.readouterr().out.splitlines()
    assert sum(map(int, lines[0].split())) == len(names["pairs"].x)
    found = check_health(names["pairs"], names["parts"])
    assert lines[1:] == [finding.title for finding in found]


@pytest.mark.parametrize("direction", ["mean", "y2x"])
def test_compare_page(runs, capsys, direction):
    specs = {'BM25 "x"': runs[0].spec, "CL-LSI": runs[1].spec}
    names = execute(compare_code(specs, "MRR", direction, test="t"))
    first, second, letters = capsys.readouterr().out.splitlines()
    figures = [run.part("test").value("MRR", direction) for run in runs]
    assert float(first.rsplit(" ", 1)[1]) == pytest.approx(figures[0], abs=1e-9)
    assert float(second.split()[-1]) == pytest.approx(figures[1], abs=1e-6)
    assert set(ast.literal_eval(letters)) == set(specs)
    assert names["found"].between('BM25 "x"', "CL-LSI").p_value < 0.05


def test_train_page_leaves_the_test_part_alone(runs, capsys):
    code = compare_code({"BM25": runs[0].spec}, "AUC", part="validation")
    assert "parts.test" not in code
    names = execute(code)
    shown = float(capsys.readouterr().out.split()[-1])
    assert shown == pytest.approx(runs[0].part("validation").value("AUC", "pairs"), abs=1e-9)
    assert len(names["results"]["BM25"].rankings["x2y"].n_relevant) == len(names["validation"].x)


def test_validation_is_compared_without_a_verdict(runs, capsys):
    specs = {"BM25": runs[0].spec, "CL-LSI": runs[1].spec}
    code = compare_code(specs, "MRR", "x2y", test="t", part="validation")
    assert "parts.test" not in code and "p_value" not in code and "letters" not in code
    execute(code)
    *_, ahead = capsys.readouterr().out.splitlines()
    difference, low, high = map(float, ahead.split())
    values = [run.part("validation").value("MRR", "x2y") for run in runs]
    assert difference == pytest.approx(values[0] - values[1], abs=1e-6)
    assert low < difference < high


def test_map_page(runs, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(map_code(runs[1].spec))
    shown, _ = map(float, capsys.readouterr().out.split())
    drawn = load_map(runs[1], DRAWING)[0]
    assert shown == pytest.approx(drawn.quality.trustworthiness, abs=1e-3)
    assert (tmp_path / "map.html").stat().st_size > 1000


@pytest.mark.parametrize(("side", "query"), [("x", 7), ("y", 7), ("x", 'red "heart"')])
def test_search_page(runs, capsys, side, query):
    names = execute(search_code(runs[1].spec, side, query))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    pairs, pipeline = load_demo("emoji"), runs[1].pipeline()
    asked = (pairs.x, names["query"]) if side == "y" else (names["query"], pairs.y)
    scores = pipeline.similarity(*asked).ravel()
    assert float(lines[0].split()[0]) == pytest.approx(scores.max(), abs=2e-3)


@pytest.mark.parametrize("threshold", [float("-inf"), 0.4])
def test_normalising_a_column(runs, capsys, threshold):
    lines = ["red heart", 'a "smiling" face\\', "qqq zzz 42", "الدفع"]
    names = execute(normalise_code(runs[0].spec, lines, threshold))
    pairs, pipeline = load_demo("emoji"), runs[0].pipeline()
    column = Items(list("abcd"), lines, "text")
    found = assign(pipeline, column, pairs.y, group_names(pairs))
    assert names["lines"] == lines
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(lines)
    for line, group, score, shown in zip(lines, found.group, found.score, told, strict=True):
        inside = group >= 0 and score >= threshold
        assert shown.endswith(found.names[group] if inside else "no group")
        assert line in shown


def test_a_long_column_is_read_from_a_file(runs):
    code = normalise_code(runs[0].spec, [f"line {i}" for i in range(200)])
    ast.parse(code)
    assert "YOUR_COLUMN" in code and "line 7" not in code


def test_imported_runs_are_left_out(runs):
    imported = {**runs[0].spec, "method": "imported"}
    code = compare_code({"theirs": imported, "BM25": runs[0].spec}, test="t")
    assert '# "theirs" was imported' in code
    assert "compare_all" not in code
    blend = {**runs[0].spec, "method": "blend", "params": {"learned_method": "imported"}}
    for write in (
        lambda: map_code(imported),
        lambda: repeat_code(imported),
        lambda: repeat_code(blend),
        lambda: compare_code({"theirs": imported}),
    ):
        with pytest.raises(ValueError, match="imported"):
            write()


def test_a_run_corrected_by_csls_is_written_with_what_it_corrects():
    spec = JobSpec("demo:emoji", "", "cca", {"n_components": 5}).to_json()
    params = {"scaled": "a" * 32, "k": 3, "queries": "training", "scaled_method": "cca"}
    scaled = {**spec, "method": "csls", "params": params}
    code = repeat_code(scaled, others={"a" * 32: spec})
    ast.parse(code)
    assert 'scaled = simviz.default_pipeline("cca", parts.train, n_components=5)' in code
    assert 'simviz.CSLSPipeline.of(\n    scaled, parts.train, 3, queries="training"\n)' in code
    assert "are not known here" in repeat_code(scaled)


def test_code_for_a_picture_names_what_to_put_in():
    spec = JobSpec("own", "", "cca").to_json()
    code = search_code(spec, "y", None, answer_has_text=False)
    ast.parse(code)
    for words in ("YOUR_PICTURE", "YOUR_FILE", "pairs.x.labels[i]"):
        assert words in code
