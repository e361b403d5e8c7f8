"""Print the tables of S2Net: against bare products, and beside a peer.

``python benchmarks/s2net.py TABLE``. What is compared runs in one
process, in turns; memory is the peak of a process of its own, less what libraries and data
take before.
"""

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import torch
from _corpora import Sides
from _synthetic import Bilingual
from _timing import in_turns, machine, show

from simviz.methods._s2net_losses import BlockFactory, Loss
from simviz.methods._s2net_training import Network, Objective
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance

GAMMA = 10.0
#: Pairs, terms a side and dimensions.
LIMIT = 10_000, 20_000, 1_000
Work = Callable[[], tuple[float, np.ndarray]]


def problem(n: int, d: int, k: int) -> tuple[Sides, np.ndarray]:
    """Synthetic pairs and parameters of a size."""
    X, Y = Bilingual(n, 0, d, 0, length=104).pairs(shared=False)
    theta = np.random.default_rng(0).standard_normal((2 * d + 2, k), dtype=np.float32)
    theta[-2:] = 0  # the peer has no biases
    return (X, Y), theta


def ours(X, Y, theta: np.ndarray, precision: str, loss: str = "logistic") -> Work:
    """Loss and gradient of all pairs, as `S2Net` takes them."""
    make = BlockFactory(precision, "cpu", np.float32, theta.shape[1])
    terms = Loss(Relevance.identity(X.shape[0]), S2Net(loss=loss, gamma=GAMMA), None)
    half = make.kind(X.shape[0], Y.shape[0]) == "bfloat16"
    objective = Objective(Network(X, Y, False, None, half=half), terms, make, lambda: None)
    return lambda: objective(theta)


def bare(n: int, k: int) -> Callable[[], object]:
    """The three products that every full batch needs, and nothing else."""
    rng = np.random.default_rng(0)
    P, Q = (rng.standard_normal((n, k), dtype=np.float32) for _ in "PQ")
    S = np.empty((n, n), np.float32)

    def work() -> object:
        np.matmul(P, Q.T, out=S)
        return S @ Q, S.T @ P

    return work


def bare_halves(n: int, k: int) -> Callable[[], object]:
    """The same in bfloat16, by torch."""
    P, Q = (torch.randn(n, k).bfloat16() for _ in "PQ")
    S = torch.empty(n, n, dtype=torch.bfloat16)

    def work() -> object:
        torch.mm(P, Q.T, out=S)
        return S @ Q, S.T @ P

    return work


def autograd(X, Y, theta: np.ndarray, rows: int) -> Work:
    """The same loss by PyTorch's autograd, in blocks of rows.

    Unit vectors are cut from the graph, each block adds to their gradients,
    and one last step goes on to the parameters.
    """
    warnings.filterwarnings("ignore", "Sparse", UserWarning)  # torch calls CSR a beta
    sides = [
        torch.sparse_csr_tensor(
            *(torch.from_numpy(np.asarray(part)) for part in (Z.indptr, Z.indices, Z.data)),
            size=Z.shape,
        )
        for Z in (X, Y)
    ]
    n, d = X.shape
    A, B = (torch.from_numpy(part).requires_grad_() for part in (theta[:d], theta[d:-2]))

    def work() -> tuple[float, np.ndarray]:
        A.grad = B.grad = None
        units = [
            torch.nn.functional.normalize(side @ W) for side, W in zip(sides, (A, B), strict=True)
        ]
        P, Q = (unit.detach().requires_grad_() for unit in units)
        total = 0.0
        for start in range(0, n, rows):
            block = torch.arange(start, min(start + rows, n))
            s = (P * Q).sum(dim=1)
            S = P[block] @ Q.T
            gaps = torch.nn.functional.softplus(GAMMA * (S - s[block, None]))
            gaps = gaps + torch.nn.functional.softplus(GAMMA * (S - s))
            # A pair against itself counts log 2 in either direction, and has no gradient.
            loss = (gaps.sum() - 2 * len(block) * np.log(2)) / (2 * n * (n - 1))
            loss.backward()
            total += loss.item()
        torch.autograd.backward(units, [P.grad, Q.grad])
        return total, torch.cat([A.grad, B.grad]).numpy()

    return work


