"""The site that `make pages` has built: whole, light, linked, and loading nothing from others."""

from __future__ import annotations

import html
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
#: What a stranger asks, where that is answered, and words of the answer.
QUESTIONS = {
    "How do I load a frame of mine?": ("tutorials/own-frame.html", "from_frame(frame, x="),
    "How do I load a TREC folder?": ("tutorials/trec.html", "read_collection("),
    "Which method suits two languages?": ("which-method.html", "two languages"),
    "What does S2Net cost?": ("methods/s2net.html#cost-and-result-by-default", "emoji, MRR"),
    "Why is MRR not what my script says?": ("figures.html#ties", "random orders of the tied"),
    "Which run is ahead, or is it luck?": ("figures.html#intervals-and-tests", "randomisation"),
    "Can I trust the map?": ("figures.html#how-the-drawing-is-made", "Can I trust it?"),
    "How do I share what I found?": ("workbench.html", "publishes a read-only view"),
    "How does a model leave without simviz?": ("library.html#onnx-and-numpy", "onnx_graphs"),
    "What does compare() take?": ("reference/simviz.html", "simviz.compare"),
}


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
        fits = text_of(page).split("processor seconds of the fit")[1].split("</table>")[0]
        assert len(re.findall(r"<p>\d+\.\d+</p>", fits)) in (3, 6), method
    top = text_of(SITE / "reference" / "simviz.html")
    for name in simviz.__all__:
        for inner in getattr(getattr(simviz, name), "__all__", ()):
            assert f"simviz.{name}.{inner}" in ids, f"{name}.{inner}"
        where = rf'href="[^"]+"[^>]*>(<[^>]+>)*simviz\.{name}<'
        assert (
            f"simviz.{name}" in ids
            or re.search(where, top)
            or hasattr(getattr(simviz, name), "__path__")
        ), name


@cache
def clicks() -> dict[str, int]:
    """How many links in the text of pages lead from the front page to each place."""
    away = {"index.html": 0}
    for n in range(2):
        for place in [place for place, steps in away.items() if steps == n]:
            page = SITE / place
            body = re.search(r"<article[^>]*>(.*?)</article>", text_of(page), re.S)
            for link in re.findall(r'<a [^>]*href="([^"]+)"', body[1] if body else ""):
                path, _ = local(page, html.unescape(link))
                if not is_elsewhere(link) and path.suffix == ".html":
                    away.setdefault(str(path.relative_to(SITE)), n + 1)
    return away


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_strangers_ask_is_answered_within_two_clicks(question):
    place, answer = QUESTIONS[question]
    page, anchor = urldefrag(place)
    told = text_of(SITE / page)
    assert clicks()[page] <= 2 and (not anchor or anchor in anchors(SITE / page))
    told = told[told.index(f'id="{anchor}"') :] if anchor else told
    assert answer in html.unescape(re.sub(r"<[^>]+>", "", told))


@pytest.mark.parametrize(
    "method", ["s2net", "ssi", "siamese_blstm", "heterogeneous_svd", "tfidf_cosine", "lsa"]
)
def test_the_methods_of_the_papers_say_what_was_found(method):
    page = text_of(SITE / "methods" / f"{method}.html")
    assert "what we found" in page and "on its own data" in page


def test_baselines_have_the_rows_that_the_papers_call_otherwise():
    pages = [text_of(SITE / "methods" / f"{method}.html") for method in ("tfidf_cosine", "lsa")]
    for page in pages:
        assert "Table 1: ranking by links" in page and "<p>citeulike_t</p>" in page
    assert "<p>mediqa_qa</p>" in pages[0] and "<p>mediqa_qa</p>" not in pages[1]
    assert "With BM25 Heterogeneous SVD ranks better than the vector space model" in pages[0]


def test_figures_of_cases_without_help_stand_in_the_tables_that_they_link():
    cases = re.findall(r"^- (.+)$", (ROOT / "docs" / "when-not.md").read_text("utf-8"), re.M)
    measured = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    named = {re.sub(r"\W+", "-", t.split("\n")[0].lower()): t for t in measured.split("\n## ")}
    seen = 0
    for case in cases:
        tables = "".join(named[anchor] for anchor in re.findall(r"measured\.md#([\w-]+)", case))
        told = {float(one) for one in re.findall(r"[-+−]?\d*\.\d+", tables.replace("−", "-"))}
        for figure in re.findall(r"(?<![\w.])\.\d+", case) if tables else ():
            digits = len(figure) - 1
            assert any(round(abs(one), digits) == float(figure) for one in told), (figure, case)
            seen += 1
    assert seen >= 5


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
