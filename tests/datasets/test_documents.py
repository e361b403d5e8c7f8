"""Docstrings as documents, and the links between them."""

import subprocess
import sys

import pytest

from simviz.datasets import _documents
from simviz.datasets._documents import link, parse_docstring, read_library
from simviz.exceptions import DatasetError

TEXT = "\n\n" + "word " * _documents.MIN_TEXT


def doc(summary, *links):
    section = "\n\nSee Also\n--------\n" + "\n".join(links) if links else ""
    return summary + TEXT + section


def names_linked(library):
    names = list(library.documents)
    return {(names[a], names[b]) for a, b in library.links}


def test_names_are_looked_for_from_the_inside_out():
    library = link(
        {
            doc("Reads the local one.", "g : Here.", "np.g", "A.h", "only_there"): ["numpy.m.f"],
            doc("The local function g."): ["numpy.m.g"],
            doc("The outer function g."): ["numpy.g"],
            doc("A method of A."): ["numpy.A.h"],
            doc("Somewhere else."): ["numpy.deep.inside.only_there"],
        }
    )
    assert names_linked(library) == {
        ("numpy.m.f", target)
        for target in ("numpy.m.g", "numpy.g", "numpy.A.h", "numpy.deep.inside.only_there")
    }


def test_a_name_in_two_places_or_in_another_package_links_nothing():
    library = link(
        {
            doc("Asks for twice.", "twice", "elsewhere", "numpy.ok"): ["numpy.f"],
            doc("It is fine here."): ["numpy.ok"],
            doc("Here it is."): ["numpy.a.b.twice"],
            doc("There it is."): ["numpy.c.d.twice"],
            doc("Not in NumPy."): ["scipy.elsewhere"],
        }
    )
    assert names_linked(library) == {("numpy.f", "numpy.ok")}


def test_objects_alike_are_one_document_that_does_not_link_itself():
    library = link(
        {
            doc("Absolute of it all.", "T.abs", "sign"): ["pandas.abs"],
            doc("Absolute of it all.", "sign"): ["pandas.T.abs"],
            doc("Sign of it all."): ["pandas.sign", "pandas.T.sign"],
        }
    )
    assert names_linked(library) == {("pandas.abs", "pandas.sign")}


def test_without_summary_text_or_link_there_is_no_document():
    library = link(
        {
            doc("Links three of them.", "brief", "bare", "good"): ["numpy.f"],
            doc("Brief."): ["numpy.brief"],
            "Has no text at all.": ["numpy.bare"],
            doc("Good as it is."): ["numpy.good"],
            doc("Good but lonely."): ["numpy.lonely"],
        }
    )
    assert names_linked(library) == {("numpy.f", "numpy.good")}
    assert len(library.documents) == 2


def test_python_without_docstrings_is_told_so(monkeypatch):
    monkeypatch.setattr(_documents, "public_names", lambda space: [])
    with pytest.raises(DatasetError, match="without -OO"):
        read_library()


def test_a_namespace_that_a_release_lacks_is_passed_over(monkeypatch):
    monkeypatch.setattr(_documents, "_SPACES", {"numpy": "linalg no_such_module.at_all"})
    assert "numpy.linalg.svd" in read_library().documents


def test_reading_is_silent_and_runs_nothing_that_draws():
    code = (
        "import sys; from simviz.datasets._documents import read_library; read_library(); "
        "sys.exit(' '.join({'matplotlib', 'torch', 'streamlit'} & set(sys.modules)) or 0)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_constant_does_not_show_the_docstring_of_its_type():
    names = {name for name, _ in _documents.public_names("numpy")}
    assert {"numpy.sin", "numpy.ndarray", "numpy.ndarray.sort", "numpy.where"} <= names
    assert not {"numpy.pi", "numpy.inf", "numpy.newaxis"} & names
    assert "scipy.stats.norm" in {name for name, _ in _documents.public_names("scipy.stats")}


FULL = """
    hypot(x1, x2, /, out=None)

    Given the legs of a right triangle,
    return its `hypotenuse`.

    Equivalent to ``sqrt(x1**2)``. Given the legs of a right triangle, return its hypotenuse.

    Parameters
    ----------
    x1, x2 : array_like
        Legs.

    See Also
    --------
    sqrt : Root of x.
        The colon: in a description links nothing.
    np.power, :func:`~numpy.linalg.norm` : Two of them.
    `numpy.abs`

    Examples
    --------
    >>> np.hypot(3, 4)

    References
    ----------
    .. [1] A paper.

    Notes
    -----
    See :func:`the norm <numpy.linalg.norm>`.
    """


def test_parts_of_a_docstring():
    said = parse_docstring(FULL)
    assert said.summary == "Given the legs of a right triangle, return its hypotenuse."
    assert said.text == (
        "Equivalent to sqrt(x1**2). Parameters x1, x2 : array_like Legs. Notes See the norm."
    )
    assert said.links == ("sqrt", "np.power", "numpy.linalg.norm", "numpy.abs")


@pytest.mark.parametrize("line", [":ref:`a guide` : Read it.", "For more see where it is.", ""])
def test_prose_links_nothing(line):
    assert parse_docstring(f"Add.\n\nSee Also\n--------\n{line}").links == ()


def test_links_may_be_indented_below_their_title():
    links = parse_docstring("Add.\n\nSee Also\n--------\n    sub : Not add.\n    mul\n").links
    assert links == ("sub", "mul")


def test_summary_is_not_repeated_in_any_case():
    said = parse_docstring("Sum of (all).\n\nTHE SUM OF (ALL). Yes.")
    assert "sum of" not in said.text.lower()


@pytest.mark.parametrize("empty", ["", "  \n ", "\n\nSee Also\n--------\n"])
def test_nothing_is_said(empty):
    said = parse_docstring(empty)
    assert (said.summary, said.text, said.links) == ("", "", ())


def test_a_lone_signature_is_all_there_is():
    assert parse_docstring("f(x) -> y").summary == "f(x) -> y"


def test_sets_stand_in_one_order_in_every_process():
    orders = ("{'tol', 'axis', 'mode'}", "{'mode',\n'tol', 'axis'}")
    told = {
        parse_docstring(f"Do it.\n\nUse of argument(s) {order} by position is deprecated.").text
        for order in orders
    }
    assert told == {"Use of argument(s) {'axis', 'mode', 'tol'} by position is deprecated."}
    # Choices that somebody wrote stay as they are.
    assert parse_docstring("Do it.\n\nkind : {'b', 'a'}").text == "kind : {'b', 'a'}"
