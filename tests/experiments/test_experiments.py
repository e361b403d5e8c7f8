"""What an experiment is: found by its file, run, written, read again."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
from pandas import DataFrame
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from simviz import from_frame
from simviz.data import Items, PairSet
from simviz.evaluation import paired_randomization
from simviz.exceptions import DatasetError, JobCancelled, StoreError
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
    known_findings,
    read_parts,
    tables_csv,
    to_markdown,
)
from simviz.experiments.__main__ import main
from simviz.experiments._bench import tried
from simviz.experiments._claims import PUBLISHED, ClaimSpec, Judge
from simviz.experiments._progress import request_key
from simviz.features import Tfidf
from simviz.methods import all_methods, get_method
from simviz.methods.s2net import S2Net
from simviz.pipeline import PairPipeline
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
    assert len({experiment.demo, *experiment.sets}) > 1, "each claim on two sets"
    assert experiment.selected_methods(None) == experiment.methods
    with pytest.raises(ValueError, match="no method of"):
        experiment.selected_methods(["no such"])


def test_an_unknown_experiment_is_guessed():
    with pytest.raises(ValueError, match="Did you mean 's2net_graded'"):
        get_experiment("s2net_grade")


# -- claims ---------------------------------------------------------------------------


def test_a_claim_of_being_ahead_needs_sign_and_p():
    found = paired_randomization(BETTER, WORSE)
    claim = Claim.tested("A is ahead.", found, "MRR", paper=found)
    assert claim.verdict == "holds"
    assert "paired randomisation, 80 queries" in claim.test
    assert claim.paper_test.endswith("p < 0.001")
    assert claim.numbers().startswith("MRR: +0.0")
    assert Claim.tested("B is ahead.", found.swapped()).verdict == "does not hold"
    unsure = paired_randomization(BETTER[:4], BETTER[:4] - [0.1, 0.1, -0.1, 0.0])
    assert Claim.tested("A is ahead.", unsure).verdict == "undecided"
    assert Claim.tested("B is ahead.", unsure.swapped()).verdict == "undecided"
    level = paired_randomization(BETTER, BETTER)
    assert Claim.tested("A is ahead.", level).verdict == "undecided"
    few = Claim.tested("A is ahead.", paired_randomization(BETTER[:1], WORSE[:1]))
    assert few.verdict == "undecided" and "Too few" in few.numbers()


def test_data_at_the_ceiling_decide_nothing():
    found = paired_randomization(BETTER, WORSE)
    high = Claim.tested("A is ahead.", found, "MRR", values=(0.996, 0.992))
    assert high.verdict == "undecided"
    assert "0.996 − 0.992" in high.numbers() and "ceiling" in high.numbers()
    assert Claim.tested("A is ahead.", found, values=(0.996, 0.98)).verdict == "holds"
    assert (
        Claim.tested("Level.", found, kind="level", margin=0.5, values=(0.999, 0.995)).verdict
        == "undecided"
    )


def test_a_claim_over_dimensions_is_told_by_dimension():
    ahead, level = paired_randomization(BETTER, WORSE), paired_randomization(BETTER, BETTER)
    made = {
        k: Claim.tested(f"k = {k}", one) for k, one in {5: ahead, 10: ahead, 20: level}.items()
    }
    claim = Claim.at_every("A is ahead at every k.", made.values())
    assert claim.verdict == "undecided"
    assert claim.numbers() == "holds at k = 5, k = 10; undecided at k = 20"
    assert claim.test == made[5].test
    assert Claim.at_every("A is ahead.", [made[5], made[10]]).verdict == "holds"
    behind = Claim.tested("k = 40", ahead.swapped())
    assert Claim.at_every("A is ahead.", [*made.values(), behind]).verdict == "does not hold"
    assert Claim.at_every("A is ahead.", []).verdict == "not comparable"


def test_the_papers_numbers_stand_beside_ours():
    values = {"A": BETTER, "B": WORSE, "C": BETTER}
    wanted = [("A", "B", "A is ahead of B."), ("A", "C", "A is ahead of C."), ("A", "D", "Of D.")]
    told = [ClaimSpec(said=said, rows=(one, other)) for one, other, said in wanted]
    judge = Judge(quantity="MRR, {} − {}".format)
    first, second, third = judge.claims(
        told, {"": values}, lambda one: "{} before {}".format(*one.rows)
    )
    assert first.verdict == "holds" and first.published == "A before B"
    assert second.verdict == "undecided" and second.published == "A before C"
    assert third.verdict == "not comparable" and third.numbers() == "D was not run."


def judged(told, values, **how):
    judge = Judge(quantity=lambda one, other, on: f"{one} − {other} on {on}", **how)
    (claim,) = judge.claims([told], values, lambda one: "said")
    return claim


def test_a_star_stands_for_every_row_that_has_both():
    values = {
        "MRR": {"A, 5": BETTER, "B, 5": WORSE, "A, 10": WORSE, "B, 10": BETTER, "A, 20": BETTER}
    }
    told = ClaimSpec(said="Everywhere.", rows=("A, *", "B, *"), on="MRR", part="k = {}")
    claim = judged(told, values)
    assert [part.statement for part in claim.parts] == ["k = 5", "k = 10"]
    assert [part.verdict for part in claim.parts] == ["holds", "does not hold"]
    assert claim.parts[0].quantity.startswith("A, 5 − B, 5 on MRR, ")
    assert claim.published == "said" and claim.parts[0].published == ""
    assert all("Holm, 2 comparisons" in part.test for part in claim.parts)
    others = ClaimSpec(
        said="No other.", rows=("A, 5", "*"), on="MRR", kind="no worse", but=("B*",)
    )
    parts = judged(others, values).parts
    assert [part.statement for part in parts] == ["A, 10", "A, 20"]
    assert judged(others, {}).reason == "Nothing of it was run."


def test_claims_of_a_family_are_corrected_together_and_others_are_not():
    values = {"": {"A": BETTER, "B": WORSE}}
    told = [
        ClaimSpec(said=said, rows=("A", "B"), family=family, papers_test=theirs)
        for said, family, theirs in (("1", "", True), ("2", "", False), ("3", "own", True))
    ]
    judge = Judge(quantity="{} {}".format, paper=paired_randomization, undecided=lambda *_: "Why.")
    made = judge.claims(told, values, lambda one: "said")
    assert ["2 comparisons" in claim.test for claim in made] == [True, True, False]
    assert [bool(claim.paper_test) for claim in made] == [True, False, True]
    assert {claim.undecided for claim in made} == {"Why."}


def test_level_is_shown_by_an_interval_and_not_by_a_large_p():
    def level(found, margin, kind="level"):
        return Claim.tested("They are level.", found, kind=kind, margin=margin)

    found = paired_randomization(BETTER, BETTER + 0.001 * RNG.normal(size=80))
    assert level(found, 0.01).verdict == "holds"
    assert level(found, 0.0001).verdict == "undecided"
    apart = paired_randomization(BETTER, WORSE)
    assert level(apart, 0.0001).verdict == "does not hold"
    assert "95% interval within ±0.01" in level(found, 0.01).test
    no_worse = level(apart, 0.0001, "no worse")
    assert no_worse.verdict == "holds" and "95% interval above −0.0001" in no_worse.test
    worse = level(apart.swapped(), 0.0001, "no worse")
    assert worse.verdict == "does not hold"


def test_what_was_not_run_is_not_comparable():
    assert Claim("A is ahead.", reason="A was not run.").verdict == "not comparable"
    assert Claim("A is ahead.").verdict == "not comparable"
    assert {"holds", "does not hold", "undecided", "not comparable"} == set(VERDICTS)


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
        (
            Claim("A is ahead.", 0.1, p_value=0.01),
            Claim("B is ahead.", reason="Not run."),
            Claim.at_every("A is ahead at all k.", [Claim("k = 2", 0.01, p_value=0.3)]),
        ),
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
    assert [c.verdict for c in again.claims] == ["holds", "not comparable", "undecided"]
    assert again.claims[2].parts[0].statement == "k = 2"
    assert tree["claims"][0]["verdict"] == "holds"
    with pytest.raises(ValueError, match="cannot be read"):
        Findings.from_json({"experiment": "a"})


def test_every_experiment_has_results_that_say_of_papers_what_published_toml_has():
    assert known_findings().keys() == all_experiments().keys()
    for name, found in known_findings().items():
        paper = all_experiments()[name].paper.id
        words = {
            w for p, said in PUBLISHED.statements.items() if p[0] == paper for w in said.values()
        }
        for place, numbers in PUBLISHED.numbers.items():
            if place[0] == paper:
                words |= {
                    PUBLISHED.text_of(*place, a, "ahead of", b)
                    for a, b in permutations(numbers, 2)
                    if numbers[a] > numbers[b]
                }
        for one in found:
            assert one.size == "full" and one.tables and one.claims
            assert {claim.published for claim in one.claims} <= words, name


def test_a_row_needs_a_cell_for_every_column():
    with pytest.raises(ValueError, match="2 columns; a row has 1 cells"):
        Table("Table 1", ("a", "b"), (("x",),))


def test_findings_are_written_for_readers_and_for_spreadsheets():
    text = to_markdown(get_experiment("s2net_languages"), found())
    assert "| OPCA |  |" in text and "0.512" in text
    assert "few \\| pairs" in text
    assert "✓ holds" in text and "– not comparable" in text and "? undecided" in text
    assert "… at k = 2" in text
    assert text.endswith("```\n")
    lines = tables_csv(found().tables).splitlines()
    assert lines == ["Table 1", "method,MRR", "'=CCA,0.51234", "OPCA,"]
    two = tables_csv([*found().tables, *found().tables]).splitlines()
    assert two == [*lines, "", *lines]


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


@pytest.mark.parametrize("stop", [True, False])
def test_a_model_that_was_stopped_is_not_kept(stop, tmp_path, monkeypatch):
    monkeypatch.setattr("simviz.experiments._progress.WORTH_KEEPING", 0)
    progress = Progress(lambda *_: stop, folder=tmp_path)
    model = S2Net(4, max_iter=2, init="random").set_callbacks(progress.part(0, 1).listen("a"))
    progress.fitted(model, np.eye(8), np.eye(8))
    assert len(list(tmp_path.iterdir())) == (not stop)
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
    assert "train 6 × 10" in parts.describe()


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


def test_what_is_printed_does_not_depend_on_the_cores_of_the_machine():
    with threadpool_limits(2, user_api="blas"):
        assert main(["list"]) == 0
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert pools and all(pool["num_threads"] == 1 for pool in pools)


@pytest.fixture
def counted(monkeypatch):
    """What an experiment that trains nothing was run on."""
    runs = []

    def run(self, data, *, size="demo", seed=0, methods=None, progress=None):
        progress.fitted(get_method("pca")(1), np.eye(3))
        if "broken" in data.name:
            raise DatasetError("It is broken.")
        runs.append(data.name)
        progress("Half", 0.5)
        return Findings(self.id, data.name, "few", size, seed, claims=found().claims)

    monkeypatch.setattr("simviz.experiments._progress.WORTH_KEEPING", 0)
    monkeypatch.setattr(type(get_experiment("s2net_languages")), "run", run)
    monkeypatch.setattr(type(get_experiment("s2net_languages")), "sets", ("one", "two"))
    return runs


def test_all_goes_on_where_it_was_ended(counted, folder, tmp_path, capsys, monkeypatch):
    made = folder(n=20)
    for name in ("root/one", "root/broken one"):
        (tmp_path / name).mkdir(parents=True)
        for file in made.glob("*.gz"):
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    kept, output = tmp_path / "kept.json", tmp_path / "results"
    others = [{"experiment": "ssi_links", "data": "cora"}]
    kept.write_text(json.dumps([*others, {"experiment": "s2net_languages", "data": "one"}]))
    args = ["all", "--only", "s2net_languages", "--data", str(tmp_path / "root")]
    args += ["--output", str(output), "--results", str(kept)]
    assert main(args) == 0
    told = capsys.readouterr().err
    assert counted == ["emoji", "one"]
    assert "s2net_languages on emoji: " in told and "min left" in told
    assert "on two: " in told and "no such folder" in told
    trees = json.loads(kept.read_text())
    assert trees[0] == others[0], "what was not run stays"
    assert [tree["data"] for tree in trees[1:]] == ["one", "emoji"]
    assert all(Findings.from_json(tree).claims for tree in trees[1:])
    assert not list(output.glob("steps/*")), "steps go when the result is there"

    assert main(args) == 0
    assert len(counted) == 2, "what is known is not run again"
    assert main([*args, "--seed", "1"]) == 0
    assert len(counted) == 4
    (output / "s2net_languages-one-full-0.json").write_text('{"protocol": ')
    assert main(args) == 0
    assert counted[4:] == ["one"], "half a file is no result"
    monkeypatch.setattr(type(get_experiment("s2net_languages")), "revision", 99)
    monkeypatch.setattr(type(get_experiment("s2net_languages")), "sets", ("broken one",))
    capsys.readouterr()
    assert main(args) == 1
    told = capsys.readouterr().err
    assert counted[5:] == ["emoji"] and "another protocol" in told and "It is broken." in told
    assert [file.suffix for file in output.glob("steps/*/*")] == [".simviz"]


def test_all_leaves_to_another_process_what_that_runs(counted, folder, tmp_path):
    output = tmp_path / "results"
    output.mkdir()
    holding = (
        "import sys; from simviz.persistence import lock; "
        "file = open(sys.argv[1], 'a'); print(lock(file), flush=True); input()"
    )
    place = str(output / "s2net_languages-demo-full-0.lock")
    args = ["all", "--only", "s2net_languages", "--output", str(output)]
    with subprocess.Popen(
        [sys.executable, "-c", holding, place],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout.readline() == "True\n"
        assert main(args) == 0 and counted == []
        other.kill()
    assert main(args) == 0 and counted == ["emoji"]
    assert [file.name for file in output.iterdir() if file.is_file()] == [
        "s2net_languages-demo-full-0.json"
    ]


def test_all_runs_on_demos_that_are_named_as_sets(counted, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(type(get_experiment("s2net_languages")), "sets", ("emoji", "one"))
    args = ["all", "--only", "s2net_languages", "--output", str(tmp_path)]
    assert main(args) == 0
    assert counted == ["emoji", "emoji"], "folders need --data"


def test_all_leaves_out_what_takes_hours(counted, tmp_path, capsys):
    others = [name for name in all_experiments() if name != "siamese_blstm"]
    assert main(["all", "--output", str(tmp_path), "--without", *others]) == 0
    assert "0 known, 0 to run" in capsys.readouterr().err
    assert main(["all", "--without", "nosuch"]) == 2
    assert main(["all", "--methods", "cca"]) == 2


def test_a_request_is_all_that_it_says():
    one, other = (Parts.of(graded(), by="x", seed=seed) for seed in (0, 1))
    pipeline = PairPipeline(get_method("opca")(5), Tfidf())
    fit = clone(pipeline).fit(one.train)
    requests = [
        (pipeline, one.train),
        (pipeline, other.train),
        (pipeline, one.train, one.validation),
        (clone(pipeline).set_params(model__regularization=2.0), one.train),
        (clone(pipeline).set_params(x_features__tf="log1p"), one.train),
        (S2Net(5, init=fit.model_.truncate(3)), one.train.relevance),
        (S2Net(5, init=fit.model_.truncate(4)), one.train.relevance),
        (S2Net(5, gamma=5.0), np.eye(4)), (S2Net(5), np.eye(4)), (S2Net(5), np.eye(5)),
        (S2Net(5), np.eye(4, dtype=np.float32)), (S2Net(5), sp.csr_array(np.eye(4))),
        ("a", "bc"), ("ab", "c"), ["ab", "c"], (("ab",), "c"), (1,), (1.0,), ("1",), (True,),
        {"a": 1}, {"a": 2}, None,
    ]  # fmt: skip
    keys = [request_key(request) for request in requests]
    assert len(set(keys)) == len(requests)
    again = PairPipeline(get_method("opca")(5), Tfidf()).set_callbacks(lambda *_: False)
    assert request_key((again, Parts.of(graded(), by="x", seed=0).train)) == keys[0]
    with pytest.raises(StoreError, match="object, which cannot be stored"):
        request_key(object())


@pytest.mark.filterwarnings("ignore:.*more than the data can give")
def test_rows_with_everything_kept_are_those_with_nothing_kept(
    tmp_path, monkeypatch, few_settings
):
    monkeypatch.setattr("simviz.experiments._progress.WORTH_KEEPING", 0)
    experiment = get_experiment("s2net_languages")
    data = experiment.prepared(aligned(150, share=0.3))
    methods = ["cl_lsi", "opca", "s2net"]

    def run(folder):
        tree = experiment.run(data, methods=methods, progress=Progress(folder=folder)).to_json()
        times = tree["tables"].pop()
        assert times["title"] == "Training times"
        return tree, [row[1] for row in times["rows"]]

    (nothing, _), (making, took), (reading, read) = run(None), run(tmp_path), run(tmp_path)
    assert making == nothing and reading == nothing
    s2net, opca, cl_lsi = range(3)
    assert (read[s2net], read[cl_lsi]) == pytest.approx((took[s2net], took[cl_lsi]))
    assert min(took) > 0 and read[opca] != took[opca], "a path of ridges is gone again"
    found = {tuple(row[:2]): tuple(row[3:6]) for row in nothing["tables"][-1]["rows"]}
    assert len(set(found.values())) > 3, "what is changed changes something"


@pytest.mark.parametrize("id", ["s2net_graded", "web_ranking"])
def test_what_was_learned_before_an_end_is_not_learned_again(id, tmp_path, monkeypatch):
    monkeypatch.setattr("simviz.experiments._progress.WORTH_KEEPING", 0)
    learned = {"n_components": (4, 8), "loss": ("logistic",), "learning_rate": (0.1,)}
    grids = {"demo": {"pca": {"n_components": (20,)}, "s2net": learned}}
    experiment = get_experiment(id)
    monkeypatch.setattr(type(experiment), "grids", grids)
    data = experiment.prepared(graded())
    begun, fit = [], S2Net.fit

    def ended(self, *args, **kwargs):
        begun.append(self.n_components)
        if len(begun) == 2:
            raise JobCancelled
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(S2Net, "fit", ended)

    def run(folder):
        return experiment.run(data, methods=["s2net"], progress=Progress(folder=folder))

    with pytest.raises(JobCancelled):
        run(tmp_path)
    found = run(tmp_path)
    assert begun == [4, 8, 8]
    whole = run(None)
    assert begun == [4, 8, 8, 4, 8]
    assert found.claims == whole.claims
    for one, other in zip(found.tables, whole.tables, strict=True):
        assert one == other or one.title == other.title == "Training times"


@pytest.mark.parametrize("name", all_experiments())
def test_every_set_was_timed(name):
    experiment = get_experiment(name)
    assert experiment.estimate("demo") == experiment.minutes
    assert experiment.full_minutes.keys() == {experiment.demo, *experiment.sets}
    for data in experiment.sets:
        assert experiment.estimate("full", data) == experiment.full_minutes[data]
    assert experiment.estimate("full") == experiment.full_minutes[experiment.demo]


def test_results_of_another_revision_are_of_another_protocol(monkeypatch):
    experiment = get_experiment("s2net_languages")
    before = experiment.protocol("full")
    assert before == experiment.protocol("full") != experiment.protocol("demo")
    monkeypatch.setattr(type(experiment), "revision", 99)
    assert experiment.protocol("full") != before


# -- S2Net's --------------------------------------------------------------------------


def aligned(n=120, share=1.0):
    """Two made-up languages, letter by letter; some words, or all, are translated."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 4)) for _ in range(60)]
    other = {w: "".join(chr(ord(c) + 10) for c in w) for w in words}
    x = [" ".join(rng.choice(words, 8)) for _ in range(n)]
    y = [
        " ".join(other[w if rng.random() < share else rng.choice(words)] for w in text.split())
        for text in x
    ]
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


