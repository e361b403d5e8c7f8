"""Marks that a model follows at once, beside a training with the same pairs.

``python benchmarks/what_if.py`` prints three tables: seconds from a mark to the new drawing and
how far similarities are from those of a fit with the same pairs; S2Net beside that fit; and
30 corrections of job titles beside *Train again with corrections*.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import simviz
from simviz.data import Items, PairSet, Split
from simviz.data.augment import Corrections, Feedback, alphabet, augment, corrupt
from simviz.data.splitting import suggest_split
from simviz.evaluation.assignment import assign, group_names
from simviz.pipeline import PairPipeline
from simviz.projection import joint_map
from simviz.projection.pipeline_map import Space, draw

SPECTRAL = ("cca", "opca", "cl_lsi", "heterogeneous_svd")
N_ITEMS, K, N_MARKS, SEEDS = 2_000, 200, 30, range(3)


def timed(act: Callable[..., Any], *given: Any, **named: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = act(*given, **named)
    return time.perf_counter() - start, found


def parts_of(pairs: PairSet) -> Split:
    how = suggest_split(pairs)
    return simviz.split(pairs, how.by, group_key=how.group_key)


def trained(method: str, train: PairSet, parts: Split) -> PairPipeline:
    return simviz.default_pipeline(method, train, n_components=K).fit(train, parts.validation)


def mrr(pipeline: PairPipeline, part: PairSet) -> float:
    return simviz.evaluate(pipeline, part, metrics=["MRR"]).value("MRR", "mean")


def spoiled(train: PairSet, seed: int) -> tuple[PairSet, Corrections]:
    """Take some pairs away and add as many wrong ones; answer the marks that mend it, too."""
    rng = np.random.default_rng(seed)
    given = train.relevance.positives.tocoo()
    gone = rng.choice(given.nnz, N_MARKS // 2, replace=False)
    wrong = [tuple(int(rng.integers(n)) for n in given.shape) for _ in range(N_MARKS // 2)]
    matrix = train.relevance.matrix.tolil()
    matrix[given.row[gone], given.col[gone]] = 0
    wrong = [pair for pair in wrong if not matrix[pair]]
    for pair in wrong:
        matrix[pair] = 1
    marks = [(given.row[i], given.col[i], 1.0) for i in gone] + [(*pair, -1.0) for pair in wrong]
    named = [(str(train.x.ids[i]), str(train.y.ids[j]), v) for i, j, v in marks]
    return replace(train, relevance=replace(train.relevance, matrix=matrix.tocsr())), Corrections(
        named
    )


def show_seconds() -> None:
    half = np.arange(N_ITEMS // 2)
    pairs = simviz.load_demo("emoji").take(half, half)
    parts = simviz.split(pairs, "pair")
    mark = Corrections([(str(parts.train.x.ids[0]), str(parts.train.y.ids[5]), 1.0)])
    print(f"\nemoji, {len(pairs.x) + len(pairs.y):,} items, k = {K}; medians of 5 marks\n")
    print("| method | model | places | drawing | in all | whole fit | largest difference |")
    print("|---|---|---|---|---|---|---|")
    for method in (*SPECTRAL, "s2net"):
        fitted = trained(method, parts.train, parts)
        drawing = draw(fitted, pairs, quality=False)[0]
        what_if = simviz.WhatIf(fitted, parts)
        rows = []
        for _ in range(5):
            one, revised = timed(what_if.follow, [mark])
            two, space = timed(Space.of, revised.pipeline, pairs)
            sides = space.rows["x"], space.rows["y"]
            three, _ = timed(joint_map, *sides, start=drawing, quality=False)
            rows.append((one, two, three, one + two + three))
        whole, fresh = timed(trained, method, revised.train, parts)
        away = np.abs(
            fresh.similarity(pairs.x, pairs.y) - revised.pipeline.similarity(pairs.x, pairs.y)
        )
        cells = [f"{s:.2f} s" for s in (*np.median(rows, axis=0), whole)]
        print(f"| {method} | {' | '.join(cells)} | {away.max():.0e} |", flush=True)


def show_s2net() -> None:
    print(f"\nS2Net, {N_MARKS // 2} pairs missing and as many wrong, marked; MRR\n")
    print(
        "| data | seed | validation: before | marked | fit "
        "| test: before | marked | fit | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in ("emoji", "job_titles"):
        parts = parts_of(simviz.load_demo(name))
        for seed in SEEDS:
            train, marks = spoiled(parts.train, seed)
            before = trained("s2net", train, parts)
            what_if = simviz.WhatIf(before, replace(parts, train=train))
            quick, revised = timed(what_if.follow, [marks])
            slow, fresh = timed(trained, "s2net", revised.train, parts)
            models = before, revised.pipeline, fresh
            cells = [
                f"{mrr(m, part):.4f}" for part in (parts.validation, parts.test) for m in models
            ]
            print(
                f"| {name} | {seed} | {' | '.join(cells)} | {quick:.2f}, {slow:.2f} |", flush=True
            )


def corrections(fitted: PairPipeline, pairs: PairSet, train: PairSet) -> Feedback:
    """Mistyped titles of the training part whose groups are wrong, and their right ones."""
    rng, names = np.random.default_rng(0), group_names(pairs)
    letters, known = alphabet(train.x.content), {str(t) for t in pairs.x.content}
    texts, right = [], []
    for i in rng.permutation(len(train.x)):
        text = corrupt(str(train.x.content[i]), rng, 0.2, 0.05, letters)
        own = train.relevance.positives[[i]].indices
        if text.strip() and text not in known and len(own):
            texts.append(text)
            right.append(names[int(own[0])][0])
    found = assign(
        fitted, Items([str(i) for i in range(len(texts))], texts, "text"), train.y, names
    )
    answers = [found.names[g] if g >= 0 else "" for g in found.group]
    wrong = [(t, r, a) for t, r, a in zip(texts, right, answers, strict=True) if a != r][:N_MARKS]
    verdicts = [(t, r, 1.0) for t, r, _ in wrong] + [(t, a, -1.0) for t, _, a in wrong if a]
    return Feedback(verdicts)


def show_corrections() -> None:
    pairs = simviz.load_demo("job_titles")
    parts, names = parts_of(pairs), group_names(pairs)
    print(f"\njob_titles, {N_MARKS} corrected inputs\n")
    print(
        "| method | right of them: before | marked | trained again "
        "| validation MRR: before | marked | trained again | seconds | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for method in ("s2net", "heterogeneous_svd", "cca"):
        fitted = trained(method, parts.train, parts)
        step = corrections(fitted, pairs, parts.train)
        wanted = {text: group for text, group, verdict in step.pairs if verdict > 0}
        items = Items([str(i) for i in range(len(wanted))], list(wanted), "text")
        what_if = simviz.WhatIf(fitted, parts)
        quick, revised = timed(what_if.follow, [step])
        slow, fresh = timed(
            lambda m, s: trained(m, augment(parts.train, [s]), parts), method, step
        )
        models = fitted, revised.pipeline, fresh
        cells = []
        for model in models:
            found = assign(model, items, pairs.y, names)
            answers = [found.names[g] if g >= 0 else "" for g in found.group]
            cells.append(
                f"{np.mean([a == b for a, b in zip(answers, wanted.values(), strict=True)]):.2f}"
            )
        cells += [f"{mrr(model, parts.validation):.4f}" for model in models]
        print(
            f"| {method} | {' | '.join(cells)} | {quick:.2f}, {slow:.2f} | {quick / slow:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    show_seconds()
    show_s2net()
    show_corrections()
