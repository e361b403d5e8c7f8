import importlib

import numpy as np
import pytest
from test_documents import doc

from simviz.data.splitting import split
from simviz.datasets._documents import link, public_names
from simviz.datasets.pydocs import LARGEST_MODULE, load_pydocs, pair_summaries
from simviz.datasets.pydocs_links import load_pydocs_links, pair_halves


@pytest.fixture(scope="module")
def pairs():
    return load_pydocs()


@pytest.fixture(scope="module")
def halves():
    return load_pydocs_links()


def grade(pairs, summary, name):
    x, y = list(pairs.x.content).index(summary), list(pairs.y.ids).index(name)
    return pairs.relevance.matrix[x, y]


def test_size_and_grades(pairs):
    n_x, n_y = pairs.shape
    assert 2_000 < n_x <= n_y < 4_000
    assert pairs.relevance.unjudged == "negative"
    grades = pairs.relevance.matrix.data
    assert set(grades) == {1, 2, 3}
    assert (grades == 3).sum() == n_y, "every document has its summary, and one only"
    assert 2 < (grades == 2).sum() / n_y < 6
    assert (grades == 1).sum() < (grades == 2).sum()
    for package in ("numpy", "scipy", "sklearn", "pandas"):
        assert (pairs.y.metadata["package"] == package).sum() > 200


def test_known_functions(pairs):
    summary = "Singular Value Decomposition."
    assert grade(pairs, summary, "numpy.linalg.svd") == 3
    assert grade(pairs, summary, "scipy.linalg.svd") == 3
    assert grade(pairs, summary, "scipy.linalg.svdvals") == 2
    assert grade(pairs, summary, "pandas.merge") == 0
    assert pairs.y.labels[list(pairs.y.ids).index("numpy.linalg.svd")] == "linalg.svd"


def test_summaries_are_unique_and_not_in_their_documents(pairs):
    assert len(set(pairs.x.content)) == len(pairs.x)
    own = pairs.relevance.matrix.tocoo()
    for x, y in zip(own.row[own.data == 3], own.col[own.data == 3], strict=True):
        assert pairs.x.content[x].lower() not in pairs.y.content[y].lower()


def test_texts_are_clean(pairs):
    for text in (*pairs.x.content, *pairs.y.content):
        assert text == " ".join(text.split())
        assert "`" not in text
        assert len(text.split()) >= 2
    assert not any("See Also" in text or ">>> " in text for text in pairs.x.content)
    # Only the sections are left out: some notes hold a line of code.
    assert np.mean([">>> " in text for text in pairs.y.content]) < 0.05


def test_small_modules_are_grade_1_and_large_ones_are_not():
    small = {doc(f"Small number {i} here.", "numpy.hub"): [f"numpy.small.f{i}"] for i in range(3)}
    numbers = range(LARGEST_MODULE + 1)
    large = {doc(f"Large number {i} here.", "scipy.hub"): [f"scipy.f{i}"] for i in numbers}
    hubs = {doc(f"Hub of {p} itself."): [f"{p}.hub"] for p in ("numpy", "scipy")}
    pairs = pair_summaries(link(small | large | hubs))
    assert grade(pairs, "Small number 0 here.", "numpy.small.f2") == 1
    assert grade(pairs, "Small number 0 here.", "numpy.small.f0") == 3
    assert grade(pairs, "Small number 0 here.", "numpy.hub") == 2
    assert grade(pairs, "Hub of numpy itself.", "numpy.small.f0") == 2, "linked either way"
    assert grade(pairs, "Large number 0 here.", "scipy.f2") == 0


def test_a_summary_of_two_packages_is_one_query():
    linking, linked = doc("Solve it all.", "scipy.solve"), doc("Solve it all.")
    pairs = pair_summaries(link({linking: ["numpy.solve"], linked: ["scipy.solve"]}))
    assert pairs.shape == (1, 2)
    assert pairs.relevance.matrix.toarray().tolist() == [[3, 3]]


def test_halves_share_no_document_and_all_have_links(pairs, halves):
    assert not set(halves.x.ids) & set(halves.y.ids)
    assert set(halves.x.ids) | set(halves.y.ids) == set(pairs.y.ids)
    assert 0.8 < len(halves.x) / len(halves.y) < 1.25
    assert (halves.relevance.positives.sum(axis=1) > 0).all()
    assert (halves.relevance.positives.sum(axis=0) > 0).all()


def test_most_links_run_between_the_halves(pairs, halves):
    graded = pairs.relevance.matrix
    linked = (graded.data == 2).sum() / 2  # pairs: grade 2 is given either way
    assert 0.6 < halves.relevance.positives.nnz / linked < 0.9


def test_links_are_those_of_the_docstring(halves):
    found = halves.relevance.positives.tocoo()
    across = {
        frozenset((halves.x.ids[a], halves.y.ids[b]))
        for a, b in zip(found.row, found.col, strict=True)
    }
    known = [("cho_solve", "cho_factor"), ("lu_factor", "lu_solve"), ("lu", "lu_factor")]
    assert across & {frozenset(f"scipy.linalg.{name}" for name in pair) for pair in known}
    assert len(across) == found.nnz, "a pair stands once, however often it is linked"


def test_dealing_a_chain_cuts_every_link():
    said = {doc(f"Number {i} of the chain.", f"f{i + 1}"): [f"numpy.f{i}"] for i in range(5)}
    library = link(said | {doc("The last of all."): ["numpy.f5"]})
    assert pair_halves(library).relevance.positives.nnz == 5


@pytest.mark.parametrize("demo", ["pairs", "halves"])
def test_parts_hold_no_query_twice(demo, request):
    parts = split(request.getfixturevalue(demo), "x")
    train, test = set(parts.train.x.ids), set(parts.test.x.ids)
    assert not train & test
    if demo == "halves":
        assert not test & set(parts.test.y.ids), "nothing competes among its own answers"


def test_hostile_docstrings_come_out_as_text():
    evil = "<script>alert(1)</script>"
    said = {
        doc(f"Run {evil} {i} now.\n\n{evil}", f"numpy.f{(i + 1) % 4}"): [f"numpy.f{i}"]
        for i in range(4)
    }
    pairs = pair_summaries(link(said))
    assert evil in pairs.x.content[0] and evil in pairs.y.content[0]


@pytest.mark.parametrize("space", ["sklearn.impute", "sklearn.model_selection"])
def test_documents_are_the_same_whatever_was_imported_before(space):
    before = [*public_names(space)]
    for switch in ("enable_halving_search_cv", "enable_iterative_imputer"):
        importlib.import_module(f"sklearn.experimental.{switch}")
    assert before == [*public_names(space)]
    assert not [name for name, _ in before if "Halving" in name or "Iterative" in name]
