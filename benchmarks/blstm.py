"""Steps, buckets, encoding and a whole fit of the Siamese network over characters.

    python benchmarks/blstm.py speed
    python benchmarks/blstm.py demo
    python benchmarks/blstm.py demo --data FOLDER --set convolution=0 random_state=1

`speed` sets a pass of training beside the forward and backward pass of a bare
`torch.nn.LSTM` of the same shape on random numbers, texts as long as they are
beside texts padded to 100 steps, and encodes 20,000 titles. `demo` follows the
validation score of a fit on the demo of job titles by the clock, or of one on
300 groups of a taxonomy (titles.tsv.gz in FOLDER), one title of each held out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
from _settings import setting
from _timing import in_turns, machine, pinned, timed

from simviz import evaluate, load_demo
from simviz.data.pairs import PairSet
from simviz.data.readers import taxonomy_pairs
from simviz.experiments.siamese_blstm import read_material
from simviz.features import Characters
from simviz.methods.siamese_blstm import SiameseBLSTM
from simviz.pipeline import PairPipeline

TEXTS = 256  # of a batch
STEPS = 100
#: Batches of a pass.
BATCHES, SMALL_BATCHES = {"paper": 6, "small": 24}, {"paper": 1, "small": 2}
TITLES, SMALL_TITLES = 20_000, 500


def titles(n: int) -> list[str]:
    """So many distinct titles: those of the demo, then with a word before them."""
    plain = list(dict.fromkeys(load_demo("job_titles").y.content))
    words = ["", *(f"{word} " for word in ("senior", "junior", "lead", "deputy", "assistant"))]
    words += [f"{a}{b}" for a in words[1:] for b in ("acting ", "interim ", "trainee ", "night ")]
    found = [f"{word}{title}" for word in words for title in plain]
    if len(found) < n:
        raise ValueError(f"There are {len(found):,} titles, fewer than {n:,}.")
    return found[:n]


def bare(layers: int, width: int, hidden: int, batches: int) -> None:
    """Forward and backward passes of a bare network on random numbers."""
    network = torch.nn.LSTM(width, hidden, layers, bidirectional=True)
    inputs = torch.randn(STEPS, TEXTS, width)
    for _ in range(batches):
        network.zero_grad()
        network(inputs)[0].mean().backward()


def one_pass(preset: str, padding: str, X, Y) -> SiameseBLSTM:
    """One pass over pairs of different texts: sampling, reading, loss, step."""
    params = {**SiameseBLSTM.presets.get(preset, {}), "padding": padding}
    return SiameseBLSTM(**params, max_iter=1, validation_fraction=0.0).fit(X, Y)


def speed(repeats: int, *, small: bool) -> None:
    """Training beside a bare network, short beside padded texts, and encoding."""
    texts = titles(SMALL_TITLES if small else TITLES)
    characters = Characters().fit(texts)
    print(f"Titles of {np.mean([len(t) for t in texts]):.0f} characters on average.\n")
    print("| preset | | texts a second | to the bare network | to 100 steps |")
    print("|---|---|---|---|---|")
    for preset, n in (SMALL_BATCHES if small else BATCHES).items():
        half = TEXTS // 2 * n
        drawn = np.random.default_rng(0).permutation(len(texts))[: 2 * half]
        X, Y = (characters.transform([texts[i] for i in part]) for part in np.split(drawn, 2))
        model = SiameseBLSTM(**SiameseBLSTM.presets.get(preset, {}))
        size = model.n_layers, model.embedding_size, model.hidden_units
        works = {
            "bare network, 100 steps": lambda X, Y, size=size: bare(
                *size, X.shape[0] * 2 // TEXTS
            ),
            "ours, 100 steps": lambda X, Y, preset=preset: one_pass(preset, "fixed", X, Y),
            "ours, as long as they are": lambda X, Y, preset=preset: one_pass(
                preset, "none", X, Y
            ),
        }
        took = in_turns(works, (X, Y), (X[: TEXTS // 2], Y[: TEXTS // 2]), repeats)
        rates = {name: 2 * half / t.median for name, t in took.items()}
        base, fixed, _ = rates.values()
        for name, rate in rates.items():
            print(f"| {preset} | {name} | {rate:,.0f} | {rate / base:.2f} | {rate / fixed:.2f} |")
    print(f"\n| {len(texts):,} titles to vectors | seconds |\n|---|---|")
    X = characters.transform(texts)
    for preset in BATCHES:
        for padding in ("none", "fixed"):
            model = one_pass(preset, padding, X[:TEXTS], X[TEXTS : 2 * TEXTS])
            seconds = timed(lambda model=model: model.transform(X)).least
            print(f"| {preset}, padding {padding!r} | {seconds:.1f} |")


def demo_parts() -> dict[str, PairSet]:
    """The demo of job titles: titles to learn, inputs to watch, inputs to test."""
    pairs = load_demo("job_titles")
    split = pairs.x.metadata["split"]
    return {name: pairs.take(np.flatnonzero(split == name)) for name in np.unique(split)}


def taxonomy_parts(path: Path, n_groups: int = 300) -> dict[str, PairSet]:
    """Some groups of a taxonomy, one title of each with three or more held out to watch."""
    titles = read_material(path, n_groups).titles
    members: dict[str, list[str]] = {}
    for title, (group,) in titles.items():
        members.setdefault(group, []).append(title)
    rng = np.random.default_rng(5)
    held = {of[rng.integers(len(of))]: (group,) for group, of in members.items() if len(of) > 2}
    learned = {title: groups for title, groups in titles.items() if title not in held}
    return {"train": taxonomy_pairs(learned), "validation": taxonomy_pairs(learned, held)}


def demo(seconds: float, parts: dict[str, PairSet], params: dict[str, object]) -> None:
    """Validation score of a fit by the clock; texts look for titles, not titles for texts."""
    course: list[tuple[float, float]] = []
    began = time.perf_counter()

    def note(step, total, metrics):
        if "validation" in metrics:
            course.append((time.perf_counter() - began, metrics["validation"]))
        return bool(course) and course[-1][0] > seconds

    model = PairPipeline(SiameseBLSTM(**params), Characters())
    model.set_callbacks(note).fit(parts["train"], parts["validation"])
    took = time.perf_counter() - began
    fitted = model.model_
    best = max(fitted.validation_scores_)
    near = next(t for t, score in course if score >= 0.99 * best)
    print(f"{parts['train']!r}; {params}\n")
    print("| seconds | best validation MRR so far |\n|---|---|")
    for mark in (5, 10, 15, 20, 30, 45, 60, 90, 120):
        known = [score for t, score in course if t <= mark]
        if known and mark - 15 < course[-1][0]:
            print(f"| {mark} | {max(known):.3f} |")
    print(
        f"\n{fitted.n_iter_} passes, {fitted.best_iter_} kept, {took:.0f} s; within 1% of the "
        f"best after {near:.0f} s."
    )
    for name in ("validation", "test"):
        if name in parts:
            x, y, relevance = parts[name].x, parts[name].y, parts[name].relevance
            result = evaluate(model, x, y, relevance, metrics=["top-1", "MRR"], directions=["x2y"])
            print(f"{name}: top-1 {result.value('top-1'):.3f}, MRR {result.value('MRR'):.3f}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["speed", "demo"])
    parser.add_argument("--repeat", type=int, default=3, help="timed rounds (default 3)")
    parser.add_argument("--small", action="store_true", help="shrunk sizes: does it run?")
    parser.add_argument("--threads", type=int, help="threads of every library (default: theirs)")
    parser.add_argument("--seconds", type=float, default=120.0, help="demo: stop after these")
    parser.add_argument("--data", type=Path, help="demo: folder of another taxonomy")
    parser.add_argument(
        "--set",
        type=setting,
        nargs="*",
        default=[],
        metavar="NAME=VALUE",
        help="demo: parameters other than the defaults",
    )
    asked = parser.parse_args()
    wanted = pinned(asked.threads)
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        # Libraries read these when they are loaded, which they are by now: start again.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    print(*machine(), "", sep="\n")
    if asked.table == "speed":
        speed(asked.repeat, small=asked.small)
    else:
        parts = taxonomy_parts(asked.data / "titles.tsv.gz") if asked.data else demo_parts()
        demo(asked.seconds, parts, dict(asked.set))


if __name__ == "__main__":
    main()
