import base64
import io
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from simviz.charts import LIGHT, map_figure, map_records
from simviz.charts.pictures import data_uri
from simviz.data.pairs import Items
from simviz.projection import Region, joint_map, nearest_across
from simviz.relevance import Relevance

HOSTILE = '<img src=x onerror="alert(1)"><b>&lt;%{x}'


def vectors(n_x=30, n_y=40, k=4, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n_x, k)), rng.normal(size=(n_y, k))


def texts(n, prefix, **metadata):
    return Items([f"{prefix}{i}" for i in range(n)], [f"{prefix} {i}" for i in range(n)], "text",
                 metadata)  # fmt: skip


def images(n):
    pixels = np.full((n, 16, 16), 255, dtype=np.uint8)
    pixels[:, 4:12, 4:12] = 0
    return Items([f"i{i}" for i in range(n)], pixels, "image")


def related(n_x=30, n_y=40):
    return Relevance.from_pairs(np.arange(n_x), np.arange(n_x), shape=(n_x, n_y))


def drawn(n_x=30, n_y=40, **options):
    return joint_map(*vectors(n_x, n_y), **options)


def written(figure):
    """All that is written on the map."""
    return [t for trace in figure.data if trace.text is not None for t in trace.text if t]


def test_every_item_is_a_point_with_a_stable_id():
    x, y = texts(30, "a"), texts(40, "b")
    figure = map_figure(drawn(), x, y)
    keys = [k for trace in figure.data[:2] for k in trace.customdata]
    assert sorted(keys) == sorted([f"x:a{i}" for i in range(30)] + [f"y:b{i}" for i in range(40)])
    for trace in figure.data[:2]:
        side = drawn().x if trace.customdata[0].startswith("x") else drawn().y
        np.testing.assert_array_equal(np.column_stack([trace.x, trace.y]), side)
    assert all(trace.type == "scatter" for trace in figure.data)


def test_scale_is_equal_and_axes_are_silent():
    figure = map_figure(drawn(), texts(30, "a"), texts(40, "b"), width=900, height=634)
    assert figure.layout.yaxis.scaleanchor == "x"
    assert not figure.layout.xaxis.visible and not figure.layout.yaxis.visible
    across, up = (np.ptp(axis.range) for axis in (figure.layout.xaxis, figure.layout.yaxis))
    assert across / up == pytest.approx(900 / 600)


def test_hostile_text_is_never_markup():
    x = Items(["h"], [HOSTILE], "text")
    y = Items(["g"], [HOSTILE], "text", {"label": np.array([HOSTILE], dtype=object)})
    relevance = Relevance.identity(1)
    figure = map_figure(
        drawn(1, 1), x, y, relevance, [HOSTILE, "b"], "x:h",
        x_name=HOSTILE, y_name=HOSTILE, color_title=HOSTILE,
    )  # fmt: skip
    shown = written(figure)
    for trace in figure.data:
        shown += [*(trace.hovertext or []), trace.name or ""]
        assert trace.hovertemplate in (None, "%{hovertext}<extra></extra>")
    assert any("&lt;img" in text for text in shown)
    for text in shown:
        bare = text.replace("<b>", "").replace("</b>", "").replace("<br>", "")
        assert "<" not in bare and ">" not in bare


def test_labels_with_many_partners_come_first_and_do_not_overlap():
    n = 200
    x, y = texts(n, "word"), texts(40, "b")
    rows = np.r_[np.zeros(40, int), np.ones(30, int), np.arange(2, n)]
    columns = np.r_[np.arange(40), np.arange(30), np.zeros(n - 2, int)]
    relevance = Relevance.from_pairs(rows, columns, shape=(n, 40))
    figure = map_figure(drawn(n, 40), x, y, relevance, width=500, height=400)
    trace = next(t for t in figure.data if t.text is not None and t.text[0].startswith("word"))
    assert {"word 0", "word 1"} <= set(trace.text) and 5 < len(trace.text) < 150
    sizes = dict(zip(trace.text, trace.textfont.size, strict=True))
    assert sizes["word 0"] == max(sizes.values()) > min(sizes.values())


def test_pictures_are_spread_and_limited():
    y = images(40)
    figure = map_figure(drawn(), texts(30, "a"), y, max_thumbnails=7)
    assert len(figure.layout.images) == 7
    places = np.array([[i.x, i.y] for i in figure.layout.images])
    size = figure.layout.images[0].sizex
    for i in range(7):
        others = np.delete(places, i, axis=0)
        assert (np.abs(others - places[i]).max(axis=1) >= size).all()
    dots = next(t for t in figure.data if t.customdata and t.customdata[0].startswith("y:"))
    assert sum(o == 0 for o in dots.marker.opacity) >= 7
    assert all(image.layer == "below" for image in figure.layout.images)
    assert map_figure(drawn(), texts(30, "a"), y, max_thumbnails=0).layout.images == ()


