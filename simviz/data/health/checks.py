"""All checks of a data set at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.cells import counted, percent
from simviz.data.health.remedies import (
    CountUnlisted,
    DropItems,
    DropJudgments,
    Finding,
    FixParts,
    HealthReport,
    MergeItems,
    SharedWords,
)
from simviz.data.health.subject import SIDES, Index, Subject, empty_items, plain_text, words_of
from simviz.data.pairs import PairSet
from simviz.data.readers import ReadResult
from simviz.data.splitting import Split, split as split_pairs
from simviz.data.suggestion import suggest_split
from simviz.exceptions import DatasetError
from simviz.ranking import Ranking, expected_reciprocal_rank, rank_block
from simviz.relevance import Relevance

_EXAMPLES = 8
_HOLLOW = {"image": "pictures of one colour", "vector": "vectors of zeros"}


def find_empty(subject: Subject) -> list[Finding]:
    """Items that hold nothing: blank texts, pictures of one colour, vectors of zeros."""
    empty = {side: empty_items(subject.items(side)) for side in subject.sides}
    n = sum(map(len, empty.values()))
    if not n:
        return []
    hollow = [s for s in subject.sides if len(empty[s])]
    kinds = dict.fromkeys(_HOLLOW.get(subject.items(s).kind, "blank texts") for s in hollow)
    examples = [
        (subject.name(side), subject.id(side, i)) for side, found in empty.items() for i in found
    ]
    x = empty["x"]
    return [
        Finding(
            "empty",
            "act",
            f"{counted(n, 'item holds', 'items hold')} nothing ({', '.join(kinds)})",
            n,
            "Every method gives them similarity 0 with everything, so they only lower the "
            "figures and fill the map.",
            ("side", "id"),
            tuple(examples[:_EXAMPLES]),
            DropItems(
                f"Leave {'it' if n == 1 else 'them'} out",
                x,
                empty.get("y", x),
                subject.pairs.shape,
            ),
        )
    ]


def find_duplicates(subject: Subject) -> list[Finding]:
    """Items of one side with the same content."""
    extra = {
        side: len(subject.items(side)) - len(subject.first_of(side)) for side in subject.sides
    }
    n = sum(extra.values())
    if not n:
        return []
    examples = []
    for side in subject.sides:
        codes = subject.codes[side]
        order = np.argsort(codes, kind="stable")
        again = np.flatnonzero(np.diff(codes[order]) == 0)
        for at in again[:_EXAMPLES]:
            one, other = int(order[at]), int(order[at + 1])
            ids = f"{subject.id(side, one)}, {subject.id(side, other)}"
            examples.append((subject.name(side), subject.label(side, one), ids))
    where = " and ".join(
        f"{counted(count, 'item')} of {subject.name(side)}"
        for side, count in extra.items()
        if count
    )
    return [
        Finding(
            "duplicates",
            "look",
            f"{where} {'repeats' if n == 1 else 'repeat'} the content of another",
            n,
            "No method can tell them apart: a right answer under one id counts as wrong under "
            "the other. Merged, they are one item with the judgments of all. Keep them where "
            "the same words do mean different things.",
            ("side", "content", "ids"),
            tuple(examples[:_EXAMPLES]),
            MergeItems("Merge them", subject.codes["x"], subject.codes["y"]),
        )
    ]


#: Judged pairs a query, on average, from which a query's own judgments are ranked.
_RANKED = 2.0


def find_contradictions(subject: Subject) -> list[Finding]:
    """Pairs judged relevant and not relevant, by content."""
    relevance = subject.pairs.relevance
    x, y, sign = [], [], []
    for matrix, told in ((relevance.positives, 1), (relevance.negatives, -1)):
        x.append(np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)))
        y.append(matrix.indices)
        sign.append(np.full(matrix.nnz, told))
    rows, columns, signs = (np.concatenate(parts).astype(np.int64) for parts in (x, y, sign))
    n_y = len(subject.items("y"))
    key = subject.codes["x"][rows] * n_y + subject.codes["y"][columns]
    both = np.intersect1d(key[signs > 0], key[signs < 0])
    listed = np.isin(key, both)
    # What the file itself said twice was read as relevant: only the account is left of it.
    told_twice = subject.disputed[:, 0].astype(np.int64) * n_y + subject.disputed[:, 1]
    listed |= np.isin(rows * n_y + columns, told_twice)
    found = np.unique(key[listed])
    if not len(found):
        return []
    _, first = np.unique(key[listed], return_index=True)
    at = np.flatnonzero(listed)[np.sort(first)][:_EXAMPLES]
    examples = [(subject.label("x", rows[i]), subject.label("y", columns[i])) for i in at]
    n = len(found)
    unlisted = relevance.unjudged == "negative"
    label = "Count as not relevant" if unlisted else "Forget these judgments"
    return [
        Finding(
            "contradictions",
            "act",
            f"{counted(n, 'pair is', 'pairs are')} judged both relevant and not relevant",
            n,
            "One of the two judgments is wrong, and training and figures rest on a guess. "
            + ("" if len(both) else "As read, they count as relevant. ")
            + "Best is to judge them anew in the file.",
            (subject.pairs.x_name, subject.pairs.y_name),
            tuple(examples),
            DropJudgments(
                label,
                rows[listed].astype(np.intp),
                columns[listed].astype(np.intp),
                subject.pairs.shape,
            ),
        )
    ]


def find_one_class(subject: Subject) -> list[Finding]:
    """Queries whose judgments are all of one kind, and all of them together."""
    relevance = subject.pairs.relevance
    if relevance.unjudged == "negative":
        return []
    good, bad = (np.diff(m.indptr) for m in (relevance.positives, relevance.negatives))
    if not bad.any():
        return [
            Finding(
                "one-class",
                "act",
                "All judged pairs are relevant, and pairs that are not listed are unknown",
                int(good.sum()),
                "Nothing is known to be wrong, so nothing can be measured: every method that "
                "finds all pairs similar is right.",
                remedy=CountUnlisted("Count unlisted as not relevant", "negative"),
            )
        ]
    judged = good + bad > 0
    if (good + bad)[judged].mean() < _RANKED:
        return []  # judged pair by pair: figures are over pairs, not within a query
    one = np.flatnonzero(judged & ((good == 0) | (bad == 0)))
    if not len(one):
        return []
    only = np.where(good[one] > 0, "relevant", "not relevant")
    n_relevant = int((only == "relevant").sum())
    name = subject.name("x")
    return [
        Finding(
            "one-class",
            "look",
            f"{counted(len(one), 'item')} of {name} {'has' if len(one) == 1 else 'have'} "
            f"judgments of one kind only ({n_relevant:,} only relevant ones, "
            f"{len(one) - n_relevant:,} only not relevant ones)",
            len(one),
            "Where all judged answers are right, or all wrong, any order is as good as any "
            "other: such queries say nothing about a ranking. They still count in figures over "
            "all judged pairs, such as the AUC.",
            (subject.pairs.x_name, "its judgments"),
            tuple(
                (subject.label("x", i), f"only {o}")
                for i, o in zip(one[:_EXAMPLES], only, strict=False)
            ),
            _leave_out(one, subject),
        )
    ]


def find_unanswered(subject: Subject) -> list[Finding]:
    """Queries that nothing is relevant to."""
    relevance = subject.pairs.relevance
    judged_alone = relevance.unjudged == "ignore"
    if subject.pairs.x is subject.pairs.y:
        return []
    lacking = np.diff(relevance.positives.indptr) == 0
    if judged_alone:  # those with negatives are told of as one-class
        lacking &= np.diff(relevance.matrix.indptr) == 0
    found = np.flatnonzero(lacking)
    if not len(found):
        return []
    n = len(found)
    what = "no judgment at all" if judged_alone else "nothing that is relevant to them"
    return [
        Finding(
            "unanswered",
            "look",
            f"{counted(n, 'item')} of {subject.name('x')} {'has' if n == 1 else 'have'} {what}",
            n,
            "They teach no method that learns from pairs, and no figure counts them as queries. "
            "They do no harm as answers to the other side.",
            (subject.pairs.x_name,),
            tuple((subject.label("x", i),) for i in found[:_EXAMPLES]),
            _leave_out(found, subject),
        )
    ]


def _leave_out(x: Index, subject: Subject) -> DropItems | None:
    """Leaving x items out; None where a collection is linked to itself or few would be left."""
    if subject.pairs.x is subject.pairs.y or 2 * len(x) >= len(subject.pairs.x):
        return None
    label = f"Leave {'it' if len(x) == 1 else 'them'} out"
    return DropItems(label, x, np.empty(0, dtype=np.intp), subject.pairs.shape)


#: Pairs of items that must not stand in two parts, by side.
Ties = Mapping[str, tuple[Index, Index]]


def find_leaks(subject: Subject) -> list[Finding]:
    """Items of the test part that stand in training, or have a twin of the same content there."""
    examples: list[tuple[str, ...]] = []
    ties: dict[str, tuple[Index, Index]] = {}
    n = 0
    for side in subject.held:
        codes, first = subject.codes[side], subject.first_of(side)
        known = np.full(len(first), -1, dtype=np.intp)
        for part in ("validation", "train"):
            members = subject.members(side, part)
            known[codes[members]] = members
        test = subject.members(side, "test")
        leaked = test[known[codes[test]] >= 0]
        n += len(leaked)
        for i in leaked[: _EXAMPLES - len(examples)]:
            twin = int(known[codes[i]])
            ids = f"{subject.id(side, i)}, {subject.id(side, twin)}"
            examples.append((subject.name(side), subject.label(side, i), ids))
        ties[side] = (np.arange(len(codes)), first[codes])
    if not n:
        return []
    return [
        Finding(
            "leak",
            "act",
            f"{counted(n, 'test item is', 'test items are')} known from training",
            n,
            "What was learned by heart counts as found: figures on the test part are too good "
            "by that much." + _instead(remedy := _tied(subject, ties)),
            ("side", "content", "ids"),
            tuple(examples),
            remedy,
        )
    ]


def find_near(subject: Subject) -> list[Finding]:
    """Texts of a side that are nearly the same, above all those across the split."""
    examples: list[tuple[str, ...]] = []
    inside: list[tuple[str, ...]] = []
    ties: dict[str, tuple[Index, Index]] = {}
    total = across = 0
    for side, (a, b) in subject.near.items():
        total += len(a)
        first = subject.first_of(side)
        one, other = first[a], first[b]
        apart = np.zeros(len(a), dtype=bool)
        if side in subject.held:
            in_test = subject.parts(side) == 2
            apart = in_test[one] != in_test[other]
            ties[side] = (one, other)
        across += int(apart.sum())
        for at, rows in ((apart, examples), (~apart, inside)):
            for i in np.flatnonzero(at)[:_EXAMPLES]:
                i, j = int(one[i]), int(other[i])
                rows.append((subject.name(side), subject.label(side, i), subject.label(side, j)))
    if not total:
        return []
    are = counted(total, "pair of items is", "pairs of items are") + " nearly the same"
    where = (
        f", {across:,} of them across training and test"
        if across
        else ", none across training and test"
        if subject.held
        else ""
    )
    remedy = _tied(subject, ties) if across else None
    why = (
        "A test item that differs by a letter or a word from one in training asks for little "
        "more than memory. Decide by the examples whether they are variants of one thing or "
        "things of their own." + _instead(remedy)
        if across
        else "They do no harm where they are. Another seed or another way of splitting may part "
        "them; then figures on the test would rest on memory."
    )
    return [
        Finding(
            "near",
            "look",
            are + where,
            total,
            why,
            ("side", "one", "the other"),
            tuple((examples + inside)[:_EXAMPLES]),
            remedy,
        )
    ]


def _instead(remedy: FixParts | None) -> str:
    """What to do where no remedy can be offered."""
    if remedy is not None:
        return ""
    return (
        " Too much hangs together to keep it in one part here: merge or remove these items in "
        "the file, or split by something else."
    )


def _tied(subject: Subject, ties: Ties) -> FixParts | None:
    """Move to training whatever is tied to something in another part, links included."""
    # None where less than half of the test part would be left.
    offset = {"x": 0, "y": len(subject.items("x"))}
    n = offset["y"] + len(subject.items("y"))
    parts = np.zeros(n, dtype=np.int8)
    rows: list[Index] = []
    columns: list[Index] = []
    for side in subject.held:
        start = offset[side]
        parts[start : start + len(subject.items(side))] = subject.parts(side)
        if side in ties:
            one, other = ties[side]
            rows.append(one + start)
            columns.append(other + start)
    if len(subject.held) == len(SIDES):
        positives = subject.pairs.relevance.positives
        x = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
        y = positives.indices + offset["y"]
        together = parts[x] == parts[y]
        rows.append(x[together])
        columns.append(y[together])
    mixed = _mixed(np.concatenate(rows), np.concatenate(columns), parts)
    before = parts == 2
    moved = np.where(mixed, 0, parts).astype(np.int8)
    if 2 * (moved == 2).sum() < before.sum() or not (moved == 1).any():
        return None
    n_moved = int((before & mixed).sum())
    cut = {
        side: moved[offset[side] : offset[side] + len(subject.items(side))]
        if side in subject.held
        else None
        for side in SIDES
    }
    if subject.pairs.x is subject.pairs.y:
        cut["y"] = cut["x"]
    return FixParts(f"Move {n_moved:,} to training", x=cut["x"], y=cut["y"])


def _mixed(rows: Index, columns: Index, parts: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Nodes that hang together with one of another part."""
    from scipy.sparse.csgraph import connected_components

    n = len(parts)
    graph = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    lowest, highest = np.full(count, 2, dtype=np.int8), np.zeros(count, dtype=np.int8)
    np.minimum.at(lowest, label, parts)
    np.maximum.at(highest, label, parts)
    return (lowest < highest)[label]


