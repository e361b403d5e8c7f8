"""The site that `make pages` has built: whole, light, linked, and loading nothing from others."""

from __future__ import annotations

import html
import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import simviz
from simviz.methods import all_methods

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
PAGES = sorted(SITE.rglob("*.html"))
#: Written for a program, or measured tables.
REFERENCE = ("reference/", "methods/", "_", "genindex", "py-modindex", "search", "map", "measured")
LARGEST = 400_000
WORDS = 15_000
#: What strangers ask first.
QUESTIONS = 10


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def anchors(page: Path) -> set[str]:
    return set(re.findall(r'\sid="([^"]+)"', text_of(page)))


def links(page: Path, attribute: str = "href|src") -> list[str]:
    found = re.findall(rf'\s(?:{attribute})="([^"]*)"', text_of(page))
    return [html.unescape(link) for link in found]


def local(page: Path, link: str) -> tuple[Path, str]:
    path, anchor = urldefrag(link)
    path = unquote(path.split("?")[0])
    return (page.parent / path).resolve() if path else page, unquote(anchor)


def is_elsewhere(link: str) -> bool:
    return re.match(r"[a-z]+:|//", link) is not None


def loaded(page: Path) -> list[str]:
    """What a browser fetches with a page."""
    styles = re.findall(r"<link\b[^>]*\brel=\"(?:stylesheet|icon)\"[^>]*>", text_of(page))
    named = [link for tag in styles for link in re.findall(r'href="([^"]+)"', tag)]
    return [link for link in (*named, *links(page, "src")) if not link.startswith("data:")]


def test_there_is_a_site():
    assert (SITE / "index.html").exists(), "run: make pages"
    assert len(PAGES) > 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_a_page_is_linked_well_light_and_fetches_nothing_from_others(page):
    for link in links(page):
        if not is_elsewhere(link) and page.name != "map.html":
            path, anchor = local(page, link)
            assert path.exists(), link
            assert not anchor or path.suffix != ".html" or anchor in anchors(path), link
    fetched = [link for link in loaded(page) if link != "map.html"]
    assert not [link for link in fetched if is_elsewhere(link)]
    if page.name != "map.html":
        sizes = {path.stat().st_size for path in {local(page, link)[0] for link in fetched}}
        assert page.stat().st_size + sum(sizes) <= LARGEST


def test_every_exported_name_and_every_method_has_a_place():
    ids = set().union(*map(anchors, PAGES))
    for method, cls in all_methods().items():
        page = SITE / "methods" / f"{method}.html"
        assert f"{cls.__module__}.{cls.__name__}" in anchors(page), method
        assert "processor seconds of the fit" in text_of(page), method
    top = text_of(SITE / "reference" / "simviz.html")
    for info in pkgutil.iter_modules(simviz.__path__, "simviz."):
        if info.ispkg and not info.name.endswith((".workbench", "._")):
            module = importlib.import_module(info.name)
            for name in getattr(module, "__all__", ()):
                assert f"{info.name}.{name}" in ids, f"{info.name}.{name}"
    for name in simviz.__all__:
        where = rf'href="[^"]+"[^>]*>(<[^>]+>)*simviz\.{name}<'
        assert (
            f"simviz.{name}" in ids
            or re.search(where, top)
            or hasattr(getattr(simviz, name), "__path__")
        ), name


def test_the_front_page_answers_what_strangers_ask_first():
    asked = re.search(r"<ol[^>]*>(.*?)</ol>", text_of(SITE / "index.html"), re.S)[1]
    items = re.findall(r"<li>(.*?)</li>", asked, re.S)
    assert len(items) == QUESTIONS
    assert all('<a class="reference internal"' in item for item in items)


@pytest.mark.parametrize("method", ["s2net", "ssi", "siamese_blstm", "heterogeneous_svd"])
def test_the_methods_of_the_papers_say_what_was_found(method):
    page = text_of(SITE / "methods" / f"{method}.html")
    assert "what we found" in page and "on its own data" in page


def test_formulas_are_drawn_by_the_browser_itself():
    page = text_of(SITE / "methods" / "opca.html")
    assert page.count("<math") >= 5
    assert not [p for p in PAGES if ":math:" in text_of(p)]


def test_words_that_are_no_reference_are_few():
    prose = [p for p in PAGES if not str(p.relative_to(SITE)).startswith(REFERENCE)]
    words = 0
    for page in prose:
        body = re.search(r"<article[^>]*>(.*?)</article>", text_of(page), re.S)[1]
        plain = html.unescape(re.sub(r"<pre\b.*?</pre>|<[^>]+>", " ", body, flags=re.S))
        words += sum(any(map(str.isalnum, word)) for word in plain.split())
    assert 10_000 < words <= WORDS, words
