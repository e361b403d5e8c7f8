"""What pages keep between reruns is told apart by content, and never lasts too long."""

import sys
from dataclasses import dataclass

import pytest

from simviz.charts import RocCurve, roc_figure
from simviz.data import PairSet
from simviz.jobs import JobSpec, SplitSpec
from simviz.workbench.search import page
from simviz.workbench.shell import charts, frame, state
from simviz.workbench.train import method_lines
from simviz.workbench.train.augment import Augmentation
from simviz.workbench.train.method_lines import Setting


def setting(pairs: PairSet, *, one_vocabulary: bool = False) -> Setting:
    made = Setting.__new__(Setting)  # without a page, which knows the rest
    made.dataset_id, made.pairs = "own", pairs
    made.split, made.features = SplitSpec(), "usual"
    made.one_vocabulary, made.marks = one_vocabulary, {}
    made.augmentation = Augmentation()
    return made


def pairs_of(n: int) -> PairSet:
    words = [f"word {i} of {i % 7}" for i in range(n)]
    return PairSet.from_texts(words, [word[::-1] for word in words])


@pytest.fixture(autouse=True)
def _nothing_kept():
    method_lines._cost.clear()


def cost(of: Setting, method: str, **params: object) -> float:
    spec = JobSpec(of.dataset_id, of.pairs.digest, method, params, workspace="w")
    return of.task(spec).expected.bytes


def test_an_estimate_follows_the_content_even_under_the_same_id_and_is_made_once(monkeypatch):
    small, large = setting(pairs_of(60)), setting(pairs_of(4_000))
    assert small.dataset_id == large.dataset_id
    first = cost(small, "cca")
    assert first < cost(large, "cca")
    monkeypatch.setattr("simviz.jobs.spec.estimate", lambda *_: pytest.fail("made anew"))
    assert cost(small, "cca") == cost(setting(pairs_of(60)), "cca") == first


def test_an_estimate_does_not_ask_again_whether_words_are_shared(monkeypatch):
    monkeypatch.setattr("simviz.pipeline.same_vocabulary", lambda *_: pytest.fail("known already"))
    assert cost(setting(pairs_of(60), one_vocabulary=True), "cca") > 0


def test_pages_get_their_turn_soon(monkeypatch):
    monkeypatch.setattr(frame.threading, "Timer", lambda *_: frame.threading.Thread())
    before = sys.getswitchinterval()
    try:
        frame.start.__wrapped__()
        assert sys.getswitchinterval() == pytest.approx(frame.SWITCH_SECONDS)
    finally:
        sys.setswitchinterval(before)


def figure(label="CCA", run="r1", *, banded=False):
    curves = [RocCurve("cca", label, [0.0, 0.2, 1.0], [0.0, 0.7, 1.0], 0.75)]
    return charts.cached_figure(
        "roc", curves, [run, banded], lambda: roc_figure(curves, theme=state.theme())
    )


@pytest.fixture
def seen(monkeypatch):
    def as_seen(theme="light", *, narrow=False):
        monkeypatch.setattr(state, "theme", lambda: theme)
        monkeypatch.setattr(state, "is_narrow", lambda: narrow)

    charts._figure.clear()
    as_seen()
    return as_seen


def test_a_figure_follows_what_is_drawn_what_it_is_called_and_who_looks(seen):
    first = figure()
    assert figure() is first, "made once for all who see the same"
    assert "Own name" in str(figure("Own name")) and "Own name" not in str(figure())
    assert figure(run="r2") is not first and figure(banded=True) is not first
    seen("dark")
    assert figure().layout.colorway != first.layout.colorway
    seen(narrow=True)
    assert figure().layout.height < first.layout.height


def test_names_of_items_are_kept_for_their_own_data_only():
    one, other = pairs_of(8), pairs_of(9)
    kept = page.labels_of(one.digest, "x")
    kept[0] = "of the first"
    assert page.labels_of(one.digest, "x") is kept
    assert page.labels_of(one.digest, "y") == {}
    assert page.labels_of(other.digest, "x") == {}


@dataclass
class Known:
    name: str
    key: int

    @property
    def cache_key(self) -> int:
        return self.key


def test_what_is_kept_goes_by_what_stands_for_its_arguments():
    heard = []

    @state.cached(4)
    def hear(one, others, _unseen):
        heard.append(one.name)
        return len(heard)

    assert hear(Known("a", 1), [Known("b", 2)], 1) == 1
    assert hear(Known("A", 1), (Known("B", 2),), 2) == 1
    assert hear(Known("a", 1), [Known("b", 3)], 1) == 2
    hear.clear()
    assert hear(Known("a", 1), [Known("b", 2)], 1) == 3
