"""Reading a million judgments from CSV and Parquet: time beside pandas and Arrow, and memory.

Run ``python benchmarks/reading.py [ROUNDS]``; the table goes to standard output. The
file holds 1,000,000 judgments (query id, query, document id, document, grade)
between 50,000 queries and 50,000 documents of made-up words. Every reading is
a process of its own, in turns; its time is without the imports, its memory is
the peak above what the imports take (on Linux). The text of the file is the
size of the CSV, in Parquet too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import pyarrow as pa

N, SIDE, WORDS = 1_000_000, 50_000, 5_000
READERS = {
    "simviz, pairs": "read_pairs(path).pairs.digest",
    "simviz, table": "read_table(path)",
    "pandas, as text": "pd.read_csv(path, dtype=object, keep_default_na=False)",
    "pandas": "pd.read_csv(path)",
    "pandas, Parquet": "pd.read_parquet(path)",
    "Arrow": "csv.read_csv(path)",
    "Arrow, Parquet": "pq.read_table(path)",
}
_CHILD = """
import json, re, sys, time
from pathlib import Path
import numpy as np, pandas as pd, pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from simviz.data import arrow, excel, jsonl, tables
from simviz.data import read_pairs, read_table
read_pairs(b"x,y,grade\\na,b,1\\n", "warm.csv")
path = sys.argv[1]
def peak():
    told = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", told).group(1))
before, start, cpu = peak(), time.perf_counter(), time.process_time()
{work}
print(json.dumps([time.perf_counter() - start, time.process_time() - cpu, peak() - before]))
"""


def write(folder: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(WORDS)], dtype=object)

    def texts(length: int) -> np.ndarray:
        rows = words[rng.integers(0, WORDS, (SIDE, length))]
        return np.array([f"{row[0]}, {' '.join(row[1:])}" for row in rows], dtype=object)

    x, y = rng.integers(0, SIDE, (2, N))
    ids = np.arange(SIDE).astype(str).astype(object)
    frame = pd.DataFrame(
        {
            "query_id": ("q" + ids)[x],
            "query": texts(5)[x],
            "document_id": ("d" + ids)[y],
            "document": texts(9)[y],
            "grade": rng.integers(0, 4, N),
        }
    )
    paths = folder / "judgments.csv", folder / "judgments.parquet"
    frame.to_csv(paths[0], index=False)
    frame.to_parquet(paths[1], index=False)
    return paths


def run(work: str, path: Path) -> list[float]:
    command = [sys.executable, "-c", _CHILD.format(work=work), str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout))


def main(rounds: int = 3) -> None:
    versions = (f"{module.__name__} {module.__version__}" for module in (np, pd, pa))
    print(f"{', '.join(versions)}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    with tempfile.TemporaryDirectory() as name:
        for path in write(Path(name)):
            text = (Path(name) / "judgments.csv").stat().st_size
            is_csv = path.suffix == ".csv"
            readers = {
                label: work
                for label, work in READERS.items()
                if label.startswith("simviz") or ("csv" in work) == is_csv
            }
            found: dict[str, list[list[float]]] = {label: [] for label in readers}
            for _ in range(rounds):
                for label, work in readers.items():
                    found[label].append(run(work, path))
            print(
                f"\n{path.suffix[1:]}: {path.stat().st_size / 1e6:.0f} MB, "
                f"text {text / 1e6:.0f} MB\n"
            )
            print("| reader | seconds | of CPU | peak, times the text |\n|---|---|---|---|")
            for label, rows in found.items():
                wall, cpu, size = (median(values) for values in zip(*rows, strict=True))
                print(f"| {label} | {wall:.2f} | {cpu:.2f} | {size / text:.1f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
