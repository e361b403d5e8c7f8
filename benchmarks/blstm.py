"""Steps, buckets and encoding of the Siamese network over characters.

``python benchmarks/blstm.py`` sets a pass of training beside the forward and backward pass of a
bare `torch.nn.LSTM` of the same shape on random numbers, texts as long as they are beside texts
padded to 100 steps, and encodes 20,000 titles.
"""

from __future__ import annotations

import numpy as np
import torch
from _timing import in_turns, machine, timed

from simviz import load_demo
from simviz.features import Characters
from simviz.methods.siamese_blstm import SiameseBLSTM

TEXTS = 256  # of a batch
STEPS = 100
#: Batches of a pass.
BATCHES = {"paper": 6, "small": 24}
TITLES = 20_000


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
    params = {**SiameseBLSTM.presets.get(preset, {}), "padding": padding, "max_iter": 1}
    return SiameseBLSTM(**params, validation_fraction=0.0).fit(X, Y)


def main() -> None:
    """Training beside a bare network, short beside padded texts, and encoding."""
    print(*machine(), "", sep="\n")
    texts = titles(TITLES)
    characters = Characters().fit(texts)
    print(f"Titles of {np.mean([len(t) for t in texts]):.0f} characters on average.\n")
    print("| preset | | texts a second | to the bare network | to 100 steps |")
    print("|---|---|---|---|---|")
    for preset, n in BATCHES.items():
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
        took = in_turns(works, (X, Y), (X[: TEXTS // 2], Y[: TEXTS // 2]))
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


if __name__ == "__main__":
    main()
