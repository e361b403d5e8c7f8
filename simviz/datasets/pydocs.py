"""Summaries of Python functions, and the documents they introduce.

Both are read from the docstrings of the installed packages NumPy, SciPy, scikit-learn and pandas.

Attribution: NumPy © NumPy Developers, SciPy © SciPy Developers, scikit-learn © the scikit-learn
developers, pandas © AQR Capital Management, LLC, Lambda Foundry, Inc., PyData Development Team and
open source contributors; all under the BSD 3-Clause License.
"""

from __future__ import annotations

from simviz.data.pairs import Items, PairSet
from simviz.datasets import TEXT_S2NET, DemoInfo
from simviz.datasets._documents import Library, module_of, read_library
from simviz.relevance import Relevance

SAME, LINKED, NEIGHBOUR = 3, 2, 1
#: A module of more documents is no topic that they would have in common.
LARGEST_MODULE = 15


def load_pydocs() -> PairSet:
    """Pair the summary line of each docstring with documents, in grades."""
    # A document is without its summary; without its *See Also* section, which would quote the
    # summaries of others; and without examples and references. Its own name may stand in it, as
    # in any document on a thing; one summary in seven has that name as a word, such as "sort",
    # and keeps it.
    # Objects of a package with the same summary are one document, under the shortest name;
    # summaries shared between packages are one query. What is read depends on the installed
    # releases.
    return pair_summaries(read_library())


def pair_summaries(library: Library) -> PairSet:
    """Pair summaries with documents, see `load_pydocs`."""
    y = library.items()
    query: dict[str, int] = {}
    documents = library.documents.values()
    query_rows = [query.setdefault(document.summary, len(query)) for document in documents]
    modules: dict[str, list[int]] = {}
    for i, name in enumerate(library.documents):
        modules.setdefault(module_of(name), []).append(i)
    graded = [(i, i, SAME) for i in range(len(y))]
    graded += [(a, b, LINKED) for link in library.links for a, b in (link, link[::-1])]
    graded += [
        (a, b, NEIGHBOUR)
        for members in modules.values()
        if len(members) <= LARGEST_MODULE
        for a in members
        for b in members
    ]
    of, to, grade = zip(*graded, strict=True)
    # A pair that is listed twice keeps its highest grade.
    relevance = Relevance.from_pairs(
        [query_rows[i] for i in of], to, grade, shape=(len(query), len(y)), unjudged="negative"
    )
    first = [query_rows.index(i) for i in range(len(query))]
    metadata = {name: y.metadata[name][first] for name in ("package", "module")}
    x = Items(y.ids[first], list(query), "text", metadata)
    return PairSet(x, y, relevance, "pydocs", "summaries", "documents")


DEMO = DemoInfo(
    id="pydocs",
    title="Questions and documents",
    description="What a Python function does, in one line, to find its documentation.",
    source="Docstrings of the installed NumPy, SciPy, scikit-learn and pandas, © their developers",
    licence="BSD 3-Clause License",
    x_name="summaries",
    y_name="documents",
    split_by="x",
    methods={"bm25": {}, "ssi": {}, "s2net": TEXT_S2NET},
    metric="NDCG@10 (exponential gain)",
    direction="x2y",
    size="Two and a half thousand documents",
    loader=load_pydocs,
    seconds=20,
    position=30,
)
