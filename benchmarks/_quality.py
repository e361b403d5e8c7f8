"""Which method is better, settings chosen on validation data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from _corpora import Sides, Vocabularies, aligned, annotated, demo_icons
from ground import show

import simviz
from simviz.data import PairSet
from simviz.evaluation import ChanceScorer, PopularityScorer, evaluate
from simviz.methods import get_method
from simviz.pipeline import default_pipeline

REGULARIZATIONS = tuple(float(v) for v in np.geomspace(0.001, 1_000, 13))
#: Of each set: dimensions, training pairs, and pairs of each pool (None: all there are).
ORDERS: dict[str, tuple[tuple[int, ...], int | None, int | None]] = {
    "libreoffice_help": ((50, 100), None, None),
    "en_es_sentences": ((100,), 20_000, 3_000),
}
SEEDS = (0, 1, 2)
WEIGHT_DIMENSIONS = (5, 10, 20, 50, 100, 200)
GAMMAS = (1.0, 4.0, 16.0)  # in units of 1 / mean squared distance of the training items


def order(data: Path, *, small: bool) -> None:
    """Test MRR of both directions, settings chosen by the MRR of the dev split."""
    dimensions, n_train, n_pool = ORDERS.get(data.name, ((50, 100), None, None))
    if small:
        dimensions, n_train, n_pool = dimensions[:1], 2_000, 500
    parts = aligned(data)
    take = {"train": n_train, "dev": n_pool, "test": n_pool}
    texts = {name: tuple(side[: take[name]] for side in parts[name]) for name in take}
    print(
        f"{data.name}: {len(texts['train'][0]):,} training pairs, pools of "
        f"{len(texts['dev'][0]):,} (dev) and {len(texts['test'][0]):,} (test); words, min_df 2.\n"
    )
    for shared in (False, True):
        words = Vocabularies.fit(texts["train"], shared=shared, min_df=2)
        sides = {name: words.transform(part) for name, part in texts.items()}
        values = REGULARIZATIONS[3:10:3] if small else REGULARIZATIONS
        rows = _ordered(sides, dimensions, values, shared=shared)
        base = {k: test for name, k, _, _, test in rows if name == "cl_lsi"}
        n_terms = " + ".join(f"{n:,}" for n in words.sizes()[: 1 if shared else 2])
        print(f"Vocabulary: {'shared' if shared else 'separate'} ({n_terms} terms).\n")
        show(
            ("method", "k", "regularisation", "dev MRR", "test MRR", "to CL-LSI's"),
            [(*row, row[-1] / base[row[1]]) for row in rows],
        )


def _ordered(
    sides: dict[str, Sides],
    dimensions: tuple[int, ...],
    values: tuple[float, ...],
    *,
    shared: bool,
) -> list[tuple[str, int, str, float, float]]:
    rows = []
    for name in ("opca", "cca", "cl_lsi", "pca", "lsa"):
        if get_method(name).tags.space == "one" and not shared:
            continue
        best: dict[int, tuple[str, int, str, float, float]] = {}
        for value, model in _models(name, sides["train"], max(dimensions), values, shared):
            for k in dimensions:
                small = model.truncate(min(k, model.n_components_))
                dev, test = (_mrr(small, *sides[part]) for part in ("dev", "test"))
                if k not in best or dev > best[k][3]:
                    best[k] = (name, k, value, dev, test)
        rows += list(best.values())
    return sorted(rows, key=lambda row: (row[1], -row[4]))


def _models(
    name: str, train: Sides, k: int, values: tuple[float, ...], shared: bool
) -> Iterator[tuple[str, Any]]:
    """Fitted models, one for each setting."""
    cls = get_method(name)
    spaces = {"shared": shared} if cls.tags.space == "either" else {}
    model = cls(k, **spaces)
    if hasattr(model, "regularization_path"):
        path = model.regularization_path(*train, values=values)
        yield from ((f"{v:.3g}", m) for v, m in zip(values, path, strict=True))
    else:
        yield "", model.fit(*train)


def _mrr(model: Any, X: Any, Y: Any) -> float:
    return evaluate(model, X, Y, metrics=["MRR"]).value("MRR", "mean")


def weights(data: Path | None, *, small: bool) -> None:
    """Keywords of unseen pictures: P@5; k and gamma chosen by the validation part."""
    sets = {"icons": demo_icons()}
    if data is not None:
        sets[data.name] = annotated(data)
    for name, pairs in sets.items():
        splits = [(f"seed {s}", simviz.split(pairs, by="y", seed=s)) for s in SEEDS]
        if "split" in pairs.y.metadata:
            splits.append(("customary", simviz.split(pairs, by="column", group_key="split")))
        if small:
            splits = splits[:1]
        print(f"{name}: {len(pairs.x):,} keywords, {len(pairs.y):,} pictures.\n")
        columns = [_precisions(parts) for _, parts in splits]
        seeds = [c for (label, _), c in zip(splits, columns, strict=True) if "seed" in label]
        popular = mean(c["popularity"][0] for c in seeds)
        rows = []
        for scorer in columns[0]:
            average = mean(c[scorer][0] for c in seeds)
            rows.append(
                (scorer, average, average / popular, *(f"{c[scorer][0]:.3f}" for c in columns),
                 "; ".join(c[scorer][1] for c in columns))
            )  # fmt: skip
        labels = [label for label, _ in splits]
        show(("scorer", "P@5, mean of seeds", "to popularity's", *labels, "chosen"), rows)


def _precisions(parts: Any) -> dict[str, tuple[float, str]]:
    """Test P@5 of each scorer, and the settings that validation chose."""
    primal = "heterogeneous_svd"
    found = {
        f"{primal}, {weight} weights": _chosen(parts, primal, [{"negative_weight": weight}])
        for weight in ("paper", "balanced")
    }
    kernel = f"kernel_{primal}"
    near = _inverse_spread(parts.train)
    for weight in ("paper", "balanced"):
        settings = [
            {
                "negative_weight": weight,
                "x_kernel": "linear",
                "y_kernel": "rbf",
                "y_gamma": g * near,
            }
            for g in GAMMAS
        ]
        found[f"{kernel}, RBF of pictures, {weight} weights"] = _chosen(parts, kernel, settings)
    found["cca"] = _chosen(parts, "cca", [{}])
    test = parts.test.x, parts.test.y, parts.test.relevance
    for name, scorer in (
        ("popularity", PopularityScorer(parts.train)),
        ("chance", ChanceScorer()),
    ):
        found[name] = evaluate(scorer, *test, metrics=["P@5"]).value("P@5", "y2x"), ""
    return found


def _chosen(parts: Any, method: str, settings: list[dict[str, Any]]) -> tuple[float, str]:
    best = (-1.0, 0.0, "")
    for params in settings:
        pipeline = default_pipeline(
            method, parts.train, n_components=max(WEIGHT_DIMENSIONS), **params
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # fewer directions than asked are fine
            fitted = pipeline.fit(parts.train)
        top = fitted.model_.n_components_
        for k in sorted({min(k, top) for k in WEIGHT_DIMENSIONS}):
            small = fitted.truncate(k)
            valid, test = (_p5(small, part) for part in (parts.validation, parts.test))
            gamma = f", y_gamma={params['y_gamma']:.3g}" if "y_gamma" in params else ""
            best = max(best, (valid, test, f"k={k}{gamma}"), key=lambda one: one[0])
    return best[1:]


def _p5(scorer: Any, part: PairSet) -> float:
    result = evaluate(scorer, part.x, part.y, part.relevance, metrics=["P@5"])
    return result.value("P@5", "y2x")


def _inverse_spread(train: PairSet) -> float:
    """One over the mean squared distance between training pictures, as their features say."""
    features = default_pipeline("heterogeneous_svd", train).y_features
    Y = features.fit_transform(train.y.content)
    Y = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y, dtype=np.float64)
    return float(1.0 / (2.0 * np.sum(np.var(Y, axis=0))))
