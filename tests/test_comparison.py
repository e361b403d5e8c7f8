from __future__ import annotations

import pickle
from html import unescape
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from made_up import COLOURS, THINGS
from scorers import TAGS

import simviz
from simviz import methods
from simviz.base import LinearPairModel, MethodTags
from simviz.evaluation import VectorScorer, evaluate, metrics
from simviz.evaluation.trec import trec_run
from simviz.exceptions import DatasetError, JobCancelled, StoreError
from simviz.methods.cca import RidgeCCA
from simviz.methods.heterogeneous_svd import HeterogeneousSVD
from simviz.methods.opca import OPCA
from simviz.reports.run_summary import adapted_vectors, ranked
from simviz.store.run import RunInfo


class FirstColumns(LinearPairModel):
    """The first features of both sides, as they are."""

    tags: ClassVar[MethodTags] = TAGS

    def __init__(self, n_components=3):
        self.n_components = n_components

    def _fit(self, X, Y, relevance):
        self.n_components_ = min(self.n_components, X.shape[1])
        self.x_projection_ = np.eye(X.shape[1], self.n_components_, dtype=X.dtype)
        self.y_projection_ = self.x_projection_


class Untagged(FirstColumns):
    tags: ClassVar = {"title": "Untagged"}


class NeedsMore(FirstColumns):
    def __init__(self, n_components):
        super().__init__(n_components)


@pytest.fixture(scope="module")
def pairs():
    x = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS]
    return simviz.from_frame(x=x, y=[f"a <b>{text}</b>" for text in x], name="toys").pairs


@pytest.fixture(scope="module")
def result(pairs):
    return simviz.compare(pairs, ["tfidf_cosine", OPCA(4), FirstColumns, FirstColumns(1)])


def test_the_table_is_that_of_the_evaluations(result):
    frame = result.to_frame()
    found = simviz.evaluate(
        result.pipelines["opca"], *(getattr(result.parts.test, n) for n in ("x", "y", "relevance"))
    )
    assert frame.loc["opca", "MRR"] == found.value("MRR")
    assert frame.index[-2:].tolist() == ["(popularity)", "(chance)"]
    assert frame.index[0] == "tfidf_cosine"  # six validation queries
    values = frame["validation MRR"][1:-2].tolist()
    assert values == sorted(values, reverse=True)
    assert result.best is result.pipelines[frame.index[0]]
    letters = result.comparisons.letters()
    assert frame["group"][:-2].to_dict() == letters
    assert str(result.verdict) in repr(result)
    assert {"firstcolumns (1)", "firstcolumns (2)"} < set(result.runs)
    assert result.pipelines["firstcolumns (2)"].model_.n_components_ == 1
    names = [trace.name for trace in result.roc_figure().data if trace.name]
    assert all(any(name.startswith(run) for name in names) for run in result.runs)
    curve = result.dimension_curves("top-1")["opca"].values(result.direction)
    assert curve[-1] == pytest.approx(result.evaluations()["opca"].value("top-1"))
    names = [trace.name for trace in result.dimension_figure("top-1").data if trace.name]
    assert any(name.startswith(f"opca {curve[-1]:.3f}") for name in names), names


def test_terms_unknown_to_training_stand_beside_each_run():
    x = [f"the {chr(97 + i)}{'xyz'[i % 3]}{i} of something else here" for i in range(20)]
    pairs = simviz.PairSet.from_texts(x, [f"{text} and more of {text}" for text in x])
    found = simviz.compare(pairs, ["tfidf_cosine"])
    frame, test = found.to_frame(), found.parts.test
    shares = found.pipelines["tfidf_cosine"].unknown_share(test.x, test.y)
    assert tuple(frame.loc["tfidf_cosine", ["x unknown", "y unknown"]]) == shares
    assert shares == (pytest.approx(1 / 6), pytest.approx(2 / 15))
    assert frame.loc["(chance)", ["x unknown", "y unknown"]].isna().all()


