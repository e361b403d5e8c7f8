"""What an experiment is: found by its file, run, written, read again."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pytest

from simviz.data import Items, PairSet
from simviz.evaluation import paired_randomization
from simviz.exceptions import DatasetError, JobCancelled
from simviz.experiments import (
    VERDICTS,
    Claim,
    Experiment,
    Figure,
    Findings,
    Parts,
    Progress,
    Series,
    Table,
    all_experiments,
    get_experiment,
    read_parts,
    tables_csv,
    to_markdown,
)
from simviz.experiments.__main__ import main
from simviz.methods import all_methods
from simviz.relevance import Relevance

RNG = np.random.default_rng(0)
BETTER = RNG.random(80)
WORSE = BETTER - 0.1 * RNG.random(80)


@pytest.mark.parametrize("name", all_experiments())
def test_an_experiment_says_what_it_is(name):
    experiment = get_experiment(name)
    assert isinstance(experiment, Experiment) and experiment.id == name
    for told in (experiment.title, experiment.shown_as, experiment.needs, experiment.demo):
        assert told
    assert experiment.sentence.endswith(("?", "."))
    assert set(experiment.methods) <= set(all_methods())
    assert 0 < experiment.minutes < 15
    assert experiment.chosen(None) == experiment.methods
    with pytest.raises(ValueError, match="no method of"):
        experiment.chosen(["no such"])


def test_an_unknown_experiment_is_guessed():
    with pytest.raises(ValueError, match="Did you mean 's2net_graded'"):
        get_experiment("s2net_grade")


# -- claims ---------------------------------------------------------------------------


def test_a_claim_of_being_ahead_needs_sign_and_p():
    found = paired_randomization(BETTER, WORSE)
    claim = Claim.ahead("A is ahead.", found, "MRR", paper=found)
    assert claim.verdict == "holds"
    assert "paired randomisation, 80 queries" in claim.test
    assert claim.paper_test.endswith("p < 0.001")
    assert claim.numbers().startswith("MRR: +0.0")
    assert Claim.ahead("B is ahead.", found.swapped()).verdict == "does not hold"
    unsure = paired_randomization(BETTER[:4], BETTER[:4] - [0.1, 0.1, -0.1, 0.0])
    claim = Claim.ahead("A is ahead.", unsure)
    assert claim.verdict == "does not hold"
    assert "cannot be told apart" in claim.numbers()
    level = paired_randomization(BETTER, BETTER)
    assert Claim.ahead("A is ahead.", level).verdict == "does not hold"


def test_lower_may_be_better():
    found = paired_randomization(WORSE, BETTER)
    claim = Claim.ahead("A loses less.", found, higher_is_better=False)
    assert claim.verdict == "holds" and claim.found > 0 and claim.low > 0


def test_level_is_shown_by_an_interval_and_not_by_a_large_p():
    found = paired_randomization(BETTER, BETTER + 0.001 * RNG.normal(size=80))
    assert Claim.level("They are level.", found, 0.01).verdict == "holds"
    assert Claim.level("They are level.", found, 0.00001).verdict == "does not hold"
    assert "95% interval within ±0.01" in Claim.level("They are level.", found, 0.01).test


def test_what_was_not_run_is_not_comparable():
    assert Claim("A is ahead.", reason="A was not run.").verdict == "not comparable"
    assert Claim("A is ahead.").verdict == "not comparable"
    assert {"holds", "does not hold", "not comparable"} == set(VERDICTS)


# -- findings -------------------------------------------------------------------------


def found():
    return Findings(
        "s2net_languages",
        "mine",
        "few | pairs",
        "demo",
        0,
        (Table("Table 1", ("method", "MRR"), (("=CCA", 0.51234), ("OPCA", None)), "A note."),),
        (Figure("Figure 2", "dimensions", (Series("CCA", (2.0,), (math.nan,), "cca"),)),),
        (Claim("A is ahead.", 0.1, p_value=0.01), Claim("B is ahead.", reason="Not run.")),
        ("Said.",),
        1.5,
        "python -m simviz.experiments s2net_languages",
    )


def test_findings_are_read_again_as_they_were_written():
    tree = json.loads(json.dumps(found().to_json(), allow_nan=False))
    again = Findings.from_json(tree)
    assert again.tables == found().tables
    assert again.notes == found().notes and again.seconds == 1.5
    assert math.isnan(again.figures[0].series[0].y[0])
    assert [c.verdict for c in again.claims] == ["holds", "not comparable"]
    assert tree["claims"][0]["verdict"] == "holds"
    with pytest.raises(ValueError, match="cannot be read"):
        Findings.from_json({"experiment": "a"})


def test_a_row_needs_a_cell_for_every_column():
    with pytest.raises(ValueError, match="2 columns; a row has 1 cells"):
        Table("Table 1", ("a", "b"), (("x",),))


def test_findings_are_written_for_readers_and_for_spreadsheets():
    text = to_markdown(get_experiment("s2net_languages"), found())
    assert "| OPCA |  |" in text and "0.512" in text
    assert "few \\| pairs" in text
    assert "✓ holds" in text and "– not comparable" in text
    assert text.endswith("```\n")
    lines = tables_csv(found().tables).splitlines()
    assert lines == ['"Table 1"', "method,MRR", "'=CCA,0.51234", "OPCA,"]


# -- progress -------------------------------------------------------------------------


def test_progress_is_told_in_order_and_may_stop():
    told = []
    progress = Progress(lambda words, fraction: told.append((words, round(fraction, 3))))
    for name, part in progress.part(0.5, 1).over({"a": 3.0, "b": 1.0}):
        part(name, 0.0)
        part.listen(name)(1, 2, {})
    assert told == [("a", 0.5), ("a", 0.688), ("b", 0.875), ("b", 0.938)]
    stopped = Progress(lambda words, fraction: True)
    assert stopped.listen("a")(0, 1, {}) is True
    with pytest.raises(JobCancelled):
        stopped("a")
    Progress()("nobody hears")


# -- parts ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    def write(name, lines, packed):
        opened = gzip.open if packed else open
        path = tmp_path / (f"{name}.gz" if packed else name)
        with opened(path, "wt", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def make(split="split.tsv", packed=True, n=10):
        names = range(n)
        for side in "xy":
            rows = [json.dumps({"id": f"{side}{i}", "text": f"{side} {i}"}) for i in names]
            if side == "x":
                rows = [
                    json.dumps({"id": f"x{i}", "text": f"x {i}", "snippets": f"a\n{i}"})
                    for i in names
                ]
            write(f"{side}.jsonl", rows, packed)
        judged = [f"x{i}\ty{i}\t2" for i in names] + ["x0\ty1\t0"]
        write("relevance.tsv", ["x_id\ty_id\tgrade", *judged], packed)
        if split:
            side = "x" if split == "split.tsv" else "y"
            parts = ["train"] * (n - 4) + ["dev", "test", "test"]
            rows = [f"{side}{i}\t{part}" for i, part in enumerate(parts)]
            write(split, ["id\tsplit", *rows], packed)
        return tmp_path

    return make


@pytest.mark.parametrize("packed", [True, False])
def test_a_folder_is_read_as_it_is_divided(folder, packed):
    parts = read_parts(folder(packed=packed))
    assert [len(p.x) for p in (parts.train, parts.validation, parts.test)] == [6, 1, 2]
    assert parts.test.y.ids.tolist() == ["y7", "y8"], "the last one is in no part"
    assert parts.train.x.metadata["snippets"][1] == "a\n1"
    assert parts.train.relevance.unjudged == "ignore"
    assert parts.train.relevance.matrix.toarray()[0, 1] == -1, "a grade of 0 is a judgment"


def test_all_documents_may_be_in_every_part(folder):
    parts = read_parts(folder(), pool="all")
    assert len(parts.test.y) == 10 and not parts.notes
    few = parts.thinned(3, 1, pool="all")
    assert few.train.shape == (3, 10) and few.test.shape == (1, 10)
    assert parts.thinned(3, 1).train.shape == (3, 3)
    assert "train 6 × 10" in parts.in_words()


def test_the_other_side_may_be_divided(folder):
    parts = read_parts(folder("y_split.tsv"))
    assert len(parts.train.y) == 6 and len(parts.test.y) == 2


def test_without_a_division_one_is_made(folder):
    parts = read_parts(folder(None, n=40), seed=1)
    assert len(parts.train.x) + len(parts.validation.x) + len(parts.test.x) == 40


def test_what_cannot_be_read_is_named(folder, tmp_path):
    with pytest.raises(DatasetError, match="is no folder"):
        read_parts(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match="holds no file"):
        read_parts(tmp_path)
    made = folder(packed=False)
    (made / "split.tsv").write_text("id\tsplit\nx0\tlater\n")
    with pytest.raises(DatasetError, match="has 'later' in column 'split'"):
        read_parts(made)
    (made / "relevance.tsv").write_text("x_id\ty_id\tgrade\nx0\ty99\t1\n")
    with pytest.raises(DatasetError, match=r"relevance\.tsv, line 2"):
        read_parts(made)
    (made / "x.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(DatasetError, match=r"x\.jsonl has one column only"):
        read_parts(made)


# -- command line ---------------------------------------------------------------------


def test_the_command_line_lists_and_refuses(capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in all_experiments())
    assert main(["s2net_graded", "--methods", "nosuch"]) == 2
    assert main(["s2net"]) == 2
    assert main(["s2net_graded", "--output", "here.pdf"]) == 2
    assert main(["s2net_graded", "--data", "/no/such/folder"]) == 2
    said = capsys.readouterr().err
    assert "Did you mean" in said and ".md or .json" in said and "is no folder" in said


# -- S2Net's --------------------------------------------------------------------------


def aligned(n=120):
    """Two made-up languages, letter by letter."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 4)) for _ in range(60)]
    other = {w: "".join(chr(ord(c) + 10) for c in w) for w in words}
    x = [" ".join(rng.choice(words, 8)) for _ in range(n)]
    y = [" ".join(other[w] for w in text.split()) for text in x]
    return PairSet.from_texts(x, y, name="made up")