def test_languages_are_run_on_pairs_that_fit(few_settings):
    experiment = get_experiment("s2net_languages")
    pairs = aligned()
    assert not experiment.refusal(pairs) and experiment.refusal(graded())
    told = []
    result = experiment.run(
        experiment.prepared(pairs),
        progress=Progress(lambda words, fraction: told.append(fraction)),
    )
    assert told == sorted(told)
    assert len(result.claims) == 13
    open_ = [claim.statement for claim in result.claims if claim.verdict == "not comparable"]
    assert open_ == ["S2Net with a quarter of OPCA's dimensions ranks no worse."]
    assert result.tables[2].rows != result.tables[3].rows, "of test and of validation"
    *rows, published = result.tables[0].rows
    for row, watched in zip(rows, result.tables[3].rows, strict=True):
        assert row[8] == max(value for value in watched[1:] if value is not None)
    assert published[:2] == ("S2Net as published", 10)
    assert published[9].startswith("from OPCA") and published[9].endswith("logistic")
    times = {row[0]: row[1] for row in result.tables[5].rows}
    assert [*times] == [row[0] for row in result.tables[2].rows]
    assert all(seconds > 0 for seconds in times.values())
    studied = [row[:3] for row in result.tables[4].rows]
    assert studied[:3] == [("start", name, 10) for name in ("random numbers", "OPCA", "CL-LSI")]
    assert {what for what, *_ in studied[3:]} == {"solver", "slope γ", "penalty β, to the end"}
    assert [row[0] for row in result.tables[0].rows][:2] == ["S2Net", "OPCA"]
    assert result.tables[0].columns[3] == "accuracy level with"
    assert result.tables[0].rows[0][3] and result.tables[0].rows[0][7] == 0.797
    watched, tested = result.figures
    assert {s.method for s in watched.series} == set(experiment.methods)
    assert "validation" in watched.title and "test" in tested.title
    for figure, table in ((watched, result.tables[3]), (tested, result.tables[2])):
        for series, row in zip(figure.series, table.rows, strict=True):
            assert series.y == tuple(value for value in row[1:] if value is not None)
            assert all(map(lambda a, b, c: a <= b <= c, series.low, series.y, series.high))
    assert Findings.from_json(result.to_json()).tables == result.tables


