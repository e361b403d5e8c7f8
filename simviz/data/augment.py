"""Augmenting training pairs: variants of texts that keep their meaning.

Every augmenter adds texts to the x side, after Neculoiu, Versteegh and Rotaru (2016),
"Learning Text Similarity with Siamese Recurrent Networks", section 4.2.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import count, islice, permutations
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.pairs import GROUP_SEPARATOR, Items, PairSet
from simviz.exceptions import DatasetError
from simviz.registry import unknown_name

#: Metadata columns that say what made an item, and from which text.
MADE_BY, MADE_FROM = "made_by", "made_from"
#: How inputs put words beside a title.
_BETWEEN = (" ", " ", " - ", ", ")
_PLAIN = re.compile(r"[^\W_]+(?: [^\W_]+)*")
#: As in the paper: one or two words in common, one or two that differ.
MAX_WORDS = 2


class Groups:
    """The groups of a pair set, by name, and what is in each."""

    # A metadata column "group" of the y side says it; without one, items that are relevant to a
    # common item stand together.

    def __init__(self, pairs: PairSet) -> None:
        self.pairs = pairs
        self.of_y = _groups_of_y(pairs)
        #: Name of a group to the positions of its y items.
        self.columns: dict[str, list[int]] = {}
        for j, names in enumerate(self.of_y):
            for name in names:
                self.columns.setdefault(name, []).append(j)
        self._positives = pairs.relevance.positives

    def of_x(self, i: int) -> tuple[str, ...]:
        """Groups all of whose items are relevant to an x item, in a fixed order."""
        p = self._positives
        relevant = p.indices[p.indptr[i] : p.indptr[i + 1]].tolist()
        inside = set(relevant)
        names = dict.fromkeys(name for j in relevant for name in self.of_y[j])
        whole = [n for n in names if inside.issuperset(self.columns[n])]
        # Where judgments are patchy no group may be whole.
        return tuple(whole or names)

    def texts(self) -> dict[str, list[str]]:
        """Distinct texts of each group on both sides, those of the y side first."""
        y = self.pairs.y.content
        texts_of = {name: dict.fromkeys(y[j] for j in js) for name, js in self.columns.items()}
        for i, text in enumerate(self.pairs.x.content):
            for name in self.of_x(i):
                texts_of[name][text] = None
        return {name: list(texts) for name, texts in texts_of.items()}


def _groups_of_y(pairs: PairSet) -> list[tuple[str, ...]]:
    """Groups as the column says, else as relevance says."""
    from scipy.sparse.csgraph import connected_components

    if "group" in pairs.y.metadata:
        cells = enumerate(pairs.y.metadata["group"].tolist())
        # An item of no known group is one of its own.
        named = (f"#{j}" if cell in (None, "") else str(cell) for j, cell in cells)
        return [tuple(names.split(GROUP_SEPARATOR)) for names in named]
    positives = pairs.relevance.positives
    together = sp.csr_array((positives.T @ positives) > 0)
    _, labels = connected_components(together, directed=False)
    return [(str(label),) for label in np.asarray(labels).tolist()]


@dataclass(frozen=True, slots=True)
class AugmentedText:
    """A text that an augmenter made."""

    text: str
    source: str
    groups: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    like: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Augmenter(ABC):
    """A step to a larger pair set: the y side stays, new x items follow the old ones."""

    kind: ClassVar[str]

    @abstractmethod
    def make(self, groups: Groups) -> Iterable[AugmentedText]:
        """Variants of the texts of a pair set, in a fixed order; may repeat what is there."""

    def transform(self, pairs: PairSet, exclude: Iterable[str] = ()) -> PairSet:
        """The pairs and what this step makes of them, but no text of `exclude`, in any case."""
        for side, items in (("x", pairs.x), ("y", pairs.y)):
            if items.kind != "text":
                raise DatasetError(
                    f"Only texts can be augmented; the {side} side holds {items.kind} items."
                )
        groups = Groups(pairs)
        known = {text.casefold() for text in (*pairs.x.content, *pairs.y.content, *exclude)}
        fresh: dict[str, AugmentedText] = {}
        for made in self.make(groups):
            key = made.text.casefold()
            if key.strip() and key not in known:
                at = fresh.setdefault(key, made)
                # What two groups both make belongs to both.
                if not set(made.groups) <= set(at.groups):
                    fresh[key] = _merge_groups(at, made)
        # Some kinds make at most so many texts, drawn by their seed.
        most, seed = getattr(self, "most", None), getattr(self, "seed", 0)
        sample = _sample(list(fresh.values()), most, seed)
        return append(groups, sample, self.kind) if sample else pairs


def make_share(
    groups: Groups, share: float, rng: np.random.Generator, vary: Callable[[str], str]
) -> Iterator[AugmentedText]:
    """Vary texts at random until their relevant pairs are a share of all."""
    texts = groups.pairs.x.content
    counts = np.diff(groups.pairs.relevance.positives.indptr)
    candidates = np.flatnonzero(counts)
    missing = share / (1 - share) * counts.sum()
    seen: set[str] = set()
    n_seen = -1
    while missing > 0 and len(seen) > n_seen:
        n_seen = len(seen)
        for i in rng.permutation(candidates).tolist():
            text = vary(texts[i])
            if text != texts[i] and text.strip() and text not in seen:
                seen.add(text)
                missing -= counts[i]
                yield AugmentedText(text, texts[i], groups.of_x(i), like=i)
            if missing <= 0:
                break


def check_share(share: float, what: str) -> None:
    """Refuse a share that is none."""
    if not 0 < share < 1:
        raise DatasetError(f"share of {what} must lie between 0 and 1, got {share}.")


def append(groups: Groups, made: Sequence[AugmentedText], kind: str) -> PairSet:
    """Put made texts behind the items of the x side."""
    pairs = groups.pairs
    x = pairs.x
    taken = set(x.ids)
    free = (name for n in count() if (name := f"{kind}-{n}") not in taken)
    ids = [*x.ids, *islice(free, len(made))]
    items = Items(ids, [*x.content, *(m.text for m in made)], "text", _metadata(x, made, kind))
    matrix = sp.vstack([pairs.relevance.matrix, _rows(groups, made)], format="csr")
    return replace(pairs, x=items, relevance=replace(pairs.relevance, matrix=matrix))


def _rows(groups: Groups, made: Sequence[AugmentedText]) -> sp.csr_array:
    """Judgments of made texts."""
    matrix = groups.pairs.relevance.matrix
    # What follows from groups is as relevant as it usually is here.
    relevant = matrix.data[matrix.data > 0]
    typical = float(np.median(relevant)) if len(relevant) else 1.0
    indices, data, lengths = [], [], []
    for m in made:
        if m.like is not None:
            row = slice(matrix.indptr[m.like], matrix.indptr[m.like + 1])
            columns, values = matrix.indices[row], matrix.data[row]
        else:
            value = m.weight * typical
            judged = {j: -value for name in m.rejected for j in groups.columns[name]}
            judged |= {j: value for name in m.groups for j in groups.columns[name]}
            columns = np.array(sorted(judged), dtype=matrix.indices.dtype)
            values = np.array([judged[j] for j in columns.tolist()], dtype=np.float64)
        indices.append(columns)
        data.append(values)
        lengths.append(len(columns))
    parts = (np.concatenate(data), np.concatenate(indices), np.cumsum([0, *lengths]))
    return sp.csr_array(parts, shape=(len(made), matrix.shape[1]))


def _metadata(x: Items, made: Sequence[AugmentedText], kind: str) -> dict[str, NDArray[Any]]:
    """Columns of the x side: made texts inherit from what they were made from."""
    place = {text: i for i, text in reversed(list(enumerate(x.content)))}
    sources = np.array([place.get(m.source, -1) for m in made], dtype=np.intp)
    columns: dict[str, NDArray[Any]] = {}
    for name, column in x.metadata.items():
        inherited = column[sources]
        if (sources < 0).any():
            inherited = inherited.astype(object)
            inherited[sources < 0] = None
            column = column.astype(object)
        columns[name] = np.concatenate([column, inherited])
    new = {MADE_BY: [kind] * len(made), MADE_FROM: [m.source for m in made]}
    if "group" in x.metadata:
        new["group"] = [GROUP_SEPARATOR.join(m.groups) for m in made]
    nothing = np.full(len(x), "", dtype=object)
    for name, values in new.items():
        before = x.metadata.get(name, nothing).astype(object)
        columns[name] = np.concatenate([before, np.array(values, dtype=object)])
    return columns


def _merge_groups(a: AugmentedText, b: AugmentedText) -> AugmentedText:
    accepted = tuple(dict.fromkeys(a.groups + b.groups))
    rejected = tuple(g for g in dict.fromkeys(a.rejected + b.rejected) if g not in accepted)
    return replace(a, groups=accepted, rejected=rejected, like=None)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts without repetition, blank ones and needless spaces."""
    return tuple(dict.fromkeys(filter(None, (" ".join(text.split()) for text in texts))))


