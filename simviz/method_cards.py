"""Cards of methods, read from their classes: nothing is written for one method.

The words come from the docstring, the needs from the tags, the parameters
from signature and constraints. A new method has a card by being there.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from simviz.base import EmbeddingModel, MethodTags, PairModel
from simviz.data.pairs import ItemKind
from simviz.features import why_impossible
from simviz.markdown import escape_markdown
from simviz.methods import method_id
from simviz.params import ParamSpec, param_specs

_HEADING = re.compile(r"^(?P<name>\S[^\n]*)\n-{3,}[ \t]*\n", re.M)
# Formulas, literals, and names of things, in this order of precedence.
_ROLE = re.compile(
    r":math:`(?P<math>[^`]+)`"
    r"|``(?P<literal>.+?)``"
    r"|(?::[\w:]+:)?`~?(?P<name>[^`]+)`",
    re.S,
)
_OPTIMISED = re.compile(r"\\(max|min|arg|sum|prod|log|mathbb\{E\})")
_PUNCTUATION = re.compile(r"^[.,;:]")

#: What somebody may have, and what that is called.
HAVE = {
    "texts": "Pairs of texts",
    "pictures": "Words and pictures",
    "vectors": "Vectors",
    "negatives": "Pairs judged wrong",
}
#: What a family is called.
FAMILIES = {
    "lexical": "Words that match",
    "spectral": "Spectral",
    "topic": "Topics",
    "metric": "Metric learning",
    "gradient": "Ranking by gradient",
    "encoder": "Encoders",
}
_SPACES = {
    "one": "Both sides described by the same features, such as words of one language.",
    "two": "Each side with features of its own: the two may be of different kinds.",
    "either": "Both sides described by the same features, or each by its own.",
}
_USES = {
    "unsupervised": "No pairs: the items are enough.",
    "paired": "Pairs that belong together.",
    "discriminative": "Pairs that belong together, and others to set them against: those judged "
    "wrong, or all the rest.",
}
_INPUTS = {
    "tfidf": "Weighted words, or any vectors.",
    "counts": "Counts, of words for instance.",
    "vectors": "Vectors.",
    "characters": "Sequences of characters.",
    "trigrams": "Groups of three characters.",
    "pretrained": "Texts, which a pretrained encoder reads; or ready vectors.",
}


class Piece(NamedTuple):
    """A stretch of a paragraph: text, a formula, or a word of code."""

    kind: Literal["text", "formula", "code"]
    content: str


@dataclass(frozen=True, slots=True)
class Related:
    """A method that another one names as its kin."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ParamRow:
    """A parameter as a row of a table."""

    name: str
    default: str
    allowed: str
    description: str


@dataclass(frozen=True, slots=True)
class MethodCard:
    """Everything a page says about a method."""

    id: str
    tags: MethodTags
    summary: str
    idea: tuple[Piece, ...]
    needs: tuple[str, ...]
    fails: tuple[str, ...]
    notes: tuple[str, ...]
    related: tuple[Related, ...]
    references: tuple[str, ...]
    params: tuple[ParamRow, ...]
    presets: tuple[str, ...]
    code: str


@lru_cache(maxsize=256)
def method_card(cls: type[PairModel]) -> MethodCard:
    """Read the card of a method from its class."""
    parts = sections(inspect.getdoc(cls) or "")
    summary, *rest = paragraphs(parts[""])
    return MethodCard(
        id=method_id(cls),
        tags=cls.tags,
        summary=as_markdown(summary),
        idea=_with_formula(rest),
        needs=needs(cls.tags),
        fails=_fails(cls),
        notes=tuple(as_markdown(p) for p in paragraphs(parts.get("Notes", ""))),
        related=_related(parts.get("See Also", "")),
        references=tuple(as_markdown(p) for p in _references(parts.get("References", ""))),
        params=tuple(_row(spec) for spec in param_specs(cls)),
        presets=tuple(
            f"`preset={name!r}` is `" + ", ".join(f"{k}={v!r}" for k, v in params.items()) + "`."
            for name, params in cls.presets.items()
        ),
        code=code_lines(method_id(cls)),
    )


