"""Runs of any systems as one value a query (or task) each, ready to be tested."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simviz._types import Ints, Reals
from simviz.data.cells import counted, shown
from simviz.data.collection import judgments
from simviz.data.roles import is_label_name
from simviz.data.sources import decode_text, gunzip, load_bytes, signature
from simviz.data.tables import Table, read_table
from simviz.evaluation._forward_selection import (
    FOLDS,
    RRF_K,
    SHARES,
    ForwardSelection,
    Path as FusionPath,
    shares,
)
from simviz.evaluation.metrics import (
    LISTED,
    MAP,
    NDCG,
    Metric,
    RPrecision,
    TopOne,
    check_k,
    parse_metric,
)
from simviz.exceptions import DatasetError
from simviz.ranking import Ranking, expected_ndcg_at, rank_listed

#: The rank of what was not found: no metric sees it, and no sum overflows.
_NEVER = 2**52
_ENDINGS = (".gz", ".txt", ".trec", ".run", ".csv", ".tsv", ".parquet", ".jsonl", ".json", ".xlsx")


@dataclass(frozen=True, slots=True, eq=False)
class RunValues:
    """What several runs did, query by query, and what was left out.

    Parameters
    ----------
    values : mapping of str to ndarray of float, shape (n_queries,)
        By run.
    queries : tuple of str
        Their ids.
    metric : str
        What the values are.
    higher_is_better : bool, default=True
        Of the metric.
    unit : str, default="query"
        What has a value: a query, or a task.
    notes : tuple of str
        What was left out, and how ties count.
    judged, upper_bounds : mapping of str to float
        By run: the share of its answers that count which have a judgment, and the highest value
        that judging the others could give, None where that is not known.
    files : mapping of str to str
        SHA-256 of each file that was read, by its name.
    """

    values: Mapping[str, Reals]
    queries: tuple[str, ...]
    metric: str
    higher_is_better: bool = True
    unit: str = "query"
    notes: tuple[str, ...] = ()
    judged: Mapping[str, float] = field(default_factory=dict)
    upper_bounds: Mapping[str, float | None] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def read_run_values(
    paths: Sequence[str | Path],
    qrels: str | Path | None = None,
    metric: str | None = None,
    *,
    judged_only: bool = False,
    ignore_self: bool = False,
    fuse: bool = False,
) -> RunValues:
    """Read what several systems did: runs with judgments, else values or results of MTEB.

    Parameters
    ----------
    paths : sequence of str or Path
        Runs, in TREC's six columns or a table with columns of queries, documents and scores.
        Without `qrels` a table has a row a query and a column a run, or is one run; or folders
        of MTEB's results.
    qrels : str or Path, optional
        Judgments: TREC's, or a table.
    metric : str, optional
        By its name here or in trec_eval and ir_measures; a gain that is not named is linear, as
        there. NDCG@10, or the main score of tasks, when omitted.
    judged_only, ignore_self : bool, default=False
        Leave out answers that nobody judged, or that have the id of their query.
    fuse : bool, default=False
        Add reciprocal rank fusion, and a weighted sum of scores whose weights are chosen, for
        each query, on others.

    Returns
    -------
    RunValues

    Raises
    ------
    DatasetError
        If a file cannot be read, or runs and judgments share no query.
    ValueError
        If the metric is not known, or an option needs judgments.

    Notes
    -----
    As in trec_eval every judged query counts, one that a run does not answer or that has no
    relevant document as 0, and a document that is not listed is not found. Equal scores count
    with the mean over their orders, where trec_eval sorts by id.
    """
    files = [Path(path) for path in paths]
    read: dict[str, str] = {}
    if qrels is not None:
        keep = _Filters(judged_only, ignore_self)
        judged = _judged(files, Path(qrels), metric or "NDCG@10", keep, read, fuse=fuse)
        return replace(judged, files=read)
    if fuse:
        raise ValueError("Values cannot be fused. Give runs, and judgments: --qrels FILE.")
    if judged_only or ignore_self:
        raise ValueError("Values list no documents. Give runs, and judgments: --qrels FILE.")
    folders = [path for path in files if path.is_dir()]
    if folders and len(folders) < len(files):
        raise DatasetError(
            f"{folders[0]} is a folder and {next(p for p in files if p not in folders)} is none. "
            "Compare results of MTEB among themselves."
        )
    by_run: dict[str, dict[str, float]] = {}
    for path in files:
        runs = _mteb(path, metric, read) if path in folders else _table_of_values(path, read)
        for name, values in runs:
            by_run[_free(name, by_run)] = values
    what = (metric or "main score") if folders else (metric or "value")
    return replace(_shared(by_run, what, "task" if folders else "query"), files=read)


def _load(path: Path, read: dict[str, str]) -> tuple[str, bytes]:
    """Name and content of a file, unpacked, of which the digest is noted."""
    name, data = load_bytes(path)
    read[_free(name, read)] = hashlib.sha256(data).hexdigest()
    return gunzip(name, data)


def _free(name: str, taken: Iterable[str]) -> str:
    names, n, free = set(taken), 1, name
    while free in names:
        n += 1
        free = f"{name} ({n})"
    return free


def run_name(path: Path) -> str:
    """What the run of a file is called: the file without its endings."""
    name = path.name
    while (ending := Path(name).suffix.lower()) in _ENDINGS and ending:
        name = name[: -len(ending)]
    return name or path.name


def _shared(by_run: Mapping[str, Mapping[str, float]], metric: str, unit: str) -> RunValues:
    first, *others = by_run.values()
    shared = [one for one in first if all(one in other for other in others)]
    if not shared:
        some = {name: ", ".join(map(shown, list(values)[:3])) for name, values in by_run.items()}
        listed = "; ".join(f"{name}: {names}" for name, names in some.items())
        raise DatasetError(f"No {unit} is in all runs ({listed}). Compare runs on the same data.")
    left_out = len({one for values in by_run.values() for one in values}) - len(shared)
    note = f"{counted(left_out, 'more ' + unit)} left out: not every run has a value."
    notes = (note,) if left_out else ()
    values = {name: np.array([values[one] for one in shared]) for name, values in by_run.items()}
    return RunValues(values, tuple(shared), metric, unit=unit, notes=notes)


def _table_of_values(path: Path, read: dict[str, str]) -> list[tuple[str, dict[str, float]]]:
    """Columns of numbers as runs, by what stands in the first other column."""
    name, data = _load(path, read)
    if _read_trec(name, data) is not None:
        raise DatasetError(f"{name} is a TREC run. Give the judgments, too: --qrels FILE.")
    table = read_table(data, name)
    numbers = [name for name, kind in table.kinds.items() if kind == "number"]
    key = next((name for name, kind in table.kinds.items() if kind == "text"), None)
    if key is None and len(numbers) > 1:
        key = numbers.pop(0)
    if key is None or not numbers:
        raise DatasetError(
            f"{table.name} has no column of ids beside columns of values. Bring one row a query "
            "with one column a run, or give --qrels to judge runs."
        )
    ids = list(table.stripped(key))
    if len(set(ids)) < len(ids):
        raise DatasetError(
            f"{table.name} names {shown(max(ids, key=ids.count))} in several rows of column "
            f"{shown(key)}. Bring one row a query; scores of documents need --qrels."
        )
    runs = []
    for name in numbers:
        cells = table.stripped(name)
        by_id = {
            one: judgments.finite(cell, "value", table.place(row, name))
            for row, (one, cell) in enumerate(zip(ids, cells, strict=True))
            if cell
        }
        runs.append((name if len(numbers) > 1 else run_name(path), by_id))
    return runs


def _mteb(
    folder: Path, metric: str | None, read: dict[str, str]
) -> list[tuple[str, dict[str, float]]]:
    """A run for each folder of one model's tasks."""
    key = "main_score" if metric is None else metric.strip().lower().replace("@", "_at_")
    by_folder: dict[Path, dict[str, float]] = {}
    known: set[str] = set()
    for path in sorted(folder.rglob("*.json")):
        tree = _json(path, read)
        scores = tree.get("scores")
        if not isinstance(scores, dict) or not isinstance(tree.get("task_name"), str):
            continue  # what is said of the model, and files of others
        part = scores.get("test") or next(iter(scores.values()), None)
        rows = [row for row in part or [] if isinstance(row, dict)]
        known |= {name for row in rows for name, value in row.items() if isinstance(value, float)}
        values = [row[key] for row in rows if isinstance(row.get(key), int | float)]
        if values:
            task = by_folder.setdefault(path.parent, {})
            task[tree["task_name"]] = float(np.mean(values))
    if not by_folder:
        near = f" Known scores: {', '.join(sorted(known)[:12])}." if known else ""
        raise DatasetError(f"{folder} holds no result of MTEB with the score {shown(key)}.{near}")
    runs = []
    for place, tasks in by_folder.items():
        meta = place / "model_meta.json"
        name = _json(meta, {}).get("name") if meta.is_file() else None
        runs.append((str(name or place.name), tasks))
    return runs


