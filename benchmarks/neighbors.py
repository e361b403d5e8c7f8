"""Search among many learned vectors: by looking at all, and in lists.

``python benchmarks/neighbors.py FOLDER`` learns from pairs of texts,
embeds many more of them, builds an index and prints tables. What is in the folder
already is not made again. One thread; what is compared takes turns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
import numpy as np
import scipy.sparse as sp
from _synthetic import TopicModel

from simviz.jobs.worker import limit_threads
from simviz.methods import get_method
from simviz.scale import ApproximateIndex, VectorShards, embed, exact_search, write_vectors

WORDS, TOPICS, TOKENS, COPIED = 50_000, 1_000, 35, 0.3
TRAINING, CHUNK, QUERIES = 20_000, 50_000, 1_000
ITEMS, K = 1_000_000, 200
#: Lists that are looked through.
PROBES = (8, 16, 32, 64, 128, 192, 256)
ROUNDS, EXACT_A_ROUND, FAST_A_ROUND, ASKED = 3, 5, 100, 300


def counts(n: int, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Words of pairs of texts in two languages: one mixture of topics, a third translated."""
    model, rng = TopicModel(WORDS, TOPICS), np.random.default_rng([7, seed])
    text = np.repeat(np.arange(n), TOKENS)
    mixtures = model.mixtures(n, rng)
    x, fresh = (model.words(text, mixtures, rng) for _ in range(2))
    y = np.where(rng.random(len(x)) < COPIED, x, fresh)
    spelt = np.random.default_rng(5).permutation(WORDS)
    sides = []
    for words in (x, spelt[y]):
        side = sp.csr_array((np.ones(len(text), np.float32), (text, words)), shape=(n, WORDS))
        side.sum_duplicates()
        sides.append(side)
    return sides[0], sides[1]