def needs(tags: MethodTags) -> tuple[str, ...]:
    """What a method has to be given, a sentence each."""
    return _USES[tags.uses], _SPACES[tags.space], _INPUTS[tags.input]


def suits(cls: type[PairModel], have: str) -> bool:
    """Whether a method can do something with what somebody has."""
    if have == "negatives":
        return cls.tags.uses == "discriminative"
    kinds: dict[str, set[ItemKind]] = {
        "texts": {"text"},
        "pictures": {"keyword", "image"},
        "vectors": {"vector"},
    }
    if len(kinds[have]) > 1 and cls.tags.space == "one":
        return False
    return all(why_impossible(kind, cls.tags.input) is None for kind in kinds[have])


def code_lines(method: str) -> str:
    """The lines of Python that train a method and measure it."""
    from simviz.datasets import DEMOS

    demos = list(DEMOS.values())
    shown = [demo for demo in demos if method in demo.methods]
    plain = [demo for demo in demos if demo.split_by == "pair"]
    demo = (shown or plain or demos)[0]
    return (
        "import simviz\n\n"
        f'parts = simviz.split(simviz.load_demo("{demo.id}"), by="{demo.split_by}")\n'
        f'model = simviz.default_pipeline("{method}", parts.train).fit(parts.train)\n'
        "result = simviz.evaluate(model, parts.test.x, parts.test.y, parts.test.relevance)\n"
        f'print(result.value("{demo.metric}", "{demo.direction}"))\n'
    )


def _with_formula(texts: list[str]) -> tuple[Piece, ...]:
    """Paragraphs as Markdown, the objective on a line of its own."""
    split = [pieces(text) for text in texts]
    objective = _objective(split)
    idea: list[Piece] = []
    for i, parts in enumerate(split):
        if objective is None or objective[0] != i:
            idea.append(Piece("text", as_markdown(parts)))
            continue
        at = objective[1]
        before, formula, after = parts[:at], parts[at].content, parts[at + 1 :]
        mark = _PUNCTUATION.match(after[0].content) if after else None
        if mark:
            # It would begin the next line otherwise.
            formula += rf"\,{mark[0]}"
            after = [Piece(after[0].kind, after[0].content[1:]), *after[1:]]
        shown = (
            Piece("text", as_markdown(before).strip()),
            Piece("formula", formula),
            Piece("text", as_markdown(after).strip()),
        )
        idea += [piece for piece in shown if piece.content]
    return tuple(idea)


def _objective(split: list[list[Piece]]) -> tuple[int, int] | None:
    """Where the first formula stands that optimises or sums something; else the longest."""
    formulas = [
        (i, j, part.content)
        for i, parts in enumerate(split)
        for j, part in enumerate(parts)
        if part.kind == "formula"
    ]
    telling = [one for one in formulas if _OPTIMISED.search(one[2])]
    if telling:
        return telling[0][:2]
    longest = max(formulas, key=lambda one: len(one[2]), default=None)
    return longest and longest[:2]


def _fails(cls: type[PairModel]) -> tuple[str, ...]:
    """When not to use a method, as far as its tags tell."""
    tags = cls.tags
    reasons = []
    if tags.space == "one":
        reasons.append("The sides have no features in common, as words and pictures have not.")
    if tags.uses == "paired":
        reasons.append("The pairs judged wrong matter: it does not look at them.")
    if tags.input == "counts":
        reasons.append("The features are not counts: pictures, or numbers below 0.")
    if tags.input == "characters":
        reasons.append("The texts are long: only their beginnings are read, and that slowly.")
    if not issubclass(cls, EmbeddingModel):
        reasons.append("Vectors are wanted: it only says how similar two items are.")
    return tuple(reasons)


