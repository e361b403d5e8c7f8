"""All checks of a data set at once."""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Index
from simviz.data.cells import as_cells, counted, cut, factorize, percent, spread
from simviz.data.description import are_short, plain_text, words_of
from simviz.data.health.findings import (
    Finding,
    HealthReport,
    ItemName,
    Remedy,
    SharedWords,
    count_unlisted,
    drop_items,
    drop_judgments,
    merge_items,
    set_parts,
)
from simviz.data.health.near_duplicates import near_pairs
from simviz.data.pairs import Items, PairSet
from simviz.data.pairs_from_tables import ReadResult
from simviz.data.splitting import PARTS, Split, split as split_pairs, suggest_split
from simviz.exceptions import DatasetError
from simviz.ranking import Ranking, expected_reciprocal_rank, rank_block
from simviz.relevance import FEW_JUDGED, Relevance

SIDES = ("x", "y")
_EXAMPLES, _EXAMPLE_CHARACTERS = 8, 160
_EMPTY_CONTENT = {"image": "pictures of one colour", "vector": "vectors of zeros"}
_NOTHING = np.empty(0, dtype=np.intp)
#: Judged pairs a query, on average, from which a query's own judgments are ranked.
_MIN_JUDGED = 2.0
# Queries ranked, judged pairs of which an AUC is taken, and queries ranked at once.
_QUERIES, _JUDGED, _BLOCK = 1_000, 50_000, 128
#: Shares from which something is worth a word.
_MANY_SAME, _MANY_UNSEEN = 0.01, 0.02
_FEW_UNSEEN = 2
_FEWEST = 10  # queries or judged pairs, to say that codes lead to them
#: Codes matter where they reach so much of the way from chance to 1.
_CODES = 0.1
# Measured on one core of a laptop: seconds a character that is looked at, and an item.
_PER_CHARACTER, _PER_ITEM, _MAX_CHARACTERS = 1e-6, 4e-5, 1_000

#: What findings say, by kind.
_TEXTS = tomllib.loads(Path(__file__).with_name("findings.toml").read_text("utf-8"))

#: Pairs of items that must not stand in two parts, by side.
Ties = Mapping[str, tuple[Index, Index]]
#: What stands in one row of the examples.
Example = tuple[str, ...]


#: What to do where no remedy can be offered.
_NO_REMEDY = (
    " They are linked to too many others to move: merge or remove them in the file, or split "
    "by something else."
)


def check_health(
    data: PairSet | ReadResult, split: Split | None = None, *, suggest: bool = True
) -> HealthReport:
    """Look for what would make figures wrong or training vain.

    Parameters
    ----------
    data : PairSet or ReadResult
        Pairs; or what a reader answered, whose account of contradicting rows is looked at, too.
    split : Split, optional
        How it is split.
    suggest : bool, default=True
        Whether to split as `suggest_split` says where no split is given;
        otherwise leaks are not looked for.

    Returns
    -------
    HealthReport
        Findings, each with a remedy or an explanation.

    Examples
    --------
    >>> pairs = PairSet.from_texts(["heart", "car", "Heart "], ["corazón", "coche", "amor"])
    >>> report = check_health(pairs)
    >>> report
    HealthReport(1 item of “x” repeats the content of another)
    >>> finding = report.find("duplicates")
    >>> finding.remedy(pairs)
    PairSet('pairs': 2 x × 3 y, 3 relevant)
    """
    start = time.perf_counter()
    pairs = data.pairs if isinstance(data, ReadResult) else data
    disputed = data.disputed if isinstance(data, ReadResult) else None
    skipped = []
    if split is None and suggest:
        try:
            how = suggest_split(pairs)
            split = split_pairs(pairs, how.by, group_key=how.group_key)
        except DatasetError as error:
            skipped.append(f"Leaks were not checked, since these pairs cannot be split: {error}")
    subject = Subject(pairs, split, disputed)
    findings = [check(subject) for check in CHECKS]
    checked = {
        "empty and duplicate items": True,
        "contradicting or uninformative judgments": True,
        "test items known, or nearly known, from training": split is not None,
        "text that gives the answer away": subject.shared is not None,
    }
    return HealthReport(
        tuple(sorted(filter(None, findings), key=lambda finding: finding.level)),
        tuple(what for what, was_checked in checked.items() if was_checked),
        tuple(skipped),
        subject.shared,
        time.perf_counter() - start,
    )


