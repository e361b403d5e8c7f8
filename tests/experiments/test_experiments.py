"""What an experiment is: found by its file, run, written, read again."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from itertools import product

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
    Claim,
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
from simviz.experiments._claims import ClaimSpec, Judge
from simviz.experiments._progress import request_key
from simviz.experiments.s2net_graded import with_snippets
from simviz.experiments.s2net_languages import AcrossLanguages
from simviz.features import Tfidf
from simviz.methods import all_methods, get_method
from simviz.methods.s2net import S2Net
from simviz.pipeline import PairPipeline
from simviz.relevance import Relevance

RNG = np.random.default_rng(0)
BETTER = RNG.random(80)
WORSE = BETTER - 0.1 * RNG.random(80)


@pytest.fixture
def all_kept(monkeypatch):
    """Has every fit kept, however short."""
    monkeypatch.setattr("simviz.experiments._progress.WORTH_KEEPING", 0)


@pytest.mark.parametrize("name", all_experiments())
def test_an_experiment_says_what_it_is_and_every_set_was_timed(name):
    experiment = get_experiment(name)
    assert experiment.id == name
    assert all((experiment.title, experiment.shown_as, experiment.needs, experiment.demo))
    assert experiment.sentence.endswith(("?", "."))
    assert set(experiment.methods) <= set(all_methods())
    assert len({experiment.demo, *experiment.sets}) > 1, "each claim on two sets"
    assert experiment.selected_methods(None) == experiment.methods
    with pytest.raises(ValueError, match="no method of"):
        experiment.selected_methods(["no such"])
    assert 0 < experiment.estimate("demo") == experiment.minutes < 15
    assert experiment.full_minutes.keys() == {experiment.demo, *experiment.sets}
    for data, minutes in experiment.full_minutes.items():
        assert experiment.estimate("full", data) == minutes
    assert experiment.estimate("full") == experiment.full_minutes[experiment.demo]


# -- claims ---------------------------------------------------------------------------


def claim_of(comparison, **how):
    return Claim.tested("A is ahead.", comparison, **how)


def test_a_claim_of_being_ahead_needs_sign_and_p():
    ahead, level = paired_randomization(BETTER, WORSE), paired_randomization(BETTER, BETTER)
    few = paired_randomization(BETTER[:1], WORSE[:1])
    unsure = paired_randomization(BETTER[:4], BETTER[:4] - [0.1, 0.1, -0.1, 0.0])
    assert (
        claim_of(ahead).verdict == "holds" and claim_of(ahead.swapped()).verdict == "does not hold"
    )
    others = unsure, unsure.swapped(), level, few
    assert {claim_of(one).verdict for one in others} == {"undecided"}
    assert "Too few" in claim_of(few).numbers()
    claim = claim_of(ahead, quantity="MRR", paper=ahead)
    assert "paired randomisation, 80 queries" in claim.test
    assert claim.paper_test.endswith("p < 0.001") and claim.numbers().startswith("MRR: +0.0")
    assert Claim("A is ahead.").verdict == "not comparable"


def test_data_at_the_ceiling_decide_nothing():
    found = paired_randomization(BETTER, WORSE)
    high = claim_of(found, quantity="MRR", values=(0.996, 0.992))
    assert "0.996 − 0.992" in high.numbers() and "ceiling" in high.numbers()
    level = claim_of(found, kind="level", margin=0.5, values=(0.999, 0.995))
    assert high.verdict == level.verdict == "undecided"
    assert claim_of(found, values=(0.996, 0.98)).verdict == "holds"


def test_a_claim_over_dimensions_is_told_by_dimension():
    ahead, level = paired_randomization(BETTER, WORSE), paired_randomization(BETTER, BETTER)
    found = {5: ahead, 10: ahead, 20: level, 40: ahead.swapped()}
    made = [Claim.tested(f"k = {k}", one) for k, one in found.items()]
    claims = [Claim.at_every("A is ahead.", made[:n]) for n in (2, 3, 4, 0)]
    assert [claim.verdict for claim in claims] == [
        "holds", "undecided", "does not hold", "not comparable",
    ]  # fmt: skip
    assert claims[1].numbers() == "holds at k = 5, k = 10; undecided at k = 20"
    assert claims[1].test == made[0].test


def test_the_papers_numbers_stand_beside_ours():
    values = {"": {"A": BETTER, "B": WORSE, "C": BETTER}}
    told = [ClaimSpec(said=f"A is ahead of {other}.", rows=("A", other)) for other in "BCD"]
    judge = Judge(quantity="MRR, {} − {}".format)
    made = judge.claims(told, values, lambda one: "{} before {}".format(*one.rows))
    assert [claim.verdict for claim in made] == ["holds", "undecided", "not comparable"]
    assert [claim.published for claim in made] == ["A before B", "A before C", "A before D"]
    assert made[2].numbers() == "D was not run."


def judged(told, values):
    judge = Judge(quantity="{} − {} on {}".format)
    (claim,) = judge.claims([told], values, lambda one: "said")
    return claim


def test_a_star_stands_for_every_row_that_has_both():
    rows = {"A, 5": BETTER, "B, 5": WORSE, "A, 10": WORSE, "B, 10": BETTER, "A, 20": BETTER}
    told = ClaimSpec(said="Everywhere.", rows=("A, *", "B, *"), on="MRR", part="k = {}")
    claim = judged(told, {"MRR": rows})
    assert [(part.statement, part.verdict, part.published) for part in claim.parts] == [
        ("k = 5", "holds", ""), ("k = 10", "does not hold", ""),
    ]  # fmt: skip
    assert claim.parts[0].quantity.startswith("A, 5 − B, 5 on MRR, ")
    assert claim.published == "said"
    assert all("Holm, 2 comparisons" in part.test for part in claim.parts)
    others = ClaimSpec(
        said="No other.", rows=("A, 5", "*"), on="MRR", kind="no worse", but=("B*",)
    )
    parts = judged(others, {"MRR": rows}).parts
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
    near = paired_randomization(BETTER, BETTER + 0.001 * RNG.normal(size=80))
    apart = paired_randomization(BETTER, WORSE)
    for found, margin, kind, verdict, words in (
        (near, 0.01, "level", "holds", "within ±0.01"),
        (near, 0.0001, "level", "undecided", "within ±0.0001"),
        (apart, 0.0001, "level", "does not hold", "within ±0.0001"),
        (apart, 0.0001, "no worse", "holds", "above −0.0001"),
        (apart.swapped(), 0.0001, "no worse", "does not hold", "above −0.0001"),
    ):
        claim = claim_of(found, kind=kind, margin=margin)
        assert claim.verdict == verdict and f"95% interval {words}," in claim.test


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
    assert again.to_json() == tree
    assert (again.tables, again.notes) == (found().tables, found().notes)
    assert math.isnan(again.figures[0].series[0].y[0])
    verdicts = ["holds", "not comparable", "undecided"]
    assert [claim["verdict"] for claim in tree["claims"]] == verdicts
    with pytest.raises(ValueError, match="cannot be read"):
        Findings.from_json({"experiment": "a"})
    with pytest.raises(ValueError, match="2 columns; a row has 1 cells"):
        Table("Table 1", ("a", "b"), (("x",),))


def test_every_experiment_has_results_that_say_of_papers_what_published_toml_has():
    assert known_findings().keys() == all_experiments().keys()
    for name, found in known_findings().items():
        experiment = get_experiment(name)
        words = {experiment.published_of(told) for told in experiment.claims}
        for one in found:
            assert one.size == "full" and one.tables and one.claims
            assert {claim.published for claim in one.claims} <= words, name


def test_findings_are_written_for_readers_and_for_spreadsheets():
    text = to_markdown(get_experiment("s2net_languages"), found())
    for words in (
        "| OPCA |  |", "0.512", "few \\| pairs", "✓ holds", "– not comparable", "? undecided",
        "… at k = 2",
    ):  # fmt: skip
        assert words in text
    assert text.endswith("```\n")
    lines = tables_csv(found().tables).splitlines()
    assert lines == ["Table 1", "method,MRR", "'=CCA,0.51234", "OPCA,"]
    assert tables_csv([*found().tables] * 2).splitlines() == [*lines, "", *lines]


# -- progress -------------------------------------------------------------------------


def test_progress_is_told_in_order_and_may_stop():
    told = []
    progress = Progress(lambda words, fraction: told.append((words, round(fraction, 3))))
    for name, part in progress.part(0.5, 1).over({"a": 3.0, "b": 1.0}):
        part(name, 0.0)
        part.listen(name)(1, 2, {})
    assert told == [("a", 0.5), ("a", 0.688), ("b", 0.875), ("b", 0.938)]
    progress("late", 0.1)
    assert told[-1] == ("late", 0.938), "what is reported never goes back"
    stopped = Progress(lambda words, fraction: True)
    assert stopped.listen("a")(0, 1, {}) is True
    with pytest.raises(JobCancelled):
        stopped("a")


@pytest.mark.parametrize("stop", [True, False])
def test_a_model_that_was_stopped_is_not_kept(stop, tmp_path, all_kept):
    progress = Progress(lambda *_: stop, folder=tmp_path)
    for n, data in enumerate((np.eye(8), 2 * np.eye(8)), 1):
        model = S2Net(4, max_iter=2, init="random")
        progress.fitted(model.set_callbacks(progress.part(0, 1).listen("a")), np.eye(8), data)
        assert len(list(tmp_path.iterdir())) == (0 if stop else n)


# -- parts ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    def write(name, lines, packed):
        opened = gzip.open if packed else open
        with opened(tmp_path / (f"{name}.gz" if packed else name), "wt", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def make(split="split.tsv", packed=True, n=10):
        for side, more in (("x", {"snippets": "a\nb"}), ("y", {})):
            rows = ({"id": f"{side}{i}", "text": f"{side} {i}", **more} for i in range(n))
            write(f"{side}.jsonl", map(json.dumps, rows), packed)
        judged = [f"x{i}\ty{i}\t2" for i in range(n)] + ["x0\ty1\t0"]
        write("relevance.tsv", ["x_id\ty_id\tgrade", *judged], packed)
        if split:
            side = "x" if split == "split.tsv" else "y"
            parts = ["train"] * (n - 4) + ["dev", "test", "test"]
            rows = [f"{side}{i}\t{part}" for i, part in enumerate(parts)]
            write(split, ["id\tsplit", *rows], packed)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("split", "n", "sizes"),
    [("split.tsv", 10, [6, 1, 2]), ("y_split.tsv", 10, [6, 1, 2]), (None, 40, [28, 4, 8])],
)
def test_a_folder_is_read_as_it_is_divided(folder, split, n, sizes):
    parts = read_parts(folder(split, n=n), seed=1)
    assert [len(p.x) for p in (parts.train, parts.validation, parts.test)] == sizes
    if split:
        assert parts.test.y.ids.tolist() == ["y7", "y8"], "the last one is in no part"
        assert parts.train.x.metadata["snippets"][1] == "a\nb"
        assert parts.train.relevance.unjudged == "ignore"
        assert parts.train.relevance.matrix.toarray()[0, 1] == -1, "a grade of 0 is a judgment"


def test_all_documents_may_be_in_every_part(folder):
    parts = read_parts(folder(), pool="all")
    assert len(parts.test.y) == 10 and not parts.notes
    few = parts.thinned(3, 1, pool="all")
    assert few.train.shape == (3, 10) and few.test.shape == (1, 10)
    assert parts.thinned(3, 1).train.shape == (3, 3)
    assert "train 6 × 10" in parts.describe()


def test_what_cannot_be_read_is_named(folder, tmp_path):
    with pytest.raises(DatasetError, match="holds no file"):
        read_parts(tmp_path)
    made = folder(packed=False)
    for name, text, words in (
        ("split.tsv", "id\tsplit\nx0\tlater\n", "has 'later' in column 'split'"),
        ("relevance.tsv", "x_id\ty_id\tgrade\nx0\ty99\t1\n", r"relevance\.tsv, line 2"),
        ("x.jsonl", '{"id": "a"}\n', r"x\.jsonl has one column only"),
    ):
        (made / name).write_text(text)
        with pytest.raises(DatasetError, match=words):
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
def counted(monkeypatch, all_kept):
    """What an experiment that trains nothing was run on."""
    runs = []

    def run(self, data, *, size="demo", seed=0, methods=None, progress=None):
        progress.fitted(get_method("pca")(1), np.eye(3))
        if "broken" in data.name:
            raise DatasetError("It is broken.")
        runs.append(data.name)
        progress("Half", 0.5)
        return Findings(self.id, data.name, "few", size, seed, claims=found().claims)

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
def test_rows_with_everything_kept_are_those_with_nothing_kept(tmp_path, all_kept, few_settings):
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
def test_what_was_learned_before_an_end_is_not_learned_again(id, tmp_path, monkeypatch, all_kept):
    experiment = get_experiment(id)
    monkeypatch.setattr(type(experiment), "grids", grids_of((4, 8)))
    data = experiment.prepared(graded())
    begun, fit = [], S2Net.fit

    def ended(self, *args, **kwargs):
        begun.append(self.n_components)
        if len(begun) == 2:
            raise JobCancelled
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(S2Net, "fit", ended)

    def run(folder):
        found = experiment.run(data, methods=["s2net"], progress=Progress(folder=folder))
        tables = {table.title: table.rows for table in found.tables}
        times = dict(tables.pop("Training times", ()))
        return found.claims, tables, times.get("S2Net")

    with pytest.raises(JobCancelled):
        run(tmp_path)
    *found, took = run(tmp_path)
    *again, read = run(tmp_path)
    assert begun == [4, 8, 8]
    *whole, _ = run(None)
    assert begun == [4, 8, 8, 4, 8]
    assert found == again == whole
    assert read == pytest.approx(took)


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
    at = np.nonzero(grade)
    judged = Relevance.from_pairs(*at, grade[at], shape=(60, 60), unjudged="negative")
    return PairSet.from_texts(x, y, judged, name="made up")


def grids_of(sizes, pca=(20,), rates=(0.1,)):
    """A few settings of S2Net and of PCA."""
    learned = {"n_components": sizes, "loss": ("logistic",), "learning_rate": rates}
    return {"demo": {"pca": {"n_components": pca}, "s2net": learned}}


@pytest.fixture
def few_settings(monkeypatch):
    """Has the experiment on languages try little, for each setting trains a network."""
    few = {
        "n_components": (5, 10),
        "regularization": (1.0,),
        "learning_rate": (0.1,),
        "max_iter": (3,),
    }
    demo = {
        method: {name: few.get(name, values) for name, values in grid.items()}
        for method, grid in AcrossLanguages.grids["demo"].items()
    }
    for topics in ("cplsa", "jplsa"):
        demo[topics]["n_components"] = (5,)
    monkeypatch.setattr(AcrossLanguages, "grids", {"demo": demo})
    studies = [o for o in AcrossLanguages.studies if o[1] not in ("1", "20", "0.001", "0.01")]
    monkeypatch.setattr(AcrossLanguages, "studies", studies)


def test_languages_are_run_on_pairs_that_fit(few_settings):
    experiment = get_experiment("s2net_languages")
    pairs, told = aligned(), []
    assert not experiment.refusal(pairs) and experiment.refusal(graded())
    progress = Progress(lambda words, fraction: told.append(fraction))
    result = experiment.run(experiment.prepared(pairs), progress=progress)
    assert told == sorted(told)
    assert len(result.claims) == 13
    open_ = [claim.statement for claim in result.claims if claim.verdict == "not comparable"]
    assert open_ == ["S2Net with a quarter of OPCA's dimensions ranks no worse."]
    chosen, _, tested, watched, studied, times = (table.rows for table in result.tables)
    assert tested != watched, "of test and of validation"
    for row, seen in zip(chosen[:-1], watched, strict=True):
        assert row[8] == max(value for value in seen[1:] if value is not None)
    assert chosen[-1][:2] == ("S2Net as published", 10)
    assert chosen[-1][9].startswith("from OPCA") and chosen[-1][9].endswith("logistic")
    assert [row[0] for row in times] == [row[0] for row in tested]
    assert all(row[1] > 0 for row in times)
    starts = [("start", name, 10) for name in ("random numbers", "OPCA", "CL-LSI")]
    assert [row[:3] for row in studied[:3]] == starts
    assert {row[0] for row in studied[3:]} == {"solver", "slope γ", "penalty β, to the end"}
    assert [row[0] for row in chosen[:2]] == ["S2Net", "OPCA"]
    assert result.tables[0].columns[3] == "accuracy level with"
    assert chosen[0][3] and chosen[0][7] == 0.797
    assert {series.method for series in result.figures[0].series} == set(experiment.methods)
    drawn = zip(result.figures, ("validation", "test"), (watched, tested), strict=True)
    for figure, title, rows in drawn:
        assert title in figure.title
        for series, row in zip(figure.series, rows, strict=True):
            assert series.y == tuple(value for value in row[1:] if value is not None)
            assert (np.array([series.low, series.y]) <= [series.y, series.high]).all()
    assert Findings.from_json(result.to_json()).tables == result.tables


def test_no_worse_is_claimed_of_fewer_dimensions_and_of_a_start(few_settings):
    experiment = get_experiment("s2net_languages")
    methods = ["opca", "s2net", "hdlr"]
    for method in methods:
        experiment.grids["demo"][method] |= {"n_components": (5, 20)}
    result = experiment.run(experiment.prepared(aligned()), methods=methods)
    claims = {claim.statement: claim for claim in result.claims}
    few = claims["S2Net with a quarter of OPCA's dimensions ranks no worse."]
    assert few.published == "only drawn in the paper" and few.bound == -0.01
    mrr = {row[0]: row[1:] for row in result.tables[2].rows}
    assert f"{mrr['S2Net'][0]:.3f} − {mrr['OPCA'][1]:.3f}" in few.quantity
    start = claims["HDLR is no better than the OPCA that it starts from."]
    assert [part.statement for part in start.parts] == ["5", "20"]
    for part, value in zip(start.parts, mrr["HDLR"], strict=True):
        assert part.quantity.endswith(f" − {value:.3f}")


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
    experiment = get_experiment("s2net_graded")
    monkeypatch.setattr(type(experiment), "grids", grids_of((4, 8), (5, 20), (0.03, 0.1)))
    pairs = graded()
    assert not experiment.refusal(pairs) and experiment.refusal(aligned())
    parts = experiment.prepared(pairs)
    assert len(parts.test.y) == 60
    result = experiment.run(parts, methods=["s2net", "pca"])
    chosen, _, by_size = (table.rows for table in result.tables[:3])
    assert [row[0] for row in chosen] == ["S2Net", "TFIDF", "PCA"] and chosen[0][1] > 0.8
    sizes = ["S2Net, 4", "S2Net, 8", "PCA, 5", "PCA, 20", "TFIDF"]
    assert [row[0] for row in by_size] == sizes
    assert len(result.claims) == 7
    assert [c.reason for c in result.claims if "300" in c.statement] == [
        "S2Net was not run with so many dimensions."
    ]
    assert result.figures[0].kind == "roc"
    alone = experiment.run(parts, methods=["tfidf_cosine"])
    assert {claim.verdict for claim in alone.claims} == {"not comparable"}


@pytest.mark.parametrize(
    ("method", "grid"),
    [
        ("heterogeneous_svd", {"n_components": (2, 4), "measure": ("cosine", "dot")}),
        ("opca", {"regularization": (0.1, 1.0), "n_components": (2, 4)}),
    ],
)
def test_one_fit_gives_every_number_of_dimensions_measure_and_ridge(method, grid):
    X, Y = (np.random.default_rng(seed).normal(size=(30, 12)) for seed in (0, 1))
    fits = []

    def make(**params):
        fits.append(params)
        return get_method(method)(**params, random_state=0), (X, Y)

    found = list(tried(method, grid, make, Progress(), paths=True))
    assert fits == [{"n_components": 4}]
    for (params, model), values in zip(found, product(*grid.values()), strict=True):
        assert params == dict(zip(grid, values, strict=True))
        alone = get_method(method)(**params, random_state=0).fit(X, Y)
        np.testing.assert_allclose(model.similarity(X, Y), alone.similarity(X, Y), atol=1e-5)


def test_labels_in_words_are_run_as_grades(monkeypatch):
    experiment = get_experiment("s2net_graded")
    monkeypatch.setattr(type(experiment), "grids", grids_of((8,)))
    rows = [
        (f"cheap w{i} t{i % 6}", f"buy w{(i + j) % 60} t{(i + 2 * j) % 6}", word)
        for i in range(60)
        for j, word in enumerate(("same", "subset", "superset", "disjoint"))
    ]
    pairs = from_frame(DataFrame(rows, columns=["query", "ad", "label"]), label="label").pairs
    assert not experiment.refusal(pairs)
    parts = experiment.prepared(pairs)
    assert [len(part.x) for part in (parts.train, parts.validation, parts.test)] == [24, 18, 18]
    assert {*parts.test.relevance.matrix.data.tolist()} == {2, 1, -1}
    result = experiment.run(parts, methods=["s2net"])
    assert "judged documents" in result.about
    assert [row[0] for row in result.tables[0].rows] == ["S2Net", "TFIDF"]


def test_snippets_are_read_with_the_query():
    snippets = np.array(["found outside", ""], dtype=object)
    queries = Items(["a", "b"], ["one", "two"], "text", {"snippets": snippets})
    read = with_snippets(PairSet(queries, queries, Relevance.identity(2))).x.content
    assert read.tolist() == ["one\nfound outside", "two\n"]