def best_matches(inputs: Sequence[str], titles: Sequence[str]) -> NDArray[np.intp]:
    """Position of the title that is nearest to each input by its trigrams."""
    # With a, b and c the numbers of trigrams of the input, of the title and of both, the matcher
    # of Neculoiu et al. (2016), section 4.1, ranks by `M - a - b + 3 c`; for one input that is
    # `3 c - b`. A text shorter than three characters has one gram: itself.
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer=_grams, binary=True, dtype=np.int32)
    matrix = sp.csr_array(counter.fit_transform([*inputs, *titles]))
    queries, known = matrix[: len(inputs)], matrix[len(inputs) :].T.tocsr()
    sizes = np.asarray(known.sum(axis=0)).ravel()
    matches = np.empty(len(inputs), dtype=np.intp)
    for start in range(0, len(inputs), 1_024):
        block = (queries[start : start + 1_024] @ known).toarray()
        matches[start : start + 1_024] = (3 * block - sizes).argmax(axis=1)
    return matches


def _grams(text: str) -> list[str]:
    """Trigrams of a text, whatever its case."""
    text = text.casefold()
    return [text[i : i + 3] for i in range(max(1, len(text) - 2))]


@dataclass(frozen=True, slots=True)
class MinedWords(Augmenter):
    """Real inputs that hold a text of the y side, word for word, which an n-gram matcher finds."""

    kind: ClassVar[str] = "mined"
    #: What people wrote; nobody has to have judged it.
    inputs: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _distinct(self.inputs))

    def make(self, groups: Groups) -> Iterator[AugmentedText]:  # noqa: D102 -- as in Augmenter
        titles = groups.pairs.y.content
        for text, j in mine(self.inputs, titles):
            yield AugmentedText(text, titles[j], groups.of_y[j])


