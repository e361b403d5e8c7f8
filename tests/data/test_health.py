"""The health check finds what was planted, and nothing in what is clean."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.data import PairSet, read_pairs, split
from simviz.data.health import check_health
from simviz.data.health.near_duplicates import by_rarity, gram_sets, near_pairs, similar_rows
from simviz.data.pairs import Items
from simviz.data.splitting import PARTS
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

N, PLANTED = 10_000, 5


def texts(n, rng, language):
    """Sentences of six to eleven made-up words, some of them frequent."""
    syllables = ["ba", "co", "di", "fe", "gu", "la", "mi", "no", "pe", "ri", "sa", "tu", "vo"]
    words = np.array([language + "".join(rng.choice(syllables, 3)) for _ in range(4_000)])
    frequency = 1.0 / np.arange(1, len(words) + 1) ** 0.7
    drawn = rng.choice(words, size=(n, 11), p=frequency / frequency.sum())
    lengths = rng.integers(6, 12, n)
    return [" ".join(row[:length]) for row, length in zip(drawn, lengths, strict=True)]


def big(x_texts, y_texts, values=None):
    """Aligned pairs, or judged ones, of which every fifth is for the test."""
    n = len(x_texts)
    word = np.array(["train", "train", "train", "validation", "test"], dtype=object)
    parts = {"split": word[np.arange(n) % 5]}
    sides = [Items([str(i) for i in range(n)], t, "text", parts) for t in (x_texts, y_texts)]
    return PairSet(*sides, Relevance.from_pairs(range(n), range(n), values, shape=(n, n)))


@pytest.fixture(scope="module")
def clean():
    rng = np.random.default_rng(0)
    return texts(N, rng, "x"), texts(N, rng, "y")


def test_clean_set_raises_no_alarm(clean):
    report = check_health(big(*clean))
    assert list(report) == []
    assert report.shared.words < 0.01
    assert len(report.checked) == 4


def of_texts(x, y, rows=None, columns=None, values=None, *, parts=None, **options):
    sides = [Items([f"id{i}" for i in range(len(t))], t, "text") for t in (x, y)]
    if parts is not None:
        sides[0] = Items(sides[0].ids, x, "text", {"split": np.array(parts, dtype=object)})
    if rows is None:
        rows = columns = range(len(x))
    relevance = Relevance.from_pairs(rows, columns, values, shape=(len(x), len(y)), **options)
    return PairSet(*sides, relevance)


def kinds(report):
    return {finding.kind for finding in report}


def test_planted_leaks_contradictions_and_near_duplicates_are_found(clean):
    x, y = map(list, clean)
    for k in range(PLANTED):
        x[5 * k + 4] = x[5 * k].upper()  # test items that say what training says
    for k in range(PLANTED):
        words = y[500 + 5 * k].split()
        words[2] = words[2][:-1] + "z" if k % 2 else words[2][:3] + words[2][4:]
        y[504 + 5 * k] = " ".join(words)
    values = [1.0] * N
    for k in range(PLANTED):
        # The same texts under other ids, judged the other way.
        x[1000 + k], y[1000 + k] = x[2000 + k] + " ", y[2000 + k]
        values[1000 + k] = -1.0
    report = check_health(big(x, y, values))
    counts = {finding.kind: finding.count for finding in report}
    assert counts["leak"] >= PLANTED
    assert counts["contradictions"] == PLANTED
    assert counts["near"] == PLANTED
    assert "5 of them across training and test" in report.find("near").title
    assert counts["thin"], "the few contradictions are all that is judged not relevant"
    assert set(counts) <= {"leak", "contradictions", "near", "duplicates", "thin"}


def test_leak_is_mended_by_moving_what_hangs_together_to_training():
    x = [f"query {word}" for word in "one two three four five six seven eight nine ten".split()]
    x[9] = "QUERY one"
    y = [f"answer {i}" for i in range(10)]
    parts = ["train"] * 5 + ["validation"] + ["test"] * 4
    pairs = of_texts(x, y, parts=parts)
    how = split(pairs, by="column")
    finding = check_health(pairs, how).find("leak")
    assert (finding.level, finding.count) == ("act", 1)
    assert finding.examples == (("“x”", "QUERY one", "id9, id0"),)
    mended = finding.remedy(pairs)
    assert finding.remedy.is_split
    assert mended.x.metadata["split"].tolist() == [*parts[:9], "train"]
    assert mended.digest != pairs.digest and pairs.x.metadata["split"][9] == "test"
    assert check_health(mended, split(mended, by="column")).find("leak") is None


def test_leak_of_a_drawn_split_is_mended_for_both_sides():
    names = [f"{a} {b}" for a in "red green blue pink gold grey".split() for b in "abcdefghi"]
    x = [*names, *(name.upper() for name in names[:10])]
    pairs = of_texts(x, [f"answer {i}" for i in range(len(x))])
    how = split(pairs, by="pair", seed=3)
    finding = check_health(pairs, how).find("leak")
    assert finding is not None
    mended = finding.remedy(pairs)
    again = split(mended, by="column")
    assert check_health(mended, again).find("leak") is None
    kept = [getattr(again, part).relevance.positives.nnz for part in PARTS]
    assert sum(kept) == len(x), "no pair is torn apart"
    assert set(how.train.x.ids) <= set(again.train.x.ids)


def test_item_in_two_parts_of_a_split_made_by_hand_is_a_leak():
    pairs = of_texts([f"q {i}" for i in range(9)], [f"a {i}" for i in range(9)])
    drawn = split(pairs, by="x")
    test = np.union1d(drawn.x_index["test"], drawn.x_index["train"][:2])
    by_hand = replace(drawn, x_index={**drawn.x_index, "test": test})
    assert check_health(pairs, by_hand).find("leak").count == 2


def test_contradictions_of_texts_under_several_ids():
    judged = [0, 1, 1, 2], [0, 0, 1, 1], [1, -1, -1, 1]
    pairs = of_texts(["red", "Red ", "blue"], ["rojo", "azul"], *judged)
    finding = check_health(pairs, suggest=False).find("contradictions")
    assert (finding.count, finding.examples) == (1, (("red", "rojo"),))
    mended = finding.remedy(pairs)
    assert mended.relevance.matrix.toarray().tolist() == [[0, 0], [0, -1], [0, 1]]
    assert check_health(mended, suggest=False).find("contradictions") is None


def test_duplicates_merge_with_their_judgments_and_earliest_part():
    judged, parts = ([0, 1, 2], [0, 1, 1], [2, 1, 1]), ["test", "train", "train"]
    pairs = of_texts(["red", "Red ", "blue"], ["rojo", "azul"], *judged, parts=parts)
    finding = check_health(pairs, suggest=False).find("duplicates")
    assert finding.title == "1 item of “x” repeats the content of another"
    merged = finding.remedy(pairs)
    assert merged.x.content.tolist() == ["red", "blue"]
    assert merged.x.metadata["split"].tolist() == ["train", "train"]
    assert merged.relevance.matrix.toarray().tolist() == [[2, 1], [0, 1]]
    with pytest.raises(DatasetError, match="for other pairs"):
        finding.remedy(merged)


def test_empty_items_of_every_kind_are_left_out():
    pixels = np.zeros((3, 4, 4), dtype=np.uint8)
    pixels[1:, 0, 0] = [9, 8]
    words = Items(["a", "b", "c"], ["red", "  ", "blue"], "text")
    images = Items(["0", "1", "2"], pixels, "image")
    pairs = PairSet(words, images, Relevance.identity(3))
    finding = check_health(pairs, suggest=False).find("empty")
    assert finding.count == 2
    assert "blank texts, pictures of one colour" in finding.title
    mended = finding.remedy(pairs)
    assert (mended.x.ids.tolist(), mended.y.ids.tolist()) == (["a", "c"], ["1", "2"])
    vectors = Items(["0", "1"], np.array([[0.0, 0.0], [1.0, 0.0]]), "vector")
    linked = PairSet(vectors, vectors, Relevance.identity(2))
    finding = check_health(linked, suggest=False).find("empty")
    assert finding.count == 1 and "vectors of zeros" in finding.title
    mended = finding.remedy(linked)
    assert mended.x is mended.y and len(mended.x) == 1


def test_one_class_queries():
    x, y = ["q1", "q2", "q3"], ["a", "b", "c"]
    rows, columns = [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 1, 2]
    pairs = of_texts(x, y, rows, columns, [1, -1, 1, 1, -1, -1])
    finding = check_health(pairs, suggest=False).find("one-class")
    assert finding.count == 2
    assert "(1 only relevant, 1 only not relevant)" in finding.title
    assert finding.remedy is None, "most queries would be lost"
    positive = of_texts(x, y, rows, columns, unjudged="ignore")
    finding = check_health(positive, suggest=False).find("one-class")
    assert finding.level == "act"
    assert finding.remedy(positive).relevance.unjudged == "negative"
    by_pair = of_texts(x, y, [0, 1, 2], [0, 1, 2], [1, -1, 1])
    assert check_health(by_pair, suggest=False).find("one-class") is None


def test_codes_on_both_sides_give_the_answer_away():
    x = [f"widget of sort {i}" for i in range(60)]
    y = [f"Artikel {i} im Lager" for i in range(60)]
    report = check_health(of_texts(x, y))
    assert report.shared.metric == "MRR" and report.shared.codes > 0.9 > report.shared.chance
    assert "MRR 1.00" in report.find("codes").title
    pairs = of_texts(x, [*x[:20], *y[20:]])
    same = check_health(pairs, suggest=False).find("identical")
    assert same.count == 20 and same.remedy(pairs).shape == (40, 60)


def test_unanswered_queries_can_be_left_out():
    pairs = of_texts(["q1", "q2", "q3"], ["a", "b"], [0, 1], [0, 1])
    finding = check_health(pairs, suggest=False).find("unanswered")
    assert (finding.count, finding.examples) == (1, (("q3",),))
    assert finding.remedy(pairs).shape == (2, 2)


def test_judged_pairs_are_measured_by_auc():
    x = ["red heart", "blue car", "green tree", "old book"]
    y = ["heart red", "car", "tree", "book"]
    pairs = of_texts(x, y, [0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 1, 2], [1, 1, 1, 1, -1, -1])
    shared = check_health(pairs, suggest=False).shared
    assert (shared.metric, shared.words, shared.chance, shared.n) == ("AUC", 1.0, 0.5, 6)


def test_test_items_without_a_known_word_are_told():
    x = [*("red blue" for _ in range(8)), "völlig neu", "ganz anders", "noch mehr"]
    x = [f"{t} {'abcdefghij'[i]}" if i < 8 else t for i, t in enumerate(x)]
    parts = ["train"] * 7 + ["validation", "test", "test", "test"]
    pairs = of_texts(x, [f"answer {i}" for i in range(11)], parts=parts)
    finding = check_health(pairs, split(pairs, by="column")).find("unseen")
    assert finding.count == 3 and "100 %" in finding.title and finding.remedy is None


def test_pairs_that_cannot_be_split_are_checked_for_all_that():
    report = check_health(of_texts(["a", "A"], ["b", "c"]))
    assert kinds(report) == {"duplicates"}
    assert report.skipped[0].startswith("Leaks were not checked")
    assert repr(check_health(of_texts(["a"], ["b"]), suggest=False)).endswith("(nothing found)")


def test_keywords_and_lone_surrogates_do_no_harm():
    words = Items(["0", "1"], ["car", "bus"], "keyword")
    odd = ["\ud800 strange texts in a row", "\ud800 strange textz in a row"]
    odd = Items(["0", "1"], odd, "text")
    report = check_health(PairSet(words, odd, Relevance.identity(2)), suggest=False)
    assert kinds(report) == {"near"} and report.shared is None


def test_rows_that_contradict_one_another_are_found_though_read_as_relevant():
    rows = "".join(f"q {i},a {i},{i % 2}\n" for i in range(20))
    result = read_pairs(f"query,document,label\n{rows}q 3,a 3,0\nq 4,a 4,1\n".encode(), "q.csv")
    assert result.disputed.tolist() == [[3, 3], [4, 4]]
    finding = check_health(result).find("contradictions")
    assert (finding.count, finding.examples) == (2, (("q 3", "a 3"), ("q 4", "a 4")))
    assert "they count as relevant" in finding.why
    assert finding.remedy(result.pairs).relevance.matrix.nnz == 18


SLIPS = ["secondary school teacher", "secondry school teacher"]
SLIPS += ["secondary school teachers", "secondary school taecher"]
OTHERS = ["primary school teacher", "secondary school", "school teacher secondary level two"]


def found(texts, **options):
    first, second, similarity = near_pairs(texts, **options)
    assert (first < second).all() and ((similarity > 0) & (similarity <= 1 + 1e-9)).all()
    return set(zip(first.tolist(), second.tolist(), strict=True))


def test_slips_are_near_and_other_words_are_not():
    pairs = found([*SLIPS, *OTHERS], threshold=0.6)
    assert pairs <= {(i, j) for i in range(4) for j in range(i + 1, 4)}
    assert {(0, 1), (0, 2), (0, 3)} <= pairs


SORTS = ["".join(w) for w in itertools.product("bdfgl", "aeiou", "mnprst", "aeo")][:200]


@pytest.mark.parametrize(
    "texts",
    [
        ["order number 1234 of may", "order number 1235 of may"],
        ["model x100 in black", "model x200 in black"],
        ["short", "shorts"],
        ["a man with a turban", "a woman with a turban"],
        [f"read more about {w} in the user guide which is on the web" for w in SORTS],
        ["one text that is long"],
        [],
    ],
)
def test_what_differs_on_purpose_is_not_near(texts):
    assert found(texts) == set()


@settings(max_examples=60)
@given(st.lists(st.text("ab c", min_size=4, max_size=24), min_size=2, max_size=25, unique=True))
def test_blocking_loses_nothing(texts):
    grams, weights = by_rarity(gram_sets(texts))
    dense = grams.toarray() * weights
    shared = (grams.toarray() * weights) @ grams.toarray().T
    total = dense.sum(axis=1)
    union = total[:, None] + total[None] - shared
    similarity = np.divide(shared, union, out=np.zeros_like(shared), where=union > 1e-9)
    wanted = {(i, j) for i, j in np.argwhere(similarity >= 0.6 + 1e-6) if i < j}
    first, second, _ = similar_rows(grams, weights, 0.6)
    got = set(zip(first.tolist(), second.tolist(), strict=True))
    assert wanted <= got
    assert all(similarity[i, j] >= 0.6 - 1e-5 for i, j in got)
