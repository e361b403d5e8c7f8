"""How charts look: two themes, and one colour and dash per method everywhere."""

from __future__ import annotations

import hashlib
import html
import json
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import plotly.graph_objects as go

ThemeName = Literal["light", "dark"]

# No face with proportional figures: numbers in a column must align.
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a chart.

    Parameters
    ----------
    name : {"light", "dark"}
        Which of the two.
    paper : str
        The page that the chart lies on, for halos around text.
    ink, muted, faint : str
        Text; secondary text and thin lines; grid lines.
    accent : str
        What means "look here", and the x side.
    second : str
        The y side.
    palette : tuple of str
        Eight hues that stay apart for colour-blind readers.
    scale : tuple of str
        Low to high, for numbers shown as colour.
    """

    name: ThemeName
    paper: str
    ink: str
    muted: str
    faint: str
    accent: str
    second: str
    palette: tuple[str, ...]
    scale: tuple[str, ...]


# The hues follow Okabe and Ito (2008), darkened on paper and lightened on the
# dark page until each has a contrast of at least 3 : 1 with its background.
_HUES = ("blue", "vermilion", "green", "purple", "ochre", "sky", "wine", "grey")
LIGHT = Theme(
    name="light",
    paper="#fcfbf8",
    ink="#23272e",
    muted="#6a6f78",
    faint="#e6e3dc",
    accent="#1b6a8f",
    second="#b4561f",
    palette=tuple("#0a5fa3 #cc4b00 #00805f #b0508c #a87400 #2f8fc4 #7a2048 #868b93".split()),
    scale=("#e9e2cf", "#e3b778", "#d17f43", "#a4462f", "#5b1e2a"),
)
DARK = Theme(
    name="dark",
    paper="#14171c",
    ink="#e8e6e1",
    muted="#9a9fa8",
    faint="#2b3038",
    accent="#6cc0e5",
    second="#f0a268",
    palette=tuple("#5aa2ef #ff8347 #3fc49a #e08fc4 #dcb13c #8fd3f7 #d8698f #a0a5af".split()),
    scale=("#4b5468", "#84604f", "#b06a3c", "#e89f52", "#ffe0a3"),
)
THEMES: dict[ThemeName, Theme] = {"light": LIGHT, "dark": DARK}

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")

# Kin share a hue and differ in dash; what is usually compared differs in hue, to colour-blind
# readers in lightness at least. No second blue: a line of "sky" is taken for one of "blue".
_METHODS: dict[str, tuple[str, str, str]] = {
    "s2net": ("vermilion", "solid", "circle"),
    "siamese_blstm": ("vermilion", "dash", "bowtie"),
    "opca": ("green", "solid", "square"),
    "pca": ("green", "dash", "square-open"),
    "cca": ("blue", "solid", "diamond"),
    "kernel_cca": ("blue", "dash", "diamond-open"),
    "heterogeneous_svd": ("ink", "solid", "hexagon"),
    "kernel_heterogeneous_svd": ("ink", "dash", "hexagon-open"),
    "cl_lsi": ("purple", "solid", "triangle-up"),
    "lsa": ("purple", "dash", "triangle-up-open"),
    "jplsa": ("ochre", "solid", "triangle-down"),
    "cplsa": ("ochre", "dash", "triangle-down-open"),
    "plsa": ("ochre", "dot", "star"),
    "pltm": ("ochre", "dashdot", "pentagon"),
    "lda": ("ochre", "longdash", "pentagon-open"),
    "ssi": ("wine", "solid", "cross"),
    "pamir": ("wine", "dash", "x"),
    "mlc": ("wine", "dot", "cross-open"),
    "hdlr": ("wine", "dashdot", "x-open"),
    "tfidf_cosine": ("grey", "solid", "circle-open"),
    "bm25": ("grey", "dash", "diamond-wide"),
    "query_expansion": ("grey", "dot", "star-square"),
    "ngram_matcher": ("grey", "dashdot", "hourglass"),
    "cosine": ("grey", "longdash", "hexagram"),
    "procrustes": ("green", "dot", "hexagram-open"),
    "ridge_identity": ("blue", "dot", "star-open"),
}

# A second run of a method keeps its hue. These dashes are no method's own, and
# Plotly takes them as they are. Where all are taken, they begin again in another shade.
_AGAIN = ("10px,3px", "3px,3px", "12px,3px,3px,3px,3px,3px", "1px,4px", "18px,4px,6px,4px")
#: How much of the hue each shade keeps; the rest is that of text.
_SHADES = (1.0, 0.55, 0.25, 0.75)


class MethodStyle(NamedTuple):
    """Colour, dash and marker symbol of one method.

    Parameters
    ----------
    colour : str
        As CSS writes it.
    dash : str
        Plotly's name of the dash of its lines.
    symbol : str
        Plotly's name of the symbol of its markers.
    """

    colour: str
    dash: str
    symbol: str


def get_theme(theme: ThemeName | Theme) -> Theme:
    """Look a theme up by its name."""
    if isinstance(theme, Theme):
        return theme
    if theme not in THEMES:
        raise ValueError(f"theme must be 'light' or 'dark', got {theme!r}.")
    return THEMES[theme]


def method_style(method_id: str, theme: ThemeName | Theme = "light") -> MethodStyle:
    """Colour, dash and marker of a method, the same on every page.

    Parameters
    ----------
    method_id : str
        Id of a method; one that is not known gets a style from its name. One that ends in "~1",
        "~2" and so on is a further run of that method: its hue and marker with another dash,
        from the sixth on in another shade. The 21st looks as the first again.
    theme : {"light", "dark"} or Theme, default="light"
        The hue is the same in both, its lightness is not.

    Returns
    -------
    MethodStyle
        No two known methods share both colour and dash, or the marker.

    Examples
    --------
    >>> method_style("cca")
    MethodStyle(colour='#0a5fa3', dash='solid', symbol='diamond')
    >>> method_style("cca~1").dash
    '10px,3px'
    """
    method_id, _, again = method_id.partition("~")
    if method_id in _METHODS:
        hue, dash, symbol = _METHODS[method_id]
    else:
        code = int.from_bytes(hashlib.blake2b(method_id.encode(), digest_size=4).digest(), "big")
        hue = _HUES[code % len(_HUES)]
        # The last dashes are nobody's in the table: no clash with a known method.
        dash = _DASHES[5]
        symbol = f"{_SYMBOLS[code // len(_HUES) % len(_SYMBOLS)]}-dot"
    shade = _SHADES[0]
    if again.isdecimal() and int(again):
        row, at = divmod(int(again) - 1, len(_AGAIN))
        dash, shade = _AGAIN[at], _SHADES[row % len(_SHADES)]
    look = get_theme(theme)
    colour, other = look.ink, look.muted
    if hue != "ink":
        colour, other = look.palette[_HUES.index(hue)], look.ink
    return MethodStyle(mix(colour, other, shade), dash, symbol)


def mix(first: str, second: str, share: float) -> str:
    """Blend two colours "#rrggbb"; `share` of the first."""
    parts = (
        round(share * int(first[i : i + 2], 16) + (1 - share) * int(second[i : i + 2], 16))
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def apply_theme(figure: go.Figure, theme: ThemeName | Theme = "light") -> go.Figure:
    """Give a figure the type and the colours of a theme.

    Parameters
    ----------
    figure : plotly Figure
        Changed in place.
    theme : {"light", "dark"} or Theme, default="light"
        Which look. The background is transparent, so that the page shows.

    Returns
    -------
    plotly Figure
        The same figure.
    """
    import plotly.graph_objects as go

    look = get_theme(theme)
    axis = {
        "gridcolor": look.faint,
        "linecolor": look.muted,
        "zeroline": False,
        "tickcolor": look.muted,
        "tickfont": {"color": look.muted, "size": 12},
        "title": {"font": {"color": look.ink, "size": 13}, "standoff": 10},
    }
    figure.update_layout(
        # An empty template: the default one would bring its own colours.
        template=go.layout.Template(),
        colorway=list(look.palette),
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": look.ink},
        hoverlabel={
            "bgcolor": look.paper,
            "bordercolor": look.muted,
            "font": {"family": FONT, "size": 13, "color": look.ink},
            "align": "left",
        },
        legend={"font": {"size": 12, "color": look.ink}, "bgcolor": "rgba(0,0,0,0)"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": look.muted, "activecolor": look.accent},
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    return figure


def describe(figure: go.Figure, alt: str) -> go.Figure:
    """Attach a plain-text description, for screen readers and exports."""
    figure.update_layout(meta={**(figure.layout.meta or {}), "alt": alt})
    return figure


def legend_below(figure: go.Figure, title: str) -> None:
    """Put the legend below the axes, where it never covers a curve."""
    entries = sum(trace.showlegend is not False for trace in figure.data)
    figure.update_layout(
        margin={"l": 60, "r": 26, "t": 8, "b": 62 + 19 * (entries + 1)},
        hovermode="closest",
        # A single curve has a legend too: its value stands there.
        showlegend=True,
        legend={
            "title": {"text": title, "font": {"size": 12}},
            "orientation": "v",
            "x": 0.0,
            "yref": "container",
            "y": 0.0,
            "yanchor": "bottom",
        },
    )


#: Pixels above the axes (for buttons), below them, of a name beside them, of a character of it.
_ABOVE, _BELOW, _LINE, _CHARACTER = 32, 62, 17, 7.2
#: From how many lines away on a name is not joined with the end of its curve.
_FAR = 3


def label_ends(figure: go.Figure, height: int) -> None:
    """Name curves at their ends in a figure so high; the best where there is no room for all."""
    import numpy as np
    from scipy.optimize import isotonic_regression

    look = figure.layout
    inside, low_high = height - _ABOVE - _BELOW, look.yaxis.range
    ys = [np.asarray(trace.y, dtype=np.float64) for trace in figure.data]
    if low_high is None:
        y = np.concatenate(ys)
        low = 0.0 if look.yaxis.rangemode == "tozero" else float(np.nanmin(y))
        high = float(np.nanmax(y))
        margin = 0.06 * (high - low or 1.0)  # the best value is written above its ring
        low_high = (low - margin * (low != 0), high + margin)
    low, high = low_high
    curves = [(t, y) for t, y in zip(figure.data, ys, strict=True) if t.meta]
    curves = curves[: inside // _LINE]
    last = [float(curve.x[-1]) for curve, _ in curves]
    border = max(last, default=0.0)
    if look.xaxis.range is not None and look.xaxis.type != "log":
        border = min(border, look.xaxis.range[1])
    ends = []
    for (curve, y), end in zip(curves, last, strict=True):
        value = float(np.interp(border, np.asarray(curve.x, dtype=np.float64), y))
        ends.append((value - low) / (high - low))
        if end < border:  # a thin line leads on to its name
            line = {"color": curve.line.color, "width": 1, "dash": "dot"}
            on = {"x": [end, border], "y": [value, value], "mode": "lines", "line": line}
            figure.add_scatter(**on, hoverinfo="skip", showlegend=False)
    at = np.clip(np.nan_to_num(ends), 0.0, 1.0)
    # As near to the ends as names can stand without overlapping.
    order, steps = np.argsort(-at, kind="stable"), _LINE * np.arange(len(at))
    placed = isotonic_regression(inside * at[order] + steps, increasing=False).x
    placed = (np.clip(placed, steps[-1:].sum(), inside) - steps) / inside
    shapes, names = [], []
    for place, i in zip(placed.tolist(), order.tolist(), strict=True):
        curve = curves[i][0]
        ways = (
            ((2, 11), (float(at[i]), place), {"color": look.xaxis.linecolor, "width": 1}),
            ((11, 35), (place, place), curve.line.to_plotly_json()),
        )
        is_far = abs(float(at[i]) - place) * inside > _FAR * _LINE
        for (x0, x1), (y0, y1), line in ways[is_far:]:
            across = {"xref": "paper", "xsizemode": "pixel", "xanchor": 1, "x0": x0, "x1": x1}
            down = {"yref": "paper", "y0": y0, "y1": y1}
            shapes.append({"type": "line", "line": line, **across, **down})
        names.append(
            {
                "text": curve.meta["label"],
                "showarrow": False,
                "font": {"size": 12},
                **{"xref": "paper", "x": 1, "xanchor": "left", "xshift": 38},
                **{"yref": "paper", "y": place, "yanchor": "middle"},
            }
        )
    longest = max((len(html.unescape(name["text"])) for name in names), default=0)
    figure.update_layout(
        height=height,
        shapes=shapes,
        annotations=[*look.annotations, *names],
        showlegend=False,
        margin={"t": _ABOVE, "b": _BELOW, "r": 44 + round(_CHARACTER * longest)},
    )
    # As wide as the page allows, rather than square.
    figure.update_yaxes(range=[low, high], scaleanchor=False)


# Joiners and selectors that are part of how emoji and some scripts are written.
_ALLOWED_FORMATS = frozenset("\u200c\u200d\ufe0e\ufe0f")
#: Characters that are not seen: some turn the direction of what follows.
_UNSEEN = {
    code: " " if unicodedata.category(chr(code)) == "Cc" else None
    for code in (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2070), 0xFEFF)
    if unicodedata.category(chr(code)) in ("Cc", "Cf") and chr(code) not in _ALLOWED_FORMATS
}


def clean_text(text: object, limit: int = 80) -> str:
    r"""Make one line without control characters, shortened to `limit` characters."""
    # Far more than is kept need not be looked at: cells can be megabytes.
    raw = str(text)[: 8 * limit + 64]
    characters = (
        " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in raw
        if unicodedata.category(c) not in ("Cf", "Cs", "Co") or c in _ALLOWED_FORMATS
    )
    line = " ".join("".join(characters).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,;:.") + "…"


def safe_line(text: object, limit: int = 80) -> str:
    """One line without control characters; quicker than `clean_text`, not escaped."""
    line = " ".join(str(text)[: 2 * limit + 64].translate(_UNSEEN).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip(" ,;:.") + "…"


def safe_text(text: object, limit: int = 80) -> str:
    """`clean_text` with ``<``, ``>`` and ``&`` escaped for Plotly."""
    # Quotes stay: Plotly shows the entity &quot; as it is written.
    return html.escape(clean_text(text, limit), quote=False)


def is_glyph(text: str) -> bool:
    """Whether a label is a picture in itself, such as an emoji."""
    return (
        0 < len(text) <= 12
        and any(unicodedata.category(c) in ("So", "Sk") or c == "\u20e3" for c in text)
        and not any(c.isalpha() for c in text)
    )


def script_json(value: object) -> str:
    """JSON that ends no element and no line of a script, whatever stands in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        text = text.replace(c, f"\\u{ord(c):04x}")
    # A lone surrogate could not be written to a file.
    return text.encode("utf-8", "backslashreplace").decode()