def find_disputed(result: ReadResult) -> Finding | None:
    """What rows of a file contradict one another, or None; quick at any size."""
    if result.disputed is None or not len(result.disputed):
        return None
    return find_contradictions(Subject(result.pairs, None, result.disputed))


def estimate_seconds(pairs: PairSet) -> float:
    """About how many seconds `check_health` takes on one core."""
    seconds = _PER_ITEM * (len(pairs.x) + len(pairs.y) + pairs.relevance.matrix.nnz / 10)
    for items in (pairs.x, pairs.y):
        if items.kind == "text":
            seconds += _PER_CHARACTER * sum(min(len(t), _MAX_CHARACTERS) for t in items.content)
    return seconds


class Subject:
    """What the checks look at: pairs, their split, and what several of them need."""

    def __init__(
        self, pairs: PairSet, split: Split | None = None, disputed: Index | None = None
    ) -> None:
        self.pairs = pairs
        self.split = split
        self.disputed = np.empty((0, 2), dtype=np.intp) if disputed is None else disputed
        self.items = {"x": pairs.x, "y": pairs.y}
        self.names = {side: f"“{name}”" for side, name in zip("xy", pairs.headings, strict=True)}
        # One where a collection is linked to itself.
        self.sides = SIDES[:1] if pairs.x is pairs.y else SIDES
        # Sides of text that says more than a name.
        self.text_sides = [side for side in self.sides if self.items[side].kind == "text"]
        #: By side and part of the split, its items.
        self.members = {} if split is None else {"x": split.x_index, "y": split.y_index}

    def finding(
        self,
        kind: str,
        n: int,
        examples: Iterable[Example] = (),
        remedy: Remedy | None = None,
        text: str = "",
        **values: object,
    ) -> Finding | None:
        """Make a finding of its text and what stands in it; None where there is nothing."""
        if not n:
            return None
        entry = _TEXTS[text or kind]
        values |= {"x": self.names["x"], "have": "has" if n == 1 else "have"}
        values |= dict(zip(("x_name", "y_name"), self.pairs.headings, strict=True))
        values["instead"] = _NO_REMEDY if remedy is None else ""
        return Finding(
            kind,
            entry["level"],
            entry["title"].format(**values),
            n,
            entry["why"].format(**values),
            tuple(cell.format(**values) for cell in entry.get("head", ())),
            tuple(islice(examples, _EXAMPLES)),
            remedy,
        )

    def label(self, side: str, item: int) -> ItemName:
        """What stands for an item in an example."""
        items = self.items[side]
        is_text = items.kind in ("text", "keyword")
        text = items.content[item] if is_text else items.labels[item]
        return ItemName(cut(str(text), _EXAMPLE_CHARACTERS), side, item)

    def id(self, side: str, item: int) -> str:
        """The id of an item, as an example shows it."""
        return cut(str(self.items[side].ids[item]), _EXAMPLE_CHARACTERS)

    def twins(self, side: str, one: int, other: int) -> Example:
        """An example of two items of the same content."""
        ids = f"{self.id(side, one)}, {self.id(side, other)}"
        return self.names[side], self.label(side, one), ids

    def remedy(
        self, label: str, mend: Callable[..., PairSet], **sides: NDArray[Any] | None
    ) -> Remedy:
        """A remedy for these pairs, of what it needs to know of the items of each side."""
        return Remedy(label, partial(mend, **sides), self.pairs.shape, mend is set_parts)

    def leave_out(self, x: Index) -> Remedy | None:
        """Leaving x items out; None in a collection linked to itself, or where few would stay."""
        if self.pairs.x is self.pairs.y or 2 * len(x) >= len(self.pairs.x):
            return None
        return self.remedy(_leave_out(len(x)), drop_items, x=x, y=_NOTHING)

    @cached_property
    def codes(self) -> dict[str, Index]:
        """By side, a number for each item, equal for equal content."""
        numbers = {side: _content_codes(self.items[side]) for side in self.sides}
        return {"x": numbers["x"], "y": numbers[self.sides[-1]]}

    @cached_property
    def first(self) -> dict[str, Index]:
        """By side, the first item of each content."""
        return {
            side: np.unique(codes, return_index=True)[1].astype(np.intp)
            for side, codes in self.codes.items()
        }

    @cached_property
    def held(self) -> Sequence[str]:
        """The sides whose items the split keeps apart."""
        if self.split is None:
            return ()
        if self.split.by in SIDES:
            return (self.split.by,)
        if self.split.by == "pair":
            return self.sides
        together = {s: np.concatenate([self.members[s][p] for p in PARTS]) for s in self.sides}
        return [s for s, at in together.items() if len(np.unique(at)) == len(at)] or ("x",)

    @cached_property
    def shared(self) -> SharedWords | None:
        """How far the words lead that both sides share."""
        return _measure_shared(self.pairs, self.split)

    def parts(self, side: str) -> NDArray[np.int8]:
        """The part of each item, the earliest of several; train where it is in none."""
        part_of = np.zeros(len(self.items[side]), dtype=np.int8)
        for number in (2, 1, 0):
            part_of[self.members[side][PARTS[number]]] = number
        return part_of


