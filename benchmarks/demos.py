"""What the demos' buttons train, and what that gives on held-out pairs.

``python benchmarks/demos.py [--all] [DEMO ...]`` prints a row for each method, with the settings
of a demo's button, on the split of its button: the demo's metric and query side, on the validation
and the test part, and processor seconds of the fit. With ``--all`` it does so for every method
that can read such items, by its defaults.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time

import simviz  # isort: skip
from _timing import show

from simviz.datasets import DEMOS
from simviz.evaluation import ChanceScorer, PopularityScorer, evaluate
from simviz.features import why_impossible
from simviz.methods import all_methods


def able(pairs: simviz.PairSet) -> dict[str, dict]:
    """Methods that can read both sides, with no settings."""
    kinds = pairs.x.kind, pairs.y.kind
    return {
        method: {}
        for method, cls in all_methods().items()
        if not any(why_impossible(kind, cls.tags.input) for kind in kinds)
        and (kinds[0] == kinds[1] or cls.tags.space != "one")
    }


def main(names: list[str], every: bool) -> None:
    chosen = [demo for demo in DEMOS.values() if not names or demo.id in names]
    table: dict[str, dict[str, str]] = {}
    for demo in chosen:
        pairs = simviz.load_demo(demo.id)
        parts = simviz.split(pairs, by=demo.split_by, seed=0)
        scorers = {}
        for method, params in (able(pairs) if every else demo.methods).items():
            pipeline = simviz.default_pipeline(method, parts.train, **params)
            began = time.process_time()
            pipeline.fit(parts.train, parts.validation)
            scorers[pipeline.model.tags.title] = pipeline, time.process_time() - began
        scorers["(popularity)"] = PopularityScorer(parts.train), 0.0
        scorers["(chance)"] = ChanceScorer(), 0.0
        for name, (scorer, seconds) in scorers.items():
            values = (
                evaluate(scorer, part, metrics=[demo.metric], directions=(demo.direction,))
                for part in (parts.validation, parts.test)
            )
            told = [f"{one.value(demo.metric, demo.direction):.3f}" for one in values]
            table.setdefault(name, {})[demo.id] = ", ".join([*told, f"{seconds:.1f}"])
    heads = [f"{demo.id}, {demo.metric}" for demo in chosen]
    rows = [(name, *(cells.get(demo.id, "") for demo in chosen)) for name, cells in table.items()]
    show(("method", *heads), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demos", nargs="*")
    parser.add_argument("--all", action="store_true", help="every method, by its defaults")
    given = parser.parse_args()
    main(given.demos, given.all)
