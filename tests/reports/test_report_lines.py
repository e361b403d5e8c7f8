"""Code that repeats a run, its queries one by one, and files for TREC's programs."""

from __future__ import annotations

import ast
import csv
import io
import zipfile
from dataclasses import replace

import ir_measures
import numpy as np
import pytest
from waiting import finished

from simviz.data import Items, PairSet
from simviz.evaluation.tables import Figure, table_markdown
from simviz.exceptions import JobError
from simviz.jobs import JobQueue, JobSpec, SplitSpec, blend_spec
from simviz.jobs.training import augmented
from simviz.methods import get_method
from simviz.relevance import Relevance
from simviz.reports import query_csv, repeat_code, trec_zip
from simviz.reports.run_summary import settings
from simviz.store import Store

LEXICAL = get_method("tfidf_cosine").tags.title


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two runs on words of one's own, some of which a spreadsheet would run."""
    rng = np.random.default_rng(0)
    store = Store(tmp_path_factory.mktemp("lines"))
    mine = store.workspaces.create()
    words = ["".join(rng.choice(list("abdeik"), 9)) for _ in range(60)]
    pairs = PairSet(
        Items([f"x {i}" for i in range(60)], [f"=cmd {w}" for w in words], "text"),
        Items([f"y{i}" for i in range(60)], [f"@{w} of" for w in words], "text"),
        Relevance.identity(60),
        name="words",
    )
    dataset_id = store.datasets.put(pairs, mine)
    specs = [
        JobSpec(dataset_id, pairs.digest, method, params, SplitSpec(seed=2), workspace=mine)
        for method, params in (("cca", {"n_components": 4}), ("tfidf_cosine", {}))
    ]
    with JobQueue(store) as queue:
        runs = [finished(queue, spec) for spec in specs]
        infos = [run.info for run in runs]
        runs.append(finished(queue, blend_spec(*infos, 0.3, workspace=mine)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("simviz.read_pairs", lambda path: type("R", (), {"pairs": pairs}))
        yield runs, pairs


def test_code_gives_the_value_again(world, capsys):
    runs, _ = world
    specs = {run.id: run.spec for run in runs}
    for run in runs:
        for direction, part in (("mean", "test"), ("y2x", "validation")):
            exec(repeat_code(run.spec, "MRR", direction, specs, part), {})
            figure = run.part(part).value("MRR", direction)
            assert float(capsys.readouterr().out) == pytest.approx(figure, abs=1e-9)


def test_code_is_python_whatever_stands_in_a_request():
    awkward = 'a"b\\ \n\u2028\ud800 {x} #'
    spec = {
        "dataset_id": "own",
        "method": "s2net",
        "params": {"init": awkward, "n_components": 5, "shared": None},
        "split": {"by": "group", "fractions": [0.5, 0.2, 0.3], "seed": 4, "group_key": awkward},
        "features": "pretrained",
        "augment": [{"kind": "typos", "words": ["a", awkward], "share": 0.5}],
    }
    code = repeat_code(spec)
    tree = ast.parse(code)
    found = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    assert found.count(awkward) == 3
    assert code.encode()
    assert 'features="pretrained"' in code and "simviz.jobs" not in code


@pytest.mark.usefixtures("world")
def test_code_augments_as_the_run_did():
    steps = [{"kind": "typos", "seed": 3}]
    spec = JobSpec("own", "", "bm25", split=SplitSpec(seed=2), augment=steps).to_json()
    names = {}
    exec(repeat_code(spec), names)
    parts = names["parts"]
    made = augmented(steps, parts.train, (parts.validation, parts.test))
    assert len(made.x) > len(parts.train.x)
    assert names["train"].x.content.tolist() == made.x.content.tolist()


@pytest.mark.usefixtures("world")
def test_code_and_settings_tell_what_terms_were():
    terms = {"analyzer": "word", "ngram_range": [1, 2], "tf": "log1p"}
    asked = JobSpec("own", "0" * 32, "lsa", {"n_components": 2}, features=terms)
    asked.check()
    assert JobSpec.from_json(asked.to_json()) == asked
    names = {}
    exec(repeat_code(asked.to_json()), names)
    assert names["model"].x_features_.get_params().items() >= terms.items()
    run = type("R", (), {"spec": asked.to_json()})
    told = [("analyzer", "'word'", True), ("ngram_range", "[1, 2]", True)]
    assert settings(type("E", (), {"run": run}))[:2] == told
    with pytest.raises(JobError, match="no parameter of Tfidf 'weight'"):
        replace(asked, features={"weight": "raw"}).check()


def test_parts_of_a_blend_that_are_gone_are_told(world):
    runs, _ = world
    code = repeat_code(runs[2].spec)
    assert code.count("are not known here: the usual ones.") == 2
    assert "n_components" not in code
    ast.parse(code)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_queries_leave_one_by_one(world, part):
    runs, pairs = world
    text = query_csv(runs, pairs, ["MRR", "AUC", "P@5"], labels={runs[0].id: "=1+1"}, part=part)
    head, *lines = csv.reader(io.StringIO(text))
    assert head[:5] == ["part", "direction", "id", "query", "relevant answers"]
    assert head[5] == "'=1+1: first rank"
    assert {line[0] for line in lines} == {part}
    assert head[6:10] == ["'=1+1: MRR", "'=1+1: P@5", f"{LEXICAL}: first rank", f"{LEXICAL}: MRR"]
    assert not any(cell.startswith(("=", "@")) for line in [head, *lines] for cell in line)
    x_lines = [line for line in lines if line[1] == pairs.x_name]
    items = pairs.x.take(runs[0].arrays()[f"x_{part}"])
    assert [line[2] for line in x_lines] == items.ids.tolist()
    assert len(lines) == 2 * len(x_lines)
    for i, run in enumerate(runs):
        told = run.part(part).evaluation.per_query("MRR", "x2y")
        assert [float(line[6 + 3 * i]) for line in x_lines] == pytest.approx(told, abs=1e-9)


@pytest.mark.parametrize(("part", "n"), [("validation", 6), ("test", 12)])
def test_trec_files_give_the_same_means(world, tmp_path, part, n):
    runs, pairs = world
    labels = {runs[0].id: "A/../b: c"}
    archive = zipfile.ZipFile(io.BytesIO(trec_zip(runs, pairs, labels=labels, part=part)))
    names = archive.namelist()
    assert names[:3] == ["README.txt", f"qrels-{part}-x-to-y.txt", f"qrels-{part}-y-to-x.txt"]
    assert f"run-{part}-x-to-y-a-..-b-c.txt" in names
    assert len(names) == 3 + 2 * len(runs)
    readme = archive.read("README.txt").decode()
    assert f"{n} of {2 * n} ids hold white space" in readme
    assert f"{part} part, {n} left items × {n} right items." in readme
    assert runs[0].pipeline().empty_share(pairs.x, pairs.y) == (0, 0)  # hence no ties
    archive.extractall(tmp_path)
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / f"qrels-{part}-y-to-x.txt")))
    run = list(ir_measures.read_trec_run(str(tmp_path / f"run-{part}-y-to-x-a-..-b-c.txt")))
    theirs = ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR]
    ours = np.nanmean(runs[0].part(part).evaluation.per_query("MRR", "y2x"))
    assert theirs == pytest.approx(ours, abs=1e-9)


def test_markdown_shows_labels_as_they_are():
    columns = [
        ["method", "a|b <b>*x*", "chance"],
        ["MRR", Figure(0.5, 0.02), Figure(0.9, float("nan"))],
        ["p", "< 0.001", 0.25],
        ["dimensions", 20, None],
        ["seconds", 1.25, None],
    ]
    text = table_markdown(columns, caption="all\nof _it_")
    head, rule, first, last, _, caption = text.splitlines()
    assert head.replace("|", "").split() == ["method", "MRR", "p", "dimensions", "seconds"]
    assert rule.startswith("|:---")
    assert first.startswith(r"| a\|b \<b\>\*x\* | **0.500** ±0.020 | \< 0.001 |")
    assert last.split("|")[2].strip() == "0.900"
    assert caption == r"all of \_it\_"
    assert len({len(line) for line in (head, rule, first, last)}) == 1