def test_no_worse_is_claimed_of_fewer_dimensions_and_of_a_start(few_settings):
    experiment = get_experiment("s2net_languages")
    more = {"n_components": (5, 20)}
    grid = experiment.grids["demo"]
    for method in ("opca", "s2net", "hdlr"):
        grid[method] |= more
    result = experiment.run(experiment.prepared(aligned()), methods=["opca", "s2net", "hdlr"])
    claims = {claim.statement: claim for claim in result.claims}
    few = claims["S2Net with a quarter of OPCA's dimensions ranks no worse."]
    assert few.published == "only drawn in the paper" and few.bound == -0.01
    mrr = {row[0]: row[1:] for row in result.tables[2].rows}
    assert f"{mrr['S2Net'][0]:.3f} − {mrr['OPCA'][1]:.3f}" in few.quantity
    start = claims["HDLR is no better than the OPCA that it starts from."]
    assert [part.statement for part in start.parts] == ["5", "20"]
    for part, k in zip(start.parts, range(2), strict=True):
        assert part.quantity.endswith(f" − {mrr['HDLR'][k]:.3f}")


def test_a_slope_that_leaves_no_start_says_nothing(few_settings, monkeypatch):
    experiment = get_experiment("s2net_languages")
    grid = experiment.grids["demo"]
    still = grid["s2net"] | {"learning_rate": (1e-9,)}
    monkeypatch.setattr(type(experiment), "grids", {"demo": grid | {"s2net": still}})
    result = experiment.run(experiment.prepared(aligned()), methods=["opca", "s2net", "cl_lsi"])
    (slope,) = (claim for claim in result.claims if "slope" in claim.statement)
    assert slope.verdict == "undecided"
    assert [part.undecided for part in slope.parts] == ["No rate takes it beyond its start."]


