"""Cards say what the classes say, whole and as Markdown."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

import simviz
from simviz import method_cards as docstrings
from simviz.base import EmbeddingModel
from simviz.data import PairSet
from simviz.method_cards import FAMILIES, HAVE, code_lines, method_card, needs, suits
from simviz.methods import all_methods

METHODS = all_methods()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_whole_card(method):
    cls = METHODS[method]
    card = method_card(cls)
    assert card.id == method
    assert card.tags.family in FAMILIES
    assert len(card.summary) > 10
    assert sum(piece.kind == "formula" for piece in card.idea) == 1
    assert card.references
    assert card.related, "a See Also section names at least one kin"
    assert all(kin.id in METHODS and kin.text for kin in card.related)
    assert [row.name for row in card.params] == list(inspect.signature(cls).parameters)
    assert all(row.description and row.allowed for row in card.params)
    assert len(card.needs) == 3
    assert any(suits(cls, have) for have in HAVE)


def test_a_card_tells_what_a_preset_is():
    (line,) = method_card(METHODS["heterogeneous_svd"]).presets
    assert line == "`preset='paper'` is `negative_weight='paper', measure='dot'`."
    assert not method_card(METHODS["tfidf_cosine"]).presets


@pytest.mark.parametrize("method", METHODS)
def test_no_role_or_open_formula_is_left(method):
    card = method_card(METHODS[method])
    texts = [piece.content for piece in card.idea if piece.kind == "text"]
    for text in [card.summary, *texts, *card.notes, *card.references]:
        assert ":math:" not in text
        # Dollar signs that are not escaped come in pairs.
        assert text.replace("\\$", "").count("$") % 2 == 0
        assert text.replace("\\`", "").count("`") % 2 == 0


def test_objective_is_the_formula_that_optimises():
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


def test_class_without_words_has_a_card():
    class Silent(METHODS["bm25"]):
        """A fact."""

    card = method_card(Silent)
    assert (card.summary, card.idea, card.notes, card.related) == ("A fact.", (), (), ())


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


def test_needs_follow_the_tags():
    tags = METHODS["cca"].tags
    assert needs(tags)[0] == "Pairs that belong together."
    assert "features of its own" in needs(replace(tags, space="two"))[1]
    assert needs(replace(tags, input="counts"))[2].startswith("Counts")


def test_methods_without_vectors_say_so():
    for method, cls in METHODS.items():
        fails = " ".join(method_card(cls).fails)
        assert ("Vectors are wanted" in fails) != issubclass(cls, EmbeddingModel), method


def test_what_suits_pictures_has_two_spaces():
    for cls in METHODS.values():
        if suits(cls, "pictures"):
            assert cls.tags.space != "one"
    with pytest.raises(KeyError):
        suits(METHODS["cca"], "money")


def test_sections_keep_their_text():
    doc = "Fact.\n\nMore\nwords.\n\nNotes\n-----\nOne.\n\nTwo.\n\nReferences\n----------\nA.\n"
    found = docstrings.sections(doc)
    assert list(found) == ["", "Notes", "References"]
    assert docstrings.paragraphs(found[""]) == ["Fact.", "More words."]
    assert docstrings.paragraphs(found["Notes"]) == ["One.", "Two."]


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
    assert docstrings.as_markdown(source) == markdown
