"""The four tests of title matching, over any taxonomy."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from simviz.data.readers import taxonomy_pairs
from simviz.exceptions import DatasetError
from simviz.experiments import Claim, Progress, siamese_blstm as blstm
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


@pytest.fixture
def folder(tmp_path):
    rows = ["title\tgroup_id\tgroup_name\tis_preferred"]
    rows += [f"{title.upper()}\t{group}\tx\t0" for title, of in TITLES.items() for group in of]
    with gzip.open(tmp_path / "titles.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")
    return tmp_path


def test_a_title_in_several_groups_is_relevant_to_all():
    pairs = taxonomy_pairs(TITLES, {"Conductor wanted": TITLES["conductor"]})
    dense = pairs.relevance.positives.toarray()[0]
    assert dense.tolist() == [0, 0, 0, 1, 1, 1]
    assert pairs.x.metadata["group"].tolist() == ["conductor on trains | musician"]
    itself = taxonomy_pairs(TITLES)
    assert itself.x is itself.y
    assert itself.relevance.positives.toarray()[4].tolist() == [0, 0, 0, 1, 1, 1]


def test_an_input_of_no_known_group_is_refused():
    with pytest.raises(DatasetError, match=r"'nurse' belongs to health, which no title"):
        taxonomy_pairs(TITLES, {"nurse": ("health",)})


def test_a_taxonomy_is_read_whole_or_in_part(folder):
    whole = read_material(folder / "titles.tsv.gz")
    assert dict(whole.titles) == TITLES
    assert whole.ceiling == pytest.approx(6 / 7)
    part = read_material(folder / "titles.tsv.gz", n_groups=1, unambiguous=True)
    assert dict(part.titles) == {t: of for t, of in TITLES.items() if of == ("developer",)}
    assert part.ceiling == 1
    few = read_material(folder / "titles.tsv.gz", most_titles=1)
    assert len(few.titles) == 3
    with pytest.raises(DatasetError, match="not 9"):
        read_material(folder / "titles.tsv.gz", n_groups=9)


def test_a_table_without_titles_is_refused(tmp_path):
    path = tmp_path / "titles.tsv"
    path.write_text("name\tgroup_id\na\tb\n")
    with pytest.raises(DatasetError, match="columns title and group_id"):
        read_material(path)


def test_typos_are_never_titles_and_rare():
    titles = demo_material().titles
    found = typos_test(titles)
    assert not set(found) & set(titles)
    assert len(found) / len(titles) == pytest.approx(0.56, abs=0.05), "the others are not hit"
    assert typos_test(titles) == found
    assert typos_test(titles, seed=1) != found


def test_composition_keeps_titles_with_two_exchanges_for_the_test():
    synonyms = [("train", "railway"), ("conductor", "guard"), ("web", "internet")]
    train, test = composition_test(TITLES, synonyms, share=1)
    assert test["railway guard"] == ("conductor on trains",)
    assert test["internet developer"] == ("developer",)
    assert {"railway conductor", "train guard", "web developer"} <= set(train)
    assert not set(train) & set(test) and not {*train, *test} & set(TITLES)
    assert composition_test(TITLES, synonyms, share=0)[1] == {}
    assert composition_test({"a": ("b",)}) == ({}, {})


def test_extra_words_are_right_by_construction():
    found = extra_words_test(TITLES, ["Java Developer, Leeds", "conductor", "Java Expert"])
    assert found == {"Java Developer, Leeds": ("developer",)}


def test_hits_are_shared_between_equally_near_titles():
    titles = {"abc xyz": ("one",), "xyz abc": ("two",), "nurse": ("three",)}
    pairs = taxonomy_pairs(titles)
    matcher = default_pipeline("ngram_matcher", pairs).fit(pairs)
    texts = {"abc": ("one",), "nurses": ("three",), "xyz": ("three",)}
    assert blstm.hits(matcher, titles, texts).tolist() == [0.5, 1.0, 0.0]


@pytest.mark.parametrize(
    ("found", "verdict"),
    [(0.2, "holds"), (0.1, "does not hold"), (float("nan"), "not comparable")],
)
def test_claims_are_decided_by_their_number(found, verdict):
    assert Claim("It grows.", found, 0.15).verdict == verdict


def part(step=12):
    whole = demo_material()
    groups = sorted({group for of in whole.titles.values() for group in of})[::step]

    def of_these(texts):
        return {text: of for text, of in texts.items() if set(of) <= set(groups)}

    return Material(
        of_these(whole.titles),
        "part",
        whole.synonyms,
        whole.words,
        of_these(whole.pool),
        of_these(whole.watched),
        of_these(whole.annotated),
    )


QUICK = {"hidden_units": 8, "n_components": 8, "embedding_size": 8, "max_iter": 1}


def test_the_table_has_every_row_and_test():
    heard = []
    progress = Progress(lambda words, fraction: heard.append(words))
    found = blstm.table(part(), QUICK, most_synonyms=40, progress=progress)
    assert found.rows == [blstm.BASELINE, *blstm.ROWS]
    assert list(found.tests) == [
        blstm.TYPOS, blstm.COMPOSITION, blstm.EXTRA, blstm.ANNOTATIONS, blstm.CORRECTED
    ]  # fmt: skip
    means = {key: values.mean() for key, values in found.hits.items()}
    assert means[blstm.BASELINE, blstm.EXTRA] > 0.95, "by construction, but for ties"
    assert all(0 <= value <= 1 for value in means.values())
    assert len(means) == len(found.rows) * len(found.tests)
    sizes = [found.sizes[row] for row in blstm.ROWS]
    assert sizes == sorted(sizes) and len(set(sizes)) == len(sizes)
    assert len(blstm.claims(found.hits)) == 7
    assert any(words.startswith("Training") for words in heard)


def test_without_real_inputs_there_are_two_tests_and_three_rows():
    whole = part(40)
    found = blstm.table(Material(whole.titles, "bare", whole.synonyms), QUICK)
    assert found.rows == [blstm.BASELINE, *blstm.ROWS[:3]]
    assert list(found.tests) == [blstm.TYPOS, blstm.COMPOSITION]
    verdicts = [claim.verdict for claim in blstm.claims(found.hits)]
    assert verdicts.count("not comparable") == 4


def test_no_text_of_a_test_is_trained_on_or_watched():
    material = part()
    course = blstm._Course(material, 40, 0.2, 0)
    matcher = taxonomy_pairs(material.titles)
    course.ask(default_pipeline("ngram_matcher", matcher).fit(matcher))
    from simviz.data.augment import augment

    train = augment(matcher, course.steps(blstm.ROWS[4]), course.kept_out)
    trained = {text.casefold() for text in train.x.content}
    tested = {text.casefold() for texts in course.tests.values() for text in texts}
    watched = {text.casefold() for text in course.watched.x.content}
    assert not trained & tested and not trained & watched and not watched & tested
    kinds = set(np.unique(train.x.metadata["made_by"]))
    assert kinds == {"", "feedback", "mined", "extra_words", "typos"}