def test_fewer_methods_leave_claims_open(few_settings):
    experiment = get_experiment("s2net_languages")
    result = experiment.run(experiment.prepared(aligned()), methods=["cca", "cl_lsi"])
    assert {claim.verdict for claim in result.claims} == {"not comparable"}
    assert len(result.tables[0].rows) == 2


def test_graded_pairs_are_run_beside_tfidf(monkeypatch):
    from simviz.experiments.s2net_graded import QueryDocument

    learned = {"n_components": (4, 8), "loss": ("logistic",), "learning_rate": (0.03, 0.1)}
    grids = {"demo": {"pca": {"n_components": (5, 20)}, "s2net": learned}}
    monkeypatch.setattr(QueryDocument, "grids", grids)
    experiment = get_experiment("s2net_graded")
    pairs = graded()
    assert not experiment.refusal(pairs) and experiment.refusal(aligned())
    parts = experiment.prepared(pairs)
    assert isinstance(parts, Parts) and len(parts.test.y) == 60
    result = experiment.run(parts, methods=["s2net", "pca"])
    titles = [row[0] for row in result.tables[0].rows]
    assert titles == ["S2Net", "TFIDF", "PCA"]
    assert result.tables[0].rows[0][1] > 0.8
    by_size = [row[0] for row in result.tables[2].rows]
    assert by_size == ["S2Net, 4", "S2Net, 8", "PCA, 5", "PCA, 20", "TFIDF"]
    assert len(result.claims) == 7
    assert [c.reason for c in result.claims if "300" in c.statement] == [
        "S2Net was not run with so many dimensions."
    ]
    assert result.figures[0].kind == "roc"
    alone = experiment.run(parts, methods=["tfidf_cosine"])
    assert {claim.verdict for claim in alone.claims} == {"not comparable"}


