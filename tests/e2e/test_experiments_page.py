"""Experiments of the papers on pairs that somebody brought: aligned texts, and graded ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from settling import press, rest

pytestmark = pytest.mark.e2e


def words(seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abcdefgh"), 4)) for _ in range(30)]


def aligned() -> str:
    """Texts, and the same in letters further on in the alphabet."""
    rng, own = np.random.default_rng(0), words(0)
    texts = [" ".join(rng.choice(own, 6)) for _ in range(50)]
    other = str.maketrans("abcdefgh", "klmnopqr")
    return "\n".join(["left,right", *(f"{text},{text.translate(other)}" for text in texts)])


def graded() -> str:
    """Questions about five subjects, and answers on the same one and on others, with grades."""
    rng, own = np.random.default_rng(0), words(1)
    rows = ["question,answer,grade"]
    for i in range(40):
        subject = own[6 * (i % 5) : 6 * (i % 5) + 6]
        asked = " ".join(rng.choice(subject, 3)) + f" q{i}"
        for grade in range(3):
            said = [*rng.choice(subject, 2 * grade), *rng.choice(own, 5 - 2 * grade)]
            rows.append(f"{asked},{' '.join(said)} a{i}{grade},{grade}")
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("table", "title", "methods"),
    [
        (aligned(), "Finding the same document in another language", ("CCA", "CL-LSI")),
        (graded(), "Which text suits a query", ("TF-IDF cosine", "PCA")),
    ],
    ids=["aligned", "graded"],
)
def test_own_data_are_run_from_the_papers_page(
    demo_server, browser, tmp_path, table, title, methods
):
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    (tmp_path / "mine.csv").write_text(table)
    page.goto(f"{demo_server.url}/data")
    page.locator("input[type=file]").first.set_input_files(str(tmp_path / "mine.csv"))
    press(page.get_by_role("button", name="Save and continue"))
    page.wait_for_url(re.compile("/train"))
    press(page.get_by_test_id("stSidebar").get_by_role("link", name="Papers"))
    page.wait_for_url(re.compile("/papers"))
    card = page.locator('[class*="st-key-papers-card-"]').filter(has_text=title)
    card.get_by_role("button", name="Run on mine").wait_for()
    press(card.get_by_role("button", name="Demo size, seed 0"))
    pills = page.get_by_test_id("stPopoverBody").get_by_test_id("stButtonGroup")
    pills.get_by_role("button").first.wait_for()
    rest(page)
    for name in pills.get_by_role("button").all_inner_texts():
        if name not in methods:
            press(pills.get_by_role("button", name=name, exact=True))
    few = f"Demo size, seed 0, {len(methods)} methods"
    press(card.get_by_role("button", name=few))
    press(card.get_by_role("button", name="Run on mine"))
    card.locator(".sv-claim").first.wait_for()
    for said in ("was not run.", "The paper: "):
        expect(card.locator(".sv-claims")).to_contain_text(said)
    for name in methods:
        word = re.compile(name.split()[0].replace("-", "-?"))
        expect(card.locator(".sv-table").first).to_contain_text(word)
    card.locator(".js-plotly-plot").first.wait_for()
    rest(page)
    assert not page.get_by_test_id("stException").count()
