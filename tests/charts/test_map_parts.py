"""What the canvas is sent: items, places, colours."""

import io

import numpy as np
import pytest
from PIL import Image

from simviz.charts import LIGHT
from simviz.charts.canvas import (
    column_codes,
    display_modes,
    importance,
    make_sheet,
    map_alt,
    pack_bits,
    pack_items,
    pack_places,
    spread_order,
    unpack,
    unpack_bits,
)
from simviz.charts.dot_colours import group_items
from simviz.charts.style import mix
from simviz.data.description import MISSING
from simviz.data.pairs import Items
from simviz.projection import joint_map
from simviz.relevance import Relevance


def texts(n, prefix="word", kind="keyword", **metadata):
    return Items(
        [f"{prefix}{i}" for i in range(n)], [f"{prefix} {i}" for i in range(n)], kind, metadata
    )


def images(n, ground=255, size=16):
    pixels = np.full((n, size, size), ground, dtype=np.uint8)
    pixels[:, 4:12, 4:12] = 255 - ground
    return Items(
        [f"i{i}" for i in range(n)], pixels, "image", {"label": [f"I{i}" for i in range(n)]}
    )


def test_items_are_told_by_side_with_their_rows_and_facts():
    x = texts(3, kind="text", colour=["red", "blue", "red"])
    y = texts(2, "thing", size=[1.5, float("nan")])
    header, arrays = unpack(pack_items(x, y, ("words", "things"), rows=([4, 5, 9], [0, 7])))
    assert header["n_x"] == 3 and header["names"] == ["words", "things"]
    assert header["texts"] == ["word 0", "word 1", "word 2", "thing 0", "thing 1"]
    assert arrays["rows"].tolist() == [4, 5, 9, 0, 7]
    assert header["facts"] == [
        ["colour", ["red", "blue", "red", "", ""]],
        ["size", ["", "", "", "1.5", ""]],
    ]


def test_equal_parts_have_one_digest():
    first, again, other = (pack_items(texts(3), texts(n)) for n in (2, 2, 4))
    assert first.digest == again.digest != other.digest
    assert unpack(first)[0]["digest"] == first.digest


def test_texts_are_one_line_without_what_cannot_be_seen():
    text = "a\n<b>\u202eb\x00" + "c" * 900
    header, _ = unpack(pack_items(Items(["1"], [text], "text"), texts(1)))
    assert header["texts"][0].startswith("a <b>b c") and len(header["texts"][0]) == 300
    assert len(header["labels"][0]) <= 28


@pytest.mark.parametrize("ground", [0, 255])
def test_pictures_become_one_sheet_of_ink_whatever_their_ground(ground):
    header, arrays = unpack(pack_items(texts(3), images(5, ground)))
    assert header["modes"] == ["word", "picture"]
    assert header["sheet"] == {"cell": 16, "columns": 3, "is_ink": True, "first": 3, "count": 5}
    sheet = Image.open(io.BytesIO(arrays["sheet"].tobytes()))
    assert sheet.size == (48, 32) and sheet.mode == "LA"
    alpha = np.asarray(sheet)[..., 1]
    assert alpha[8, 8] == 255 and alpha[0, 0] == 0


def test_photographs_stay_as_they_are():
    pixels = np.random.RandomState(0).randint(0, 255, (3, 20, 30, 3)).astype(np.uint8)
    png, layout = make_sheet(pixels)
    assert layout == {"cell": 30, "columns": 2, "is_ink": False}
    sheet = np.asarray(Image.open(io.BytesIO(png)))
    np.testing.assert_array_equal(sheet[5:25, :30, :3], pixels[0])
    assert sheet[0, 0, 3] == 0, "the rest of a cell is empty"
    # Very many pictures are smaller.
    assert make_sheet(np.zeros((4_000, 64, 64), dtype=np.uint8))[1]["cell"] < 64


def test_modes_follow_what_items_are():
    long = Items(["1"], ["a sentence that is longer than a word"], "text")
    glyphs = Items(["1", "2"], ["heart", "car"], "text", {"label": ["❤️", "🚗"]})
    vectors = Items(["1"], np.ones((1, 3)), "vector")
    assert display_modes(texts(2), long) == ("word", "text")
    assert display_modes(long, glyphs) == ("text", "picture")
    assert display_modes(vectors, vectors) == ("dot", "dot")
    header, _ = unpack(pack_items(images(1), images(2)))
    assert header["sheet"]["count"] == 2 and header["modes"] == ["dot", "picture"]
    # An item without a glyph is written.
    glyphs = Items(["1", "2", "3"], ["heart", "car", "net"], "text", {"label": ["❤️", "🚗", "?"]})
    header, _ = unpack(pack_items(texts(1), glyphs))
    assert header["modes"] == ["word", "picture"]
    assert header["glyphs"]["labels"] == ["❤️", "🚗", ""]
    assert header["labels"][1:] == ["❤️", "🚗", "net"]


def test_importance_prefers_what_belongs_to_more():
    x, y = texts(4), texts(3, "y")
    relevance = Relevance.from_pairs([2, 2, 2, 0], [0, 1, 2, 1], shape=(4, 3))
    order = importance(x, y, np.zeros((4, 2)), np.zeros((3, 2)), relevance)
    assert sorted(order.tolist()) == list(range(7))
    assert [i for i in order if i < 4][:2] == [2, 0]
    assert next(i for i in order if i >= 4) == 4 + 1
    assert not importance(texts(0), texts(0), np.zeros((0, 2)), np.zeros((0, 2))).size


