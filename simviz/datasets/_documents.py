"""Public objects of four packages: what their docstrings say, and which they link."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent
from types import ModuleType
from typing import Any

from simviz.data.cells import as_cells
from simviz.data.pairs import Items
from simviz.exceptions import DatasetError

_LINKS = "see also"
# Code and what it prints, and titles of papers: a third of the words, and none of them
# says what a function does.
_LEFT_OUT = ("examples", "references")
_SIGNATURE = re.compile(r"[\w.]+ ?[(\[].*[)\]]( -> .+)?", re.DOTALL)
_UNDERLINES = ("---", "===", "~~~")
_TITLE = re.compile(r"[A-Z][\w ]+")
_ROLE = re.compile(r":[a-z:]+:`~?([^`<]*?)(?: ?<[^`]*>)?`")
# SciPy writes the arguments of a decorator as a set, in an order that each process makes anew.
_SET = re.compile(r"(?<=argument\(s\) )\{([^{}]*)\}")
_NAME = r"[A-Za-z_]\w*(?:\.\w+)*"
_NAMES = re.compile(rf"({_NAME}(?:\s*,\s*{_NAME})*)\s*,?(?:\s+:|:\s|:?$)")


@dataclass(frozen=True, slots=True)
class Docstring:
    summary: str
    text: str
    links: tuple[str, ...]


def parse_docstring(docstring: str) -> Docstring:
    (_, head), *sections = _sections(inspect.cleandoc(docstring).split("\n"))
    paragraphs = [p for p in re.split(r"\n\s*\n", "\n".join(head)) if p.strip()]
    # Functions written in C begin with their signatures.
    while len(paragraphs) > 1 and _SIGNATURE.fullmatch(paragraphs[0].strip()):
        del paragraphs[0]
    summary = _plain(paragraphs[0]) if paragraphs else ""
    links: list[str] = []
    text = paragraphs[1:]
    for title, lines in sections:
        if title.lower() == _LINKS:
            links += _linked(lines)
        elif title.lower() not in _LEFT_OUT:
            text += [title, *lines]
    body = _plain("\n".join(text))
    if summary and summary.lower() in body.lower():
        body = re.sub(re.escape(summary), " ", body, flags=re.IGNORECASE)
    return Docstring(summary, " ".join(body.split()), tuple(dict.fromkeys(links)))


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Titles with the lines below them; what precedes the first title has none."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        below = sections[-1][1]
        # The rules of a table stand below several words apart, or above them.
        if line.startswith(_UNDERLINES) and below and _TITLE.fullmatch(below[-1]):
            sections.append((below.pop(), []))
        else:
            below.append(line)
    return sections


def _linked(lines: list[str]) -> list[str]:
    """Names before the colons; deeper lines describe the name above."""
    names: list[str] = []
    for line in dedent("\n".join(lines)).split("\n"):
        match = _NAMES.match(_ROLE.sub(r"\1", line).replace("`", ""))
        if match:
            names += (name.strip() for name in match[1].split(","))
    return names


def _plain(text: str) -> str:
    """Text without the marks that reStructuredText puts around names."""
    line = " ".join(_ROLE.sub(r"\1", text).replace("`", "").split())
    return _SET.sub(lambda match: f"{{{', '.join(sorted(match[1].split(', ')))}}}", line)


# Where the public names are. Left out are numpy.ma and numpy.char, which say again what
# numpy says, and modules that the packages themselves call legacy.
_SPACES = {
    "numpy": "fft lib.stride_tricks linalg polynomial random strings testing",
    "scipy": "cluster.hierarchy cluster.vq differentiate fft integrate interpolate io linalg "
    "ndimage optimize signal signal.windows sparse sparse.csgraph sparse.linalg spatial "
    "spatial.distance spatial.transform special stats stats.qmc",
    "sklearn": "base calibration cluster compose covariance cross_decomposition datasets "
    "decomposition discriminant_analysis dummy ensemble feature_extraction "
    "feature_extraction.text feature_selection gaussian_process gaussian_process.kernels "
    "impute inspection isotonic kernel_approximation kernel_ridge linear_model manifold "
    "metrics metrics.pairwise mixture model_selection multiclass multioutput naive_bayes "
    "neighbors neural_network pipeline preprocessing random_projection semi_supervised svm "
    "tree utils",
    "pandas": "Series.dt Series.str api.types api.typing plotting",
}
# There only once somebody has imported a module of sklearn.experimental, which sets them.
_EXPERIMENTAL = {"HalvingGridSearchCV", "HalvingRandomSearchCV", "IterativeImputer"}
_SHORT = {"np": "numpy", "pd": "pandas", "sp": "scipy"}
MIN_SUMMARY, MIN_TEXT = 2, 20  # words


@dataclass(frozen=True, slots=True)
class Library:
    """Documents by the name of their object, and links between them."""

    documents: dict[str, Docstring]
    links: list[tuple[int, int]]

    def items(self) -> Items:
        names = list(self.documents)
        columns = {
            "label": [".".join(name.split(".")[-2:]) for name in names],
            "package": [name.partition(".")[0] for name in names],
            "module": [module_of(name) for name in names],
        }
        texts = [document.text for document in self.documents.values()]
        return Items(names, texts, "text", {k: as_cells(v) for k, v in columns.items()})


def module_of(name: str) -> str:
    return name.rpartition(".")[0]


def read_library() -> Library:
    names_of: dict[str, list[str]] = {}
    for package, spaces in _SPACES.items():
        for space in (package, *(f"{package}.{name}" for name in spaces.split())):
            for name, docstring in public_names(space):
                names_of.setdefault(docstring, []).append(name)
    library = link(names_of)
    if not library.links:
        raise DatasetError(
            "The installed packages show no docstrings. Start Python without -OO and without "
            "PYTHONOPTIMIZE=2, which drop them."
        )
    return library


def link(names_of: Mapping[str, Sequence[str]]) -> Library:
    """Find out which docstrings link which."""
    parsed_of = {docstring: parse_docstring(docstring) for docstring in names_of}
    # Objects of one package that introduce themselves alike are one to a reader, too.
    alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for docstring, names in names_of.items():
        for name in names:
            key = (name.partition(".")[0], parsed_of[docstring].summary.casefold())
            alike.setdefault(key, []).append((name, docstring))
    documents: dict[str, Docstring] = {}
    shown: dict[str, str] = {}
    for members in alike.values():
        name, docstring = min(members, key=lambda m: (m[0].count("."), len(m[0]), m[0]))
        parsed = parsed_of[docstring]
        shown.update((member, name) for member, _ in members)
        if len(parsed.summary.split()) >= MIN_SUMMARY and len(parsed.text.split()) >= MIN_TEXT:
            documents[name] = parsed
    target_of = _Names(shown)
    links = {
        (shown[name], target)
        for docstring, names in names_of.items()
        for name in names
        for written in parsed_of[docstring].links
        if (target := target_of(written, name)) is not None
    }
    inside = {(a, b) for a, b in links if a != b and a in documents and b in documents}
    linked = sorted({name for pair in inside for name in pair})
    place = {name: i for i, name in enumerate(linked)}
    links_at = sorted((place[a], place[b]) for a, b in inside)
    return Library({name: documents[name] for name in linked}, links_at)


class _Names:
    """Finds what a name written in a docstring stands for."""

    def __init__(self, shown: Mapping[str, str]) -> None:
        self._shown = shown
        self._endings: dict[tuple[str, str], set[str]] = {}
        for name, document in shown.items():
            package, *rest = name.split(".")
            for i in range(len(rest)):
                ending = ".".join(rest[i:])
                self._endings.setdefault((package, ending), set()).add(document)

    def __call__(self, written: str, by: str) -> str | None:
        """Name of the document meant in the docstring of `by`, or None."""
        first, dot, rest = written.partition(".")
        relative = _SHORT.get(first, first) + dot + rest
        scope = by
        while scope:
            scope = scope.rpartition(".")[0]
            name = f"{scope}.{relative}" if scope else relative
            if name in self._shown:
                return self._shown[name]
        # Elsewhere in the package, if there is no doubt where.
        there = self._endings.get((by.partition(".")[0], relative), set())
        return next(iter(there)) if len(there) == 1 else None


def public_names(space: str) -> Iterator[tuple[str, str]]:
    """Full names and docstrings of what a module or class offers, and of methods."""
    try:
        owner = pkgutil.resolve_name(space)
    except (ImportError, AttributeError):
        return  # this release has none
    listed = getattr(owner, "__all__", None) or [n for n in dir(owner) if n[0] != "_"]
    for name in sorted(set(listed) - _EXPERIMENTAL):
        # Static: nothing is computed, and no old name warns that it will go.
        value = inspect.getattr_static(owner, name, None)
        if isinstance(value, ModuleType):
            continue
        yield from _described(f"{space}.{name}", value)
        if inspect.isclass(value):
            for method in dir(value):
                if method[0] != "_":
                    what = inspect.getattr_static(value, method, None)
                    yield from _described(f"{space}.{name}.{method}", what)


def _described(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The name with the value's own docstring, if it has one."""
    value = getattr(value, "__func__", value)
    docstring = getattr(value, "__doc__", None)
    # Functions and classes have a slot for it; a constant shows the docstring of its type.
    of_type = inspect.getattr_static(type(value), "__doc__", None)
    own = not isinstance(of_type, str) or "__doc__" in getattr(value, "__dict__", {})
    if isinstance(docstring, str) and own:
        yield name, docstring