_QUERIES = 1_000
_JUDGED = 50_000  # pairs of which an AUC is taken
_BLOCK = 128
#: Shares from which something is worth a word.
_MANY_SAME, _MANY_UNSEEN = 0.01, 0.02
_FEW_UNSEEN = 2
_FEWEST = 10  # queries or judged pairs, to say that codes lead to them
#: Codes matter where they reach so much of the way from chance to 1.
_CODES = 0.1


def find_identical(subject: Subject) -> list[Finding]:
    """Relevant pairs whose two sides say the same."""
    if not (subject.is_text("x") and subject.is_text("y")) or subject.pairs.x is subject.pairs.y:
        return []
    x_texts, y_texts = (
        [plain_text(text) for text in subject.items(side).content] for side in "xy"
    )
    positives = subject.pairs.relevance.positives
    rows = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
    same = np.array(
        [x_texts[i] == y_texts[j] for i, j in zip(rows, positives.indices, strict=True)],
        dtype=bool,
    )
    found, asked = np.unique(rows[same]).astype(np.intp), np.unique(rows)
    remedy = None
    if 2 * len(found) < len(asked):
        label = f"Leave all {len(found):,} out"
        nothing = np.empty(0, dtype=np.intp)
        remedy = DropItems(label, found, nothing, subject.pairs.shape)
    where = ""
    if subject.split is not None:  # what training knows lifts no figure
        test = subject.members("x", "test")
        found, asked = np.intersect1d(found, test), np.intersect1d(asked, test)
        where = "test "
    n = len(found)
    if not n or n < _MANY_SAME * len(asked):
        return []
    return [
        Finding(
            "identical",
            "look",
            f"{counted(n, f'{where}item')} of {subject.name('x')} ({percent(n / len(asked))}) "
            f"{'has' if n == 1 else 'have'} a relevant answer with the very same text",
            n,
            "Comparing strings finds these without learning anything, so they lift the figures "
            "of every method alike. Leave them in where such queries are asked in earnest; "
            "leave them out to see what is learned.",
            ("the text on both sides",),
            tuple((subject.label("x", int(i)),) for i in found[:_EXAMPLES]),
            remedy,
        )
    ]