def graded():
    """Questions and answers on a few subjects, with two grades."""
    rng = np.random.default_rng(0)
    subjects = [[f"word{s}{i}" for i in range(12)] for s in range(6)]
    about = np.arange(60) % 6
    x = [" ".join(rng.choice(subjects[s], 4)) for s in about]
    y = [" ".join(rng.choice(subjects[s], 9)) for s in about]
    grade = 1.0 * (about[:, None] == about) + np.eye(60)
    sides = [
        Items([f"{side}{i}" for i in range(60)], texts, "text")
        for side, texts in (("x", x), ("y", y))
    ]
    rows, columns = np.nonzero(grade)
    judged = Relevance.from_pairs(
        rows, columns, grade[rows, columns], shape=(60, 60), unjudged="negative"
    )
    return PairSet(sides[0], sides[1], judged, name="made up")


def test_languages_are_run_on_pairs_that_fit(monkeypatch):
    from simviz.experiments import s2net_languages as module
    from simviz.experiments.s2net_languages import Grid

    monkeypatch.setitem(module._GRIDS, "demo", Grid((5, 10), (5,), 3, (1.0,)))
    experiment = get_experiment("s2net_languages")
    pairs = aligned()
    assert not experiment.refusal(pairs) and experiment.refusal(graded())
    told = []
    result = experiment.run(
        experiment.prepared(pairs),
        progress=Progress(lambda words, fraction: told.append(fraction)),
    )
    assert told == sorted(told)
    assert len(result.claims) == 7
    assert all(claim.verdict != "not comparable" for claim in result.claims)
    assert [row[0] for row in result.tables[0].rows][:2] == ["S2Net", "OPCA"]
    assert result.tables[0].rows[0][6] == 0.797
    assert {s.method for s in result.figures[0].series} == set(experiment.methods)
    assert Findings.from_json(result.to_json()).tables == result.tables