def test_numbers_of_dimensions_are_cut_from_one_fit(monkeypatch):
    from simviz.experiments.s2net_graded import Graded
    from simviz.methods.opca import OPCA

    grid = {"regularization": (0.1, 1.0), "n_components": (3, 8)}
    bench = Graded(get_experiment("s2net_graded").prepared(graded()), 0)
    train, test = (getattr(bench.plain.parts, part) for part in ("train", "test"))
    data = train.x.content, train.y.content, train.relevance
    alone = [
        OPCA(k, shared=True, regularization=ridge, random_state=0).fit(*data)
        for ridge, k in product(*grid.values())
    ]
    paths, path = [], OPCA.regularization_path
    monkeypatch.setattr(
        OPCA, "regularization_path", lambda *a, **kw: paths.append(1) or path(*a, **kw)
    )
    found = bench.tried("opca", grid, Progress())
    assert paths == [1]
    for point, model in zip(found, alone, strict=True):
        scores, expected = (
            m.similarity(test.x.content, test.y.content) for m in (point.model, model)
        )
        np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_one_fit_gives_every_number_of_dimensions_in_every_measure():
    X, Y = (np.random.default_rng(seed).normal(size=(30, 12)) for seed in (0, 1))
    fits = []

    def make(**params):
        fits.append(params)
        return get_method("heterogeneous_svd")(**params, random_state=0), (X, Y)

    grid = {"n_components": (2, 4), "measure": ("cosine", "dot")}
    found = list(tried("heterogeneous_svd", grid, make, Progress()))
    assert fits == [{"n_components": 4}]
    assert [tuple(params.values()) for params, _ in found] == list(product(*grid.values()))
    for params, model in found:
        alone = get_method("heterogeneous_svd")(**params, random_state=0).fit(X, Y)
        np.testing.assert_allclose(model.similarity(X, Y), alone.similarity(X, Y), atol=1e-6)


