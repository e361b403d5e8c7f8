"""All checks of a data set at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from simviz.data.health.finding import Finding, HealthReport
from simviz.data.health.items import find_duplicates, find_empty
from simviz.data.health.judgments import find_contradictions, find_one_class, find_unanswered
from simviz.data.health.leaks import find_leaks, find_near
from simviz.data.health.overlap import find_codes, find_identical, find_unseen, measure_shared
from simviz.data.health.subject import Subject
from simviz.data.pairs import PairSet
from simviz.data.result import ReadResult
from simviz.data.splitting import Split
from simviz.data.splitting import split as split_pairs
from simviz.data.suggestion import suggest_split
from simviz.exceptions import DatasetError

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