def test_the_report_holds_every_run(pairs, tmp_path):
    learned = simviz.default_pipeline(OPCA(4), pairs)
    blend = simviz.BlendPipeline(learned, simviz.default_pipeline("bm25", pairs), 0.5)
    lexical = simviz.default_pipeline("tfidf_cosine", pairs).fit(pairs)
    (tmp_path / "run.trec").write_text("".join(trec_run(lexical, pairs, tag="theirs")))
    run = simviz.read_run(tmp_path / "run.trec", pairs)
    methods = {"<script>": OPCA(4), "both": blend, "tfidf_cosine": "tfidf_cosine", "theirs": run}
    found = simviz.compare(pairs, methods, metric="recall@3")
    assert list(simviz.compare(pairs, [run, "bm25"]).runs) == ["theirs", "bm25"]
    values = found.to_frame()["recall@3"]
    assert values["theirs"] == pytest.approx(values["tfidf_cosine"])
    assert isinstance(found["both"], simviz.BlendPipeline)
    for drawn in ("both", "theirs"):
        assert len(simviz.draw(found[drawn], pairs).y) == 30
    shown = found._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    chance = 3 / len(found.parts.test.y)
    assert values["(chance)"] == pytest.approx(chance)
    found.save(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert str(found.verdict) in unescape(text) and "Holm, 2 comparisons" in text
    assert all(word in text for word in ("&lt;script&gt;", "both", "theirs", "recall@3"))
    assert "toys" in text and "<b>red" not in text
    with pytest.raises(ValueError, match="one HTML page"):
        found.save(tmp_path / "report.pdf")
    for wrong, words in (
        ([], "nothing to compare"),
        (["opcaa"], "Did you mean 'opca'"),
        ({"number": 3}, "model or class"),
    ):
        with pytest.raises(ValueError, match=words):
            simviz.compare(pairs, wrong)


def test_a_split_of_the_data_or_a_given_one_is_followed_and_told(pairs, tmp_path):
    part = ["train"] * 20 + ["validation"] * 4 + ["test"] * 6
    texts = list(pairs.x.content)
    own = simviz.from_frame({"x": texts, "y": texts, "split": part})
    found = simviz.compare(own, "bm25")
    assert found.split_spec.by == "column" and len(found.parts.test.x) == 6
    assert found.comparisons is None
    assert list(found.verdict.against) == ["guessing by popularity"]
    again = simviz.compare(own, "bm25", split=found.parts)
    assert again.to_frame()["MRR"].equals(found.to_frame()["MRR"])
    folds = next(simviz.data.folds(pairs, 5))
    known = simviz.split(pairs, by="x", fractions=(0.5, 0.2, 0.3), seed=3)
    for split, is_repeated in ((known, True), (folds, False)):
        simviz.compare(pairs, ["tfidf_cosine"], split=split).save(tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text()
        assert ("fractions=(0.5, 0.2, 0.3), seed=3)" in text) == is_repeated
        assert ("passed to simviz.compare" in text) != is_repeated


def test_a_comparison_tells_how_far_it_is_and_stops(pairs):
    heard = []
    simviz.compare(pairs, ["bm25", OPCA(4)], callback=lambda *told: heard.append(told) and False)
    steps = [step / total for step, total, _ in heard]
    assert steps == sorted(steps) and steps[-1] == 1
    with pytest.raises(JobCancelled):
        simviz.compare(pairs, ["bm25"], callback=lambda *told: True)


def test_a_registered_method_is_found_everywhere(pairs, monkeypatch):
    monkeypatch.setattr(methods, "registered", {})
    assert simviz.register_method(FirstColumns) is FirstColumns
    assert simviz.get_method("FirstColumns") is simviz.get_method("firstcolumns") is FirstColumns
    assert methods.method_id(FirstColumns()) == "firstcolumns"
    pipeline = simviz.default_pipeline("firstcolumns", pairs, n_components=2).fit(pairs)
    assert pipeline.model_.n_components_ == 2
    again = type("Again", (FirstColumns,), {})
    for wrong, words in (
        ((again, "opca"), "has the id 'opca'"),
        ((again, "My method"), "lower-case"),
        ((dict,), "subclass"),
    ):
        with pytest.raises(ValueError, match=words):
            simviz.register_method(*wrong)


def test_installed_packages_bring_methods_and_do_no_harm(monkeypatch, tmp_path):
    from importlib.metadata import EntryPoint

    brought = {
        "first": f"{__name__}:FirstColumns",
        "gone": "simviz.nowhere:Gone",
        "broken": "no value",
        "opca": f"{__name__}:FirstColumns",
        "untagged": f"{__name__}:Untagged",
        "needs_more": f"{__name__}:NeedsMore",
        "ends": "ending_package:Anything",
    }
    entries = [EntryPoint(name, value, "simviz.methods") for name, value in brought.items()]
    (tmp_path / "ending_package.py").write_text("raise SystemExit('no licence')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(methods, "entry_points", lambda group: entries)
    methods._own_methods.cache_clear()
    try:
        with pytest.warns(UserWarning) as told:
            known = simviz.all_methods()
        said = [str(one.message) for one in told]
        assert [words.split()[2] for words in said] == [entry.name for entry in entries[1:]]
        assert "No module named 'simviz.nowhere'" in said[0] and "no licence" in said[-1]
        assert known["first"].__name__ == "FirstColumns" and known["opca"] is OPCA
        assert not known.keys() & {entry.name for entry in entries[1:] if entry.name != "opca"}
    finally:
        methods._own_methods.cache_clear()


def test_the_best_draws_a_map_and_answers(pairs, result):
    drawing = simviz.draw(result.best, pairs)
    frame = drawing.to_frame()
    assert frame["side"].tolist() == ["x"] * 30 + ["y"] * 30
    assert np.array_equal(frame[["horizontal", "vertical"]][:30], drawing.x)
    assert drawing.quality is not None and "toys" not in repr(drawing)
    shown = drawing._repr_html_()
    assert "map-state" in shown and "<b>red car</b></b>" not in shown
    index = result.best.index(pairs.y)
    found, nothing = index.search(["red car"], 3), index.search([])
    assert len(found) == 3 and nothing.columns.equals(found.columns) and nothing.empty
    with pytest.raises(ValueError, match=r"map\.gif"):
        drawing.save("map.gif")


def test_what_was_found_is_reached_by_name_framed_and_pickled(result):
    assert result["opca"] is result.pipelines["opca"]
    with pytest.raises(KeyError, match="Known: "):
        result["nosuch"]
    frame = result.comparisons.to_frame()
    assert len(frame) == len(result.comparisons.pairs)
    told = [one.is_significant() for one in result.comparisons.pairs.values()]
    assert frame["told_apart"].tolist() == told
    first = result.comparisons.between(frame.a[0], frame.b[0])
    assert frame.difference[0] == first.difference and frame.p_value[0] == first.p_value
    again = pickle.loads(pickle.dumps(result))
    assert again.to_frame().equals(result.to_frame()) and str(again.verdict) == str(result.verdict)


def test_columns_of_a_frame_are_guessed_or_named_and_rows_left_out_are_told(pairs, caplog):
    frame = pd.DataFrame({"document": list(pairs.y), "query": list(pairs.x)})
    assert simviz.compare(frame, ["bm25"]).pairs.x_name == "query", "guessed"
    assert "left out" not in caplog.text
    found = simviz.compare(frame, ["bm25", OPCA(4)], x="document", y="query")
    assert (found.pairs.x_name, found.pairs.y_name) == ("document", "query")
    frame.loc[3, "document"] = ""
    simviz.default_pipeline("bm25", frame)
    assert "1 row left out because the y side is empty" in caplog.text
    assert list(found["opca"].transform(["red car"]).shape) == [1, 4]
    with pytest.raises(DatasetError, match="Pairs are wanted"):
        simviz.compare(list(pairs.x), ["bm25"])


def test_own_classes_are_stored_and_read_if_trusted(pairs, tmp_path):
    pipeline = simviz.default_pipeline(FirstColumns, pairs).fit(pairs)
    pipeline.save(tmp_path / "own.simviz")
    with pytest.raises(StoreError, match="trusted"):
        simviz.load_pipeline(tmp_path / "own.simviz")
    again = simviz.load_pipeline(tmp_path / "own.simviz", trusted=[FirstColumns])
    assert np.array_equal(
        again.similarity(pairs.x, pairs.y), pipeline.similarity(pairs.x, pairs.y)
    )
    other = type("OPCA", (FirstColumns,), {})
    with pytest.raises(ValueError, match="Name yours otherwise"):
        simviz.load_pipeline(tmp_path / "own.simviz", trusted=[other])


def test_tuning_chooses_by_folds_and_by_a_metric_of_ones_own(pairs, monkeypatch, tmp_path):
    tuned = simviz.tune(
        simviz.default_pipeline(OPCA(4), pairs), pairs, {"n_components": [1, 4]}, folds=3
    )
    frame = tuned.to_frame()
    assert frame["n_components"].tolist() == [1, 4] and set(frame["n_folds"]) == {3}
    best = frame.loc[frame["value"].idxmax(), "n_components"]
    assert tuned.params == {"n_components": best} == {"n_components": 4}
    assert len(tuned.best.transform(pairs.x)) == 30 and "4" in repr(tuned)
    with pytest.raises(ValueError, match="n_component"):
        simviz.tune(simviz.default_pipeline(OPCA(4), pairs), pairs, {"n_componen": [1]})
    monkeypatch.setattr(metrics, "OWN", {})
    last = simviz.metric(lambda grades: -np.flatnonzero(grades).max(), name="last answer")
    found = simviz.compare(pairs, [OPCA(4), FirstColumns(1)], metric=last)
    values = found.to_frame()["last answer"]
    assert values["opca"] > values["firstcolumns"] and "last answer" in str(found.verdict)
    tuned = simviz.tune(OPCA(), pairs, {"n_components": [1, 4]}, folds=3, metric="last answer")
    assert tuned.params == {"n_components": 4}
    found.save(tmp_path / "report.html")
    assert "last answer" in (tmp_path / "report.html").read_text()


def test_a_matrix_and_a_function_are_compared_as_scores():
    X = np.random.default_rng(0).standard_normal((60, 4))
    pairs = simviz.from_frame(x=X, y=X + 0.1).pairs

    def product(x, y):
        return x @ y.T

    given = simviz.compare(pairs, [product, "cosine", X @ (X + 0.1).T])
    assert {*given.names} == {"product", "cosine", "scores"}
    product_, scores = (given.evaluations()[name].value("MRR") for name in ("product", "scores"))
    assert product_ == scores > 0.3
    with pytest.raises(DatasetError, match="60 x and 60 y items"):
        simviz.compare(pairs, {"mine": np.eye(3)})


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("Comparing", lambda pairs: simviz.compare(pairs, ["bm25"])),
        ("Choosing", lambda pairs: simviz.tune("bm25", pairs, {"k1": [1.0]}, folds=2)),
    ],
)
def test_a_terminal_shows_how_far_it_is(pairs, monkeypatch, capsys, what, call):
    call(pairs)
    assert what not in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    call(pairs)
    told = capsys.readouterr().err
    assert told.startswith(f"\r{what}") and told.endswith("100%\n")


WORDS = [f"number {i}" for i in range(60)]


def _vectors(noise, n=150, d=10):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X + noise * rng.standard_normal((n, d))


def test_the_plain_cosine_stands_beside_adapters_and_wins_where_validation_prefers_it():
    X, Y = _vectors(0.6, 600)
    result = simviz.compare(simviz.from_frame(x=X, y=Y).pairs, [HeterogeneousSVD(3)])
    assert result.names == ["cosine", "heterogeneous_svd"]
    assert methods.method_id(result.best.model) == "cosine"
    assert "cosine" in result.to_frame().index
    assert "The vectors alone do " in str(result.verdict)
    stretched = Y * np.r_[np.full(5, 20.0), np.ones(5)]
    learned = simviz.compare(simviz.from_frame(x=X, y=stretched, space="one"), ["ridge_identity"])
    assert learned.names == ["ridge_identity", "cosine"]
    assert list(learned.verdict.against) == ["cosine"]
    assert "The vectors alone" not in str(learned.verdict)
    turned = simviz.from_frame(x=X, y=np.roll(Y, 1, axis=1), space="one")
    assert simviz.compare(turned, ["ridge_identity"]).names[0] == "ridge_identity"


def _measured(method, ranks, created):
    """What `ranked` reads of a run whose queries find their answers at these ranks."""
    n = len(ranks)
    scores = np.array([np.r_[np.ones(rank - 1), np.zeros(n + 1 - rank)] for rank in ranks])
    at = np.arange(n)
    scores[at, np.asarray(ranks) - 1] = scores[at, at]
    scores[at, at] = 0.5
    found = simviz.evaluate(VectorScorer("dot"), scores[:, :n], np.eye(n), metrics=["MRR"])
    return SimpleNamespace(
        id=method,
        info=RunInfo(method, "toys", method, created=created),
        measured=(),
        spec={},
        about={"split": ""},
        value=lambda metric, direction, part="validation": found.value(metric, direction),
        part=lambda name: SimpleNamespace(evaluation=found),
    )


def test_what_learns_nothing_is_first_unless_another_is_ahead_by_more_than_its_error():
    base = _measured("cosine", [1, 2, 2, 1, 2, 1, 1, 2], 1)
    lucky = _measured("cca", [1, 1, 2, 2, 1, 1, 1, 2], 2)
    ahead = _measured("opca", [1, 1, 1, 1, 1, 1, 1, 2], 3)
    assert [run.value("MRR", "x2y") for run in (base, lucky, ahead)] == [0.75, 0.8125, 0.9375]

    def first(*runs):
        return [run.id for run in ranked(runs, "MRR", "x2y", "validation")]

    assert first(base, lucky) == ["cosine", "cca"]
    assert first(base, lucky, ahead) == ["opca", "cca", "cosine"]
    # Of other queries: their means say nothing of each other.
    base.about["split"] = "another"
    assert first(base, lucky) == ["cca", "cosine"]


def test_no_cosine_is_added_where_it_means_nothing_or_is_there():
    X, Y = _vectors(0.6)
    two = simviz.compare(simviz.from_frame(x=X, y=Y, space="two"), [RidgeCCA(4)])
    assert two.names == ["cca"]
    named = simviz.compare(simviz.from_frame(x=X, y=Y), {"base": "cosine", "c": RidgeCCA(4)})
    assert sorted(named.names) == ["base", "c"]
    texts = simviz.from_frame(x=WORDS, y=[f"the {word}" for word in WORDS])
    assert simviz.compare(texts, [RidgeCCA(4)]).names == ["cca"]


def test_a_scorer_of_vectors_is_a_method():
    X, Y = _vectors(0.6)
    pairs = simviz.from_frame(x=X, y=Y).pairs
    result = simviz.compare(pairs, [VectorScorer(), VectorScorer("dot"), RidgeCCA(4)])
    assert sorted(result.names) == ["cca", "cosine", "dot"]
    test = result.parts.test
    expected = evaluate(VectorScorer("dot"), test.x.content, test.y.content, test.relevance)
    assert result.evaluations()["dot"].value("MRR") == expected.value("MRR")
    with pytest.raises(ValueError, match="Vectors are a matrix"):
        simviz.compare(simviz.from_frame(x=WORDS, y=WORDS), [VectorScorer()])
    with pytest.raises(ValueError, match="those of x have 8 numbers, those of y 7"):
        evaluate(VectorScorer(), X[:, :8], Y[:, :7])


def test_adapters_are_held_against_the_cosine_of_what_they_read():
    texts, vectors = (simviz.from_frame(x=one, y=one).pairs for one in (["a b", "c"], np.eye(3)))
    cosine, other = ("cosine", "cosine", "usual"), ("other", "cosine", "pretrained:m")
    on_words, on_vectors = ("words", "cca", "usual"), ("cca", "cca", "pretrained")
    lexical, blend = ("tfidf", "tfidf_cosine", "pretrained"), ("best blend", "blend", "usual")
    learned_nothing = ("pca", "pca", "pretrained")
    for runs, pairs, expected in (
        ([on_words, learned_nothing, cosine, on_vectors], texts, ("cca", "cosine")),
        ([on_words, cosine], texts, None),
        ([on_vectors, other], texts, None),  # of another encoder
        ([lexical, on_vectors], texts, ("cca", "tfidf")),
        ([on_words, cosine], vectors, ("words", "cosine")),
        ([on_vectors, cosine, blend], texts, ("cca", "cosine")),
    ):
        assert adapted_vectors(runs, pairs) == expected, runs
