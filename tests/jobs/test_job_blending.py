"""A blend of two finished runs is asked for, measured and kept like any run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from waiting import LONG, finished

from simviz.data import Items, split
from simviz.evaluation import evaluate
from simviz.exceptions import JobCancelled
from simviz.jobs import JobError, SplitSpec, blend_spec, csls_spec
from simviz.jobs.spec import BlendSpec, CSLSSpec
from simviz.pipeline import BlendPipeline, CSLSPipeline, load_pipeline
from simviz.projection.pipeline_map import Space


@pytest.fixture
def trained(queue, ask):
    """Two finished runs: what was learned, and BM25; and what finishes further ones."""
    train = partial(finished, queue)
    return train, train(ask("cca", n_components=5)), train(ask("bm25"))


def test_a_blend_is_a_run_of_its_own(trained, queue, mine, sentences, tmp_path):
    train, cca, bm25 = trained
    spec = blend_spec(cca.info, bm25.info, 0.3, workspace=mine)
    run = train(spec)
    assert queue.status(queue.submit(spec)).run_id == run.id == spec.digest
    others = [
        blend_spec(cca.info, bm25.info, 0.31, workspace=mine),
        blend_spec(bm25.info, cca.info, 0.3, workspace=mine),
        blend_spec(cca.info, bm25.info, 0.3, normalization="none", workspace=mine),
    ]
    assert len({cca.id, bm25.id, run.id, *(other.digest for other in others)}) == 6
    params = run.spec["params"]
    assert (params["learned"], params["lexical"]) == (cca.id, bm25.id)
    assert run.info.method == "blend" and run.spec["split"] == cca.spec["split"]
    pipeline = run.pipeline()
    assert isinstance(pipeline, BlendPipeline) and pipeline.alpha == 0.3
    test = split(sentences, "pair").test
    ours = evaluate(pipeline, test.x, test.y, test.relevance)
    for metric in ("MRR", "MAP"):
        np.testing.assert_allclose(
            run.part("test").evaluation.per_query(metric), ours.per_query(metric), equal_nan=True
        )
    # What is downloaded is what the public loader reads.
    (tmp_path / "blend.simviz").write_bytes(run.pipeline_bytes())
    loaded = load_pipeline(tmp_path / "blend.simviz").similarity(test.x, test.y)
    np.testing.assert_array_equal(loaded, pipeline.similarity(test.x, test.y))


def test_a_blend_outlives_its_parts_and_is_shared_alone(trained, store, mine, sentences):
    train, cca, bm25 = trained
    run = train(blend_spec(cca.info, bm25.info, 0.5, workspace=mine))
    token = store.shares.publish(mine, "map", [run.id])
    for part in (cca, bm25):
        store.runs.delete(part.id, mine)
    assert store.shares.resolve(token).run_ids == (run.id,)
    again = store.runs.get(run.id).pipeline()
    assert np.isfinite(again.similarity(sentences.x, sentences.y)).all()


def test_a_blend_of_deleted_or_foreign_runs_fails_with_a_sentence(
    trained, queue, store, mine, theirs, sentences
):
    _, cca, bm25 = trained
    spec = blend_spec(cca.info, bm25.info, 0.5, workspace=mine)
    dataset_id = store.datasets.put(sentences, theirs)
    stolen = replace(spec, dataset_id=dataset_id, workspace=theirs)
    assert "cannot be opened" in queue.wait(queue.submit(stolen), LONG).message
    store.runs.delete(cca.id, mine)
    status = queue.wait(queue.submit(spec), LONG)
    assert status.state == "failed" and "The learned run of this blend" in status.message


def test_runs_on_different_pairs_are_not_blended(trained, ask, mine, queue):
    train, cca, bm25 = trained
    elsewhere = train(replace(ask("bm25"), split=SplitSpec(seed=1)))
    with pytest.raises(JobError, match="same split"):
        blend_spec(cca.info, elsewhere.info, 0.5, workspace=mine)
    other = replace(bm25.info, spec={**bm25.info.spec, "dataset_digest": "0" * 32})
    with pytest.raises(JobError, match="same data"):
        blend_spec(cca.info, other, 0.5, workspace=mine)
    spec = blend_spec(cca.info, bm25.info, 0.5, workspace=mine)
    forged = replace(spec, params={**spec.params, "lexical": elsewhere.id})
    status = queue.wait(queue.submit(forged), LONG)
    assert status.state == "failed" and "other pairs" in status.message


BLEND = {"learned": "a" * 32, "lexical": "b" * 32, "alpha": 0.5, "normalization": "global_std"}
SCALED = {"scaled": "a" * 32, "k": 5, "queries": "given", "scaled_method": "cca"}


@pytest.mark.parametrize(
    ("kind", "params", "change", "words"),
    [
        (BlendSpec, BLEND, {"alpha": 1.5}, "weight from 0 to 1"),
        (BlendSpec, BLEND, {"alpha": True}, "weight from 0 to 1"),
        (BlendSpec, BLEND, {"normalization": "z_query"}, "two items alone"),
        (BlendSpec, BLEND, {"learned": "../x"}, "by their ids"),
        (BlendSpec, BLEND, {"learned": "b" * 32}, "Choose two"),
        (BlendSpec, BLEND, {"wiehgt": 1}, "no parameter of a blend"),
        (CSLSSpec, SCALED, {"k": 0}, "whole number from 1"),
        (CSLSSpec, SCALED, {"k": True}, "whole number from 1"),
        (CSLSSpec, SCALED, {"queries": "all"}, "no queries"),
        (CSLSSpec, SCALED, {"scaled": "../x"}, "by its id"),
        (CSLSSpec, SCALED, {"alpha": 1}, "no parameter of CSLS"),
    ],
)
def test_wrong_requests_are_refused(kind, params, change, words):
    about = "d", "0" * 32, {BlendSpec: "blend", CSLSSpec: "csls"}[kind]
    kind(*about, params).check()
    with pytest.raises(JobError, match=words):
        kind(*about, params | change).check()


@pytest.mark.parametrize(
    ("queries", "among"), [("given", "the other queries"), ("training", "training items")]
)
def test_a_run_corrected_by_csls_is_a_run_of_its_own(trained, mine, sentences, queries, among):
    train, cca, bm25 = trained
    run = train(csls_spec(cca.info, 3, queries=queries, workspace=mine))
    pipeline, parts = run.pipeline(), split(sentences, "pair")
    assert isinstance(pipeline, CSLSPipeline) and run.info.is_derived
    assert (run.info.method, pipeline.k, pipeline.queries) == ("csls", 3, queries)
    ours = evaluate(CSLSPipeline.of(cca.pipeline(), parts.train, 3, queries=queries), parts.test)
    found = run.part("test").evaluation
    for side in ("x2y", "y2x"):
        np.testing.assert_allclose(found.per_query("MRR", side), ours.per_query("MRR", side))
    assert CSLSSpec.from_json(run.spec).title.endswith(f", CSLS (looks at {among})")
    # It goes into a blend like any run, and what names it says so.
    blend = blend_spec(run.info, bm25.info, 0.5, workspace=mine)
    assert blend.title.startswith("0.5 CSLS + 0.5 ")
    assert train(blend).pipeline().looks_at_queries == (queries == "given")


def test_a_blend_can_be_cancelled(trained, mine, sentences):
    _, cca, bm25 = trained
    spec = blend_spec(cca.info, bm25.info, 0.5, workspace=mine)
    models = {"learned": cca.pipeline(), "lexical": bm25.pipeline()}
    with pytest.raises(JobCancelled):
        spec.run(sentences, models, lambda stage, *_: stage == "scoring")


def test_neighbours_are_those_of_the_blend(trained, sentences):
    _, cca, bm25 = trained
    pipeline = BlendPipeline.of(cca.pipeline(), bm25.pipeline(), sentences, 0.4)
    nested = BlendPipeline.of(pipeline, pipeline.lexical_, sentences, 0.5)
    for blend in (pipeline, nested):
        space, S = Space.of(blend, sentences), blend.similarity(sentences.x, sentences.y)
        assert space.n_dimensions is None and space.is_known("x", 3)
        np.testing.assert_allclose(space.scores("x", sentences.x.take([3])), S[3], atol=1e-5)
        np.testing.assert_allclose(space.scores("y", sentences.y.take([7])), S[:, 7], atol=1e-5)
        found = space.nearest("x", 3, 4)
        np.testing.assert_allclose(found.scores, np.sort(S[3])[::-1][:4], atol=1e-5)
    assert not space.scores("x", Items(["?"], ["ЖЖЖ"], "text")).any()
    with pytest.raises(ValueError, match="global_std"):
        Space.of(pipeline.set_params(normalization="minmax_query"), sentences)