def _json(path: Path, read: dict[str, str]) -> dict[str, Any]:
    name, data = _load(path, read)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{name} is no JSON: {error}.") from error
    return tree if isinstance(tree, dict) else {}


@dataclass(frozen=True, slots=True, eq=False)
class _Qrels:
    """Relevant documents of each query, flat as in `Ranking`."""

    queries: tuple[str, ...]
    indptr: Ints
    documents: list[str]
    #: Position in `documents`, and grade, of each relevant judgment.
    document: Ints
    grade: Reals
    notes: tuple[str, ...]
    #: Each judged pair, relevant or not, as query × number of documents + document; sorted.
    pairs: Ints
    highest: float


class _Filters(NamedTuple):
    """Which answers of a run count."""

    judged_only: bool
    ignore_self: bool


def _judged(
    paths: Sequence[Path],
    qrels: Path,
    name: str,
    keep: _Filters,
    read: dict[str, str],
    *,
    fuse: bool = False,
) -> RunValues:
    depth = _judged_at(name)
    metric = _as_trec(name) if depth is None else None
    judged = _read_qrels(qrels, read)
    opened: Iterable[tuple[str, _Run]] = (_read_run(path, judged, read) for path in paths)
    if fuse:
        if metric is None or len(paths) < 2:
            raise ValueError(
                "Two runs or more are fused, and judged by a metric of relevant documents; got "
                f"{counted(len(paths), 'run')} and {name}."
            )
        opened = list(opened)
        judged = _with_documents(judged, [run for _, run in opened])
    values: dict[str, Reals] = {}
    shares: dict[str, float] = {}
    upper_bounds: dict[str, float | None] = {}
    n_tied = 0
    notes = list(judged.notes)
    results: dict[str, _Answers] = {}

    def judge(name: str, answers: _Answers) -> str:
        nonlocal n_tied
        run, is_judged = _free(name, values), answers.n > 0
        if metric is None:
            values[run] = answers.judged_share(judged, depth)
        else:
            ranking, tied = _rank(answers, judged)
            values[run] = _values(metric, ranking, answers)
            n_tied += tied
            share = answers.judged_share(judged, _first(metric))
            shares[run] = float(share[is_judged].mean())
            upper_bounds[run] = _upper_bound(metric, ranking, answers, judged)
        if missing := int((~is_judged).sum()):
            text = f"{missing:,} of {len(is_judged):,} judged queries"
            notes.append(f"{run} does not answer {text}; they count 0.")
        return run

    for path, (title, one) in zip(paths, opened, strict=True):
        answers, notes_of = _answered(title, one, judged, keep)
        notes += notes_of
        if not answers.n.any():
            raise DatasetError(f"{path.name} answers no query of {qrels.name}. Are the ids alike?")
        run = judge(title, answers)
        if fuse:
            results[run] = answers
    if fuse and metric is not None:
        of_metric = metric

        def measure(answers: _Answers) -> Reals:
            return _values(of_metric, _rank(answers, judged)[0], answers)

        fusion = _Fusion(results, len(judged.documents))
        judge("RRF", fusion.ranks())
        answers, nested, notes_of = fusion.sum({run: values[run] for run in results}, measure)
        values[judge("weighted sum", answers)] = nested
        notes += notes_of
    n_empty = int((np.diff(judged.indptr) == 0).sum())
    if n_empty and metric is not None:
        notes.append(
            f"{n_empty:,} of {len(judged.queries):,} judged queries have no relevant document; "
            "they count 0, as in trec_eval."
        )
    if n_tied:
        notes.append(
            f"{counted(n_tied, 'relevant answer')} tied with others: values are means over the "
            "orders of ties, where trec_eval sorts by id."
        )
    title = f"Judged@{depth}" if metric is None else metric.name
    better = metric is None or metric.higher_is_better
    return RunValues(
        values,
        judged.queries,
        title,
        better,
        notes=tuple(notes),
        judged=shares,
        upper_bounds=upper_bounds,
    )


