"""Both sides of a model on one map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import scipy.sparse as sp
from numpy.typing import ArrayLike

from simviz.charts._colouring import Colouring, colorscale, colour_points
from simviz.charts._flat import LEGEND_HEIGHT, draw_flat
from simviz.charts._sides import (
    Focus,
    Links,
    Side,
    add_notes,
    check_lengths,
    find_focus,
    find_links,
    full_names,
    make_sides,
)
from simviz.charts.style import Theme, ThemeName, apply_theme, describe, get_theme
from simviz.charts.text import clean_text, safe_text
from simviz.data.items import Items
from simviz.projection.joint import JointMap
from simviz.projection.nearest import Neighbors
from simviz.projection.regions import Region
from simviz.relevance import Relevance

if TYPE_CHECKING:
    import plotly.graph_objects as go


def map_figure(
    joint_map: JointMap,
    x_items: Items,
    y_items: Items,
    relevance: Relevance | sp.sparray | None = None,
    color_by: Literal["side"] | ArrayLike = "side",
    highlight: str | None = None,
    max_thumbnails: int = 300,
    theme: ThemeName | Theme = "light",
    *,
    neighbors: Neighbors | None = None,
    regions: Sequence[Region] = (),
    x_notes: Sequence[str] | None = None,
    y_notes: Sequence[str] | None = None,
    color_title: str = "",
    x_name: str = "x side",
    y_name: str = "y side",
    width: int = 1100,
    height: int = 760,
) -> go.Figure:
    """Draw a joint map: words as words, pictures as pictures, the rest as dots.

    Labels and thumbnails do not cover one another: they are given room in
    turns, labels of items with many partners first, pictures spread over the
    whole map. What finds no room stays a dot, and tells its name when it is
    pointed at.

    Parameters
    ----------
    joint_map : JointMap
        Positions.
    x_items, y_items : Items
        The items in the order of the positions. Texts and keywords are
        written, images are shown; on the y side the metadata column "label"
        is written in place of a text, and in place of the dot where it is a
        glyph.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        What belongs together: it says which labels come first, and what a
        highlighted item is joined to.
    color_by : "side" or array-like of shape (n_x + n_y,), default="side"
        Colour of the dots: the side, or a value for each x item and then
        each y item. Numbers make a scale (grey where not finite), anything
        else makes groups, the seven largest with a colour of their own.
    highlight : str, optional
        "x:ID" or "y:ID": this item is ringed and joined to its relevant
        partners, and all else steps back.
    max_thumbnails : int, default=300
        Most pictures to show.
    theme : {"light", "dark"} or Theme, default="light"
        Look of the figure.
    neighbors : Neighbors, optional
        What `nearest_across` found for the highlighted item in the model's
        space, to be joined to it too.
    regions : sequence of Region, optional
        Parts of the map and what they are about, by descending weight, as from
        `topic_regions`. As many as find room are written before all else.
    x_notes, y_notes : sequence of str, optional
        A further line of what each item says when it is pointed at; an empty
        one adds nothing.
    color_title : str, default=""
        What the values of `color_by` are.
    x_name, y_name : str
        What the items of a side are called, in the plural.
    width, height : int
        Size in pixels at which the figure will be shown, for which room is
        given. The figure itself adapts to its container.

    Returns
    -------
    plotly Figure
        Every point carries its stable id, "x:ID" or "y:ID", in `customdata`;
        ``layout.meta["alt"]`` describes the picture in words, `map_records`
        gives the rows behind it.

    Raises
    ------
    ValueError
        If lengths do not fit, or the highlighted item does not exist.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> from simviz.projection import joint_map
    >>> pairs = PairSet.from_texts(["heart", "car"], ["corazón", "coche"])
    >>> drawn = joint_map([[0.0, 1.0], [1.0, 0.0]], [[0.1, 1.0], [1.0, 0.2]])
    >>> figure = map_figure(drawn, pairs.x, pairs.y, pairs.relevance)
    >>> [key for trace in figure.data[:2] for key in trace.customdata]
    ['y:0', 'y:1', 'x:0', 'x:1']
    """
    import plotly.graph_objects as go

    look = get_theme(theme)
    judged = None if relevance is None else Relevance.coerce(relevance, len(x_items), len(y_items))
    sides = make_sides(joint_map, x_items, y_items, judged, (x_name, y_name), look)
    for side, notes in zip(sides, (x_notes, y_notes), strict=True):
        add_notes(side, notes)
    focus = None if highlight is None else find_focus(highlight, sides)
    links = find_links(focus, judged, neighbors)
    colouring = colour_points(color_by, len(x_items), len(y_items), look)

    figure = go.Figure()
    named = draw_flat(
        figure,
        sides,
        colouring,
        focus,
        links,
        look,
        relevance=judged,
        regions=regions,
        max_thumbnails=max_thumbnails,
        width=width,
        height=height,
    )
    apply_theme(figure, look)
    _add_legend(figure, sides, colouring, look, safe_text(color_title, 40))
    figure.update_layout(
        margin={"l": 0, "r": 0, "t": LEGEND_HEIGHT, "b": 0},
        hovermode="closest",
        hoverdistance=24,
        dragmode="pan",
        # The reader's zoom survives while only the highlight changes.
        uirevision=joint_map.method,
    )
    return describe(figure, _alt(joint_map, sides, focus, links, named))


def map_records(
    joint_map: JointMap, x_items: Items, y_items: Items
) -> list[dict[str, str | float]]:
    """List the rows behind a map, for a table or a file.

    Parameters
    ----------
    joint_map : JointMap
        Positions.
    x_items, y_items : Items
        The items in the order of the positions.

    Returns
    -------
    list of dict
        One row an item with ``key`` (its id on the chart), ``side``, ``id``,
        ``label``, and its coordinates ``map_x`` and ``map_y``.
    """
    check_lengths(joint_map, x_items, y_items)
    rows: list[dict[str, str | float]] = []
    for side, items, points in (("x", x_items, joint_map.x), ("y", y_items, joint_map.y)):
        for item, name, point in zip(items.ids, full_names(items), points, strict=True):
            row: dict[str, str | float] = {
                "key": f"{side}:{item}",
                "side": side,
                "id": item,
                "label": name,
            }
            row.update(zip(("map_x", "map_y"), point.tolist(), strict=True))
            rows.append(row)
    return rows


def _add_legend(
    figure: go.Figure,
    sides: tuple[Side, Side],
    colouring: Colouring,
    look: Theme,
    title: str,
) -> None:
    """One entry a side and a group, by traces that draw nothing themselves.

    The dots' own entries would show their size and opacity, which differ.
    """
    import plotly.graph_objects as go

    plain = not colouring.groups and colouring.limits is None

    def entry(name: str, colour: str, symbol: str, **more: object) -> None:
        marker = {"color": colour, "symbol": symbol, "size": 9} | more
        figure.add_trace(
            go.Scatter(
                x=[None], y=[None], mode="markers", name=name, marker=marker, hoverinfo="skip"
            )
        )

    for side in sides:
        name = f"{safe_text(side.title, 40)} ({len(side.items):,})"
        entry(name, side.colour if plain else look.muted, side.symbol)
    for group, colour in colouring.groups:
        entry(group, colour, "square")
    if colouring.limits is not None:
        low, high = colouring.limits
        entry(
            title,
            look.ink,
            "square",
            color=[low],
            cmin=low,
            cmax=high if high > low else low + 1,
            colorscale=colorscale(look),
            showscale=True,
            colorbar={
                "title": {"text": title, "side": "right", "font": {"size": 12}},
                "thickness": 8,
                "len": 0.4,
                "outlinewidth": 0,
                "x": 1.0,
                "xanchor": "right",
                "tickfont": {"size": 11, "color": look.muted},
            },
        )
        figure.data[-1].showlegend = False
    figure.update_layout(
        legend={
            "orientation": "h",
            "x": 0.0,
            "y": 1.0,
            "yanchor": "bottom",
            "itemclick": False,
            "itemdoubleclick": False,
        }
    )


def _alt(
    joint_map: JointMap,
    sides: tuple[Side, Side],
    focus: Focus | None,
    links: Links,
    named: Sequence[Region],
) -> str:
    """Describe the picture in plain words."""
    x, y = sides
    drawn = {"mds": "distances", "umap": "neighbourhoods", "pca": "main directions"}
    text = (
        f"Map of {len(x.items):,} {x.title} and {len(y.items):,} {y.title}, drawn to keep "
        f"{drawn[joint_map.method]} ({joint_map.method.upper()})."
    )
    shown = [
        f"{len(rows):,} {side.title} {verb}"
        for side in sides
        for rows, verb in ((side.written, "are written"), (side.pictured, "are shown as pictures"))
        if rows
    ]
    if shown:
        text += f" {'; '.join(shown)}; the others are dots."
    if named:
        told = "; ".join(clean_text(region.lines[0], 40) for region in named)
        text += f" Regions are about: {told}."
    if focus is not None:
        side, row = focus
        name = clean_text(full_names(side.items)[row], 60)
        other = y if side is x else x
        parts = [f"“{name}” is highlighted"]
        if len(links.partners):
            parts.append(f"joined to {len(links.partners)} {other.title} that belong to it")
        if len(links.nearest):
            near = ", ".join(clean_text(full_names(other.items)[i], 30) for i in links.nearest[:5])
            parts.append(f"nearest to it in the model: {near}")
        text += f" {'; '.join(parts)}."
    if joint_map.quality is not None:
        text += f" {joint_map.quality.describe()}"
    return text