def find_codes(subject: Subject, shared: SharedWords | None) -> list[Finding]:
    """Codes and numbers on both sides that give the answer away."""
    if shared is None or shared.n < _FEWEST:
        return []
    if shared.codes < shared.chance + _CODES * (1.0 - shared.chance):
        return []
    return [
        Finding(
            "codes",
            "look",
            f"Words with digits alone (codes, numbers, years) reach {shared.metric} "
            f"{shared.codes:.2f}; all shared words reach {shared.words:.2f}",
            shared.n,
            f"Measured on {shared.on} without any learning; knowing nothing gives "
            f"{shared.chance:.2f}. Where both sides copy the same codes, a high figure says "
            "little about meaning. Compare every method with TF-IDF, which has this for free.",
        )
    ]


def find_unseen(subject: Subject) -> list[Finding]:
    """Test texts none of whose words occur in training: empty to methods that go by words."""
    examples: list[tuple[str, ...]] = []
    told = []
    n = 0
    for side in filter(subject.is_text, subject.held):
        texts = subject.items(side).content
        known = {w for i in subject.members(side, "train") for w in words_of(plain_text(texts[i]))}
        test = subject.members(side, "test")
        empty = [i for i in test if known.isdisjoint(words_of(plain_text(texts[i])))]
        if len(empty) <= max(_FEW_UNSEEN, _MANY_UNSEEN * len(test)):
            continue
        n += len(empty)
        share = percent(len(empty) / len(test))
        told.append(f"{counted(len(empty), 'test item')} of {subject.name(side)} ({share})")
        examples += [(subject.name(side), subject.label(side, int(i))) for i in empty[:_EXAMPLES]]
    if not n:
        return []
    return [
        Finding(
            "unseen",
            "look",
            f"{' and '.join(told)} {'shares' if n == 1 else 'share'} no word with training",
            n,
            "To a method that goes by whole words they are empty and score 0 with everything. "
            "Methods that go by characters can still place them.",
            ("side", "text"),
            tuple(examples[:_EXAMPLES]),
        )
    ]