def _judged_at(name: str) -> int | None:
    """How many answers "Judged@k" looks at; None of another metric."""
    match = re.fullmatch(r"judged@(\d+)", name.strip(), re.IGNORECASE | re.ASCII)
    if match is None:
        return None
    check_k(int(match[1]))
    return int(match[1])


def _values(metric: Metric, ranking: Ranking, answers: _Answers) -> Reals:
    """What a metric finds, 0 where no document is relevant."""
    if isinstance(metric, NDCG):  # beyond the last rank nothing changes, but takes memory
        metric = replace(metric, k=_depth(metric, ranking, answers))
    return np.nan_to_num(metric.per_query(ranking), nan=0.0)


def _first(metric: Metric) -> int | None:
    """How many answers count; None of a metric that looks at all."""
    return 1 if isinstance(metric, TopOne) else getattr(metric, "k", None)


def _depth(metric: NDCG, ranking: Ranking, answers: _Answers) -> int:
    last = int(max(answers.n.max(), np.diff(ranking.indptr).max()))
    return min(metric.k or last, last)


def _upper_bound(
    metric: Metric, ranking: Ranking, answers: _Answers, judged: _Qrels
) -> float | None:
    """The mean that judging all answers could give at most; None where it is not known."""
    # Were an answer relevant, the precision at ranks below it would rise and the number of
    # relevant documents too: of MAP and R-precision nothing simple is the most.
    if isinstance(metric, MAP | RPrecision):
        return None
    is_open = ~answers.is_judged(judged)
    if (k := _first(metric)) is not None:
        is_open &= answers.above < k
    n_open = int(is_open.sum())
    query = np.concatenate([ranking.query, answers.query[is_open]])
    order = np.argsort(query, kind="stable")
    n = np.bincount(query, minlength=ranking.n_queries)
    best = Ranking(
        np.concatenate([[0], np.cumsum(n)]),
        np.concatenate([ranking.candidate, np.full(n_open, -1)])[order],
        np.concatenate([ranking.grade, np.full(n_open, judged.highest)])[order],
        np.concatenate([ranking.above, answers.above[is_open]])[order],
        np.concatenate([ranking.tied, answers.tied[is_open]])[order],
        ranking.n_candidates,
    )
    if not isinstance(metric, NDCG):
        return float(_values(metric, best, answers).mean())
    # Gains of all open answers, over the ideal order of what is known: more relevant documents
    # can only make that better.
    k = _depth(metric, best, answers)
    bound = expected_ndcg_at(best, k, gain=metric.gain, discount=metric.discount, ideal=ranking)
    has_open = np.bincount(answers.query[is_open], minlength=ranking.n_queries) > 0
    bound = np.where(np.isnan(bound), np.where(has_open, 1.0, 0.0), np.minimum(bound, 1.0))
    return float(bound.mean())


