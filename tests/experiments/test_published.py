"""What is said of a paper beside a claim: read from one file that does not contradict itself."""

from __future__ import annotations

import itertools
import tomllib
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from types import SimpleNamespace

import pytest

from simviz.experiments import Claim, Experiment, all_experiments, get_experiment
from simviz.experiments._claims import PUBLISHED, PublishedText
from simviz.experiments._experiment import RunResult
from simviz.experiments.siamese_blstm import ANNOTATIONS, ROWS, TYPOS

FILE = tomllib.loads(files("simviz.experiments").joinpath("published.toml").read_text("utf-8"))
EXTRA_WORDS, FEEDBACK = ROWS[3:5]
TABLE_2 = "s2net", "table 2"
RELATIONS = ("ahead of", "not behind", "level with", "equal to")


def check(numbers, statements):
    """Refuse entries that say two things, or contradict each other or the numbers."""
    known, said = {}, {}
    for paper, where, column, row, value in numbers:
        if known.setdefault((paper, where, column), {}).setdefault(row, value) != value:
            raise ValueError(f"{where} has two numbers for {row!r} ({column}).")
    for paper, where, column, row, relation, *others in statements:
        if (relation in RELATIONS) != bool(others):
            raise ValueError(f"{row!r} is {relation!r} {others}: no known statement.")
        said.setdefault((paper, where, column), []).append((row, relation, "".join(others)))
    for place, there in said.items():
        values = known.get(place, {})
        rows = {*values, *(row for row, *_ in there)}
        rows |= {other for *_, other in there if not other.startswith("any ")}
        behind = {row: set() for row in rows}
        for a, b in itertools.permutations(values, 2):
            if values[a] > values[b]:
                behind[a].add(b)
        for row, relation, other in there:
            if relation in ("ahead of", "not behind"):
                left_out = {row, other.removeprefix("any but ")}
                behind[row] |= rows - left_out if other.startswith("any ") else {other}
            if relation == "ahead of" and row in values and values[row] == values.get(other):
                raise ValueError(f"{place[1]} has {row!r} ahead of {other!r}, and level.")
        try:
            TopologicalSorter(behind).prepare()
        except CycleError as error:
            raise ValueError(f"{place[1]} contradicts itself ({place[2]}).") from error
        for row, relation, other in there:
            if relation in ("level with", "equal to") and (
                other in behind[row] or row in behind.get(other, ())
            ):
                raise ValueError(f"{place[1]} has {row!r} {relation} {other!r}, and not so.")


def test_the_file_does_not_contradict_itself():
    check(**FILE)


def test_numbers_are_told_where_both_are_known_and_else_their_order():
    for place, words in {
        ("s2net", "table 1", "MRR", "s2net", "ahead of", "opca"): "0.797 and 0.773 (MRR)",
        ("s2net", "table 1", "MRR", "jplsa", "ahead of", "cl_lsi"): "0.660 and 0.613 (MRR)",
        ("ssi", "table 1", "MAP", "SSI", "ahead of", "LSI"): "so on its own data (table 1)",
        ("s2net", "figure 2", "MRR", "s2net", "ahead of", "opca"): "only drawn in the paper",
        ("ssi", "table 1", "MAP", "query expansion", "equal to", "TFIDF"): (
            "equal in every printed digit (table 1)"
        ),
        ("s2net", "abstract", "accuracy", "s2net", "high with few dimensions"): (
            "accuracy high with few dimensions (abstract)"
        ),
        (*TABLE_2, "AUC", "tfidf_cosine", "not behind", "any but s2net"): (
            "so on its own data (table 2)"
        ),
    }.items():
        assert PUBLISHED.text_of(*place) == words


@pytest.mark.parametrize(
    ("place", "row", "relation", "other"),
    [
        (("blstm", "table 3", ANNOTATIONS), FEEDBACK, "ahead of", EXTRA_WORDS),
        (("blstm", "table 3", TYPOS), EXTRA_WORDS, "ahead of", FEEDBACK),  # they are equal
        ((*TABLE_2, "NDCG@5"), "tfidf_cosine", "ahead of", "plsa"),
        ((*TABLE_2, "NDCG@5"), "tfidf_cosine", "not behind", "any but s2net"),
        (("slides", "web search ranking", "NDCG"), "S2Net + VSM", "ahead of", "OPCA + VSM"),
        (("ssi", "table 1", "MAP"), "query expansion", "ahead of", "TFIDF"),  # they are equal
    ],
)
def test_a_claim_that_no_paper_makes_cannot_be_made(place, row, relation, other):
    with pytest.raises(ValueError, match=r"for .* and .* for | says "):
        PUBLISHED.text_of(*place, row, relation, other)


def stated(where, column, row, relation, other, paper="s2net"):
    return [paper, where, column, row, relation, *([other] if other else [])]


@pytest.mark.parametrize(
    "added",
    [
        stated("table 1", "MRR", "opca", "not behind", "s2net"),
        stated("table 1", "MRR", "opca", "equal to", "s2net"),
        stated("table 3", TYPOS, FEEDBACK, "ahead of", EXTRA_WORDS, "blstm"),
        stated("table 1", "MAP", "TFIDF", "equal to", "SSI", "ssi"),
    ],
    ids=lambda added: f"{added[2]}: {' '.join(added[3:])}",
)
def test_statements_that_contradict_the_file_are_refused(added):
    with pytest.raises(ValueError, match=r"contradicts itself|not so|and level"):
        check(FILE["numbers"], [*FILE["statements"], added])


def test_entries_say_one_thing_once_and_go_round_in_no_circle():
    circle = [stated("table 9", "MAP", a, "ahead of", b) for a, b in ("ab", "bc", "ca")]
    number = FILE["numbers"][0]
    check([number, number], circle[:2])
    other, unknown = [*number[:4], 0.7], stated("table 1", "MRR", "a", "better than", "b")
    for numbers, statements, words in (
        ([], circle, r"table 9 contradicts itself \(MAP\)"),
        ([number, other], [], "two numbers for 's2net'"),
        ([], [unknown], "no known statement"),
        ([], [stated("table 1", "MRR", "a", "ahead of", "")], "no known statement"),
    ):
        with pytest.raises(ValueError, match=words):
            check(numbers, statements)


def test_every_statement_of_a_paper_is_claimed_and_nothing_else():
    claimed = set()
    for name, cls in all_experiments().items():
        for told in cls.claims:
            assert get_experiment(name).published_of(told)
            place = told.published or (
                cls.shown_as.lower(), cls.published_as, told.rows[0], "ahead of", told.rows[1]
            )  # fmt: skip
            claimed.add((cls.paper.id, *place))
    assert {tuple(one) for one in FILE["statements"]} <= claimed


@pytest.mark.parametrize("name", all_experiments())
def test_no_experiment_says_of_a_paper_what_the_file_has_not(name, monkeypatch):
    experiment = get_experiment(name)
    assert type(experiment).run is Experiment.run, "which looks where words come from"
    data = SimpleNamespace(name="made up")

    def saying(words):
        made = RunResult("few", claims=(c for c in [Claim("A is ahead.", published=words)]))
        monkeypatch.setattr(type(experiment), "_run", lambda *_: made)
        return experiment.run(data).claims

    assert saying(PublishedText("so on its own data (table 2)"))[0].statement == "A is ahead."
    for words in ("so on its own data (table 2)", ""):
        with pytest.raises(RuntimeError, match=r"has nothing of the claim 'A is ahead\.'"):
            saying(words)