def measure_shared(subject: Subject) -> SharedWords | None:
    """How far the words lead that both sides share."""
    if not (subject.is_text("x") and subject.is_text("y")):
        return None
    pairs = subject.pairs if subject.split is None else subject.split.test
    on = "all pairs" if subject.split is None else "the test part"
    texts = [[plain_text(text) for text in items.content] for items in (pairs.x, pairs.y)]
    words = _weighted(texts, words_of)
    codes = _weighted(texts, codes_of)
    nothing = (sp.csr_array(words[0].shape), sp.csr_array(words[1].shape))
    ranked = pairs.relevance.unjudged == "negative"
    measure = _mrr if ranked else _auc
    (known, n), (coded, _), (chance, _) = (measure(*m, pairs) for m in (words, codes, nothing))
    if not n:
        return None
    return SharedWords("MRR" if ranked else "AUC", known, coded, chance, n, on)


def codes_of(text: str) -> list[str]:
    """The words of a plain text that have a digit."""
    return [word for word in words_of(text) if any(c.isdigit() for c in word)]


def _weighted(
    texts: Sequence[Sequence[str]], analyzer: Callable[[str], list[str]]
) -> tuple[sp.csr_array, sp.csr_array]:
    """TF-IDF vectors of length 1 for both sides, all zeros where there is no word."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        model = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True, dtype=np.float32)
        model.fit([text for side in texts for text in side])
    except ValueError:  # no word at all
        return tuple(sp.csr_array((len(side), 1), dtype=np.float32) for side in texts)
    return tuple(sp.csr_array(model.transform(side)) for side in texts)


def _mrr(x: sp.csr_array, y: sp.csr_array, pairs: PairSet) -> tuple[float, int]:
    """MRR over queries that have an answer, and their number."""
    positives = pairs.relevance.positives
    queries = np.flatnonzero(np.diff(positives.indptr))
    queries = queries[_spread(len(queries), _QUERIES)]
    wanted = positives[queries]
    columns = sp.csc_array(y.T)
    above, tied = [], []
    for start in range(0, len(queries), _BLOCK):
        part = wanted[start : start + _BLOCK]
        scores = (x[queries[start : start + _BLOCK]] @ columns).toarray()
        higher, equal, _ = rank_block(scores, part.indptr, part.indices)
        above.append(higher)
        tied.append(equal)
    if not above:
        return 0.0, 0
    ranking = Ranking(
        wanted.indptr,
        wanted.indices,
        wanted.data,
        np.concatenate(above),
        np.concatenate(tied),
        np.full(len(queries), y.shape[0]),
    )
    return float(expected_reciprocal_rank(ranking).mean()), len(queries)


def _auc(x: sp.csr_array, y: sp.csr_array, pairs: PairSet) -> tuple[float, int]:
    """AUC over judged pairs, and their number; 0 of them where one kind is missing."""
    from sklearn.metrics import roc_auc_score

    rows, columns, relevant = _judged(pairs.relevance)
    if len(np.unique(relevant)) < 2:
        return 0.0, 0
    scores: NDArray[np.float64] = np.asarray(x[rows].multiply(y[columns]).sum(axis=1)).ravel()
    return float(roc_auc_score(relevant, scores)), len(rows)


def _judged(relevance: Relevance) -> tuple[Index, Index, NDArray[np.bool_]]:
    parts = [
        (m.tocoo(), told)
        for m, told in ((relevance.positives, True), (relevance.negatives, False))
    ]
    rows = np.concatenate([m.row for m, _ in parts]).astype(np.intp)
    columns = np.concatenate([m.col for m, _ in parts]).astype(np.intp)
    relevant = np.concatenate([np.full(m.nnz, told) for m, told in parts])
    at = _spread(len(rows), _JUDGED)
    return rows[at], columns[at], relevant[at]


def _spread(n: int, most: int) -> Index:
    """Positions from all of a list, evenly."""
    return np.linspace(0, max(n - 1, 0), min(most, n)).astype(np.intp)


_CHECKED: Mapping[str, str] = MappingProxyType(
    {
        "items": "items that are empty or the same",
        "judgments": "judgments that contradict one another or say nothing",
        "leaks": "test items known from training, or nearly",
        "text": "text that gives the answer away",
    }
)
# Measured on one core of a laptop: seconds a character that is looked at, and an item.
_PER_CHARACTER, _PER_ITEM, _LOOKED_AT = 1e-6, 4e-5, 1_000


def check_health(
    data: PairSet | ReadResult, split: Split | None = None, *, suggest: bool = True
) -> HealthReport:
    """Look for what would make figures wrong or training vain.

    Parameters
    ----------
    data : PairSet or ReadResult
        Pairs; or what a reader answered, whose account of contradicting rows
        is looked at, too.
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
            skipped.append(f"Leaks were not looked for, for these pairs cannot be split: {error}")
    subject = Subject(pairs, split, disputed)
    shared = measure_shared(subject)
    findings: list[Finding] = [
        *find_leaks(subject),
        *find_contradictions(subject),
        *find_empty(subject),
        *find_one_class(subject),
        *find_duplicates(subject),
        *find_near(subject),
        *find_identical(subject),
        *find_codes(subject, shared),
        *find_unseen(subject),
        *find_unanswered(subject),
    ]
    findings.sort(key=lambda finding: finding.level)
    looked = ["items", "judgments", *(["leaks"] if split is not None else [])]
    if shared is not None:
        looked.append("text")
    return HealthReport(
        tuple(findings),
        tuple(_CHECKED[name] for name in looked),
        tuple(skipped),
        shared,
        time.perf_counter() - start,
    )


def find_disputed(result: ReadResult) -> Finding | None:
    """What rows of a file contradict one another; quick at any size.

    Parameters
    ----------
    result : ReadResult
        What a reader answered.

    Returns
    -------
    Finding or None
        None where no row contradicts another. Its remedy is for the pairs as
        they were read.

    Raises
    ------
    DatasetError
        By its remedy, where no relevant pair would be left.
    """
    if result.disputed is None or not len(result.disputed):
        return None
    found = find_contradictions(Subject(result.pairs, None, result.disputed))
    return found[0] if found else None


def estimate_seconds(pairs: PairSet) -> float:
    """About how long `check_health` takes.

    Parameters
    ----------
    pairs : PairSet
        What would be checked.

    Returns
    -------
    float
        Seconds on one core.
    """
    seconds = _PER_ITEM * (len(pairs.x) + len(pairs.y) + pairs.relevance.matrix.nnz / 10)
    for items in (pairs.x, pairs.y):
        if items.kind == "text":
            seconds += _PER_CHARACTER * sum(min(len(t), _LOOKED_AT) for t in items.content)
    return seconds