def _related(section: str) -> tuple[Related, ...]:
    """The methods that a See Also section names."""
    methods = []
    for entry in re.finditer(r"^(\S+)(?:[ \t]*:[ \t]*(.*(?:\n[ \t]+.*)*))?$", section, re.M):
        module, _, name = entry[1].rpartition(".")
        cls = getattr(importlib.import_module(module), name, None) if module else None
        if inspect.isclass(cls) and issubclass(cls, PairModel):
            text = as_markdown(" ".join((entry[2] or "").split()))
            methods.append(Related(method_id(cls), cls.tags.title, text))
    return tuple(methods)


def _references(section: str) -> list[str]:
    """Papers of a References section: each begins at the margin and ends with a period."""
    texts = [re.sub(r"^\.\. \[\d+\]\s*", "", text) for text in paragraphs(section)]
    # Papers that follow without a blank line are told apart by their years.
    return [
        part
        for text in texts
        for part in re.split(r"(?<=\.)\s+(?=[A-Z][\w\-]+,? [^.]*?\(\d{4}\))", text)
    ]


def _row(spec: ParamSpec) -> ParamRow:
    default = repr(spec.default) if isinstance(spec.default, str) else f"{spec.default}"
    return ParamRow(spec.name, default, _allowed(spec), as_markdown(spec.description))


def _allowed(spec: ParamSpec) -> str:
    """What a parameter may be, in words."""
    text = {
        "int": "a whole number",
        "float": "a number",
        "bool": "True or False",
        "choice": " or ".join(repr(choice) for choice in spec.choices),
        "other": "an object",
    }[spec.kind] + _bounds(spec)
    return f"{text}; or None" if spec.optional and spec.kind != "bool" else text


def _bounds(spec: ParamSpec) -> str:
    low, high = map(_finite, (spec.low, spec.high))
    if low is not None and high is not None:
        return f" from {low} to {high}" if spec.closed == "both" else f" between {low} and {high}"
    if low is not None:
        return f", {low} or more" if spec.closed in ("left", "both") else f" above {low}"
    if high is not None:
        return f", {high} or less" if spec.closed in ("right", "both") else f" below {high}"
    return ""


def _finite(value: Any) -> str | None:
    """A bound as it is written; None where there is none."""
    if value is None or math.isinf(value):
        return None
    return f"{value:g}"


def sections(doc: str) -> dict[str, str]:
    r"""Parts of a docstring by their headings."""
    parts, name, start = {}, "", 0
    for heading in _HEADING.finditer(doc):
        parts[name] = doc[start : heading.start()].strip()
        name, start = heading["name"].strip(), heading.end()
    parts[name] = doc[start:].strip()
    return parts


def paragraphs(text: str) -> list[str]:
    """Paragraphs as single lines."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def pieces(paragraph: str) -> list[Piece]:
    """A paragraph as text, formulas and code, in their order.

    Examples
    --------
    >>> pieces(r"Keeps :math:`x^2` of `x_`.")
    [Piece(kind='text', content='Keeps '), Piece(kind='formula', content='x^2'), \
Piece(kind='text', content=' of '), Piece(kind='code', content='x_'), \
Piece(kind='text', content='.')]
    """
    parts: list[Piece] = []
    start = 0
    for role in _ROLE.finditer(paragraph):
        parts.append(Piece("text", paragraph[start : role.start()]))
        if role["math"] is not None:
            parts.append(Piece("formula", " ".join(role["math"].split())))
        else:
            parts.append(Piece("code", role["literal"] or role["name"]))
        start = role.end()
    return [part for part in (*parts, Piece("text", paragraph[start:])) if part.content]


def as_markdown(paragraph: str | Sequence[Piece]) -> str:
    r"""A paragraph of a docstring as Markdown, formulas between dollar signs."""
    parts = pieces(paragraph) if isinstance(paragraph, str) else paragraph
    shown = {"text": escape_markdown, "formula": "${}$".format, "code": "`{}`".format}
    return "".join(shown[part.kind](part.content) for part in parts)
