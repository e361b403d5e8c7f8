"""Names of emoji in two languages.

The names are those of the Unicode Common Locale Data Repository, read from
the installed package ``emoji`` (https://github.com/carpedm20/emoji).

Attribution: emoji © Taehoon Kim and Kevin Wurster, New BSD License. Names
© Unicode, Inc., Unicode License v3 (https://www.unicode.org/license.txt).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simviz.data.pairs import Items, PairSet
from simviz.datasets._info import DemoInfo
from simviz.exceptions import DatasetError
from simviz.registry import unknown_name
from simviz.relevance import Relevance

LANGUAGES = {
    "ar": "Arabic",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fr": "French",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "pt": "Portuguese",
    "ru": "Russian",
    "tr": "Turkish",
    "zh": "Chinese",
}

# Variants of one emoji differ by these alone; their names would be near copies.
_SKIN_TONES = tuple(chr(code) for code in range(0x1F3FB, 0x1F400))


def load_emoji(x_language: str = "en", y_language: str = "es") -> PairSet:
    """Pair the names of each emoji in two languages."""
    for language in (x_language, y_language):
        if language not in LANGUAGES:
            raise DatasetError(unknown_name("language", language, LANGUAGES))
    if x_language == y_language:
        raise DatasetError(
            f"Both sides would be {LANGUAGES[x_language]}. Choose two different languages."
        )
    import emoji

    for language in (x_language, y_language):
        emoji.config.load_language(language)
    qualified = emoji.STATUS["fully_qualified"]
    found = [
        (glyph, _plain(names[x_language]), _plain(names[y_language]))
        for glyph, names in emoji.EMOJI_DATA.items()
        if names["status"] == qualified
        and x_language in names
        and y_language in names
        and not any(tone in glyph for tone in _SKIN_TONES)
    ]
    glyphs, x_names, y_names = zip(*found, strict=True)
    x, x_index = _merge(x_names, glyphs)
    y, y_index = _merge(y_names, glyphs)
    return PairSet(
        x,
        y,
        Relevance.from_pairs(x_index, y_index, shape=(len(x), len(y)), unjudged="negative"),
        name="emoji",
        x_name=f"{LANGUAGES[x_language]} names",
        y_name=f"{LANGUAGES[y_language]} names",
    )


def _plain(name: str) -> str:
    """``:red_heart:`` as it would be said."""
    return " ".join(name.strip(":").replace("_", " ").split())


def _merge(texts: Sequence[str], glyphs: Sequence[str]) -> tuple[Items, list[int]]:
    """Distinct texts as items, and the item of each text; the first glyph is the label."""
    place: dict[str, int] = {}
    first: list[int] = []
    index = []
    for i, text in enumerate(texts):
        if text not in place:
            place[text] = len(place)
            first.append(i)
        index.append(place[text])
    ids = np.array(["-".join(f"{ord(c):x}" for c in glyphs[i]) for i in first], dtype=object)
    labels = np.array([glyphs[i] for i in first], dtype=object)
    return Items(ids, list(place), "text", {"label": labels}), index


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
        "hdlr": {"max_iter": 5},
        "s2net": {"n_components": 100, "init": "cl_lsi", "learning_rate": 0.3},
    },
    metric="MRR",
    direction="x2y",
    size="1,923 pairs of names",
    loader=load_emoji,
    position=20,
)
