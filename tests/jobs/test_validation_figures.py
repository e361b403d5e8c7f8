"""What a run is chosen by is measured apart from the test."""

import numpy as np

from simviz.data import PairSet, split
from simviz.data.items import Items
from simviz.evaluation.scoring import evaluate
from simviz.jobs import JobSpec, SplitSpec
from simviz.jobs.results import to_files
from simviz.jobs.training import train
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance


def quiet(stage, fraction, metrics):
    return False


def texts():
    return [f"{a} {b}" for a in "red green blue gold".split() for b in "car bus tram ship".split()]


def test_validation_is_measured_as_the_test_is_and_shown_in_lists():
    pairs = PairSet.from_texts(texts(), texts())
    spec = JobSpec("d", pairs.digest, "bm25")
    result = train(spec, pairs, quiet)
    part = split(pairs).validation
    again = evaluate(result.pipeline, part.x, part.y, part.relevance)
    expected = {(r["metric"], r["direction"]): r["value"] for r in again.to_records()}
    for record in result.validation:
        value = expected[record["metric"], record["direction"]]
        np.testing.assert_allclose(record["value"], value)
    files = to_files(spec, result)
    assert files.evaluation["validation"] == result.validation
    assert files.summary["MRR"] == expected["MRR", "mean"]


def test_demo_and_run_without_a_score_have_no_validation_figures():
    pairs = PairSet.from_texts(texts(), texts())
    demo = train(JobSpec("demo:words", pairs.digest, "bm25"), pairs, quiet)
    assert demo.validation is None
    strange = PairSet.from_texts(texts(), [f"wort{i}" for i in range(16)])
    pipeline = default_pipeline("tfidf_cosine", strange).fit(strange)
    spec = JobSpec("d", strange.digest, "imported")
    assert train(spec, strange, quiet, ready=pipeline).validation is None
    assert train(JobSpec("d", strange.digest, "bm25"), strange, quiet).validation is not None


def test_a_job_may_split_by_time():
    days = {"day": np.array([f"2026-01-{i + 1:02d}" for i in range(16)], dtype=object)}
    x = Items([str(i) for i in range(16)], texts(), "text", days)
    pairs = PairSet(x, Items(x.ids, texts(), "text"), Relevance.identity(16))
    spec = JobSpec("d", pairs.digest, "bm25", split=SplitSpec("time", group_key="day"))
    assert JobSpec.from_json(spec.to_json()).split == spec.split
    result = train(spec, pairs, quiet)
    assert result.parts["x_test"].min() > result.parts["x_train"].max()