def test_labels_in_words_are_run_as_grades(monkeypatch):
    from simviz.experiments.s2net_graded import QueryDocument

    learned = {"n_components": (8,), "loss": ("logistic",), "learning_rate": (0.1,)}
    grids = {"demo": {"pca": {"n_components": (20,)}, "s2net": learned}}
    monkeypatch.setattr(QueryDocument, "grids", grids)
    words = ("same", "subset", "superset", "disjoint")
    rows = [
        (f"cheap w{i} t{i % 6}", f"buy w{(i + j) % 60} t{(i + 2 * j) % 6}", words[j])
        for i in range(60)
        for j in range(4)
    ]
    pairs = from_frame(DataFrame(rows, columns=["query", "ad", "label"]), label="label").pairs
    experiment = get_experiment("s2net_graded")
    assert not experiment.refusal(pairs)
    parts = experiment.prepared(pairs)
    assert [len(part.x) for part in (parts.train, parts.validation, parts.test)] == [24, 18, 18]
    assert {*parts.test.relevance.matrix.data.tolist()} == {2, 1, -1}
    result = experiment.run(parts, methods=["s2net"])
    assert "judged documents" in result.about
    assert [row[0] for row in result.tables[0].rows] == ["S2Net", "TFIDF"]


def test_snippets_are_read_with_the_query():
    from simviz.experiments.s2net_graded import with_snippets

    snippets = np.array(["found outside", ""], dtype=object)
    queries = Items(["a", "b"], ["one", "two"], "text", {"snippets": snippets})
    read = with_snippets(PairSet(queries, queries, Relevance.identity(2))).x.content
    assert read.tolist() == ["one\nfound outside", "two\n"]