def _leave_out(n: int) -> str:
    return f"Leave {'it' if n == 1 else 'them'} out"


def _content_codes(items: Items) -> Index:
    """Number items so that those of the same content have the same number."""
    content = items.content
    keys: Iterable[str | bytes]
    if items.kind in ("text", "keyword"):
        keys = map(plain_text, content)
    elif sp.issparse(content):
        rows = sp.csr_array(content)
        keys = (
            rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes()
            for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        )
    else:
        keys = (np.ascontiguousarray(row).tobytes() for row in content)
    return factorize(as_cells(list(keys)))[0]


def find_empty(subject: Subject) -> Finding | None:
    """Items that hold nothing: blank texts, pictures of one colour, vectors of zeros."""
    empty = {side: _empty_items(subject.items[side]) for side in subject.sides}
    n = sum(map(len, empty.values()))
    kinds = (subject.items[side].kind for side, at in empty.items() if len(at))
    return subject.finding(
        "empty",
        n,
        ((subject.names[s], subject.id(s, i)) for s, at in empty.items() for i in at),
        subject.remedy(_leave_out(n), drop_items, x=empty["x"], y=empty[subject.sides[-1]]),
        items=counted(n, "item holds", "items hold"),
        what=", ".join(dict.fromkeys(_EMPTY_CONTENT.get(kind, "blank texts") for kind in kinds)),
    )


def _empty_items(items: Items) -> Index:
    """Positions of items that hold nothing."""
    content = items.content
    if items.kind in ("text", "keyword"):
        return np.flatnonzero([not text.strip() for text in content])
    if sp.issparse(content):
        return np.flatnonzero(abs(content).sum(axis=1) == 0)
    flat = content.reshape(len(content), -1)
    if items.kind == "image":
        return np.flatnonzero((flat == flat[:, :1]).all(axis=1))
    return np.flatnonzero(~flat.any(axis=1))


