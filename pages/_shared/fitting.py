"""Which methods fit a data set, and what to say of them; nothing is drawn here."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simviz.base import PairModel
    from simviz.data.pairs import PairSet
    from simviz.pipeline import Features

#: Ticked at first where they fit: one of each line, the first that fits.
FIRST_CHOICES = (
    ("tfidf_cosine", "bm25"),
    ("cca",),
    ("s2net", "opca", "heterogeneous_svd", "cl_lsi"),
)

NEEDS = {
    "unsupervised": "needs no pairs",
    "paired": "needs only matching pairs",
    "discriminative": "sets matching pairs against others",
}
#: What texts become, as the page asks for it, and what pictures and texts do.
FEATURES = {"usual": "Words and characters", "pretrained": "Pretrained sentence vectors"}
OF_PICTURES = {"usual": "Edges, light and colour", "pretrained": "Pretrained vectors"}
INPUTS = {"trigrams": "groups of three characters"}
SPACES = {"one": "One space for both sides", "two": "One map a side"}


def why_not(cls: type[PairModel], pairs: PairSet, features: Features = "usual") -> str | None:
    """Why a method does not fit a data set, in one sentence; None where it fits.

    Parameters
    ----------
    cls : type
        A method.
    pairs : PairSet
        The data set.
    features : {"usual", "pretrained"} or str, default="usual"
        What texts and pictures become.

    Returns
    -------
    str or None
        What the method asks for and what the data have.
    """
    from simviz.features import why_impossible
    from simviz.pipeline import why_no_adapter

    tags = cls.tags
    if features != "usual" and why_no_adapter(tags):
        return f"Reads {INPUTS.get(tags.input, tags.input)}, and an encoder's vectors are none."
    for side in (pairs.x, pairs.y):
        content = side.content if side.kind == "vector" else None
        reason = why_impossible(side.kind, tags.input, content=content)
        if reason:
            return reason
    if tags.space == "one" and pairs.x.kind != pairs.y.kind:
        return (
            f"Compares items of one kind; here {pairs.x.kind} items meet {pairs.y.kind} items. "
            "Methods with a map for each side can do that."
        )
    relevance = pairs.relevance
    if tags.uses != "unsupervised" and not relevance.positives.nnz:
        return "Learns from matching pairs, and there is none in these data."
    explicit = relevance.unjudged == "ignore"
    if tags.uses == "discriminative" and explicit and not relevance.negatives.nnz:
        return (
            "Sets matching pairs against others; none was judged not to match, and pairs "
            "without a judgment do not count in these data."
        )
    return None


def first_choice(fitting: Sequence[str], *, one_vocabulary: bool) -> tuple[str, ...]:
    """Methods worth a first try: a quick baseline, CCA, and one more.

    Parameters
    ----------
    fitting : sequence of str
        Ids of the methods that fit.
    one_vocabulary : bool
        Whether the sides have words in common; without them, a baseline that
        compares words has nothing to say.

    Returns
    -------
    tuple of str
        At most three ids.

    Examples
    --------
    >>> first_choice(["bm25", "cca", "cl_lsi", "lsa"], one_vocabulary=True)
    ('bm25', 'cca', 'cl_lsi')
    >>> first_choice(["bm25", "cca", "cl_lsi", "lsa"], one_vocabulary=False)
    ('cca', 'cl_lsi')
    """
    lines = FIRST_CHOICES if one_vocabulary else FIRST_CHOICES[1:]
    firsts = (next((m for m in line if m in fitting), None) for line in lines)
    return tuple(m for m in firsts if m is not None)


def plain_line(cls: type[PairModel], *, one_vocabulary: bool) -> str:
    """What a method learns and needs, from its docstring and tags.

    Parameters
    ----------
    cls : type
        A method.
    one_vocabulary : bool
        Whether the sides of the data share one.

    Returns
    -------
    str
        Two short sentences.

    Examples
    --------
    >>> from simviz.methods import get_method
    >>> plain_line(get_method("cca"), one_vocabulary=False)
    'Directions on which the two sides agree. One map a side; needs only matching pairs.'
    """
    summary = (inspect.getdoc(cls) or "").partition("\n")[0].rstrip(".")
    # "CCA: directions on which …" says the name again, which stands beside it.
    learns = summary.rpartition(": ")[2]
    tags = cls.tags
    space = tags.space
    if space == "either":
        space = "one" if one_vocabulary else "two"
    return f"{learns[:1].upper()}{learns[1:]}. {SPACES[space]}; {NEEDS[tags.uses]}."


def duration(seconds: float) -> str:
    """A rough time in words.

    Examples
    --------
    >>> [duration(s) for s in (0.2, 4.3, 14, 370, 9000)]
    ['about 1 s', 'about 4 s', 'about 15 s', 'about 6 min', 'about 2.5 h']
    """
    if seconds < 10:
        return f"about {max(1, round(seconds))} s"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 5_400:
        return f"about {round(seconds / 60)} min"
    return f"about {seconds / 3_600:.1f} h"


def memory(n_bytes: float) -> str:
    """A rough size in words.

    Examples
    --------
    >>> memory(323e6), memory(2.4e9)
    ('0.3 GB', '2.4 GB')
    """
    return f"{max(0.1, n_bytes / 1e9):.1f} GB"