@dataclass(frozen=True, slots=True)
class SampledWords(Augmenter):
    """Texts of the x side between words of a list."""

    kind: ClassVar[str] = "extra_words"
    #: Words, or phrases, that change nothing: "senior", "full time", "leeds".
    words: Sequence[str] = ()
    #: Share of the relevant pairs that are pairs with extra words, afterwards.
    share: float = 0.2
    #: Entries of the list around one text, at most.
    most_words: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", _distinct(self.words))
        check_share(self.share, "extra words")
        if self.most_words < 1:
            raise DatasetError(f"most_words must be at least 1, got {self.most_words}.")

    def make(self, groups: Groups) -> Iterator[AugmentedText]:  # noqa: D102 -- as in Augmenter
        rng = np.random.default_rng(self.seed)
        vary = partial(self._surrounded, rng=rng)
        return make_share(groups, self.share, rng, vary) if self.words else iter(())

    def _surrounded(self, text: str, rng: np.random.Generator) -> str:
        n = int(rng.integers(1, min(self.most_words, len(self.words)) + 1))
        for k in rng.choice(len(self.words), n, replace=False):
            # Words of rank come before, most others behind.
            between = _BETWEEN[int(rng.integers(len(_BETWEEN)))]
            before = rng.random() < 0.4
            text = f"{self.words[k]} {text}" if before else f"{text}{between}{self.words[k]}"
        return text


