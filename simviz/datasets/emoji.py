"""Names of emoji in two languages.

The names are those of the Unicode Common Locale Data Repository, read from
the installed package ``emoji`` (https://github.com/carpedm20/emoji).

Attribution: emoji © Taehoon Kim and Kevin Wurster, New BSD License. Names
© Unicode, Inc., Unicode License v3 (https://www.unicode.org/license.txt).
"""

from __future__ import annotations

from collections.abc import Sequence

from simviz.data.cells import as_cells, factorize
from simviz.data.pairs import Items, PairSet
from simviz.datasets import TEXT_S2NET, DemoInfo
from simviz.relevance import Relevance

# Variants of one emoji differ by these alone; their names would be near copies.
_SKIN_TONES = tuple(chr(code) for code in range(0x1F3FB, 0x1F400))


def load_emoji() -> PairSet:
    """Pair the names of each emoji in English and in Spanish."""
    import emoji

    for language in ("en", "es"):
        emoji.config.load_language(language)
    qualified = emoji.STATUS["fully_qualified"]
    named = [
        (glyph, _plain(names["en"]), _plain(names["es"]))
        for glyph, names in emoji.EMOJI_DATA.items()
        if names["status"] == qualified and {"en", "es"} <= names.keys()
        if not any(tone in glyph for tone in _SKIN_TONES)
    ]
    glyphs, x_names, y_names = zip(*named, strict=True)
    x, x_index = merge(x_names, glyphs)
    y, y_index = merge(y_names, glyphs)
    relevance = Relevance.from_pairs(x_index, y_index, shape=(len(x), len(y)), unjudged="negative")
    return PairSet(x, y, relevance, "emoji", "English names", "Spanish names")


def _plain(name: str) -> str:
    """``:red_heart:`` as it would be said."""
    return " ".join(name.strip(":").replace("_", " ").split())


def merge(texts: Sequence[str], glyphs: Sequence[str]) -> tuple[Items, list[int]]:
    """Distinct texts as items, and the item of each text; the first glyph is the label."""
    index, first, distinct = factorize(as_cells(texts))
    labels = as_cells([glyphs[i] for i in first])
    ids = ["-".join(f"{ord(c):x}" for c in glyph) for glyph in labels]
    return Items(ids, distinct, "text", {"label": labels}), index.tolist()


DEMO = DemoInfo(
    id="emoji",
    title="Two languages",
    description="Names of emoji in English and in Spanish, to find the one from the other.",
    source="Unicode CLDR, through the package emoji by Taehoon Kim and Kevin Wurster",
    licence="Unicode License v3 (names), New BSD License (package)",
    x_name="English names",
    y_name="Spanish names",
    split_by="pair",
    methods={
        "tfidf_cosine": {},
        "hdlr": {"n_components": 100, "max_iter": 5},
        "s2net": TEXT_S2NET,
    },
    metric="MRR",
    direction="x2y",
    size="1,923 pairs of names",
    loader=load_emoji,
    position=20,
)
