"""Runs whose training watched the validation part are known by what they are made of."""

from functools import partial

from waiting import finished

from simviz.jobs import blend_spec, csls_spec
from simviz.store import stopped_by_validation


def test_runs_that_watched_validation_are_known(mine, queue, ask):
    train = partial(finished, queue)
    plain = train(ask("bm25")), train(ask("tfidf_cosine"))
    early = train(ask("ssi", n_components=3, max_iter=2))

    def blend(a, b, alpha=0.5):
        return train(blend_spec(a.info, b.info, alpha, workspace=mine))

    mixed, lexical = blend(early, plain[0]), blend(*plain)
    watched = early, mixed, blend(mixed, plain[1])

    def scaled(run):
        return train(csls_spec(run.info, 3, workspace=mine))

    assert all(map(stopped_by_validation, (*watched, scaled(early), scaled(mixed))))
    others = *plain, lexical, blend(lexical, plain[1], 0.25), scaled(plain[0])
    assert not any(map(stopped_by_validation, others))