def find_duplicates(subject: Subject) -> Finding | None:
    """Items of one side with the same content."""
    examples: list[Example] = []
    n, where = 0, []
    for side in subject.sides:
        order = np.argsort(subject.codes[side], kind="stable")
        again = np.flatnonzero(np.diff(subject.codes[side][order]) == 0)
        n += len(again)
        if len(again):
            where.append(f"{counted(len(again), 'item')} of {subject.names[side]}")
        examples += [subject.twins(side, order[at], order[at + 1]) for at in again[:_EXAMPLES]]
    return subject.finding(
        "duplicates",
        n,
        examples,
        subject.remedy("Merge them", merge_items, **subject.codes),
        items=" and ".join(where),
        repeat="repeats" if n == 1 else "repeat",
    )


def find_contradictions(subject: Subject) -> Finding | None:
    """Pairs judged relevant and not relevant, by content."""
    relevance = subject.pairs.relevance
    rows, columns, is_relevant = _judged(relevance)
    n_y = relevance.shape[1]
    key = subject.codes["x"][rows] * n_y + subject.codes["y"][columns]
    both = np.intersect1d(key[is_relevant], key[~is_relevant])
    # What the file itself said twice was read as relevant: only the account is left of it.
    disputed = subject.disputed[:, 0].astype(np.int64) * n_y + subject.disputed[:, 1]
    listed = np.flatnonzero(np.isin(key, both) | np.isin(rows * n_y + columns, disputed))
    _, first = np.unique(key[listed], return_index=True)
    at = listed[np.sort(first)]
    unlisted = relevance.unjudged == "negative"
    return subject.finding(
        "contradictions",
        len(first),
        ((subject.label("x", rows[i]), subject.label("y", columns[i])) for i in at),
        subject.remedy(
            "Count as not relevant" if unlisted else "Drop these judgments",
            drop_judgments,
            x=rows[listed],
            y=columns[listed],
        ),
        pairs=counted(len(first), "pair is", "pairs are"),
        as_read="" if len(both) else "As read, they count as relevant. ",
    )


def find_one_class(subject: Subject) -> Finding | None:
    """Queries whose judgments are all of one kind, and all of them together."""
    relevance = subject.pairs.relevance
    if relevance.unjudged == "negative":
        return None
    good, bad = (np.diff(m.indptr) for m in (relevance.positives, relevance.negatives))
    if not bad.any():
        remedy = subject.remedy("Count unlisted as not relevant", count_unlisted)
        return subject.finding("one-class", int(good.sum()), (), remedy, "all relevant")
    judged = good + bad > 0
    if (good + bad)[judged].mean() < _MIN_JUDGED:
        return None  # judged pair by pair: figures are over pairs, not within a query
    one = np.flatnonzero(judged & ((good == 0) | (bad == 0)))
    kinds = {True: "only relevant", False: "only not relevant"}
    n_relevant = int((good[one] > 0).sum())
    counts = ((True, n_relevant), (False, len(one) - n_relevant))
    return subject.finding(
        "one-class",
        len(one),
        ((subject.label("x", int(i)), kinds[bool(good[i])]) for i in one),
        subject.leave_out(one),
        items=counted(len(one), "item"),
        kinds=", ".join(f"{count:,} {kinds[kind]}" for kind, count in counts if count),
    )


def find_thin(subject: Subject) -> Finding | None:
    """Parts with too few judged pairs of a kind for what is learned or measured there."""
    relevance = subject.pairs.relevance
    if subject.split is None or relevance.unjudged == "negative" or not relevance.negatives.nnz:
        return None
    thin = []
    for part in PARTS:
        judged = getattr(subject.split, part).relevance
        good, bad = judged.positives.nnz, judged.negatives.nnz
        if min(good, bad) < (1 if part == "train" else FEW_JUDGED):
            thin.append((part, f"{good:,}", f"{bad:,}"))
    names = " and ".join(part for part, *_ in thin)
    return subject.finding("thin", len(thin), thin, parts=counted(len(thin), "part"), names=names)


