"""Augmenters make what they should, and nothing they should not."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.data import Items, PairSet, split
from simviz.data.augment import (
    MADE_BY,
    MADE_FROM,
    Corrections,
    Feedback,
    Groups,
    InducedSynonyms,
    ListedSynonyms,
    MinedWords,
    SampledWords,
    Typos,
    augment,
    best_matches,
    corrupt,
    from_json,
    induce,
)
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

GROUPS = {
    "developer": ["java developer", "java programmer", "web programmer", "software engineer"],
    "lawyer": ["tax lawyer", "tax attorney", "trial lawyer"],
    "cook": ["cook", "head chef", "line cook"],
}


def taxonomy(groups=None, **names):
    """Every title against every title, relevant within a group."""
    groups = groups or GROUPS
    titles = [title for members in groups.values() for title in members]
    of = np.array([name for name, members in groups.items() for _ in members], dtype=object)
    items = Items([str(i) for i in range(len(titles))], titles, "text", {"group": of})
    rows, columns = np.nonzero(of[:, None] == of[None, :])
    relevance = Relevance.from_pairs(rows, columns, shape=(len(of), len(of)), unjudged="negative")
    return PairSet(items, items, relevance, **names)


def made(pairs, before):
    """Text to the texts it is relevant to, for what was added."""
    dense = pairs.relevance.positives.toarray() > 0
    new = range(len(before.x), len(pairs.x))
    return {pairs.x.content[i]: set(pairs.y.content[dense[i]]) for i in new}


STEPS = [
    ListedSynonyms([("lawyer", "attorney at law"), ("head chef", "chef de cuisine")]),
    InducedSynonyms(),
    MinedWords(["Senior tax lawyer, Leeds", "cook", "a line cook wanted"]),
    SampledWords(["senior", "part time", "leeds"], share=0.3),
    Feedback([("kitchen hero", "cook", 1), ("kitchen hero", "java developer", -1)]),
    Typos(share=0.3),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.kind)
def test_what_was_there_stays_and_new_texts_belong_to_their_group(step):
    pairs = taxonomy()
    more = step.transform(pairs)
    n = len(pairs.x)
    assert len(more.x) > n and more.y is pairs.y
    assert more.relevance.take(range(n)).digest == pairs.relevance.digest
    assert more.x.content[:n].tolist() == pairs.x.content.tolist()
    assert more.x.ids[:n].tolist() == pairs.x.ids.tolist()
    assert more.x.metadata[MADE_BY].tolist() == [""] * n + [step.kind] * (len(more.x) - n)
    texts, found = more.x.content.tolist(), made(more, pairs)
    assert len({t.casefold() for t in texts}) == len(texts)
    for text, relevant in found.items():
        assert relevant == set(GROUPS[more.x.metadata["group"][texts.index(text)]])
    # From JSON it makes the same; and nothing that is kept for the test.
    (back,) = from_json([json.loads(json.dumps({"kind": step.kind, **asdict(step)}))])
    assert back == step and back.transform(taxonomy()).digest == more.digest
    kept = next(iter(found))
    assert kept not in made(step.transform(pairs, exclude=[kept.upper()]), pairs)


def test_steps_see_what_those_before_them_made():
    more = augment(taxonomy(), STEPS)
    typos = more.x.metadata[MADE_FROM][more.x.metadata[MADE_BY] == "typos"]
    by = dict(zip(more.x.content, more.x.metadata[MADE_BY], strict=True))
    assert {by[text] for text in typos} - {""}
    assert len(set(more.x.ids)) == len(more.x)
    # The same steps again make other ids, not the same ones.
    assert len(set(augment(more, STEPS[-1:]).x.ids)) > len(more.x)


def test_typos_are_the_share_of_the_pairs_that_was_asked_for():
    groups = {f"g{i}": [f"some title {i} {j}" for j in range(4)] for i in range(60)}
    pairs = taxonomy(groups)
    more = Typos(share=0.1).transform(pairs)
    n = more.relevance.positives.nnz
    assert (n - pairs.relevance.positives.nnz) / n == pytest.approx(0.1, abs=0.005)


def test_typos_hit_as_many_characters_as_they_should():
    text = "abcdefghij" * 2_000
    typed = corrupt(text, np.random.default_rng(0), 0.2, 0.05, list("xyz"))
    assert 1 - len(typed) / len(text) == pytest.approx(0.05, abs=0.01)
    assert sum(c in "xyz" for c in typed) / len(text) == pytest.approx(0.2, abs=0.01)


def test_listed_synonyms_are_whole_words_in_one_direction():
    pairs = PairSet.from_texts(["lawyer for lawyers", "Tax Lawyer"], ["a", "b"])
    step = ListedSynonyms([("lawyer", "attorney"), ("tax lawyer", "tax expert")])
    found = list(made(step.transform(pairs), pairs))
    assert found == ["attorney for lawyers", "tax expert", "Tax attorney"]


def test_what_two_groups_make_belongs_to_both():
    pairs = taxonomy({"a": ["shop boss"], "b": ["store boss"]})
    step = ListedSynonyms([("shop", "kiosk"), ("store", "kiosk")])
    assert made(step.transform(pairs), pairs) == {"kiosk boss": {"shop boss", "store boss"}}


def test_induced_synonyms_follow_the_rules_of_the_paper():
    whole = {"cook"}
    texts = ["java developer", "java programmer", "c++ developer", "line cook", "line chef"]
    assert induce(texts, whole) == {("developer", "programmer"), ("programmer", "developer")}
    long = ["head of the kitchen", "head chef"]
    assert induce(long, whole) == set(), "three words are no synonym"
    three = ["java web tool developer", "java web tool maker"]
    assert induce(three, whole) == set(), "three shared words are too many"


def test_induced_synonyms_stay_within_their_group():
    groups = GROUPS | {"teacher": ["web developer teacher", "java teacher"]}
    found = made(InducedSynonyms().transform(taxonomy(groups)), taxonomy(groups))
    assert found["web developer"] == set(GROUPS["developer"])
    assert "web programmer teacher" not in found
    assert "trial attorney" in found


@pytest.mark.parametrize("step", [ListedSynonyms([("cook", "chef")], most=1), InducedSynonyms(1)])
def test_at_most_so_many_are_made(step):
    pairs = taxonomy()
    assert len(step.transform(pairs).x) == len(pairs.x) + 1


def test_mined_inputs_need_both_witnesses():
    pairs, both = taxonomy(), "trial lawyer or tax lawyer"
    inputs = ["Senior  tax lawyer", "tax lawyer", "scook", both, "head chefs"]
    found = made(MinedWords(inputs).transform(pairs), pairs)
    assert set(found) == {"Senior tax lawyer", both}


def test_the_matcher_is_the_method_of_that_name():
    import simviz

    pairs = simviz.load_demo("job_titles")
    parts = split(pairs, by="column")
    inputs, titles = parts.test.x.content.tolist(), parts.test.y.content.tolist()
    fitted = simviz.default_pipeline("ngram_matcher", parts.train).fit(parts.train)
    ours = best_matches(inputs, titles)
    scores = fitted.similarity(parts.test.x, parts.test.y)
    np.testing.assert_allclose(scores[np.arange(len(ours)), ours], scores.max(axis=1))


def test_sampled_words_stand_around_the_title():
    pairs = taxonomy()
    more = SampledWords(["senior", "leeds"], share=0.5).transform(pairs)
    for text, source in zip(more.x.content, more.x.metadata[MADE_FROM], strict=True):
        assert not source or (source in text and len(text) > len(source))
    assert SampledWords([]).transform(pairs) is pairs


def test_feedback_puts_inputs_in_groups_and_keeps_them_out():
    pairs = taxonomy()
    given = [
        ("kitchen hero", "lawyer", 1),  # the last verdict holds
        ("kitchen hero", "head chef", 1),
        ("kitchen hero", "lawyer", -1),
        ("tax lawyer", "cook", 1),
        ("only wrong", "cook", -1),
    ]
    more = Feedback(given).transform(pairs)
    dense = more.relevance.matrix.toarray()
    texts = more.x.content.tolist()
    of = pairs.y.metadata["group"]
    wrong = dense[texts.index("only wrong")]
    assert set(of[wrong < 0]) == {"cook"} and not (wrong > 0).any()
    assert np.flatnonzero(more.relevance.only_rejected).tolist() == [texts.index("only wrong")]
    hero = dense[texts.index("kitchen hero")]
    assert set(of[hero > 0]) == {"cook"} and set(of[hero < 0]) == {"lawyer"}
    assert set(of[dense[texts.index("tax lawyer")] > 0]) == {"cook", "lawyer"}
    assert more.relevance.unjudged == "negative"


def test_rejections_alone_are_kept_where_unlisted_pairs_are_unknown():
    relevance = Relevance.from_pairs([0, 1], [0, 1], [1, 1], shape=(2, 2), unjudged="ignore")
    pairs = PairSet.from_texts(["cooks", "vets"], ["cook", "vet"], relevance)
    more = Feedback([("shop hero", "cook", -1)], weight=3).transform(pairs)
    assert more.relevance.matrix.toarray()[2].tolist() == [-3, 0]


def test_groups_follow_from_relevance_where_no_column_names_them():
    relevance = Relevance.from_pairs([0, 0, 1, 2], [0, 1, 1, 2], shape=(3, 3))
    pairs = PairSet.from_texts(["apple", "berry", "cherry"], ["p", "q", "r"], relevance)
    assert sorted(map(tuple, Groups(pairs).columns.values())) == [(0, 1), (2,)]
    more = Typos(share=0.5).transform(pairs)
    dense = more.relevance.matrix.toarray().tolist()
    sources = [pairs.x.content.tolist().index(text) for text in more.x.metadata[MADE_FROM][3:]]
    assert dense[3:] == [dense[row] for row in sources], "grades are those of the source"


def test_metadata_of_any_type_goes_on():
    items = Items(["0", "1"], ["tax lawyer", "cook"], "text", {"year": np.array([1999, 2001])})
    pairs = PairSet(items, items, Relevance.identity(2))
    more = augment(pairs, [ListedSynonyms([("cook", "chef")]), Feedback([("hero", "cook", 1)])])
    assert more.x.metadata["year"].tolist() == [1999, 2001, 2001, None]


def test_corrections_replace_judgments_and_leave_other_items_alone():
    pairs = PairSet.from_texts(list("abcd"), list("ABCD"))
    changes = [("0", "0", 0), ("0", "1", 2.0), ("2", "2", -1), ("3", "nobody", 1), ("9", "3", 0)]
    [step] = from_json([{"kind": "corrections", "pairs": changes}])
    corrected = step.transform(pairs)
    expected = np.diag([0.0, 1, -1, 1])
    expected[0, 1] = 2
    assert corrected.relevance.matrix.toarray().tolist() == expected.tolist()
    assert corrected.relevance.matrix.nnz == 4 and corrected.x is pairs.x
    assert pairs.relevance.matrix.nnz == 4 and pairs.relevance.matrix[0, 0] == 1


def test_a_collection_that_is_judged_both_ways_is_corrected_both_ways():
    items = Items(list("abc"), list("abc"), "text")
    relevance = Relevance.from_pairs([0, 1, 2], [1, 0, 1], shape=(3, 3))
    step = Corrections([("a", "b", 0), ("a", "c", 1)])
    corrected = step.transform(PairSet(items, items, relevance))
    assert corrected.relevance.matrix.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert corrected.x is corrected.y


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Typos(share=0), "share of typos"),
        (lambda: Typos(substituted=0.9, deleted=0.2), "chances of a character"),
        (lambda: ListedSynonyms([("a",)]), "lawyer = attorney"),
        (lambda: ListedSynonyms([("a", " ")]), "lawyer = attorney"),
        (lambda: InducedSynonyms(most=0), "At least one"),
        (lambda: SampledWords(["a"], share=1), "share of extra words"),
        (lambda: SampledWords(["a"], most_words=0), "most_words"),
        (lambda: Feedback([("a", "b")]), "a verdict"),
        (lambda: Feedback([("a", "b", 1)], weight=0), "weight"),
        (lambda: Feedback([("a", "b", 1)], weight=float("inf")), "weight"),
        (lambda: Feedback([("a", "b", 0)]), "above 0"),
        (lambda: Corrections([("a", "b")]), "ids of both items"),
        (lambda: Corrections([("a", "b", float("nan"))]), "ids of both items"),
        (lambda: Corrections([("0", "0", 0)]).transform(images()), "No relevant pair"),
        (lambda: Feedback([("a", "cok", 1)]).transform(taxonomy()), "Did you mean 'cook'"),
        (lambda: from_json([{"kind": "typo"}]), "Did you mean 'typos'"),
        (lambda: from_json([{"kind": "typos", "shar": 1}]), "Did you mean 'share'"),
        (lambda: Typos().transform(images()), "Only texts"),
    ],
)
def test_errors_say_what_is_wrong(make, words):
    with pytest.raises(DatasetError, match=words):
        make()


def images():
    picture = Items(["0"], np.zeros((1, 4, 4), dtype=np.uint8), "image")
    return PairSet(picture, Items(["0"], ["a"], "text"), Relevance.identity(1))


@settings(max_examples=40)
@given(
    texts=st.lists(st.text("ab c-", min_size=1, max_size=8), min_size=1, max_size=6, unique=True),
    seed=st.integers(0, 99),
)
def test_any_texts_survive(texts, seed):
    pairs = PairSet.from_texts(texts, texts)
    odds = {"share": 0.4, "seed": seed}
    steps = [InducedSynonyms(), MinedWords(texts), SampledWords(["a", "b"], **odds)]
    more = augment(pairs, [*steps, Typos(deleted=0.6, **odds)])
    n = len(texts)
    assert more.relevance.take(range(n)).digest == pairs.relevance.digest
    assert (more.relevance.positives.sum(axis=1)[n:] > 0).all()
    assert all(text.strip() for text in more.x.content[n:])