def test_places_carry_order_parts_and_notes():
    parts, notes = ["train", "test", "train"], ["", "b", ""]
    x, y = [[0, 1], [2, 3]], [[4, 5.5]]
    header, arrays = unpack(pack_places(x, y, [2, 0, 1], parts=parts, notes=notes))
    assert arrays["places"].tolist() == [0, 1, 2, 3, 4, 5.5]
    assert [header["parts"][code] for code in arrays["part"]] == parts
    assert header["notes"] == notes and arrays["order"].tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="256 parts"):
        pack_places(np.zeros((300, 2)), np.zeros((0, 2)), range(300), parts=map(str, range(300)))


def test_bits_are_as_many_as_rows():
    mask = np.arange(19) % 3 == 0
    assert unpack_bits(pack_bits(mask), 19).tolist() == np.flatnonzero(mask).tolist()
    assert unpack_bits(b"\xff" * 9, 5).tolist() == [0, 1, 2, 3, 4], "never more than there are"
    assert unpack_bits(b"", 5).tolist() == []


def test_alt_says_what_is_drawn():
    rng = np.random.RandomState(0)
    drawn = joint_map(rng.normal(size=(20, 3)), rng.normal(size=(30, 3)), "mds")
    told = map_alt(drawn, ("words", "icons"))
    assert "20 words and 30 icons" in told and "distances" in told and "trustworthiness" in told


def test_colours_by_side_are_told_by_shape_too():
    plain = group_items("side", (3, 2), LIGHT, names=("a", "b"))
    assert plain.index is None and plain.colours == (LIGHT.accent, LIGHT.second)
    assert [entry["shape"] for entry in plain.legend] == ["circle", "diamond"]
    with pytest.raises(ValueError, match="one value per item"):
        group_items("kind", (3, 2), LIGHT)
    with pytest.raises(ValueError, match="one value for each"):
        group_items([1, 2], (3, 2), LIGHT)


def test_groups_beyond_the_seventh_share_a_colour():
    kinds = [f"k{i % 9}" for i in range(90)]
    told = group_items(kinds, (40, 50), LIGHT)
    assert told.index.max() == 7 and len(told.colours) == 8
    assert told.legend[-1]["name"] == "2 others" and told.legend[-1]["count"] == 20
    assert sum(entry["count"] for entry in told.legend[2:]) == 90


def test_ordered_groups_keep_their_order_and_the_last_steps_back():
    order = ("first", "soon", "late", "none")
    told = group_items(["late", "none", "first"], (2, 1), LIGHT, order=order)
    assert [entry["name"] for entry in told.legend[2:]] == ["first", "late", "none"]
    assert told.legend[-1]["colour"] == LIGHT.palette[-1]
    assert len({entry["colour"] for entry in told.legend[2:]}) == 3


def test_missing_values_are_faint_and_come_last():
    told = group_items(["a", MISSING, "b", "a"], (2, 2), LIGHT)
    assert [entry["name"] for entry in told.legend[2:]] == ["a", "b", "no value"]
    assert told.colours[told.index[1]] == told.legend[-1]["colour"]
    assert told.colours[told.index[1]] == mix(LIGHT.muted, LIGHT.paper, 0.3)


def test_columns_become_bins_and_groups():
    years = np.array([2000.0, 2012.0, np.nan, 2024.0])
    kinds = np.array(["b", "a", "b", MISSING], dtype=object)
    columns = {"year": years, "kind": kinds}
    header, arrays = unpack(pack_items(texts(3), texts(1, "y"), columns=columns))
    assert header["columns"] == [
        {"name": "year", "low": 2000.0, "high": 2024.0, "bins": 24},
        {"name": "kind", "groups": ["b", "a"]},
    ]
    assert arrays["column0"].tolist() == [0, 12, 255, 23]
    assert arrays["column1"].tolist() == [0, 1, 0, 255]
    many, codes = column_codes(np.array([f"g{i % 15:02}" for i in range(60)]), "many")
    assert many["groups"][-1] == "7 others" and (codes == 8).sum() == 28


def test_numbers_make_a_scale():
    told = group_items([0.0, 0.5, 1.0, np.nan], (2, 2), LIGHT, title="score")
    assert told.index[0] == 0 and told.index[2] == len(told.colours) - 2
    faint = told.colours[told.index[3]]
    assert faint == mix(LIGHT.muted, LIGHT.paper, 0.3)
    scale = {"scale": list(LIGHT.scale), "low": "0", "high": "1"}
    assert told.legend[-1] == {"name": "score"} | scale
    assert group_items([np.nan] * 3, (1, 2), LIGHT).colours == (faint,)


def test_spread_order_covers_the_map_early():
    clump = np.random.RandomState(0).normal(size=(100, 2)) * 0.2
    points = np.concatenate([clump, [[9, 9], [-9, 9], [9, -9], [-9, -9]]])
    order = spread_order(points, 50)
    assert set(order[:5]) >= {100, 101, 102, 103}
    assert len(set(order)) == 50
    assert len(spread_order(np.zeros((5, 2)), 5)) == 1 and len(spread_order(points[:0], 3)) == 0
