"""The tables of supervised semantic indexing: links, and queries in another language."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp
from scorers import Table

import simviz
from simviz.data import Items, PairSet
from simviz.evaluation.metrics import MAP
from simviz.experiments import Parts, Progress, get_experiment
from simviz.experiments._bench import ALPHAS, Task, blend_weights
from simviz.experiments._parts import WithoutItself
from simviz.experiments.ssi_languages import TranslatedTfidf
from simviz.experiments.ssi_links import by_link
from simviz.features import TextCounts, Vectors
from simviz.methods import get_method
from simviz.pipeline import BlendPipeline, PairPipeline
from simviz.relevance import Relevance

N = 90


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """A folder of documents of three topics, each of which links two of its topic."""
    folder = tmp_path_factory.mktemp("linked")
    rng = np.random.default_rng(0)
    topic = np.arange(N) % 3
    counts = rng.poisson(0.1, (N, 60)) + rng.poisson(1.0, (N, 60)) * (
        np.arange(60) % 3 == topic[:, None]
    )
    sp.save_npz(folder / "x.npz", sp.csr_matrix(counts))
    ids = [f"d{i}" for i in range(N)]
    (folder / "ids.txt").write_text("\n".join(ids) + "\n")
    links = [(i, (i + 3 * s) % N) for i in range(N) for s in (1, 2)]
    both = sorted({*links, *((b, a) for a, b in links)})
    with gzip.open(folder / "relevance.tsv.gz", "wt") as file:
        file.write("x_id\ty_id\tgrade\n" + "".join(f"d{a}\td{b}\t1\n" for a, b in both))
    part = rng.permutation(["train"] * 50 + ["test"] * 25)
    with gzip.open(folder / "split.tsv.gz", "wt") as file:
        lines = zip(ids, part, strict=False)  # the last 15 documents are in no part
        file.write("x_id\tsplit\n" + "".join(f"{i}\t{p}\n" for i, p in lines))
    return folder


def links_of(pairs):
    """Pairs of ids that belong together."""
    found = pairs.relevance.positives.tocoo()
    return {*zip(pairs.x.ids[found.row], pairs.y.ids[found.col], strict=True)}


def cosine_of(pairs):
    return PairPipeline(get_method("tfidf_cosine")(), Vectors(), Vectors()).fit(pairs)


def test_no_link_of_a_document_that_asks_is_known(collection):
    data = get_experiment("ssi_links").load(collection)
    train, validation, test = data.train, data.validation, data.test
    held = {*validation.x.ids, *test.x.ids}
    assert len(test.x) == 25 and len(test.y) == N and train.x is train.y
    assert set(train.x.ids) == set(test.y.ids) - held == set(validation.y.ids)
    with gzip.open(collection / "relevance.tsv.gz", "rt") as file:
        rows = [line.split("\t")[:2] for line in file][1:]
    with gzip.open(collection / "split.tsv.gz", "rt") as file:
        asks = {line.split("\t")[0] for line in file if "train" in line} - held
    wanted = {(a, b) for a, b in rows if a in asks and b in set(train.x.ids)}
    assert links_of(train) == wanted
    np.testing.assert_allclose(sp.linalg.norm(train.x.content, axis=1), 1, atol=1e-6)


def test_links_are_ranked_and_claims_tested(collection, monkeypatch):
    experiment = get_experiment("ssi_links")
    learned = {"n_components": (10,), "margin": (0.05, 1.0), "init": ("lsa", "normal")}
    grid = {**experiment.grids["demo"], "ssi": learned}
    monkeypatch.setattr(type(experiment), "grids", {"demo": grid})
    found = experiment.run(experiment.load(collection))
    assert found.about.endswith("90 to rank in the test")
    one, divided = found.tables
    rows = {row[0]: row for row in one.rows}
    assert next(iter(rows)) == "TFIDF" and len(rows) == 8
    assert [row[0] for row in divided.rows] == list(rows)
    assert divided.title.startswith("Links divided: Table 1")
    assert one.columns[4] == "MAP, 95 %" and "–" in rows["TFIDF"][4]
    low, high = map(float, rows["SSI"][4].split("–"))
    assert low < rows["SSI"][2] < high
    published = rows["SSI as published (noise, margin 1)"]
    assert published[5] == "10 dimensions, margin 1, from normal"
    assert all(0 <= value <= 1 for row in rows.values() for value in row[1:4])
    assert rows["query expansion"][5].startswith("β = ")
    assert rows["SSI"][5].startswith("10 dimensions, margin ")
    ours = ["SSI"] * 3 + ["Que"]
    starts = [*ours, *(f"Links divided: {first}" for first in ours)]
    assert [c.statement[: len(s)] for c, s in zip(found.claims, starts, strict=True)] == starts
    assert all("paired randomisation, Holm" in claim.test for claim in found.claims[:3])
    assert any(note.startswith("Links divided: ") for note in found.notes)


def test_links_are_divided_with_both_directions_and_none_that_is_known_is_ranked(collection):
    data = get_experiment("ssi_links").load(collection)
    parts = by_link(data, seed=3)
    learned, asked, before = map(links_of, (parts.train, parts.test, data.train))
    assert not learned & asked and learned | asked <= before
    assert {(b, a) for a, b in learned} & before <= learned
    assert len(before - learned) == pytest.approx(0.3 * len(before), abs=2)
    assert len(parts.test.x) <= len(data.test.x) and parts.validation is data.validation
    assert {(a, b) for a, others in parts.known.items() for b in others} == learned
    (block,) = parts.limited(cosine_of(parts.train)).iter_similarity(parts.test.x, parts.test.y)
    for name, row in zip(parts.test.x.ids, block, strict=True):
        lowest = {*parts.test.y.ids[row < 0]}
        assert lowest == {name, *(b for a, b in learned if a == name)}


def test_one_method_of_links_is_run_beside_tfidf(collection):
    experiment = get_experiment("ssi_links")
    found = experiment.run(experiment.load(collection, n_pool=10), methods=["lsa"])
    assert [row[0] for row in found.tables[0].rows] == ["TFIDF", "LSI", "α LSI + (1 − α) TFIDF"]
    assert {claim.verdict for claim in found.claims} == {"not comparable"}


def test_refusals_say_what_is_needed():
    links, languages = get_experiment("ssi_links"), get_experiment("ssi_languages")
    emoji = simviz.load_demo("emoji")
    alike = PairSet.from_texts(["a red car", "a blue sea"], ["the car is red", "blue is the sea"])
    assert links.refusal(alike) == "" == languages.refusal(emoji)
    assert "one language" in links.refusal(emoji)
    assert "two languages" in languages.refusal(simviz.load_demo("icons"))


def test_an_item_is_no_answer_to_itself():
    items = Items(list("abc"), np.array([[1.0, 0], [1, 1], [0, 1]]), "vector")
    pairs = PairSet(items, items, Relevance.from_pairs([0], [1], shape=(3, 3)))
    cosine, some = cosine_of(pairs), items.take([2, 0])
    (block,) = WithoutItself(cosine).iter_similarity(some, items)
    np.testing.assert_allclose(block[0, :2], cosine.similarity(some, items)[0, :2])
    blend = BlendPipeline.of(cosine, cosine, pairs)
    for part in (block, *next(WithoutItself(blend).iter_parts(some, items))):
        assert part.argmin(axis=1).tolist() == [2, 0]
    asked = Parts("abc", pairs, pairs, pairs, one_collection=True)
    assert asked.ranked(cosine, [MAP()]).value(MAP(), "x2y") == 1


def test_rows_choose_among_their_own_settings_and_the_middle_of_equal_weights():
    curves = {
        "low": ({"margin": 0.1}, np.array([0.1, 0.5, 0.2])),
        "high": ({"margin": 1.0}, np.array([0.1, 0.4, 0.3])),
        "flat": ({"margin": 2.0}, np.array([0.3, 0.3, 0.3])),
    }
    rows = {"all": {}, "published": {"margin": (1.0, 2.0)}, "flat": {"margin": (2.0,)}}
    assert list(blend_weights(curves, rows | {"not tried": {"margin": (3.0,)}})) == [
        ("all", "high", "low", 1), ("published", "high", "high", 1), ("flat", "flat", "flat", 1),
    ]  # fmt: skip
    assert not list(blend_weights({}, rows))


def test_the_weight_is_the_best_of_validation(monkeypatch):
    experiment = get_experiment("ssi_links")
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 12))
    noisy = (vectors + rng.normal(size=(60, 12)) for _ in range(2))
    x, y = (Items([str(i) for i in range(60)], side, "vector") for side in noisy)
    pairs = PairSet(x, y, Relevance.identity(60))
    asked, lexical, learned = Parts("noise", pairs, pairs, pairs), cosine_of(pairs), {}

    def made(method, *_, n_components=8, **params):
        cca = get_method("cca")(n_components, shared=False)
        return learned.setdefault(n_components, PairPipeline(cca, Vectors(), Vectors()))

    monkeypatch.setattr(experiment, "_pipeline", made)
    task = Task(asked, lexical, {"ssi": {"n_components": (8, 2)}}, 0)
    found = experiment._tested("ssi", task, Progress())
    blend = found["α SSI + (1 − α) TFIDF"]
    assert blend.chosen.startswith("α = ")

    def best(scorers):
        return max(asked.ranked(one, [MAP()], "validation").value(MAP()) for one in scorers)

    blends = [
        BlendPipeline.of(one, lexical, pairs, normalization="global_std").with_alpha(alpha)
        for one in learned.values()
        for alpha in ALPHAS
    ]
    assert blend.result.value(MAP()) == pytest.approx(best(blends))
    assert found["SSI"].result.value(MAP()) == pytest.approx(best(learned.values()))


ENGLISH = ["red car", "red sea", "car", "blue sea", "blue car", "old car"]
SPANISH = ["coche rojo", "mar rojo", "coche", "mar azul", "coche azul", "coche viejo"]


def test_queries_are_translated_word_by_word():
    pairs = PairSet.from_texts(ENGLISH, SPANISH)
    pipeline = PairPipeline(TranslatedTfidf(), TextCounts(), TextCounts()).fit(pairs)
    found = Items(list("abc"), ["mar viejo", "coche rojo", "mar azul"], "text")
    scores = pipeline.similarity(Items(["q"], ["old sea"], "text"), found)[0]
    assert scores.argmax() == 0 and scores.max() <= 1 + 1e-9
    by_pair = pipeline.score_pairs(ENGLISH, SPANISH)
    every = pipeline.similarity(pairs.x, pairs.y)
    np.testing.assert_allclose(by_pair, np.diag(every), atol=1e-6)


@pytest.mark.parametrize("translated", [False, True])
def test_languages_are_blended(translated):
    pairs = simviz.load_demo("emoji").take(range(300), range(300))
    if translated:
        x = Items(pairs.x.ids, pairs.x.content, "text", {"translation": pairs.y.content})
        pairs = PairSet(x, pairs.y, pairs.relevance, name="emoji")
    experiment = get_experiment("ssi_languages")
    found = experiment.run(experiment.prepared(pairs), methods=["cl_lsi"])
    table = {row[0]: row[2] for row in found.tables[0].rows}
    lexical = table["TFIDF on translated queries"]
    assert (lexical > 0.9) == translated
    assert any("given with the data" in note for note in found.notes) == translated
    assert {claim.verdict for claim in found.claims} == {"not comparable"}
    assert json.dumps(found.to_json())


def test_answers_are_what_the_counterpart_links_to():
    """As in the paper: a query's counterpart is of grade 3, what it links to of grade 2."""
    n, rng = 60, np.random.default_rng(0)
    x = [f"t{i % 6} q{i}" for i in range(n)]
    y = [f"T{i % 6} D{i} W{rng.integers(9)}" for i in range(n)]
    links = [(i, (i + s) % n, grade) for s, grade in ((0, 3), (6, 2), (12, 1)) for i in range(n)]
    of, to, grades = zip(*links, strict=True)
    relevance = Relevance.from_pairs(of, to, grades, shape=(n, n), unjudged="negative")
    ids = [f"d{i}" for i in range(n)]
    pairs = PairSet(Items(ids, x, "text"), Items(ids, y, "text"), relevance, name="linked")
    experiment = get_experiment("ssi_languages")
    task = experiment.prepared(pairs)
    for part, step in ((task.train, 6), (task.validation, 6), (task.test, 6), (task.mates, 0)):
        assert {(int(b[1:]) - int(a[1:])) % n for a, b in links_of(part)} == {step}
    best = Table(np.eye(n)[[int(i[1:]) for i in task.test.x.ids]])
    assert task.ranked(best, [MAP()]).value(MAP()) < 0.2, "a counterpart is no answer"
    result = experiment.run(task, methods=["cl_lsi"])
    assert any("counterpart links to" in note for note in result.notes)
