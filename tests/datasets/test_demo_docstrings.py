import pytest

from simviz.datasets._documents import parse_docstring

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