def _as_trec(name: str) -> Metric:
    """A metric of what was found; a gain that is not named is linear."""
    metric = parse_metric(name, LISTED)
    if not isinstance(metric, LISTED):
        raise ValueError(
            f"{metric.name} asks about documents that runs do not list. Take top-1, MRR, MAP, "
            "P@5, recall@10, R-precision, success@5, ERR@20 or NDCG@10."
        )
    if isinstance(metric, NDCG) and "(" not in name:
        return replace(metric, gain="linear")
    return metric


def _read_qrels(path: Path, read: dict[str, str]) -> _Qrels:
    """Judgments as TREC or BEIR writes them."""
    table = judgments.read_judgment_table(*_load(path, read), {})
    named = [c for c in table.frame if is_label_name(c) or c == "grade"]
    numbers = [c for c, kind in table.kinds.items() if kind == "number"]
    label = next(iter([*named, *numbers[::-1]]), None)
    ids = [c for c in table.frame if c not in (label, "iteration")][:2]
    if label is None or len(ids) < 2 or label in ids:
        raise DatasetError(
            f"{table.name} holds no judgments. Bring lines of query, 0, document and grade, or a "
            "table with two columns of ids and one of grades."
        )
    (query, _, queries), (document, _, documents) = map(table.factorize, ids)
    grade = _numbers(table, label, "grade")
    pair = query * len(documents) + document
    rows, repeated = judgments.merge_repeated(pair, grade, "grade", table.name, table.place)
    keep = np.arange(len(grade))[rows]
    keep = keep[grade[keep] > 0]
    order = keep[np.argsort(query[keep], kind="stable")]
    n = np.bincount(query[order], minlength=len(queries))
    return _Qrels(
        tuple(queries),
        np.concatenate([[0], np.cumsum(n)]).astype(np.int64),
        list(documents),
        document[order].astype(np.int64),
        grade[order],
        tuple(filter(None, (*table.notes, repeated))),
        np.unique(pair),
        float(grade.max(initial=1.0)),
    )