def limit() -> None:
    """One full-batch loss and gradient beside its three bare products."""
    n, d, k = LIMIT
    (X, Y), theta = problem(n, d, k)
    works = {
        "three bare float32 products": bare(n, k),
        "three bare bfloat16 products": bare_halves(n, k),
    }
    for loss in ("logistic", "softmax", "mse"):
        works[f"{loss}, float32"] = ours(X, Y, theta, "float32", loss)
    for loss in ("logistic", "softmax"):
        works[f"{loss}, bfloat16"] = ours(X, Y, theta, "bfloat16", loss)
    print(f"n = {n:,} pairs, {d:,} terms a side, k = {k:,}; {X.nnz / n:.0f} terms an item.\n")
    took = in_turns(works, (), (), 5)
    base = took["three bare float32 products"]
    rows = [(name, *t.cells(), t.median / base.median) for name, t in took.items()]
    show(("loss and gradient", "least", "median", "to the bare products"), rows)


def peer() -> None:
    """The same beside PyTorch's autograd: time in turns, memory in processes."""
    n, d, k = *LIMIT[:2], 200
    (X, Y), theta = problem(n, d, k)
    works = {
        "ours, auto": ours(X, Y, theta, "auto"),
        "ours, float32": ours(X, Y, theta, "float32"),
        **{f"autograd, {rows} rows": autograd(X, Y, theta, rows) for rows in (128, 512)},
    }
    values = {name: work() for name, work in works.items()}
    gradient = values["ours, float32"][1]
    took = in_turns(works, (), (), 5)
    rows = []
    for name, t in took.items():
        off = np.abs(values[name][1][: 2 * d] - gradient[: 2 * d]).max() / np.abs(gradient).max()
        memory = in_process("peak", name, n, d, k)["peak"]
        ratio = t.median / took["ours, auto"].median
        rows.append((name, *t.cells(), ratio, f"{memory:.0f} MB", f"{off:.0e}"))
    print(f"n = {n:,} pairs, {d:,} terms a side, k = {k:,}.\n")
    show(("loss and gradient", "least", "median", "ratio", "peak memory", "gradient off"), rows)


def in_process(what: str, name: str, n: int, d: int, k: int) -> dict[str, float]:
    """Run one work in a process of its own; see `measured`."""
    line = [sys.executable, __file__, "_measured", what, name, *map(str, (n, d, k))]
    out = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def measured(what: str, name: str, n: int, d: int, k: int) -> dict[str, float]:
    """Peak memory of a work, beyond what is there before."""
    (X, Y), theta = problem(n, d, k)
    kind, _, setting = name.partition(", ")
    tiny = slice(0, 200)
    if kind == "autograd":
        make = lambda X, Y: autograd(X, Y, theta, int(setting.split()[0]))  # noqa: E731
    else:
        make = lambda X, Y: ours(X, Y, theta, setting)  # noqa: E731
    make(X[tiny], Y[tiny])()
    work = make(X, Y)
    before = megabytes("VmRSS")
    forget_peak()
    work()
    return {"peak": megabytes("VmHWM") - before}


def megabytes(which: str) -> float:
    """Memory of this process as Linux tells it: "VmRSS" now, "VmHWM" at its peak."""
    line = next(x for x in Path("/proc/self/status").open() if x.startswith(which))
    return int(line.split()[1]) / 1024


def forget_peak() -> None:
    """Let the peak begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Read the command line."""
    if sys.argv[1:2] == ["_measured"]:
        what, name, *size = sys.argv[2:]
        print(json.dumps(measured(what, name, *map(int, size))))
        return
    tables = {"limit": limit, "peer": peer}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=list(tables))
    asked = parser.parse_args()
    print(*machine(), "", sep="\n")
    tables[asked.table]()


if __name__ == "__main__":
    main()
