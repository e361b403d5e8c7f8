"""Two libraries that search by graphs of neighbours: faiss, which simviz uses, and usearch.

``python benchmarks/neighbors_peers.py FOLDER [--items 200000]`` with a folder that
`neighbors.py` has filled, and ``pip install usearch``: time, size and recall of both
with float16 numbers and the same parameters, one thread. ``--damaged 300`` instead
damages files of both at random and counts what becomes of who reads them.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
import faiss
import numpy as np
from usearch.index import Index

from simviz.scale import VectorShards

CONNECTIVITY, EF_CONSTRUCTION = 16, 128
WIDTHS = (32, 64, 128, 256, 512)
SECONDS, MEMORY = 5, 6 * 2**30  # of one that reads a damaged file

Search = Callable[[np.ndarray, int], np.ndarray]


def with_faiss(path: Path, Y: np.ndarray | None = None) -> Search:
    if Y is not None:
        code = faiss.ScalarQuantizer.QT_fp16
        graph = faiss.IndexHNSWSQ(Y.shape[1], code, CONNECTIVITY, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = EF_CONSTRUCTION
        graph.add(Y)
        faiss.write_index(graph, str(path))
    graph = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)

    def search(q: np.ndarray, ef: int) -> np.ndarray:
        how = faiss.SearchParametersHNSW(efSearch=ef)
        return graph.search(q[None], 10, params=how)[1][0]

    return search


def with_lists(path: Path, Y: np.ndarray | None = None) -> Search:
    if Y is not None:
        n, width = Y.shape
        middles, code = faiss.IndexFlatIP(width), faiss.ScalarQuantizer.QT_fp16
        how = (max(1, min(round(2 * n**0.5), n // 10)), code, faiss.METRIC_INNER_PRODUCT, False)
        index = faiss.IndexIVFScalarQuantizer(middles, width, *how)
        index.cp.spherical, index.cp.min_points_per_centroid = True, 1
        index.train(Y[: 40 * index.nlist])
        index.add(Y)
        faiss.write_index(index, str(path))
    index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)

    def search(q: np.ndarray, ef: int) -> np.ndarray:
        how = faiss.SearchParametersIVF(nprobe=min(ef, index.nlist))
        return index.search(q[None], 10, params=how)[1][0]

    return search


def with_usearch(path: Path, Y: np.ndarray | None = None) -> Search:
    if Y is not None:
        how = {"connectivity": CONNECTIVITY, "expansion_add": EF_CONSTRUCTION}
        graph = Index(ndim=Y.shape[1], metric="ip", dtype="f16", **how)
        graph.add(np.arange(len(Y)), Y, threads=1)
        graph.save(str(path))
    graph = Index.restore(str(path), view=True)

    def search(q: np.ndarray, ef: int) -> np.ndarray:
        graph.expansion_search = ef
        return graph.search(q, 10, threads=1).keys

    return search


LIBRARIES = {"faiss": with_faiss, "faiss, lists": with_lists, "usearch": with_usearch}


def compare(folder: Path, n: int) -> None:
    vectors = VectorShards(folder / "vectors")
    n = min(n, vectors.n_items)
    Y, Q = vectors.take(np.arange(n)), np.load(folder / "queries.npy")[0]
    truth = np.concatenate(
        [np.argsort(-(Q[i : i + 50] @ Y.T), axis=1)[:, :10] for i in range(0, len(Q), 50)]
    )
    print(
        f"{n:,} items\n\n| library | build, CPU | bytes an item | ef, lists | recall | ms, CPU |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as home:
        searches = {}
        for name, use in LIBRARIES.items():
            start = time.process_time()
            searches[name] = use(Path(home) / name, Y)
            took = time.process_time() - start
            size = (Path(home) / name).stat().st_size / n
            searches[name] = (searches[name], f"{took:.0f} s | {size:.0f}")
        for ef in WIDTHS:
            for name, (search, told) in searches.items():
                start = time.thread_time()
                found = [search(q, ef) for q in Q]
                took = (time.thread_time() - start) / len(Q) * 1e3
                shared = [len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=True)]
                print(f"| {name} | {told} | {ef} | {np.mean(shared) / 10:.4f} | {took:.2f} |",
                      flush=True)  # fmt: skip


def damage(n_files: int) -> None:
    """Cut files, change bytes, write wrong numbers; read them in a process of their own."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(500, 16)).astype(np.float32)
    with tempfile.TemporaryDirectory() as home:
        for name, use in LIBRARIES.items():
            path, seen = Path(home) / name, Counter()
            use(path, Y)
            good = path.read_bytes()
            for i in range(n_files):
                path.write_bytes(_damaged(good, i))
                seen[_outcome(lambda use=use, path=path: [use(path)(q, 32) for q in Y[:50]])] += 1
            print(f"{name}: {dict(seen)}", flush=True)


def _damaged(good: bytes, i: int) -> bytes:
    rng, bad = np.random.default_rng(i), bytearray(good)
    if i % 3 == 0:
        return good[: rng.integers(len(good))]
    if i % 3 == 1:
        for at in rng.integers(0, len(bad), 4):
            bad[at] = int(rng.integers(256))
    else:  # numbers that are sizes or places, half of them near the beginning
        at = int(rng.integers(0, min(len(bad), 4096 if rng.random() < 0.5 else len(bad)) - 4))
        bad[at : at + 4] = bytes([int(rng.choice([0, 255, 127, 1, 128]))]) * 4
    return bytes(bad)


def _outcome(work: Callable[[], object]) -> str:
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            work()
        except Exception:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return "refused" if os.WEXITSTATUS(status) else "answered"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--damaged", type=int, default=0)
    asked = parser.parse_args()
    faiss.omp_set_num_threads(1)
    if asked.damaged:
        damage(asked.damaged)
    else:
        compare(asked.folder, asked.items)


if __name__ == "__main__":
    main()