def test_drawings_take_the_ink_and_photographs_stay():
    drawing = np.full((8, 8), 255, dtype=np.uint8)
    drawing[2:6, 2:6] = 0
    picture = decoded(data_uri(drawing, "#123456"))
    assert picture.mode == "RGBA"
    assert picture.getpixel((3, 3)) == (0x12, 0x34, 0x56, 255)
    assert picture.getpixel((0, 0))[3] == 0
    grey = np.tile(np.linspace(0, 255, 100).astype(np.uint8), (100, 1))
    assert np.array_equal(np.asarray(decoded(data_uri(grey, "#123456", size=100))), grey)
    colour = np.random.RandomState(0).randint(0, 255, (200, 100, 3)).astype(np.uint8)
    assert decoded(data_uri(colour, "#123456")).size == (32, 64)


def decoded(uri):
    assert uri.startswith("data:image/png;base64,")
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))


def test_glyphs_stand_for_the_items_of_the_y_side():
    glyphs = np.array(["❤️", "🚗"] + ["😀"] * 38, dtype=object)
    figure = map_figure(drawn(), texts(30, "a"), texts(40, "b", label=glyphs), related())
    shown = set(written(figure))
    assert "❤️" in shown and not any(t.startswith("b ") for t in shown)
    assert any(t.startswith("a ") for t in shown)
    dots = next(t for t in figure.data if t.customdata and t.customdata[0].startswith("y:"))
    assert dots.hovertext[0].startswith("<b>❤️ b 0</b>")


def test_lines_belong_to_the_highlighted_item_only():
    x, y = texts(30, "a"), texts(40, "b")
    relevance = Relevance.from_pairs([3, 3, 4], [5, 9, 6], [1, 3, 1], shape=(30, 40))
    where = drawn()
    assert not any(t.mode == "lines" for t in map_figure(where, x, y, relevance).data)
    near = nearest_across(*vectors(), 3, k=4)
    figure = map_figure(where, x, y, relevance, highlight="x:a3", neighbors=near)
    lines = {t.name: t for t in figure.data if t.mode == "lines"}
    assert set(lines) == {"belongs together (2)", "nearest in the model (4)"}
    ends = np.column_stack(
        [lines["belongs together (2)"].x, lines["belongs together (2)"].y]
    ).reshape(2, 3, 2)
    np.testing.assert_array_equal(ends[:, 0], where.x[[3, 3]])
    np.testing.assert_array_equal(ends[:, 1], where.y[[9, 5]])  # the higher grade first
    rings = next(t for t in figure.data if t.customdata == tuple(f"y:b{i}" for i in near.index))
    assert f"similarity {near.scores[0]:.3f}" in rings.hovertext[0]
    assert {"a 3", "b 9", "b 5"} <= set(written(figure))
    assert "“a 3” is highlighted" in figure.layout.meta["alt"]


def test_a_highlight_of_the_y_side_sees_the_same_pairs():
    relevance = Relevance.from_pairs([3, 4], [5, 5], shape=(30, 40))
    figure = map_figure(drawn(), texts(30, "a"), texts(40, "b"), relevance, highlight="y:b5")
    assert [t.name for t in figure.data if t.mode == "lines"] == ["belongs together (2)"]


def test_colours_by_number_and_by_group():
    x, y, where = texts(30, "a"), texts(40, "b"), drawn()
    values = np.linspace(0, 1, 70)
    values[3] = np.nan
    figure = map_figure(where, x, y, color_by=values, color_title="loss")
    by_key = {
        k: c for t in figure.data[:2] for k, c in zip(t.customdata, t.marker.color, strict=True)
    }
    assert by_key["x:a0"] == LIGHT.scale[0] and by_key["y:b39"] == LIGHT.scale[-1]
    assert by_key["x:a3"] == LIGHT.muted
    scales = [t for t in figure.data if t.marker.showscale]
    assert len(scales) == 1 and (scales[0].marker.cmin, scales[0].marker.cmax) == (0, 1)

    groups = np.array([f"g{i % 10}" for i in range(70)], dtype=object)
    groups[10:40] = "big"
    figure = map_figure(where, x, y, color_by=groups)
    names = [t.name for t in figure.data if t.showlegend is not False]
    assert names[2] == "big" and names[-1] == "4 others" and len(names) == 2 + 8
    with pytest.raises(ValueError, match="one value for each of 30 x and 40 y"):
        map_figure(where, x, y, color_by=values[:5])
    with pytest.raises(ValueError, match="'side'"):
        map_figure(where, x, y, color_by="group")