def find_unanswered(subject: Subject) -> Finding | None:
    """Queries that nothing is relevant to."""
    if subject.pairs.x is subject.pairs.y:
        return None
    relevance = subject.pairs.relevance
    judged_alone = relevance.unjudged == "ignore"
    # Those with negatives only are found as one-class.
    answers = relevance.matrix if judged_alone else relevance.positives
    queries = np.flatnonzero(np.diff(answers.indptr) == 0)
    return subject.finding(
        "unanswered",
        len(queries),
        ((subject.label("x", int(i)),) for i in queries),
        subject.leave_out(queries),
        items=counted(len(queries), "item"),
        what="no judgment at all" if judged_alone else "nothing that is relevant to them",
    )


def find_leaks(subject: Subject) -> Finding | None:
    """Items of the test part that stand in training, or have a twin of the same content there."""
    examples: list[Example] = []
    ties: dict[str, tuple[Index, Index]] = {}
    n = 0
    for side in subject.held:
        codes, members = subject.codes[side], subject.members[side]
        known = np.full(len(subject.first[side]), -1, dtype=np.intp)
        for part in ("validation", "train"):
            known[codes[members[part]]] = members[part]
        test = members["test"]
        leaked = test[known[codes[test]] >= 0]
        n += len(leaked)
        examples += [subject.twins(side, i, known[codes[i]]) for i in leaked[:_EXAMPLES]]
        ties[side] = (np.arange(len(codes)), subject.first[side][codes])
    if not n:
        return None
    items = counted(n, "test item is", "test items are")
    return subject.finding("leak", n, examples, _moved_to_training(subject, ties), items=items)


def find_near(subject: Subject) -> Finding | None:
    """Texts of a side that are nearly the same, above all those across the split."""
    examples: list[Example] = []
    inside: list[Example] = []
    ties: dict[str, tuple[Index, Index]] = {}
    total = across = 0
    for side in subject.text_sides:
        first = subject.first[side]
        a, b, similarity = near_pairs([plain_text(subject.items[side].content[i]) for i in first])
        order = np.argsort(-similarity, kind="stable")
        one, other = first[a[order]], first[b[order]]
        total += len(one)
        apart = np.zeros(len(one), dtype=bool)
        if side in subject.held:
            in_test = subject.parts(side) == 2
            apart = in_test[one] != in_test[other]
            ties[side] = (one, other)
        across += int(apart.sum())
        for at, rows in ((apart, examples), (~apart, inside)):
            for i in np.flatnonzero(at)[:_EXAMPLES]:
                items = (subject.label(side, item) for item in (one[i], other[i]))
                rows.append((subject.names[side], *items))
    return subject.finding(
        "near",
        total,
        chain(examples, inside),
        _moved_to_training(subject, ties) if across else None,
        "near across" if across else "near",
        pairs=counted(total, "pair of items is", "pairs of items are"),
        where=", none across training and test" if subject.held else "",
        across=across,
    )


def _moved_to_training(subject: Subject, ties: Ties) -> Remedy | None:
    """Move to training whatever is tied to something in another part, links included."""
    # None where less than half of the test part would be left. Nodes are the items of both sides.
    from scipy.sparse.csgraph import connected_components

    n_x, n_y = subject.pairs.shape
    start = {"x": 0, "y": n_x}
    of = {"x": slice(0, n_x), "y": slice(n_x, n_x + n_y)}
    parts = np.zeros(n_x + n_y, dtype=np.int8)
    for side in subject.held:
        parts[of[side]] = subject.parts(side)
    links = [np.add(ties[side], start[side]) for side in subject.held if side in ties]
    if len(subject.held) == len(SIDES):
        x, y = subject.pairs.relevance.positives.nonzero()
        together = parts[x] == parts[y + n_x]
        links.append(np.stack([x, y + n_x])[:, together])
    rows, columns = np.concatenate(links, axis=1)
    graph = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(parts), len(parts)))
    n_components, component = connected_components(graph, directed=False)
    earliest, latest = np.full(n_components, 2, dtype=np.int8), np.zeros(n_components, np.int8)
    np.minimum.at(earliest, component, parts)
    np.maximum.at(latest, component, parts)
    is_mixed = (earliest < latest)[component]
    moved = np.where(is_mixed, 0, parts).astype(np.int8)
    n_test, n_moved = int((parts == 2).sum()), int((is_mixed & (parts == 2)).sum())
    if 2 * (n_test - n_moved) < n_test or not (moved == 1).any():
        return None
    cut = {side: moved[of[side]] if side in subject.held else None for side in SIDES}
    return subject.remedy(f"Move {n_moved:,} to training", set_parts, **cut)


