"""A comparison as files for other programs: judgments and answers, and every query."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from simviz.charts.canvas import full_names
from simviz.data.pairs import PairSet
from simviz.evaluation.differences import first_relevant_rank
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import DIRECTIONS, Direction
from simviz.evaluation.tables import csv_text
from simviz.evaluation.trec import trec_id, trec_qrels, trec_run
from simviz.reports.run_summary import RunEntry, part_text, read_runs
from simviz.store.run import Part, Run

#: Answers to a query at most.
_ANSWERS = 1_000
_README = """\
Answers and judgments of a comparison, in the format of TREC:
{part}.

qrels-PART-DIRECTION.txt       query 0 item grade (0: judged not relevant)
run-PART-DIRECTION-METHOD.txt  query Q0 item rank score tag; at most {k:,} items a query

DIRECTION is {directions}.
Queries without a relevant item are not among the judgments. {pool}
{ids}
Equal scores stand in the order of the items. Programs that read these files
sort by score and break ties by id, each in its own way; simviz takes the mean
over all orders of ties, so that figures differ where there are ties. trec_eval
reads scores in single precision.
"""


def trec_zip(
    runs: Sequence[Run],
    pairs: PairSet,
    *,
    directions: Sequence[Direction] = DIRECTIONS,
    labels: Mapping[str, str] | None = None,
    part: Part = "test",
) -> bytes:
    """Judgments and the answers of every run on a part of one split, as a zip file.

    There are a README, one file of judgments a direction, and one file of answers a run and
    direction. A ValueError says that the judgments cannot be written so, see
    `simviz.evaluation.trec.why_no_qrels`, or that the runs do not belong together; a StoreError
    that a run was not measured on that part, or a file is missing or damaged.
    """
    entries = read_runs(runs, labels, part=part)
    held_out = runs[0].take(pairs, part)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        archive.writestr("README.txt", _readme(entries[0], held_out, directions))
        for direction in directions:
            name = f"{part}-{direction.replace('2', '-to-')}"
            _put(archive, f"qrels-{name}.txt", trec_qrels(held_out, direction=direction))
        for one, slug in zip(entries, _slugs([t.label for t in entries]), strict=True):
            pipeline = one.run.pipeline()
            for direction in directions:
                name = f"{part}-{direction.replace('2', '-to-')}"
                lines = trec_run(pipeline, held_out, direction=direction, k=_ANSWERS, tag=slug)
                _put(archive, f"run-{name}-{slug}.txt", lines)
    return buffer.getvalue()


def query_csv(
    runs: Sequence[Run],
    pairs: PairSet,
    metrics: Sequence[str],
    *,
    labels: Mapping[str, str] | None = None,
    part: Part = "test",
) -> str:
    """Every query of a part with what each run did, as comma-separated values.

    It has one line a query that counts, of every direction that was measured, and for each run
    the rank of its first relevant answer and the metrics; those that pool all pairs have no
    value a query and are left out. Texts that a spreadsheet would run as a formula are escaped.
    A ValueError says that the runs were not measured on one split, a StoreError that one was
    not measured on that part, or a file is missing or damaged.
    """
    entries = read_runs(runs, labels, part=part)
    evaluations = [one.evaluation for one in entries]
    per_query = [m for m in metrics if parse_metric(m).level == "query"]
    arrays = runs[0].arrays()
    head = ["part", "direction", "id", "query", "relevant answers"]
    for one in entries:
        head += [f"{one.label}: {name}" for name in ("first rank", *per_query)]
    lines: list[list[object]] = [[*head]]
    for direction in DIRECTIONS:
        if not all(direction in evaluation.rankings for evaluation in evaluations):
            continue
        side, name = (pairs.x, pairs.x_name) if direction == "x2y" else (pairs.y, pairs.y_name)
        items = side.take(arrays[f"{direction[0]}_{part}"])
        texts = full_names(items)
        n_relevant = evaluations[0].rankings[direction].n_relevant
        columns = []
        for evaluation in evaluations:
            columns.append(first_relevant_rank(evaluation.rankings[direction]))
            columns += [evaluation.per_query(m, direction) for m in per_query]
        for query in np.flatnonzero(n_relevant > 0):
            # A query that cannot fail counts in no metric of ranks: an empty cell.
            values = (float(np.round(column[query], 12)) for column in columns)
            figures = [None if np.isnan(value) else value for value in values]
            sentences = [part, name, str(items.ids[query]), texts[query]]
            lines.append([*sentences, int(n_relevant[query]), *figures])
    return csv_text(lines)


def _put(archive: zipfile.ZipFile, name: str, lines: Iterator[str]) -> None:
    with archive.open(name, "w", force_zip64=True) as file:
        for piece in lines:
            file.write(piece.encode())


def _readme(first: RunEntry, part: PairSet, directions: Sequence[Direction]) -> str:
    x, y = part.nouns
    labels = {"x2y": f"x-to-y ({x} ask for {y})", "y2x": f"y-to-x ({y} ask for {x})"}
    ids = [str(i) for side in (part.x, part.y) for i in side.ids]
    changed = sum(trec_id(i) != i for i in ids)
    about_ids = (
        f"{changed:,} of {len(ids):,} ids hold white space or a percent sign, and are written as "
        "in web addresses (%20 is a space)."
        if changed
        else "Ids are those of the data set."
    )
    pool = f"{len(part.x):,} {x} and {len(part.y):,} {y} compete."
    if part.relevance.unjudged == "ignore":
        pool = "Only judged items compete."
    query_text = " or ".join(labels[d] for d in directions)
    named = part_text(first, part)
    return _README.format(k=_ANSWERS, part=named, directions=query_text, pool=pool, ids=about_ids)


def _slugs(labels: Sequence[str]) -> list[str]:
    """Names of files, no two alike on any disk."""
    made: list[str] = []
    for label in labels:
        slug = re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-.")[:40] or "run"
        made.append(slug if slug not in made else f"{slug}-{len(made) + 1}")
    return made