def mine(inputs: Sequence[str], titles: Sequence[str]) -> list[tuple[str, int]]:
    """Inputs that hold the title which an n-gram matcher finds, and more."""
    mined = []
    for text, j in zip(inputs, best_matches(inputs, titles), strict=True):
        title, folded = titles[j].casefold(), text.casefold()
        inside = re.search(rf"(?<!\w){re.escape(title)}(?!\w)", folded)
        if inside and title != folded.strip():
            mined.append((text, int(j)))
    return mined


@dataclass(frozen=True, slots=True)
class ListedSynonyms(Augmenter):
    """Texts with words exchanged for synonyms of a list, one exchange at a time."""

    kind: ClassVar[str] = "synonyms"
    #: Words and what may stand in their place, in this direction only; case does not count.
    synonyms: Sequence[tuple[str, str]] = ()
    #: Texts to make at most, drawn at random by the seed.
    most: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        pairs = []
        for entry in self.synonyms:
            words = tuple(" ".join(str(side).split()) for side in entry) if len(entry) == 2 else ()
            if not words or not all(words):
                raise DatasetError(
                    f"A synonym is a pair such as lawyer = attorney; got {entry!r}."
                )
            pairs.append(words)
        object.__setattr__(self, "synonyms", tuple(pairs))
        _check_limit(self.most)

    def make(self, groups: Groups) -> Iterator[AugmentedText]:  # noqa: D102 -- as in Augmenter
        exchange: dict[tuple[str, ...], list[str]] = {}
        for words, synonym in self.synonyms:
            exchange.setdefault(tuple(words.casefold().split()), []).append(synonym)
        longest = max(map(len, exchange), default=0)
        for i, text in enumerate(groups.pairs.x.content):
            of = groups.of_x(i)
            for variant in _replace_words(text, exchange, longest) if of else ():
                yield AugmentedText(variant, text, of, like=i)


@dataclass(frozen=True, slots=True)
class InducedSynonyms(Augmenter):
    """Texts with words exchanged for what stands in their place elsewhere in the group."""

    # Where two texts of a group share one or two words at the same end, what is left of each is a
    # synonym of the other within that group, if both have one or two words of letters and digits,
    # and neither is a whole text anywhere.
    kind: ClassVar[str] = "induced"
    most: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _check_limit(self.most)

    def make(self, groups: Groups) -> Iterator[AugmentedText]:  # noqa: D102 -- as in Augmenter
        pairs = groups.pairs
        whole = {text.casefold() for text in (*pairs.x.content, *pairs.y.content)}
        for name, texts in groups.texts().items():
            exchange: dict[tuple[str, ...], list[str]] = {}
            for words, synonym in sorted(induce(texts, whole)):
                exchange.setdefault(tuple(words.split()), []).append(synonym)
            for text in texts:
                for variant in _replace_words(text, exchange, MAX_WORDS):
                    yield AugmentedText(variant, text, (name,))


def induce(texts: Sequence[str], whole: set[str]) -> set[tuple[str, str]]:
    """Synonyms within a group, each in both directions."""
    rest_of: dict[tuple[str, str], set[str]] = {}
    for text in texts:
        words = text.casefold().split()
        for n in range(1, MAX_WORDS + 1):
            if not 1 <= len(words) - n <= MAX_WORDS:
                continue
            ends = (("first", words[:n], words[n:]), ("last", words[-n:], words[:-n]))
            for end, shared, rest in ends:
                left = " ".join(rest)
                if _PLAIN.fullmatch(left) and left not in whole:
                    rest_of.setdefault((end, " ".join(shared)), set()).add(left)
    both = (pair for left in rest_of.values() for pair in permutations(left, 2))
    # Those with a common word share more than what was cut off.
    return {(p, q) for p, q in both if not set(p.split()) & set(q.split())}


def _replace_words(
    text: str, exchange: dict[tuple[str, ...], list[str]], longest: int
) -> Iterator[str]:
    words = text.split()
    folded = tuple(word.casefold() for word in words)
    for start in range(len(words)):
        for stop in range(start + 1, min(start + longest, len(words)) + 1):
            for synonym in exchange.get(folded[start:stop], ()):
                yield " ".join([*words[:start], synonym, *words[stop:]])