def find_identical(subject: Subject) -> Finding | None:
    """Relevant pairs whose two sides say the same."""
    if len(subject.text_sides) < 2:
        return None
    texts = {s: [plain_text(t) for t in subject.items[s].content] for s in SIDES}
    rows, columns = subject.pairs.relevance.positives.nonzero()
    same = [texts["x"][i] == texts["y"][j] for i, j in zip(rows, columns, strict=True)]
    alike, queries = np.unique(rows[np.array(same, dtype=bool)]).astype(np.intp), np.unique(rows)
    remedy = None
    if 2 * len(alike) < len(queries):
        remedy = subject.remedy(f"Leave all {len(alike):,} out", drop_items, x=alike, y=_NOTHING)
    item = "item"
    if subject.split is not None:  # what training knows lifts no figure
        test = subject.members["x"]["test"]
        alike, queries = np.intersect1d(alike, test), np.intersect1d(queries, test)
        item = "test item"
    n = len(alike)
    if not n or n < _MANY_SAME * len(queries):
        return None
    return subject.finding(
        "identical",
        n,
        ((subject.label("x", int(i)),) for i in alike),
        remedy,
        items=counted(n, item),
        share=percent(n / len(queries)),
    )


def find_codes(subject: Subject) -> Finding | None:
    """Codes and numbers on both sides that give the answer away."""
    shared = subject.shared
    if shared is None or shared.n < _FEWEST:
        return None
    if shared.codes < shared.chance + _CODES * (1.0 - shared.chance):
        return None
    return subject.finding("codes", shared.n, shared=shared)


def find_unseen(subject: Subject) -> Finding | None:
    """Test texts none of whose words occur in training: empty to methods that go by words."""
    examples: list[Example] = []
    where = []
    n = 0
    for side in (side for side in subject.held if subject.items[side].kind == "text"):
        texts, members = subject.items[side].content, subject.members[side]
        known = {w for i in members["train"] for w in words_of(plain_text(texts[i]))}
        test = members["test"]
        empty = [i for i in test if known.isdisjoint(words_of(plain_text(texts[i])))]
        if len(empty) <= max(_FEW_UNSEEN, _MANY_UNSEEN * len(test)):
            continue
        n += len(empty)
        share = percent(len(empty) / len(test))
        where.append(f"{counted(len(empty), 'test item')} of {subject.names[side]} ({share})")
        examples += [(subject.names[side], subject.label(side, i)) for i in empty[:_EXAMPLES]]
    share = "shares" if n == 1 else "share"
    return subject.finding("unseen", n, examples, items=" and ".join(where), share=share)


#: In the order in which findings of one level are listed.
CHECKS = (
    find_leaks,
    find_contradictions,
    find_empty,
    find_one_class,
    find_thin,
    find_duplicates,
    find_near,
    find_identical,
    find_codes,
    find_unseen,
    find_unanswered,
)


