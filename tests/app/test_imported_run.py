"""A run of another system is brought on the Train page and stands beside ours in Compare."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from simviz.data import PairSet
from simviz.evaluation.trec import trec_run
from simviz.jobs import JobQueue, JobSpec
from simviz.pipeline import default_pipeline
from simviz.store import Store

pytestmark = pytest.mark.app
APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMVIZ_HOME", str(tmp_path))
    store = Store(tmp_path)
    mine = store.create_workspace()
    texts = [f"{a}{b} {c}" for a in "bcdf" for b in "aeiou" for c in ("car", "bus", "ship")]
    pairs = PairSet.from_texts(texts, [f"the {t}" for t in texts], name="things")
    dataset_id = store.put_dataset(pairs, mine)
    with JobQueue(store, limit=2) as queue:
        spec = JobSpec(dataset_id, pairs.digest, "bm25", workspace=mine)
        assert queue.wait(queue.submit(spec), 60).run_id
    st.cache_resource.clear()
    st.cache_data.clear()
    at = AppTest.from_file(APP, default_timeout=120)
    at.session_state["workspace"] = mine
    at.query_params["data"] = dataset_id
    at.switch_page("pages/train.py")
    yield at, pairs
    from simviz.workbench.shell import state

    state.queue().close()
    st.cache_resource.clear()
    st.cache_data.clear()


def html(app):
    return " ".join(e.proto.body for e in app.get("html") if "<style" not in e.proto.body)


def test_a_run_is_brought_and_compared(app):
    at, pairs = app
    at.run()
    assert not at.exception
    tfidf = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    run = "".join(trec_run(tfidf, pairs, tag="theirs")).encode()
    uploader = next(u for u in at.file_uploader if u.key.startswith("import-file"))
    uploader.upload("theirs.run", b"1 Q0 strange 1 2 x\n").run()
    at.button(key="import-keep").click().run()
    assert "no row names an x and a y item" in html(at)
    uploader = next(u for u in at.file_uploader if u.key.startswith("import-file"))
    uploader.upload("theirs.run", run).run()
    at.text_input(key="import-name").set_value("Their system").run()
    at.button(key="import-keep").click().run()
    assert not at.exception
    runs = next(d.value for d in at.dataframe if "run" in d.value)
    assert "Their system (imported)" in list(runs["run"])
    at.switch_page("pages/compare.py").run()
    assert not at.exception
    told = " ".join([html(at), *(str(d.value.to_dict()) for d in at.dataframe)])
    told += " ".join(str(m.value) for m in at.markdown)
    assert "Their system" in told
    for page in ("map", "search"):
        at.switch_page(f"pages/{page}.py").run()
        assert not at.exception, page
