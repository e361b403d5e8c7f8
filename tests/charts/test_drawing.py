"""A map with its items: as a frame, a file and a widget."""

import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import traitlets
from PIL import Image

from simviz import Drawing, draw
from simviz.charts.canvas import Part, unpack
from simviz.data import Items, PairSet
from simviz.exceptions import MissingLibraryError
from simviz.pipeline import default_pipeline
from simviz.projection import joint_map
from simviz.relevance import Relevance

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def drawing():
    words = [HOSTILE, *(f"word {i}" for i in range(1, 30))]
    a, b, labels = ([f"{prefix}{i}" for i in range(30)] for prefix in "abB")
    x = Items(a, words, "text", {"group": ["odd", "even"] * 15, "size": np.arange(30.0)})
    y = Items(b, words, "text", {"label": labels})
    pairs = PairSet(x, y, Relevance.identity(30), x_name=HOSTILE, y_name="answers")
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 4))
    return Drawing(joint_map(vectors, vectors + 0.1), pairs)


def test_a_frame_has_coordinates_and_the_columns_of_both_sides(drawing):
    frame = drawing.to_frame()
    assert " ".join(frame) == "side id text horizontal vertical group size label"
    assert frame["side"].tolist() == ["x"] * 30 + ["y"] * 30
    assert frame["text"][0] == frame["text"][30] == HOSTILE
    assert frame["size"][29] == 29 and frame[["group", "size"]][30:].isna().all(axis=None)
    np.testing.assert_array_equal(frame["vertical"][30:], drawing.y[:, 1])


def test_what_is_near_is_known_of_few_and_left_out_of_many(monkeypatch):
    pairs = PairSet.from_texts(["red heart", "blue car"], ["a red heart", "a blue car"])
    pipeline = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    assert draw(pipeline, pairs).nearest.shape == (4, 5)
    monkeypatch.setattr("simviz.projection.pipeline_map.MAX_COMPARED", 3)
    assert draw(pipeline, pairs).nearest is None


def test_a_widget_holds_the_map_and_answers_with_a_frame(drawing):
    widget = drawing.widget("size", height=300)
    state = widget.get_state()
    header, _ = unpack(Part("", state["items"]))
    assert header["texts"][1] == "word 1"
    assert "alert(1)" in header["names"][0] and header["names"][1] == "answers"
    assert unpack(Part("", state["places"]))[1]["places"].size == 120
    pairs = unpack(Part("", state["nearest"]))[1]["pairs"].reshape(-1, 2)
    np.testing.assert_array_equal(pairs[:, 1], np.arange(30) + 30)
    assert state["scene"]["height"] == "300px" and state["scene"]["scrolls"] is False
    assert widget.frame().empty and repr(widget) == f"MapWidget({drawing!r})"
    widget.set_state({"selected": [3, 31]})
    assert widget.frame()["id"].tolist() == ["a3", "b1"]
    with pytest.raises(traitlets.TraitError, match="0 to 59; got 60"):
        widget.selected = [60]
    assert widget.selected == [3, 31]


def test_colours_are_of_sides_columns_or_values(drawing):
    def legend(color_by):
        return [e["name"] for e in drawing.widget(color_by).scene["looks"]["dark"]["legend"]][2:]

    assert legend("side") == [] and legend("group") == ["even", "odd"]
    assert legend("size") == ["size"] and legend(["k"] * 60) == ["k"]
    with pytest.raises(ValueError, match=r"\['group', 'label', 'size'\]; got 'grup'"):
        drawing.widget("grup")
    with pytest.raises(ValueError, match="one value for each"):
        drawing.widget([1, 2])


def test_two_models_are_one_drawing(tmp_path):
    texts = ["red heart", "blue car", "green tree", "gold bird"]
    pairs = PairSet.from_texts(texts, [text[::-1] for text in texts])
    first, second = (default_pipeline(m, pairs).fit(pairs) for m in ("tfidf_cosine", "cca"))
    made = draw(first, pairs, then=second, method="mds")
    assert (made.name, made.then.name) == ("TF-IDF cosine", "CCA, 3 dimensions")
    assert made.changed.shape == (8,) and (made.changed == 1).all(), "TF-IDF knows no word of both"
    assert [*made.to_frame()][3:] == ["horizontal", "vertical", "changed"]
    assert made.then.changed is None and "changed" not in made.then.to_frame()
    for colour, told in (([], 1), (["side"], 0)):
        made.save(tmp_path / "two.html", *colour)
        page = (tmp_path / "two.html").read_text("utf-8")
        assert page.count('type="radio"') == 2
        assert ("nearest of the other side changed" in page) == told
    made.save(tmp_path / "two.svg")
    assert "nearest of the other side" in (tmp_path / "two.svg").read_text("utf-8")
    same = draw(second, pairs, then=second, method="mds")
    assert not same.changed.any() and same.name == same.then.name
    assert "CCA, 3 dimensions (2)" in same.to_html()


