"""Runs whose training watched the validation part are known by what they are made of."""

from waiting import LONG

from simviz.jobs import blend_spec, csls_spec
from simviz.store import stopped_by_validation


def test_runs_that_watched_validation_are_known(store, mine, queue, ask):
    def finished(spec):
        return store.runs.get(queue.wait(queue.submit(spec), LONG).run_id, mine)

    plain = finished(ask("bm25")), finished(ask("tfidf_cosine"))
    early = finished(ask("ssi", n_components=3, max_iter=2))

    def blend(a, b, alpha=0.5):
        return finished(blend_spec(a.info, b.info, alpha, workspace=mine))

    mixed, lexical = blend(early, plain[0]), blend(*plain)
    assert stopped_by_validation(early)
    assert stopped_by_validation(mixed)
    assert stopped_by_validation(blend(mixed, plain[1]))

    def scaled(run):
        return finished(csls_spec(run.info, 3, workspace=mine))

    assert stopped_by_validation(scaled(early))
    assert stopped_by_validation(scaled(mixed))
    assert not stopped_by_validation(scaled(plain[0]))
    for run in (*plain, lexical, blend(lexical, plain[1], 0.25)):
        assert not stopped_by_validation(run)