def _measure_shared(pairs: PairSet, split: Split | None) -> SharedWords | None:
    """How far the words lead that both sides share."""
    if pairs.x.kind != "text" or pairs.y.kind != "text":
        return None
    learned = pairs if split is None else split.train
    pairs = pairs if split is None else split.test
    known, *texts = (
        [plain_text(text) for items in some for text in items.content]
        for some in ((learned.x, learned.y), (pairs.x,), (pairs.y,))
    )
    grams = {"analyzer": "char_wb", "ngram_range": (3, 5)}
    parts = {"analyzer": lambda text: words_of(text.replace("_", " "))}  # as TF-IDF has them
    words = _weighted(known, texts, **grams if are_short(known) else parts)
    codes = _weighted(
        known, texts, analyzer=lambda text: [w for w in words_of(text) if re.search(r"\d", w)]
    )
    nothing = (sp.csr_array(words[0].shape), sp.csr_array(words[1].shape))
    ranked = pairs.relevance.unjudged == "negative"
    measure = _mrr if ranked else _auc
    (by_words, n), (by_codes, _), (chance, _) = (
        measure(*vectors, pairs) for vectors in (words, codes, nothing)
    )
    if not n:
        return None
    on = "all pairs" if split is None else "the test part"
    return SharedWords("MRR" if ranked else "AUC", by_words, by_codes, chance, n, on)


def _weighted(
    known: Sequence[str], texts: Sequence[Sequence[str]], **terms: Any
) -> tuple[sp.csr_array, sp.csr_array]:
    """Vectors of length 1 for both sides as TF-IDF cosine has them; zeros where no term is."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    model = CountVectorizer(dtype=np.float32, **terms)
    try:
        counts = sp.csr_array(model.fit_transform([*known, *texts[0], *texts[1]]))
    except ValueError:  # no word at all
        counts = sp.csr_array((len(known) + len(texts[0]) + len(texts[1]), 1), dtype=np.float32)
    # A term that no training text has weighs as if one had it.
    df = np.bincount(counts[: len(known)].indices, minlength=counts.shape[1])
    idf = np.log(max(len(known), 1) / np.maximum(df, 1)).astype(np.float32)
    counts.data = np.log1p(counts.data) * idf[counts.indices]
    unit = sp.csr_array(normalize(counts))
    end = len(known) + len(texts[0])
    return unit[len(known) : end], unit[end:]


def _mrr(x: sp.csr_array, y: sp.csr_array, pairs: PairSet) -> tuple[float, int]:
    """MRR over queries that have an answer, and their number."""
    positives = pairs.relevance.positives
    queries = np.flatnonzero(np.diff(positives.indptr))
    queries = queries[spread(len(queries), _QUERIES)]
    relevant = positives[queries]
    columns = sp.csc_array(y.T)
    above, tied = [], []
    for start in range(0, len(queries), _BLOCK):
        part = relevant[start : start + _BLOCK]
        scores = (x[queries[start : start + _BLOCK]] @ columns).toarray()
        higher, equal, _ = rank_block(scores, part.indptr, part.indices)
        above.append(higher)
        tied.append(equal)
    if not above:
        return 0.0, 0
    ranking = Ranking(
        relevant.indptr,
        relevant.indices,
        relevant.data,
        np.concatenate(above),
        np.concatenate(tied),
        np.full(len(queries), y.shape[0]),
    )
    return float(expected_reciprocal_rank(ranking).mean()), len(queries)


def _auc(x: sp.csr_array, y: sp.csr_array, pairs: PairSet) -> tuple[float, int]:
    """AUC over judged pairs, and their number; 0 of them where one kind is missing."""
    from sklearn.metrics import roc_auc_score

    judged = _judged(pairs.relevance)
    rows, columns, relevant = (part[spread(len(judged[0]), _JUDGED)] for part in judged)
    if len(np.unique(relevant)) < 2:
        return 0.0, 0
    scores: NDArray[np.float64] = np.asarray(x[rows].multiply(y[columns]).sum(axis=1)).ravel()
    return float(roc_auc_score(relevant, scores)), len(rows)


def _judged(relevance: Relevance) -> tuple[Index, Index, NDArray[np.bool_]]:
    """Judged pairs and whether they are relevant, the relevant ones first."""
    relevant, irrelevant = relevance.positives.nonzero(), relevance.negatives.nonzero()
    rows, columns = np.concatenate([relevant, irrelevant], axis=1).astype(np.intp)
    return rows, columns, np.arange(len(rows)) < len(relevant[0])
