"""Data that stay on the disk: a fit that streams over a million pairs, and counting words.

``python benchmarks/shards.py make /tmp/shards`` writes synthetic pairs as shards,
``fit`` streams S2Net over them and prints a line a pass. ``texts`` writes Parquet
files, ``count`` learns a vocabulary from them and writes features, ``hash`` does
without a vocabulary, ``memory`` is scikit-learn with all of them in memory. Each is
a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
import numpy as np
import scipy.sparse as sp
from _synthetic import TopicModel

from simviz.scale import SparseShards

_CHUNK = 50_000  # items of a shard
#: Pairs, terms and tokens of each side, topics that a pair shares.
PAIRS, TERMS, TOKENS, TOPICS = 1_000_000, 50_000, 36, 400


def memory() -> dict[str, float]:
    """GB of this process: the peak, and what it holds now of its own and of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines if line.startswith(("VmHWM", "Rss")))
    return {name: int(value.split()[0]) / 2**20 for name, value in found.items()}


def told() -> str:
    """The same in words."""
    now = memory()
    return (
        f"peak {now['VmHWM']:.2f} GB; now {now['RssAnon']:.2f} own, {now['RssFile']:.2f} of files"
    )


def rows(tokens: np.ndarray, d: int, idf: np.ndarray | None) -> tuple[sp.csr_array, np.ndarray]:
    """Weighted words of length 1 from (n, tokens) words; the idf of these when not given."""
    n = len(tokens)
    text = np.repeat(np.arange(n), tokens.shape[1])
    counts = sp.csr_array((np.ones(tokens.size), (text, tokens.ravel())), shape=(n, d))
    counts.sum_duplicates()
    if idf is None:
        idf = np.log(n / np.maximum(np.bincount(counts.indices, minlength=d), 1))
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    lengths = np.sqrt(np.bincount(np.repeat(np.arange(n), np.diff(counts.indptr)), counts.data**2))
    counts.data /= np.repeat(np.maximum(lengths, 1e-12), np.diff(counts.indptr))
    return counts.astype(np.float32), idf


def make(folder: Path) -> None:
    """Write both sides: a pair shares its mixture of topics, and no word."""
    models = [TopicModel(TERMS, TOPICS, seed) for seed in (1, 2)]
    idf: list[np.ndarray | None] = [None, None]
    start = time.perf_counter()

    def chunks(side: int) -> Iterator[sp.csr_array]:
        for first in range(0, PAIRS, _CHUNK):
            size = min(_CHUNK, PAIRS - first)
            shared = np.random.default_rng([7, first])
            mixtures = models[side].mixtures(size, shared)
            own = np.random.default_rng([8, first, side])
            text = np.repeat(np.arange(size), TOKENS)
            words = models[side].words(text, mixtures, own).reshape(size, TOKENS)
            matrix, idf[side] = rows(words, TERMS, idf[side])
            yield matrix
            print(f"side {side}: {first + size:,} after {time.perf_counter() - start:.0f} s")

    for side, name in enumerate("xy"):
        SparseShards.write(folder / name, chunks(side))
    for name in "xy":
        shards = SparseShards(folder / name)
        entries = sum(matrix.nnz for matrix in shards)
        size = sum(path.stat().st_size for path in (folder / name).iterdir())
        print(f"{name}: {shards.n_items:,} x {shards.n_features:,}, {entries / PAIRS:.1f} a row, "
              f"{size / 2**30:.2f} GB")  # fmt: skip


def fit(folder: Path) -> None:
    """Stream S2Net over shards; a line a pass, and memory at the end."""
    from simviz.jobs.worker import limit_threads
    from simviz.methods.s2net import S2Net
    from simviz.scale import fit_s2net

    limit_threads(1)
    X, Y = SparseShards(folder / "x"), SparseShards(folder / "y")
    print(f"before: {told()}", flush=True)
    start = time.perf_counter()
    passes: list[dict[str, float]] = []
    cpu = time.process_time

    def note(step: int, total: int, metrics: dict[str, float]) -> bool:
        if step + 1 > len(passes) and "validation" in metrics:
            passes.append({"seconds": time.perf_counter() - start, "cpu": cpu(), **metrics})
            print(f"{step}: {passes[-1]} {told()}", flush=True)
        return False

    how = {"init": "opca", "batch_size": 1_000, "max_iter": 10, "patience": 10}
    model = S2Net(200, device="cpu", **how).set_callbacks(note)
    fit_s2net(model, X, Y, buffer_size=100_000, n_start=8_000)
    seconds = [b["seconds"] - a["seconds"] for a, b in pairwise(passes)]
    if seconds:
        print(f"{X.n_items / np.median(seconds):,.0f} pairs/s, a pass {np.median(seconds):.0f} s")
    print(told())


def write_texts(folder: Path) -> None:
    """Short texts of words of Zipf's law, as ten Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    odds = np.cumsum(1 / (np.arange(400_000) + 2.7) ** 1.05)
    words = np.array(["".join(rng.choice(letters, 3 + i % 8)) for i in range(len(odds))])
    for file in range(10):
        lengths = rng.integers(5, 16, PAIRS // 10)
        tokens = words[np.searchsorted(odds, rng.random(lengths.sum()) * odds[-1])]
        texts = [" ".join(part) for part in np.split(tokens, np.cumsum(lengths)[:-1])]
        pq.write_table(pa.table({"text": texts}), folder / f"{file}.parquet")
    print(f"{sum(p.stat().st_size for p in folder.iterdir()) / 2**20:.0f} MB")


def count(folder: Path, how: str) -> None:
    """Terms to weights: from the disk to the disk, hashed, or all in memory."""
    from simviz.features import HashedText, Tfidf
    from simviz.scale import TextFolder, fit_vocabulary, write_features

    source = TextFolder(folder)
    before, start = memory()["VmHWM"], time.process_time()
    middle = start
    if how == "memory":
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [
            text for i in range(len(source)) for part, _ in source.batches(i) for text in part
        ]
        before, start = memory()["VmHWM"], time.process_time()
        peer = TfidfVectorizer(token_pattern=r"[^\W_]+", dtype=np.float32)
        width = peer.fit_transform(texts).shape[1]
        middle = time.process_time()
    else:
        features = fit_vocabulary(HashedText() if how == "hash" else Tfidf(), source)
        middle = time.process_time()
        with tempfile.TemporaryDirectory(dir=folder.parent) as out:
            width = write_features(features, source, out).n_features
    took, n = time.process_time() - start, source.n_items
    print(
        f"{how}: {width:,} columns, {took:.1f} s of a processor ({middle - start:.1f} to learn), "
        f"{n / took:,.0f} texts/s; peak {memory()['VmHWM']:.2f} GB, {before:.2f} before"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["make", "fit", "texts", "count", "hash", "memory"])
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    if asked.what == "make":
        make(asked.folder)
    elif asked.what == "fit":
        fit(asked.folder)
    elif asked.what == "texts":
        write_texts(asked.folder)
    else:
        count(asked.folder, asked.what)


if __name__ == "__main__":
    main()