def test_what_the_second_model_cannot_draw_is_said(monkeypatch):
    words = [f"word {i}" for i in range(9)]
    pairs = PairSet.from_texts(words, words)
    first, second = (default_pipeline(m, pairs).fit(pairs) for m in ("cca", "ngram_matcher"))
    monkeypatch.setattr("simviz.projection.pipeline_map.MAX_UNFOLDED", 5)
    with pytest.raises(ValueError, match=r"can draw \(5, 5\) of these \(9, 9\) items"):
        draw(first, pairs, then=second, method="mds")


def test_partners_are_bounded():
    n = 90
    items = Items([str(i) for i in range(n)], [f"w{i}" for i in range(n)], "keyword")
    every = Relevance.from_pairs([0] * n, range(n), shape=(n, n))
    vectors = np.random.default_rng(0).normal(size=(n, 3))
    widget = Drawing(joint_map(vectors, vectors), PairSet(items, items, every)).widget()
    assert unpack(Part("", widget.nearest))[1]["pairs"].size == 2 * 60


def test_a_file_holds_no_markup_of_the_data(drawing, tmp_path):
    drawing.save(tmp_path / "map.html")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2 and page.count("</script") == 2
    assert "<img" not in page and "onerror" in page
    assert not re.search(r"(src|href|url)\s*[=(:]\s*[\"']?https?:", page)
    framed = drawing._repr_html_()
    assert framed.startswith("<iframe sandbox=") and framed.count("<") == 2


def test_without_anywidget_it_is_said_how_to_install_it(drawing, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingLibraryError, match=r"simviz\[notebook\]"):
        drawing.widget()


def test_a_picture_has_labels_as_text_at_the_size_asked_for(drawing, tmp_path):
    drawing.save(tmp_path / "map.svg", size=(4, 3))
    text = (tmp_path / "map.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert (root.get("width"), root.get("height")) == ("4.0in", "3.0in")
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert tags.count("circle") == 31 and tags.count("path") == 31, "with those of the legend"
    assert "script" not in tags and "img" not in tags
    labels = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert labels[-1] == "answers" and sum(label.startswith("word ") for label in labels) > 9
    at = np.array([[float(e.get("x")), float(e.get("y"))] for e in root.iter() if e.get("x")])
    across, down = np.abs(at[:, None] - at).transpose(2, 0, 1)
    assert ((across > 15) | (down > 7)).sum() == at.shape[0] * (at.shape[0] - 1), "none on another"
    drawing.save(tmp_path / "coloured.svg", "group")
    assert "even" in (tmp_path / "coloured.svg").read_text(encoding="utf-8")
    drawing.save(tmp_path / "map.png", "size", size=(4, 3), dpi=100)
    with Image.open(tmp_path / "map.png") as image:
        assert image.size == (400, 300) and len(image.getcolors(120_000)) > 50


def test_a_table_has_places_texts_and_neighbours(drawing, tmp_path):
    rows = np.array([[(i + 31) % 60, i, (i + 30) % 60] for i in range(60)])
    replace(drawing, nearest=rows).save(tmp_path / "map.parquet")
    frame = pd.read_parquet(tmp_path / "map.parquet")
    assert {"side", "text", "horizontal", "vertical", "neighbors"} <= {*frame}
    assert frame["text"][0] == HOSTILE and frame["size"][29] == 29
    neighbors = frame["neighbors"][3]
    assert {*neighbors["ids"]} == {33, 34} and neighbors.keys() == {"ids", "distances"}
    points = frame[["horizontal", "vertical"]].to_numpy()
    away = np.linalg.norm(points[neighbors["ids"]] - points[3], axis=1)
    np.testing.assert_allclose(neighbors["distances"], np.sort(away))
    drawing.save(tmp_path / "map.parquet")
    assert "neighbors" not in pd.read_parquet(tmp_path / "map.parquet")
    with pytest.raises(ValueError, match=r"\.parquet; got 'map.pdf'"):
        drawing.save(tmp_path / "map.pdf")