def _numbers(table: Table, column: str, what: str) -> Reals:
    codes, first, cells = table.factorize(column)
    places = (table.place(int(row), column) for row in first)
    numbers = [judgments.finite(c, what, p) for c, p in zip(cells, places, strict=True)]
    return np.array(numbers)[codes]


class _Run(NamedTuple):
    """Queries, documents and scores of a run as columns, and where each stands in its file."""

    query: Any
    document: Any
    score: Reals
    place: Callable[[int], str]
    #: The file that it was read from.
    file: str
    name: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """The answers of a run to judged queries, by query; −1 is a document that is never judged."""

    query: Ints
    document: Ints
    score: Reals
    above: Ints
    tied: Ints
    #: How many each query has.
    n: Ints

    @classmethod
    def of(cls, query: Ints, document: Ints, score: Reals, n_queries: int) -> _Answers:
        """Answers that are sorted by query."""
        n = np.bincount(query, minlength=n_queries)
        above, tied = rank_listed(score, np.concatenate([[0], np.cumsum(n)]))
        return cls(query, document, score, above, tied, n)

    def is_judged(self, judged: _Qrels) -> NDArray[np.bool_]:
        pair = self.query * len(judged.documents) + self.document
        return (self.document >= 0) & np.isin(pair, judged.pairs)

    def judged_share(self, judged: _Qrels, k: int | None) -> Reals:
        """Share of judged ones among the first k of each query, 0 where there are none."""
        inside = np.clip((k or _NEVER) - self.above, 0, self.tied) / self.tied
        total, known = (
            np.bincount(self.query, weights=w, minlength=len(self.n))
            for w in (inside, inside * self.is_judged(judged))
        )
        return np.divide(known, total, out=np.zeros(len(self.n)), where=total > 0)


def _read_run(path: Path, judged: _Qrels, read: dict[str, str]) -> tuple[str, _Run]:
    name, data = _load(path, read)
    run = _read_trec(name, data) or _of_table(read_table(data, name), judged)
    # What comes out of a pipe has a number for a name.
    return run_name(path) if path.is_file() else run.name or run_name(path), run