def _sample(made: list[AugmentedText], limit: int | None, seed: int) -> list[AugmentedText]:
    """At most so many, in their order."""
    if limit is None or len(made) <= limit:
        return made
    rng = np.random.default_rng(seed)
    return [made[i] for i in np.sort(rng.choice(len(made), limit, replace=False))]


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise DatasetError(f"At least one text has to be made, got most={limit}.")


@dataclass(frozen=True, slots=True)
class Typos(Augmenter):
    """Texts of the x side with some characters replaced and some left out."""

    kind: ClassVar[str] = "typos"
    #: Share of the relevant pairs that are pairs with a typo, afterwards.
    share: float = 0.1
    #: Chances of each character to be replaced by another one of the texts, or left out.
    substituted: float = 0.2
    deleted: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        check_share(self.share, "typos")
        if min(self.substituted, self.deleted) < 0 or not 0 < self.substituted + self.deleted < 1:
            raise DatasetError(
                "The chances of a character to be replaced or left out must be at least 0 and "
                f"add up to more than 0 and less than 1; got {self.substituted} and "
                f"{self.deleted}."
            )

    def make(self, groups: Groups) -> Iterator[AugmentedText]:  # noqa: D102 -- as in Augmenter
        rng = np.random.default_rng(self.seed)
        letters = alphabet(groups.pairs.x.content)
        chances = self.substituted, self.deleted
        return make_share(groups, self.share, rng, lambda t: corrupt(t, rng, *chances, letters))


def alphabet(texts: Iterable[str]) -> list[str]:
    """Letters and digits of texts, in lower case; what typos are made of."""
    letters = {c for text in texts for c in text.lower() if c.isalnum()}
    return sorted(letters) or ["a"]


def corrupt(
    text: str, rng: np.random.Generator, substituted: float, deleted: float, letters: list[str]
) -> str:
    """A text with characters replaced and left out at random."""
    draws = rng.random(len(text))
    typed = []
    for character, draw in zip(text, draws, strict=True):
        if draw < substituted:
            others = [letter for letter in letters if letter != character]
            typed.append(others[int(rng.integers(len(others)))] if others else character)
        elif draw >= substituted + deleted:
            typed.append(character)
    return "".join(typed)


@dataclass(frozen=True, slots=True)
class Feedback(Augmenter):
    """Inputs that somebody put into a group, or kept out of one."""

    # An input that is on the x side already keeps its judgments, but for the groups that are
    # named. One that was only kept out of groups says nothing about where it belongs: methods
    # learn nothing from its other pairs (`Relevance.only_rejected`).
    kind: ClassVar[str] = "feedback"
    #: Input; a text of the y side, or the name of a group; and the verdict: above 0 the input
    #: belongs to that group, below 0 it does not. The last on an input and a group holds.
    pairs: Sequence[tuple[str, str, float]] = ()
    #: How many usual judgments one of these counts for: corrections are few, and have a reason.
    weight: float = 5.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weight) and self.weight > 0):
            raise DatasetError(f"The weight of feedback is a number above 0; got {self.weight!r}.")
        checked = []
        for entry in self.pairs:
            if len(entry) != 3 or not str(entry[0]).strip() or not str(entry[1]).strip():
                raise DatasetError(
                    f"Feedback is an input, a title or group, and a verdict; got {entry!r}."
                )
            verdict = float(entry[2])
            if not np.isfinite(verdict) or verdict == 0:
                raise DatasetError(
                    f"A verdict is above 0 (belongs) or below 0 (does not); got {entry[2]!r} "
                    f"for {entry[0]!r}."
                )
            checked.append((" ".join(str(entry[0]).split()), str(entry[1]).strip(), verdict))
        object.__setattr__(self, "pairs", tuple(checked))

    def make(self, groups: Groups) -> Iterator[AugmentedText]:  # noqa: D102 -- as in Augmenter
        named = {text.casefold(): of for text, of in zip(groups.pairs.y.content, groups.of_y)}  # noqa: B905 -- one group list a text
        verdicts: dict[str, dict[str, float]] = {}
        for text, target, verdict in self.pairs:
            of = (target,) if target in groups.columns else named.get(target.casefold())
            if of is None:
                known = [*groups.columns, *groups.pairs.y.content]
                raise DatasetError(unknown_name("title or group", target, known[:50]))
            verdicts.setdefault(text, {}).update(dict.fromkeys(of, verdict))
        for text, by_name in verdicts.items():
            accepted = tuple(name for name, verdict in by_name.items() if verdict > 0)
            rejected = tuple(name for name, verdict in by_name.items() if verdict < 0)
            yield AugmentedText(text, "", accepted, rejected, weight=self.weight)

    def transform(self, pairs: PairSet, exclude: Iterable[str] = ()) -> PairSet:  # noqa: D102
        groups = Groups(pairs)
        shut = {text.casefold() for text in exclude}
        made = [m for m in self.make(groups) if m.text.casefold() not in shut]
        place = {text.casefold(): i for i, text in enumerate(pairs.x.content)}
        known = [m for m in made if m.text.casefold() in place]
        fresh = [m for m in made if m.text.casefold() not in place]
        more = append(groups, fresh, self.kind) if fresh else pairs
        if not known:
            return more
        matrix = sp.lil_array(more.relevance.matrix)
        for m in known:
            row = place[m.text.casefold()]
            for names, value in ((m.rejected, -self.weight), (m.groups, self.weight)):
                for name in names:
                    matrix[row, groups.columns[name]] = value
        return replace(more, relevance=replace(more.relevance, matrix=sp.csr_array(matrix)))