def test_many_points_are_drawn_by_webgl_and_few_are_not():
    n = 2600
    where = joint_map(*vectors(n, n), quality=False)
    figure = map_figure(where, texts(n, "a"), texts(n, "b"))
    assert [t.type for t in figure.data].count("scattergl") == 2


def test_all_in_one_place_can_be_drawn():
    where = joint_map(np.zeros((3, 2)), np.zeros((2, 2)))
    figure = map_figure(where, texts(3, "a"), images(2))
    go.Figure(figure.to_dict())


def test_the_alternative_text_says_what_is_seen():
    where = drawn()
    figure = map_figure(
        where, texts(30, "a"), images(40), x_name="words", y_name="icons", theme="dark"
    )
    alt = figure.layout.meta["alt"]
    assert alt.startswith("Map of 30 words and 40 icons, drawn to keep distances (MDS")
    assert "icons are shown as pictures" in alt and where.quality.describe() in alt


def test_the_rows_behind_a_map():
    x, y, where = texts(2, "a"), images(1), joint_map(*vectors(2, 1))
    rows = map_records(where, x, y)
    assert [r["key"] for r in rows] == ["x:a0", "x:a1", "y:i0"]
    assert rows[0]["label"] == "a 0" and rows[2]["map_y"] == where.y[0, 1]


def test_refusals():
    x, y = texts(30, "a"), texts(40, "b")
    with pytest.raises(ValueError, match="the items it was made from"):
        map_figure(drawn(), y, x)
    with pytest.raises(ValueError, match="no item 'x:zzz'"):
        map_figure(drawn(), x, y, highlight="x:zzz")
    with pytest.raises(ValueError, match="two coordinates an item, but this one has 3"):
        map_figure(replace(drawn(), x=np.zeros((30, 3))), x, y)
    with pytest.raises(ValueError, match="those of the other side"):
        near = nearest_across(*vectors(), 0, "y")
        map_figure(drawn(), x, y, highlight="x:a3", neighbors=near)


def test_regions_take_room_before_labels_and_none_covers_another():
    where = drawn(200, 40)
    points = np.concatenate([where.x, where.y])
    regions = [
        Region(tuple(point), 9.0, (f"region {i}", f"parte {i}")) for i, point in enumerate(points)
    ]
    figure = map_figure(
        where, texts(200, "word"), texts(40, "b"), regions=regions, width=900, height=634
    )
    trace = next(t for t in figure.data if t.name == "regions")
    assert len(trace.text) == 12, "540,000 pixels, one label for each 45,000 of them"
    assert trace.text[0].startswith("region 0<br><span") and "parte 0" in trace.text[0]
    scale = 900 / np.ptp(figure.layout.xaxis.range)
    places = np.column_stack([trace.x, trace.y]) * scale
    for i, place in enumerate(places):
        apart = np.abs(np.delete(places, i, axis=0) - place)
        assert ((apart[:, 0] > 60) | (apart[:, 1] > 35)).all()
    moved = np.abs(places[0] - points[0] * scale)
    assert (moved < [60, 60]).all(), "near its point"
    assert "Regions are about: region 0; " in figure.layout.meta["alt"]
    few = map_figure(
        where, texts(200, "word"), texts(40, "b"), regions=regions, width=380, height=400
    )
    assert len(next(t for t in few.data if t.name == "regions").text) == 4
    dimmed = map_figure(
        where, texts(200, "word"), texts(40, "b"), highlight="x:word0", regions=regions
    )
    assert next(t for t in dimmed.data if t.name == "regions").opacity < 0.5


def test_notes_are_told_and_escaped():
    where = drawn()
    notes = ["cats 70 %", HOSTILE, *[""] * 28]
    figure = map_figure(where, texts(30, "a"), texts(40, "b"), x_notes=notes)
    dots = next(t for t in figure.data if t.customdata and t.customdata[0].startswith("x:"))
    assert dots.hovertext[0].endswith("<br>cats 70 %")
    assert "<img" not in dots.hovertext[1] and "&lt;img" in dots.hovertext[1]
    assert dots.hovertext[2].count("<br>") == 1
    with pytest.raises(ValueError, match="2 notes for 40 items of the y side"):
        map_figure(where, texts(30, "a"), texts(40, "b"), y_notes=["a", "b"])


def test_names_of_regions_are_never_markup():
    region = Region((0.0, 0.0), 1.0, (HOSTILE, HOSTILE))
    figure = map_figure(drawn(), texts(30, "a"), texts(40, "b"), regions=[region])
    (text,) = next(t for t in figure.data if t.name == "regions").text
    first, second = text.split("<br>")
    assert "<" not in first and second.count("<") == 2, "the span's own two"
