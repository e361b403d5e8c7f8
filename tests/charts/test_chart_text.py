import html
import unicodedata

from hypothesis import example, given, settings, strategies as st

from simviz.charts.style import clean_text, is_glyph, safe_text


@settings(max_examples=200)
@given(st.text(max_size=300), st.integers(2, 60))
@example("a\u202eb\u0000c\ud800", 10)
@example("<" * 50, 10)
def test_safe_text_is_one_short_line_without_markup(text, limit):
    safe = safe_text(text, limit)
    assert "<" not in safe and ">" not in safe
    shown = html.unescape(safe) if "&" in safe else safe
    assert shown == clean_text(text, limit) or "&" in text
    plain = clean_text(text, limit)
    assert len(plain) <= limit
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Co") for c in plain)
    assert "\u202e" not in plain


def test_a_megabyte_is_cut_without_being_read():
    assert clean_text("word " * 1_000_000, 12) == "word word…"
    assert clean_text("\u202e" * 40 + "word", 4) == "word", "what is not seen takes no room"


def test_emoji_made_of_several_characters_stay_whole():
    assert clean_text("👩‍👧 ❤️") == "👩‍👧 ❤️"


def test_glyphs_are_told_from_words():
    assert all(map(is_glyph, ["😀", "👩‍👧", "🇪🇸", "1️⃣", "☂️"]))
    assert not any(map(is_glyph, ["", "ok", "4", "coche", "a😀", "©a", "12"]))