@dataclass(frozen=True, slots=True)
class Corrections(Augmenter):
    """Pairs of items that somebody looked at: what is said of them replaces what was judged."""

    # Items keep their ids, so pictures and vectors are corrected, too; pairs of which one item is
    # elsewhere, such as in another part of a split, are left alone.
    kind: ClassVar[str] = "corrections"
    #: Id of an x item, id of a y item, and their grade; with 0 nothing is said of them any more.
    pairs: Sequence[tuple[str, str, float]] = ()

    def __post_init__(self) -> None:
        if not all(len(entry) == 3 and np.isfinite(float(entry[2])) for entry in self.pairs):
            raise DatasetError("A correction is the ids of both items, and their grade.")

    def make(self, groups: Groups) -> list[AugmentedText]:  # noqa: D102 -- no text is new
        return []

    def transform(self, pairs: PairSet, exclude: Iterable[str] = ()) -> PairSet:  # noqa: D102
        place = [{str(i): at for at, i in enumerate(side.ids)} for side in (pairs.x, pairs.y)]
        matrix = pairs.relevance.matrix.tolil()
        for x, y, grade in self.pairs:
            if x in place[0] and y in place[1]:
                at = place[0][x], place[1][y]
                if pairs.x is pairs.y and matrix[at[::-1]] == matrix[at] != 0:
                    matrix[at[::-1]] = grade
                matrix[at] = grade
        relevance = replace(pairs.relevance, matrix=sp.csr_array(matrix))
        if not relevance.positives.nnz:
            raise DatasetError("No relevant pair would be left.")
        return replace(pairs, relevance=relevance)


#: By kind, in the order in which they are best applied: typos come last, so
#: that what the others made is mistyped, too.
_STEPS = (Corrections, ListedSynonyms, InducedSynonyms, MinedWords, SampledWords, Feedback, Typos)
AUGMENTERS: Mapping[str, type[Augmenter]] = {step.kind: step for step in _STEPS}


def augment(pairs: PairSet, steps: Iterable[Augmenter], exclude: Iterable[str] = ()) -> PairSet:
    """Apply augmenters in the order given; each sees what those before it made."""
    excluded = tuple(exclude)
    for step in steps:
        pairs = step.transform(pairs, excluded)
    return pairs


def from_json(trees: Sequence[Mapping[str, Any]]) -> tuple[Augmenter, ...]:
    """Augmenters of their kinds and parameters; what is unknown is refused."""
    steps = []
    for tree in trees:
        values = dict(tree)
        kind = values.pop("kind", None)
        if kind not in AUGMENTERS:
            raise DatasetError(unknown_name("augmentation", str(kind), AUGMENTERS))
        known = [field.name for field in fields(AUGMENTERS[kind])]
        for name in values:
            if name not in known:
                raise DatasetError(unknown_name(f"parameter of {kind}", name, known))
        steps.append(AUGMENTERS[kind](**values))
    return tuple(steps)
