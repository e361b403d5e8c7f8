"""The four tests of title matching, over any taxonomy."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from simviz.data import PairSet
from simviz.data.augment import Feedback
from simviz.data.pairs_from_tables import read_taxonomy, taxonomy_pairs
from simviz.exceptions import DatasetError
from simviz.experiments import Progress, get_experiment, siamese_blstm as blstm
from simviz.experiments.siamese_blstm import (
    Material,
    composition_test,
    demo_material,
    extra_words_test,
    read_material,
    typos_test,
)
from simviz.pipeline import default_pipeline

TITLES = {
    "java developer": ("developer",),
    "java programmer": ("developer",),
    "web programmer": ("developer",),
    "train conductor": ("conductor on trains",),
    "conductor": ("conductor on trains", "musician"),
    "orchestra conductor": ("musician",),
}
RISES = "Annotations rise most with extra words."
LIFTS = "synonyms lift Composition."
AHEAD = "with all augmentations it is ahead of the n-gram matcher on Annotations."


def matcher_of(pairs):
    return default_pipeline("ngram_matcher", pairs).fit(pairs)


@pytest.fixture
def folder(tmp_path):
    rows = ["title\tgroup_id\tgroup_name\tis_preferred"]
    rows += [f"{title.upper()}\t{group}\tx\t0" for title, of in TITLES.items() for group in of]
    with gzip.open(tmp_path / "titles.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")
    return tmp_path


def test_a_title_in_several_groups_is_relevant_to_all():
    pairs = taxonomy_pairs(TITLES, {"Conductor wanted": TITLES["conductor"]})
    assert pairs.relevance.positives.toarray()[0].tolist() == [0, 0, 0, 1, 1, 1]
    assert pairs.x.metadata["group"].tolist() == ["conductor on trains | musician"]
    itself = taxonomy_pairs(TITLES)
    assert itself.x is itself.y
    assert itself.relevance.positives.toarray()[4].tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(DatasetError, match=r"'nurse' belongs to health, which no title"):
        taxonomy_pairs(TITLES, {"nurse": ("health",)})


def test_a_taxonomy_is_read_whole_or_in_part(folder):
    path = folder / "titles.tsv.gz"
    assert read_taxonomy(path) == TITLES
    assert Material(TITLES, "some").ceiling == pytest.approx(6 / 7)
    part = read_material(path, 1)
    assert part.titles == {t: of for t, of in TITLES.items() if of == ("developer",)}
    assert part.ceiling == 1 and part.name == folder.name
    with pytest.raises(DatasetError, match="has 1 groups of two titles or more, not 9"):
        read_material(path, 9)
    path = folder / "titles.tsv"
    path.write_text("\n".join(["title\tgroup_id", *(f"title {i}\tgroup" for i in range(9))]))
    assert len(read_material(path, 1).titles) == 6, "as many as the paper's"
    path.write_text("name\tgroup_id\na\tb\n")
    with pytest.raises(DatasetError, match="columns title and group_id"):
        read_taxonomy(path)


def test_typos_are_never_titles_and_rare():
    titles = demo_material().titles
    found = typos_test(titles)
    assert not set(found) & set(titles)
    assert len(found) / len(titles) == pytest.approx(0.56, abs=0.05), "the others are not hit"
    assert typos_test(titles) == found
    assert typos_test(titles, seed=1) != found


def test_composition_keeps_some_titles_with_an_exchange_for_the_test():
    synonyms = [("train", "railway"), ("conductor", "guard"), ("web", "internet")]
    train, test = composition_test(TITLES, synonyms)
    made = {**train, **test}
    assert made["railway conductor"] == ("conductor on trains",)
    assert {"train guard", "internet programmer", "web developer"} <= set(made)
    assert len(test) == round(len(made) / 4) and not set(train) & set(test)
    assert not {*made} & set(TITLES) and "railway guard" not in made
    assert composition_test(TITLES, synonyms, share=0)[1] == {}
    assert composition_test({"a": ("b",)}) == ({}, {})


def test_sizes_of_groups_are_drawn_before_and_after_synonyms():
    titles = Material(TITLES, "some", [("train", "railway"), ("conductor", "guard")])
    before, after = blstm.group_sizes(titles, None, 0)
    assert (before.x, before.y) == ((2.0, 3.0), (2.0, 1.0))
    made, _ = composition_test(TITLES, titles.synonyms, share=0)
    assert sum(np.multiply(after.x, after.y)) == 7 + sum(map(len, made.values())) > 7
    assert sum(after.y) == 3


def test_costs_of_pairs_are_drawn_as_the_network_counts_them():
    together, apart, printed = (np.array(line.y) for line in blstm.costs())
    x = np.array(blstm.costs()[1].x)
    assert together[[0, 100, 200]].tolist() == [1.0, 0.25, 0.0]
    assert apart[[0, 150, 200]].tolist() == [0.0, 0.25, 1.0]
    assert apart + printed == pytest.approx(x**2)
    assert x == pytest.approx(np.linspace(-1, 1, 201), abs=1e-6)


def test_extra_words_are_right_by_construction():
    found = extra_words_test(TITLES, ["Java Developer, Leeds", "conductor", "Java Expert"])
    assert found == {"Java Developer, Leeds": ("developer",)}


def test_hits_are_shared_between_equally_near_titles():
    titles = {"abc xyz": ("one",), "xyz abc": ("two",), "nurse": ("three",)}
    texts = {"abc": ("one",), "nurses": ("three",), "xyz": ("three",)}
    assert blstm.hits(matcher_of(taxonomy_pairs(titles)), titles, texts) == [0.5, 1.0, 0.0]


def claims(hits, rows):
    found = get_experiment("siamese_blstm").judged(*blstm.claimed(blstm.Table3(hits, rows)))
    return {claim.statement: claim for claim in found}


def test_claims_are_told_by_test_and_need_both_rows():
    rows, right = [*blstm.ROWS, blstm.BASELINE], [1.0] * 50 + [0.0] * 10
    known = {test: dict.fromkeys(rows, [0.0] * 60) for test in blstm.TESTS}
    known[blstm.ANNOTATIONS] |= dict.fromkeys(rows[3:5], right)
    known[blstm.TYPOS][rows[3]] = right
    learned = {row: blstm.Row(60, 7, 0.95, True) for row in blstm.ROWS}
    found = claims(known, learned)
    assert found[RISES].verdict == "holds" and len(found[RISES].parts) == 3
    assert found["typos in training lift Typos."].verdict == "undecided"
    del learned[rows[4]]
    for values in known.values():
        del values[rows[4]]
    fall = claims(known, learned)["Annotations fall with feedback."]
    assert fall.verdict == "not comparable" and fall.published == "0.87 and 0.84 (Annotations)"


def test_a_network_that_has_not_learned_its_own_inputs_decides_nothing():
    behind, right = dict.fromkeys(blstm.ROWS, [0.0] * 60), [1.0] * 60
    known = {test: behind | {blstm.BASELINE: right} for test in blstm.TESTS}
    known[blstm.COMPOSITION][blstm.ROWS[2]] = right

    def found(plateau=True, **recall):
        rows = {
            row: blstm.Row(60, 40, recall.get(f"row{i}", 0.5), plateau)
            for i, row in enumerate(blstm.ROWS)
        }
        made = claims(known, rows)
        return made[AHEAD], made[LIFTS], made[RISES]

    ahead, lifts, _ = found()
    assert (ahead.verdict, lifts.verdict) == ("does not hold", "holds")
    ahead, lifts, rises = found(row4=0.108)
    assert (ahead.verdict, lifts.verdict) == ("undecided", "holds")
    assert "row (4) + feedback: 0.108 after 40 passes" in ahead.numbers()
    assert [part.verdict for part in rises.parts] == ["undecided"] * 3
    assert "0.108" in rises.parts[2].numbers()
    for half, words in (
        (found(row1=0.499), "row (1) typos: 0.499"),
        (found(row2=np.nan), "row (2) + synonyms: not measured"),
        (found(plateau=False), "after 40 passes, still rising"),
    ):
        assert half[1].verdict == "undecided", "both of what is compared have to be trained"
        assert words in half[1].numbers()


def test_training_inputs_are_asked_for_another_title_of_their_groups():
    titles = {"abcd one": ("a",), "abcd two": ("a",), "xyz": ("b",), "xyz one": ("c",)}
    pairs = taxonomy_pairs(titles)
    matcher = matcher_of(pairs)
    assert blstm.training_recall(matcher, pairs) == 1.0, "what is alone in its group is not asked"
    more = Feedback([("xyz one abcd", "a", 1), ("xyz one", "b", 1)]).transform(pairs)
    # "xyz one abcd" is nearest to "xyz one", of another group; "xyz one" to "xyz".
    assert blstm.training_recall(matcher, more) == pytest.approx(3 / 4)
    alone = taxonomy_pairs({"abc": ("a",), "xyz": ("b",)})
    assert np.isnan(blstm.training_recall(matcher, alone))


QUICK = {"hidden_units": 8, "n_components": 8, "embedding_size": 8, "max_iter": 1}


def test_the_table_has_every_row_and_test(tmp_path, monkeypatch):
    monkeypatch.setattr("simviz.experiments._progress.WORTH_KEEPING", 0)
    how = {"most_synonyms": 40, "progress": Progress(folder=tmp_path)}
    found = blstm.table(demo_material(12), QUICK, **how)
    assert list(found.rows) == [blstm.BASELINE, *blstm.ROWS]
    assert all(found.rows[row].passes == 1 for row in blstm.ROWS), "as many as there were"
    assert all(0 <= found.rows[row].recall <= 1 for row in blstm.ROWS)
    assert list(found.hits) == [*blstm.TESTS, blstm.CORRECTED]
    values = [hit for of in found.hits.values() for hits in of.values() for hit in hits]
    assert 0 <= min(values) <= max(values) <= 1
    assert np.mean(found.hits[blstm.EXTRA][blstm.BASELINE]) > 0.95, "by construction, but for ties"
    assert [*found.hits[blstm.CORRECTED]] == [blstm.ROWS[4]], "only what was told of them is asked"
    monkeypatch.setattr("simviz.methods.siamese_blstm.SiameseBLSTM.fit", None)
    again = blstm.table(demo_material(12), QUICK, **how)
    assert (again.hits, again.rows) == (found.hits, found.rows), "networks are kept"


def test_a_taxonomy_of_ones_own_is_run(monkeypatch):
    experiment = get_experiment("siamese_blstm")
    grid = {name: (value,) for name, value in QUICK.items()}
    monkeypatch.setattr(type(experiment), "grids", {"demo": {"siamese_blstm": grid}})
    titles = {f"{a} {b}": (a,) for a in ("red", "blue", "green") for b in "abcdefgh"}
    inputs = {f"{title} {i}": of for i, (title, of) in enumerate(titles.items())}
    assert experiment.refusal(PairSet.from_texts(["a"], ["b"])).startswith("It needs titles")
    alone = experiment.run(experiment.prepared(taxonomy_pairs(titles)))
    (table,) = alone.tables
    columns = ("row", "texts", "passes", "plateau", "training inputs right")
    assert table.columns[:5] == columns
    assert [row[0] for row in table.rows] == [blstm.BASELINE, *blstm.ROWS[:3]]
    assert [row[2:4] for row in table.rows] == [(None, ""), *[(1, "no")] * 3]
    costs, sizes = alone.figures
    assert costs.kind == "lines" and (sizes.series[0].x, sizes.series[0].y) == ((8,), (3,))
    data = experiment.prepared(taxonomy_pairs(titles, titles | inputs))
    texts = [*data.annotated, *data.watched, *data.pool]
    assert len(data.titles) == len(texts) == 24
    result = experiment.run(data)
    assert [row[0] for row in result.tables[0].rows] == [blstm.BASELINE, *blstm.ROWS]
