"""Runs are measured on validation and test alike, and ranked by validation alone."""

import numpy as np
import pytest

from simviz.data import Items, PairSet, split
from simviz.evaluation import blend_curve
from simviz.evaluation.scoring import evaluate
from simviz.jobs import JobSpec, SplitSpec, search_spec
from simviz.jobs.spec import ImportSpec
from simviz.jobs.training import measurable, train
from simviz.pipeline import BlendPipeline, default_pipeline
from simviz.relevance import Relevance

TEXTS = [f"{a} {b}" for a in "red green blue gold".split() for b in "car bus tram ship".split()]


def quiet(stage, fraction, metrics):
    return False


@pytest.mark.parametrize(
    ("fractions", "order"),
    [((0.7, 0.1, 0.2), ["validation", "test"]), ((0.6, 0.3, 0.1), ["test", "validation"])],
)
def test_the_smaller_part_comes_first_and_its_figure_is_told(fractions, order):
    pairs, heard = PairSet.from_texts(TEXTS, TEXTS), []
    spec = JobSpec("d", pairs.digest, "bm25", split=SplitSpec(fractions=fractions))
    train(spec, pairs, lambda stage, done, metrics: heard.extend(metrics))
    assert [name for name in heard if name.endswith(" MRR")] == [f"{part} MRR" for part in order]


@pytest.mark.parametrize("dataset_id", ["d", "demo:words"])
def test_both_parts_are_measured_alike(dataset_id):
    pairs = PairSet.from_texts(TEXTS, TEXTS)
    spec = JobSpec(dataset_id, pairs.digest, "lsa", {"n_components": 3})
    result, parts = train(spec, pairs, quiet), split(pairs)
    for name in ("validation", "test"):
        again, kept = evaluate(result.pipeline, getattr(parts, name)), result.measured[name]
        assert str(kept.evaluation.to_records()) == str(again.to_records())
        assert set(kept.records) == {"run", "chance", "popularity"}
        assert {record["dimension"] for record in kept.curve} >= {2, 3}
        assert kept.evaluation.roc is not None
    assert result.summary()["MRR"] == result.measured["validation"].summary()["MRR"]


def test_an_imported_run_has_the_parts_that_it_brings_scores_for():
    strange = PairSet.from_texts(TEXTS, [f"wort{i}" for i in range(16)])
    nothing = default_pipeline("tfidf_cosine", strange).fit(strange)
    spec, parts = ImportSpec("d", strange.digest, "imported"), split(strange)
    found = train(spec, strange, quiet, lambda part: nothing).measured
    assert set(found) == {"validation", "test"}

    class ForTheTest:
        def iter_similarity(self, x, y, /, *, block_size=None):
            only = parts.test
            known = np.isin(x.ids, only.x.ids)[:, None] & np.isin(y.ids, only.y.ids)
            yield known.astype(float)

        def transform(self, x):
            return np.ones((len(x), 2))

    assert set(measurable(parts, ForTheTest())) == {"test"}


def test_a_job_may_split_by_time():
    days = {"day": np.array([f"2026-01-{i + 1:02d}" for i in range(16)], dtype=object)}
    x = Items([str(i) for i in range(16)], TEXTS, "text", days)
    pairs = PairSet(x, Items(x.ids, TEXTS, "text"), Relevance.identity(16))
    spec = JobSpec("d", pairs.digest, "bm25", split=SplitSpec("time", group_key="day"))
    assert JobSpec.from_json(spec.to_json()).split == spec.split
    result = train(spec, pairs, quiet)
    assert result.parts["x_test"].min() > result.parts["x_train"].max()


def exchanged_tests(n=60):
    """Two data sets that differ in which answers are right for the test queries alone."""
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bdfgklmn" for b in "aeiou"]
    left = [" ".join(rng.choice(words, 4)) for _ in range(n)]
    right = [" ".join([*text.split()[:2], *rng.choice(words, 2)]) for text in left]
    pairs = PairSet.from_texts(left, right)
    test, answers = split(pairs, "x").x_index["test"], np.arange(n)
    answers[test] = np.roll(test, 1)
    other = Relevance.from_pairs(np.arange(n), answers, shape=(n, n))
    return pairs, PairSet(pairs.x, pairs.y, other)


@pytest.mark.parametrize("folds", [1, 3])
def test_settings_and_weights_do_not_depend_on_the_answers_of_the_test(folds):
    found, figures = [], []
    for pairs in exchanged_tests():
        spec = JobSpec("d", pairs.digest, "cca", split=SplitSpec("x"))
        asked = search_spec(spec, {"n_components": [2, 5, 9]}, folds=folds)
        trials = asked.run(pairs, {}, quiet).value.trials
        parts = split(pairs, "x")
        learned = default_pipeline("cca", parts.train, n_components=5).fit(parts.train)
        lexical = default_pipeline("bm25", parts.train).fit(parts.train)
        blend, held = BlendPipeline.of(learned, lexical, parts.train), parts.validation
        curve = blend_curve(blend, held.x, held.y, held.relevance, metrics=["MRR"])
        weight = curve.best(direction="x2y")
        found.append(([(trial.params, trial.mean) for trial in trials], weight))
        figures.append(evaluate(lexical, parts.test).value("MRR", "x2y"))
    assert found[0] == found[1] and figures[0] != figures[1]
