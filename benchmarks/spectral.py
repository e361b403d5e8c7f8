"""Print the tables of the spectral methods: speed beside peers.

``python benchmarks/spectral.py NAME``.
What is compared runs in one process, in turns, after one small run of each
that compiles and loads. Ratios are to the first row of a table.
"""

import argparse
from functools import partial

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
from _peers import (
    cca_zoo,
    correlations,
    dense,
    eigh,
    lsi_model,
    mean_variance,
    pencil,
    residual,
    truncated_svd,
    variances,
)
from _synthetic import Bilingual, factors, texts
from _timing import Timed, in_turns, machine, show, timed

from simviz.evaluation import evaluate
from simviz.methods import get_method

COLUMNS = ("least", "median", "ratio of medians")


def cca() -> None:
    """Ridge CCA beside cca-zoo: the same ridge, the same correlations."""
    n, k = 3_000, 200
    sparse = Bilingual(n, 0, n, n // 10, n_topics=200, length=60).pairs(shared=False)
    tiny = factors(120, 100, n_shared=20)
    for name, (X, Y) in (("dense factors", factors(n, n)), ("sparse texts", sparse)):
        ridges = mean_variance(X), mean_variance(Y)  # our unit, times a regularisation of 1
        kind = "dense" if isinstance(X, np.ndarray) else "CSR for us, dense for the peer,"
        print(
            f"{name}, {kind} float32: n = {n:,}, d = {X.shape[1]:,} a side, k = {k}; variances "
            f"1st, 50th, 200th, last: {_some(variances(X), (1, 50, 200))}.\n"
        )

        def ours(X, Y, rank=None):
            return get_method("cca")(min(k, *X.shape), regularization=1.0, rank=rank).fit(X, Y)

        def peer(X, Y, dtype, ridges=ridges):
            return cca_zoo(dense(X, dtype), dense(Y, dtype), k, ridges)

        works = {
            "ours": ours,
            f"ours, rank={3 * k}": partial(ours, rank=3 * k),
            "cca-zoo RidgeCCA, float64": partial(peer, dtype=np.float64),
            "cca-zoo RidgeCCA, float32": partial(peer, dtype=np.float32),
        }
        took = in_turns(works, (X, Y), tiny)
        exact = correlations(X, Y, *took["cca-zoo RidgeCCA, float64"].result, ridges)
        rows = []
        for which, one in took.items():
            found, told = one.result, None
            if which.startswith("ours"):
                found, told = (found.x_projection_, found.y_projection_), found.spectrum_
            gap = _gap(correlations(X, Y, *found, ridges), exact)
            claimed = "" if told is None else f"{_gap(told, exact):.1e}"
            ratio = one.median / took["ours"].median
            rows.append((which, *one.cells(), ratio, f"{gap:.1e}", claimed))
        show(("fit", *COLUMNS, "correlations off by", "those it reports off by"), rows)
        _path(X, Y, k, tiny)


def _path(X, Y, k, tiny) -> None:
    """Twenty ridges against one, with three times k principal directions and with all."""
    values = tuple(np.geomspace(0.01, 100, 20))

    def once(X, Y, rank):
        return get_method("cca")(min(k, *X.shape), rank=rank).fit(X, Y)

    def path(X, Y, rank):
        model = get_method("cca")(min(k, *X.shape), rank=rank)
        return sum(1 for _ in model.regularization_path(X, Y, values=values))

    rows = []
    for rank in (3 * k, None):
        works = {
            f"one fit, rank={rank}": partial(once, rank=rank),
            f"path of {len(values)}, rank={rank}": partial(path, rank=rank),
        }
        took = in_turns(works, (X, Y), tiny)
        base = next(iter(took.values())).median
        rows += [(name, *t.cells(), t.median / base) for name, t in took.items()]
    show(("ours", *COLUMNS), rows)


def opca() -> None:
    """OPCA beside LAPACK's generalised eigenproblem on the dense pencil."""
    n_train, n_test, k = 12_000, 2_000, 400
    data = Bilingual(n_train, n_test, 4_444, 888)
    X, Y = data.pairs(shared=True)
    train, test = (X[:n_train], Y[:n_train]), (X[n_train:], Y[n_train:])
    print(
        f"{n_train:,} pairs, one vocabulary of {X.shape[1]:,}, {X.nnz / X.shape[0]:.0f} non-zeros "
        f"a row, {data.n_identical / data.n_concepts:.0%} of each language spelt alike; k = {k}.\n"
    )
    tiny = Bilingual(60, 0, 40, 8, n_topics=10).pairs(shared=True)
    for regularization in (1.0, 10.0):
        built = timed(partial(pencil, *train, regularization))
        print(
            f"Ridge of {regularization:g} mean noise variances; forming the pencil took another "
            f"{built.least:.1f} s, counted to nobody.\n"
        )

        def ours(X, Y, signal, noise, ridge=regularization):
            model = get_method("opca")(min(k, len(signal) // 2), regularization=ridge, shared=True)
            return model.fit(X, Y)

        def peer(X, Y, signal, noise, dtype):
            return eigh(signal, noise, min(k, len(signal) // 2), dtype)

        works = {
            "ours, from sparse data": ours,
            "eigh of the pencil, float64": partial(peer, dtype=np.float64),
            "eigh of the pencil, float32": partial(peer, dtype=np.float32),
        }
        warm = (*tiny, *pencil(*tiny, regularization))
        took = in_turns(works, (*train, *built.result), warm)
        _opca_table(took, *built.result, [Z.mean(axis=0) for Z in train], test)


def _opca_table(took: dict[str, Timed], signal, noise, means, test) -> None:
    ours, exact, _ = took
    model, values = took[ours].result, took[exact].result[0]
    k = model.n_components_
    # Lengths of columns change cosines: the peer's columns get those of ours.
    lengths = np.sqrt(_quadratic(noise, model.x_projection_))
    rows = []
    for which, one in took.items():
        if which == ours:
            scored, found, A = model, model.spectrum_, model.x_projection_
        else:
            found, A = one.result[0][:k], (one.result[1][:, :k] * lengths).astype(np.float32)
            scored = model.truncate(k)
            scored.x_projection_ = scored.y_projection_ = A
            scored.x_offset_, scored.y_offset_ = ((mean @ A).astype(np.float32) for mean in means)
        errors = np.abs(found - values[:k]) / values[:k]
        quotients = np.sort(_quadratic(signal, A) / _quadratic(noise, A))[::-1]
        off = np.abs(quotients - values[:k]) / values[:k]
        mrr = evaluate(scored, *test, metrics=["MRR"]).value("MRR", "mean")
        precision = [f"{e.max():.1e}" for e in (errors[: k // 2], errors, off)]
        ratio = one.median / took[ours].median
        rows.append((which, *one.cells(), ratio, *precision, f"{mrr:.4f}"))
    errors_of = ("top half of the eigenvalues off by", "all off by", "quotients of columns off by")
    show(("fit", *COLUMNS, *errors_of, "held-out MRR"), rows)


def _quadratic(C, A):
    """aᵀ C a of every column."""
    A = A.astype(np.float64)
    return np.einsum("ik,ik->k", A, C @ A)


#: Of each peer: its call, the name of its iterations, their default and what is tried to
#: reach our residual, other settings.
LSA_PEERS = {
    "scikit-learn TruncatedSVD": (truncated_svd, "n_iter", 5, (3, 4, 5, 6, 8, 10, 14, 20), {}),
    "gensim LsiModel, float64": (lsi_model, "power_iters", 2, (), {}),
    "gensim LsiModel, float32": (
        lsi_model,
        "power_iters",
        2,
        (1, 2, 3, 4, 6, 8, 12),
        {"dtype": np.float32},
    ),
}
SAME_RESIDUAL = 1 + 2e-5  # of a power iteration, which nears the best one without end


def lsa() -> None:
    """LSA beside scikit-learn's TruncatedSVD and gensim's LsiModel, at equal residual."""
    n, d, k = 43_380, 20_000, 500
    made = timed(partial(texts, n, d))
    A = made.result
    print(
        f"{n:,} × {d:,}, {A.nnz / n:.1f} non-zeros a row, made in {made.least:.1f} s; k = {k}.\n"
    )

    def ours(A):
        model = get_method("lsa")(min(k, A.shape[1] // 2)).fit(A)
        return model.x_projection_, model.spectrum_

    def peer(A, fit, settings):
        return fit(A, min(k, A.shape[1] // 2), **settings), None

    V, values = ours(A)
    goal = residual(A, V)
    print(f"Singular values 1st, 50th, 200th, last: {_some(values, (1, 50, 200))}.\n")
    works = {"ours": ours}
    for name, (fit, steps, default, tried, settings) in LSA_PEERS.items():
        works[f"{name}, {steps}={default} (default)"] = partial(peer, fit=fit, settings=settings)
        reached = next(
            (
                q
                for q in tried
                if residual(A, fit(A, k, **{steps: q}, **settings)) <= goal * SAME_RESIDUAL
            ),
            None,
        )
        if reached is not None and reached != default:
            works[f"{name}, {steps}={reached} (our residual)"] = partial(
                peer, fit=fit, settings={steps: reached, **settings}
            )
        elif tried and reached is None:
            print(f"{name} does not come to our residual with {steps}={tried[-1]}.\n")
    took = in_turns(works, (A,), (texts(300, 200, n_topics=20),))
    rows = []
    for name, one in took.items():
        left = residual(A, one.result[0])
        ratio = one.median / took["ours"].median
        rows.append((name, *one.cells(), ratio, f"{left:.6f}", f"{left / goal - 1:+.1e}"))
    show(("fit", *COLUMNS, "residual", "beyond ours"), rows)


def _some(values, positions) -> str:
    return ", ".join(f"{values[i - 1]:.3g}" for i in (*positions, len(values)) if i <= len(values))


def _gap(a, b) -> float:
    k = min(len(a), len(b))
    return float(np.abs(np.sort(a)[::-1][:k] - np.sort(b)[::-1][:k]).max())


def main() -> None:
    """Read the command line."""
    speed = {"cca": cca, "opca": opca, "lsa": lsa}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=list(speed))
    asked = parser.parse_args()
    print(*machine(), "", sep="\n")
    speed[asked.table]()


if __name__ == "__main__":
    main()