def test_fewer_methods_leave_claims_open(monkeypatch):
    from simviz.experiments import s2net_languages as module
    from simviz.experiments.s2net_languages import Grid

    monkeypatch.setitem(module._GRIDS, "demo", Grid((5,), (5,), 3, (1.0,)))
    experiment = get_experiment("s2net_languages")
    result = experiment.run(experiment.prepared(aligned()), methods=["cca", "cl_lsi"])
    assert {claim.verdict for claim in result.claims} == {"not comparable"}
    assert len(result.tables[0].rows) == 2


def test_graded_pairs_are_run_beside_tfidf(monkeypatch):
    from simviz.experiments import s2net_graded as module

    grids = {"pca": {"n_components": (5, 20)}, "s2net": {"n_components": (4, 8)}}
    monkeypatch.setitem(module.GRIDS, "demo", grids)
    monkeypatch.setattr("simviz.experiments.s2net_graded._LARGEST", 20)
    experiment = get_experiment("s2net_graded")
    pairs = graded()
    assert not experiment.refusal(pairs) and experiment.refusal(aligned())
    parts = experiment.prepared(pairs)
    assert isinstance(parts, Parts) and len(parts.test.y) == 60
    result = experiment.run(parts, methods=["s2net", "pca"])
    titles = [row[0] for row in result.tables[0].rows]
    assert titles == ["S2Net", "TFIDF", "PCA"]
    assert result.tables[0].rows[0][1] > 0.8
    assert [row[0] for row in result.tables[2].rows] == ["S2Net, 4", "S2Net, 8", "TFIDF"]
    assert len(result.claims) == 6
    assert result.figures[0].kind == "roc"
    alone = experiment.run(parts, methods=["tfidf_cosine"])
    assert {claim.verdict for claim in alone.claims} == {"not comparable"}


def test_snippets_are_read_with_the_query():
    from simviz.experiments.s2net_graded import _texts

    snippets = np.array(["found outside", ""], dtype=object)
    queries = Items(["a", "b"], ["one", "two"], "text", {"snippets": snippets})
    assert _texts(queries) == ["one\nfound outside", "two\n"]