def weighted(side: sp.csr_array, idf: np.ndarray) -> sp.csr_array:
    side.data = (np.log1p(side.data) * idf[side.indices]).astype(np.float32)
    lengths = np.sqrt(np.asarray(side.multiply(side).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array((1 / np.maximum(lengths, 1e-9)).astype(np.float32)) @ side)


def make(folder: Path) -> None:
    """Vectors of the y side, and of queries: x sides of indexed pairs, and of strangers."""
    X, Y = counts(TRAINING, 0)
    df = [np.bincount(side.indices, minlength=WORDS) for side in (X, Y)]
    idf = [np.log(TRAINING / np.maximum(seen, 1)) * (seen > 0) for seen in df]
    start = time.perf_counter()
    model = get_method("s2net")(n_components=K, shared=False, random_state=0, max_iter=6)
    model.fit(weighted(X, idf[0]), weighted(Y, idf[1]))
    fitted = time.perf_counter() - start
    asked = []

    def batches() -> Iterator[sp.csr_array]:
        for i in range(ITEMS // CHUNK):
            X, Y = counts(CHUNK, 1 + i)
            if not i:
                asked.append(embed(model, weighted(X[:QUERIES], idf[0]), "x"))
            yield weighted(Y, idf[1])

    start = time.process_time()
    write_vectors(model, batches(), folder / "vectors", "y")
    embedded = time.process_time() - start
    strangers, _ = counts(QUERIES, 10**6)
    asked.append(embed(model, weighted(strangers, idf[0]), "x"))
    np.save(folder / "queries.npy", np.stack(asked))
    told = f"S2Net, k = {K}: learned in {fitted:.0f} s, embedded in {embedded:.0f} s of CPU"
    (folder / "made.json").write_text(json.dumps(told))


def build(folder: Path, vectors: VectorShards, how: dict[str, object]) -> dict[str, float]:
    name = "index-" + "-".join(map(str, how.values()))
    Path("/proc/self/clear_refs").write_text("5")  # lets the peak begin anew
    before, cpu, wall = _memory(), time.process_time(), time.perf_counter()
    last = [0.0]

    def tell(done: int, total: int) -> None:
        if time.perf_counter() - last[0] > 60:
            last[0] = time.perf_counter()
            print(f"  {done:,} of {total:,}, {time.process_time() - cpu:.0f} s of CPU", flush=True)

    ApproximateIndex.build(vectors, folder / name, callback=tell, **how)
    told = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "memory": _memory() - before,
    }
    (folder / f"{name}.json").write_text(json.dumps(told))
    return told


def measure(folder: Path, vectors: VectorShards, how: dict[str, object]) -> None:
    name = "index-" + "-".join(map(str, how.values()))
    if not (folder / name / "meta.json").exists():
        build(folder, vectors, how)
    told = json.loads((folder / f"{name}.json").read_text())
    start = time.perf_counter()
    index = ApproximateIndex.open(folder / name, vectors)
    opened = time.perf_counter() - start
    size = sum(path.stat().st_size for path in (folder / name).iterdir())
    print(
        f"\n{how}: built in {told['cpu']:.0f} s of CPU ({told['wall']:.0f} s on the clock), "
        f"{told['memory'] / 2**30:.2f} GiB more memory, {size / vectors.n_items:.0f} bytes an "
        f"item, opened in {opened:.2f} s"
    )
    Q = np.load(folder / "queries.npy")[:, :ASKED]
    exact = [exact_search(vectors, one, 10) for one in Q]
    Y = np.concatenate(list(vectors)).astype(np.float32)
    queries = Q.reshape(-1, Q.shape[-1])

    def scan(q: np.ndarray) -> np.ndarray:
        scores = Y @ q
        best = np.argpartition(scores, len(scores) - 10)[-10:]
        return best[np.argsort(-scores[best])]

    works: dict[str, tuple[Callable[[np.ndarray], object], int]] = {
        "all, one query: numpy": (scan, EXACT_A_ROUND),
        "all, one query: exact_search": (lambda q: exact_search(vectors, q, 10), EXACT_A_ROUND),
    }
    for value in PROBES:
        works[f"lists, n_probe {value}"] = (
            lambda q, value=value: index.search(q, 10, n_probe=value),
            FAST_A_ROUND,
        )
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    batched = []
    for turn in range(ROUNDS):
        for name, (work, n) in works.items():
            work(queries[-1])
            for q in queries[turn * n : (turn + 1) * n]:
                wall, cpu = time.perf_counter(), time.thread_time()
                work(q)
                seconds[name].append((time.perf_counter() - wall, time.thread_time() - cpu))
        wall, cpu = time.perf_counter(), time.thread_time()
        exact_search(vectors, queries[:ASKED], 10)
        batched.append((time.perf_counter() - wall, time.thread_time() - cpu))
    middle = {name: np.median(times, axis=0) * 1e3 for name, times in seconds.items()}
    base = middle["all, one query: numpy"]
    print("\n| search | recall@10 | of strangers | ms | ms of CPU | times less | CPU |")
    print("|---|---|---|---|---|---|---|")
    for name, (wall, cpu) in middle.items():
        told = "1 | 1"
        if name.startswith("lists"):
            n_probe = int(name.split()[-1])
            recalls = [
                index.recall(one, 10, exact=known, n_probe=n_probe)
                for one, known in zip(Q, exact, strict=True)
            ]
            ends = ", ".join(f"{end:.3f}" for end in recalls[0].interval)
            told = f"{recalls[0].mean:.4f} ({ends}) | {recalls[1].mean:.4f}"
        print(f"| {name} | {told} | {wall:.2f} | {cpu:.2f} | "
              f"{base[0] / wall:.1f} | {base[1] / cpu:.1f} |")  # fmt: skip
    wall, cpu = np.median(batched, axis=0) * 1e3 / ASKED
    print(f"| all, {ASKED} queries at once, each | 1 | 1 | {wall:.2f} | {cpu:.2f} | "
          f"{base[0] / wall:.1f} | {base[1] / cpu:.1f} |")  # fmt: skip


def _memory() -> float:
    """Most bytes in memory since the peak was forgotten."""
    line = next(x for x in Path("/proc/self/status").open() if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    limit_threads(1)
    asked.folder.mkdir(parents=True, exist_ok=True)
    if not (asked.folder / "made.json").exists():
        make(asked.folder)
    vectors = VectorShards(asked.folder / "vectors")
    print(json.loads((asked.folder / "made.json").read_text()), flush=True)
    measure(asked.folder, vectors, {"storage": "float16"})


if __name__ == "__main__":
    main()