def _answered(title: str, run: _Run, judged: _Qrels, keep: _Filters) -> tuple[_Answers, list[str]]:
    """The answers of a run that count, and what to say of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def positions(ids: Any, known: Sequence[str]) -> tuple[Ints, Ints, int]:
        coded = pc.dictionary_encode(ids)
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        found = pc.index_in(coded.dictionary, value_set=pa.array(known, pa.string()))
        at = pc.fill_null(found, -1)
        codes = coded.indices.to_numpy().astype(np.int64)
        return codes, at.to_numpy().astype(np.int64)[codes], len(at)

    queries, query, _ = positions(run.query, judged.queries)
    documents, document, n = positions(run.document, judged.documents)
    pair = queries * n + documents
    rows, repeated = judgments.merge_repeated(pair, run.score, "score", run.file, run.place)
    notes = [*run.notes, *filter(None, [repeated])]
    counts = np.zeros(len(query), dtype=bool)
    counts[rows] = True
    counts &= query >= 0
    if keep.ignore_self:
        itself = counts & np.asarray(pc.equal(run.query, run.document))
        counts &= ~itself
        if n_itself := int(itself.sum()):
            notes.append(f"{counted(n_itself, 'answer')} of {title} is its own query; left out.")
    if keep.judged_only:
        pair = query * len(judged.documents) + document
        counts &= (document >= 0) & np.isin(pair, judged.pairs)
    order: Ints = np.flatnonzero(counts)
    if (query[order][1:] < query[order][:-1]).any():
        order = order[np.argsort(query[order], kind="stable")]
    columns = query[order], document[order], run.score[order]
    return _Answers.of(*columns, len(judged.queries)), notes


def _with_documents(judged: _Qrels, runs: Sequence[_Run]) -> _Qrels:
    """The same judgments, with every document of the runs among those that are known."""
    import pyarrow.compute as pc

    known = set(judged.documents)
    more = {name for run in runs for name in pc.unique(run.document).to_pylist()} - known
    documents = [*judged.documents, *sorted(more)]
    query, document = np.divmod(judged.pairs, len(judged.documents))
    return replace(judged, documents=documents, pairs=query * len(documents) + document)


class _Fusion:
    """Runs as scores of every document that one of them lists for a query."""

    def __init__(self, runs: Mapping[str, _Answers], n_documents: int) -> None:
        self._names, self._n_queries = list(runs), len(next(iter(runs.values())).n)
        keys = [one.query * n_documents + one.document for one in runs.values()]
        both = np.unique(np.concatenate(keys))
        self._query, self._document = np.divmod(both, n_documents)
        self._ranks = np.zeros(len(both))
        #: Each run from 0 for the lowest score of a query to 1 for the highest; 0 if not listed.
        self._scores = np.zeros((len(keys), len(both)))
        for row, key, one in zip(self._scores, keys, runs.values(), strict=True):
            at = np.searchsorted(both, key)
            self._ranks[at] += 1 / (RRF_K + one.above + (one.tied + 1) / 2)
            starts = (np.cumsum(one.n) - one.n)[one.n > 0]
            low, high = (
                np.repeat(end.reduceat(one.score, starts), one.n[one.n > 0])
                for end in (np.minimum, np.maximum)
            )
            width = high - low
            row[at] = np.divide(one.score - low, width, out=np.ones(len(at)), where=width > 0)

    def ranks(self) -> _Answers:
        """Reciprocal rank fusion."""
        return _Answers.of(self._query, self._document, self._ranks, self._n_queries)

    def sum(
        self, values: Mapping[str, Reals], measure: Callable[[_Answers], Reals]
    ) -> tuple[_Answers, Reals, list[str]]:
        """The weighted sum, its values by weights chosen on other queries, and what to say."""

        def summed(path: FusionPath) -> _Answers:
            weights = shares(path)
            score = np.array(list(weights.values())) @ self._scores[list(weights)]
            return _Answers.of(self._query, self._document, score, self._n_queries)

        def curve(path: FusionPath, run: int) -> Reals:
            return np.stack([measure(summed((*path, (run, share)))) for share in SHARES])

        singles = np.stack([values[name] for name in self._names])
        n = self._n_queries
        selection = ForwardSelection(singles, curve, np.ones(n), np.arange(n))
        path = selection.select()
        text = " + ".join(f"{w:.2g} {self._names[run]}" for run, w in shares(path).items())
        if len(path) == 1:
            text = f"no run that is added to {self._names[path[0][0]]} is sure to help"
        text = (
            f"Weighted sum, chosen on all queries: {text}. Its values are those of weights that "
            f"were chosen without the query, in {min(FOLDS, n)} folds."
        )
        return summed(path), selection.nested()[0], [text]


def _read_trec(name: str, data: bytes) -> _Run | None:
    """A TREC run; None of another file."""
    import pyarrow as pa
    from pyarrow import csv

    if signature(data) is not None:
        return None
    head = data[: 2**16].decode("utf-8", "replace")
    if not judgments.looks_like_run(head):
        return None
    line = head.lstrip().split("\n", 1)[0].rstrip("\r")
    # One space or tab between words, everywhere: others would end up in ids, or shift columns.
    delimiter = "\t" if b"\t" in data else " "
    wide = (b" ",) if delimiter == "\t" else (b"  ", b"\n ")
    is_plain = line.split(delimiter) == line.split() and not any(w in data for w in wide)
    if is_plain:
        names = [str(i) for i in range(len(line.split(delimiter)))]
        types = {"0": pa.string(), "2": pa.string(), "4": pa.float64()}
        never_null = {"null_values": [], "strings_can_be_null": False}
        options = (
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=delimiter, quote_char=False),
            csv.ConvertOptions(column_types=types, include_columns=[*types], **never_null),
        )
        try:
            table = csv.read_csv(pa.BufferReader(data), *options)
            score = table["4"].to_numpy()
            if np.isfinite(score).all():
                tag = [*line.split(delimiter), ""][5]
                return _Run(table["0"], table["2"], score, partial(_line, name, data), name, tag)
        except pa.ArrowInvalid:
            pass  # other white space, or a broken line, which is named below
    lines = judgments.read_run_lines(name, *decode_text(name, data))
    query, document = (pa.array(lines[c], pa.string()) for c in ("query", "document"))
    score = np.array([*map(float, lines["score"])])
    return _Run(query, document, score, lines.place, name, lines["run"][0], lines.notes)


def _line(name: str, data: bytes, row: int) -> str:
    """Where an answer stands in a file that was read in one go."""
    lines = (number for number, line in enumerate(data.splitlines(), start=1) if line)
    return f"{name}, line {next(itertools.islice(lines, row, None))}"


def _of_table(table: Table, judged: _Qrels) -> _Run:
    import pyarrow as pa

    queries = {one: i for i, one in enumerate(judged.queries)}
    documents = {one: i for i, one in enumerate(judged.documents)}
    if (width := table.frame.shape[1]) < 3:
        raise DatasetError(
            f"{table.name} has {counted(width, 'column')}. A run has three: queries, "
            "documents and scores."
        )
    ids = judgments.id_columns(table, queries, documents)
    free = [c for c in table.frame if c not in ids and c not in table.vectors]
    column = judgments.score_column(table, free)
    if column is None:
        raise DatasetError(f"{table.name} has no column of scores. Name it 'score'.")
    query, document = (pa.array(table.stripped(c), pa.string()) for c in ids)
    score = _numbers(table, column, "score")
    return _Run(query, document, score, table.place, table.name, notes=table.notes)


def _rank(answers: _Answers, judged: _Qrels) -> tuple[Ranking, int]:
    """Where the relevant documents stand, and how many are tied."""
    n_queries, n_documents = len(judged.queries), len(judged.documents)
    owner = np.repeat(np.arange(n_queries), np.diff(judged.indptr))
    judged_keys = owner * n_documents + judged.document
    listed = np.flatnonzero(answers.document >= 0)
    keys = answers.query[listed] * n_documents + answers.document[listed]
    is_judged = np.isin(keys, judged_keys)  # few answers are: the others need no order
    keys, listed = keys[is_judged], listed[is_judged]
    _, at, place = np.intersect1d(keys, judged_keys, assume_unique=True, return_indices=True)
    found = listed[at]
    its_above = _NEVER + np.arange(len(judged_keys))
    its_tied = np.ones_like(its_above)
    its_above[place], its_tied[place] = answers.above[found], answers.tied[found]
    pool = np.full(n_queries, 2 * _NEVER)
    ranking = Ranking(judged.indptr, judged.document, judged.grade, its_above, its_tied, pool)
    return ranking, int((answers.tied[found] > 1).sum())
