"""Cards say what the classes say, whole and as Markdown."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

import simviz
from simviz.base import EmbeddingModel
from simviz.data import PairSet
from simviz.method_cards import FAMILIES, HAVE, as_markdown, code_lines, method_card, needs, suits
from simviz.methods import all_methods

METHODS = all_methods()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_whole_card(method):
    cls = METHODS[method]
    card = method_card(cls)
    assert card.id == method and card.tags.family in FAMILIES and len(card.summary) > 10
    assert sum(piece.kind == "formula" for piece in card.idea) == 1
    assert card.references and card.related
    assert all(kin.id in METHODS and kin.text for kin in card.related)
    assert [row.name for row in card.params] == list(inspect.signature(cls).parameters)
    assert all(row.description and row.allowed for row in card.params)
    assert len(card.needs) == 3
    assert any(suits(cls, have) for have in HAVE)
    assert cls.tags.space != "one" or not suits(cls, "pictures")
    assert ("Vectors are wanted" in " ".join(card.fails)) != issubclass(cls, EmbeddingModel)
    texts = [piece.content for piece in card.idea if piece.kind == "text"]
    for text in [card.summary, *texts, *card.notes, *card.references]:
        assert ":math:" not in text
        for mark in "$`":  # those that are not escaped come in pairs
            assert text.replace(f"\\{mark}", "").count(mark) % 2 == 0


def test_presets_and_needs_are_told_in_words():
    (line,) = method_card(METHODS["heterogeneous_svd"]).presets
    assert line == "`preset='paper'` is `negative_weight='paper', measure='dot'`."
    assert not method_card(METHODS["tfidf_cosine"]).presets
    tags = METHODS["cca"].tags
    assert needs(tags)[0] == "Pairs that belong together."
    assert "features of its own" in needs(replace(tags, space="two"))[1]
    assert needs(replace(tags, input="counts"))[2].startswith("Counts")
    with pytest.raises(KeyError):
        suits(METHODS["cca"], "money")


def test_objective_is_the_formula_that_optimises():
    class Silent(METHODS["bm25"]):
        """A fact."""

    card = method_card(Silent)
    assert (card.summary, card.idea, card.notes, card.related) == ("A fact.", (), (), ())

    class Ranker(METHODS["ssi"]):
        r"""A fact.

        Learns :math:`f(q) = U q` such that :math:`\sum \max(0, 1 - f)`, by descent
        on `U`; 2 * 3 is not emphasised.
        """

    idea = method_card(Ranker).idea
    assert [(piece.kind, piece.content) for piece in idea] == [
        ("text", "Learns $f(q) = U q$ such that"),
        ("formula", r"\sum \max(0, 1 - f)\,,"),
        ("text", r"by descent on `U`; 2 \* 3 is not emphasised."),
    ]


@pytest.mark.filterwarnings("ignore:.*more than the data can give")
@pytest.mark.parametrize("method", METHODS)
def test_code_of_a_card_runs(method, monkeypatch, capsys):
    texts = [f"{colour} {thing}" for colour in ("red", "blue", "gold") for thing in "abcdefgh"]
    pairs = PairSet.from_texts(texts, [text[::-1] + " x" for text in texts])
    monkeypatch.setattr(simviz, "load_demo", lambda name: pairs, raising=False)
    code = code_lines(method)
    assert len([line for line in code.splitlines() if line]) == 5
    for way in ("y", "column"):  # these pairs bring no split of their own
        code = code.replace(f'by="{way}"', 'by="pair"')
    exec(compile(code.replace("P@5", "MRR"), "card", "exec"), {})
    assert 0 <= float(capsys.readouterr().out) <= 1


@pytest.mark.parametrize(
    ("source", "markdown"),
    [
        (":class:`~simviz.method_cards.HAVE` is", "`simviz.method_cards.HAVE` is"),
        ("``a`` and :math:`x\n y`", "`a` and $x y$"),
        ("5 < 6 & *", "5 \\< 6 \\& \\*"),
        ("plain", "plain"),
    ],
)
def test_roles_become_markdown(source, markdown):
    assert as_markdown(source) == markdown
