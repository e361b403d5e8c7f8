"""What drawings of held-out items keep of a model: the two-sided one, MDS, UMAP and openTSNE.

    python benchmarks/two_sided.py FOLDER choose SEEDS     # validation items of CHOSEN_ON
    python benchmarks/two_sided.py FOLDER report SEEDS     # test items of REPORTED
    python benchmarks/two_sided.py FOLDER ablation SEEDS   # validation items of CHOSEN_ON
    python benchmarks/two_sided.py FOLDER place SEEDS      # test items of REPORTED
    python benchmarks/two_sided.py FOLDER seconds POINTS   # made-up points

FOLDER holds data sets as `defaults.py` reads them. openTSNE is left out where it is missing.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _corpora import aligned, demo_icons

import simviz
from simviz.data import PairSet
from simviz.pipeline import default_pipeline
from simviz.projection import align_sides, map_quality, mds_map, two_sided, umap_map

CHOSEN_ON = ("icons", "en_es_docs", "abt_buy")
REPORTED = ("emoji", "pydocs", "amazon_google", "libreoffice_help")
METHODS = ("cca", "heterogeneous_svd", "s2net")
TRAINING, HELD_OUT = 3_000, 450
Array = np.ndarray[Any, Any]
Draw = Callable[..., tuple[Array, Array]]


def parts_of(folder: Path, name: str, part: str, seed: int) -> tuple[PairSet, PairSet]:
    """Return training pairs and held-out ones."""
    if name in ("icons", "emoji", "pydocs"):
        pairs = demo_icons() if name == "icons" else simviz.load_demo(name)
        parts = simviz.split(pairs, by="y" if name == "icons" else "pair", seed=seed)
        return parts.train, parts.validation if part == "dev" else parts.test
    texts, rng, found = aligned(folder / name), np.random.default_rng(seed), []
    for side, n in (("train", TRAINING), ("dev", HELD_OUT), ("test", HELD_OUT)):
        x, y = texts[side]
        keep = np.sort(rng.permutation(len(x))[:n])
        found.append(PairSet.from_texts([x[i] for i in keep], [y[i] for i in keep]))
    return found[0], found[1 if part == "dev" else 2]


def cells(
    folder: Path, names: tuple[str, ...], part: str, seeds: int
) -> Iterator[tuple[str, str, int, Array, Array, Array]]:
    """Vectors of held-out items by each model, and what belongs together."""
    for name in names:
        for seed in range(seeds):
            train, held = parts_of(folder, name, part, seed)
            relevant = held.relevance.positives.toarray() > 0
            for method in METHODS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    pipeline = default_pipeline(method, train).fit(train)
                yield name, method, seed, *pipeline.coordinates(held.x, held.y), relevant


def reciprocal(cost: Array, relevant: Array) -> Array:
    """Reciprocal rank of the first relevant column of each row that has one."""
    best = np.where(relevant, cost, np.inf).min(axis=1)
    asked = np.isfinite(best)
    return 1 / (1 + (cost[asked] < best[asked, None] - 1e-12).sum(axis=1))


def mrr(cost: Array, relevant: Array) -> float:
    """Mean of both directions' MRR."""
    return float(reciprocal(cost, relevant).mean() + reciprocal(cost.T, relevant.T).mean()) / 2


def distances(x: Array, y: Array) -> Array:
    """Squared distances across the sides."""
    return (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T


def csls(x: Array, y: Array, k: int = 10) -> Array:
    """Cosines less the mean of both items' k largest, with the sign turned."""
    s = x @ y.T
    hub_x, hub_y = np.sort(s, axis=1)[:, -k:].mean(axis=1), np.sort(s, axis=0)[-k:].mean(axis=0)
    return hub_x[:, None] + hub_y - 2 * s


def open_tsne(x: Array, y: Array, *, random_state: int) -> tuple[Array, Array]:
    """OpenTSNE on the stacked vectors, sides centred, its own defaults."""
    from openTSNE import TSNE

    points = np.concatenate(align_sides(x, y, "center"))
    drawn = np.asarray(TSNE(random_state=random_state, n_jobs=2).fit(points))
    return drawn[: len(x)], drawn[len(x) :]


def centred(draw: Draw) -> Draw:
    """A drawing of sides whose centres are moved together."""

    def drawn(x: Array, y: Array, **options: Any) -> tuple[Array, Array]:
        return draw(*align_sides(x, y, "center"), **options)

    return drawn


def drawings() -> dict[str, Draw]:
    """Ways to draw, by name."""
    known: dict[str, Draw] = {
        "two-sided": two_sided.two_sided_map,
        "UMAP": centred(umap_map),
        "MDS": centred(lambda x, y, random_state: mds_map(x, y)),
    }
    try:
        import openTSNE  # noqa: F401
    except ImportError:
        return known
    return known | {"openTSNE": open_tsne}


def ablations() -> dict[str, Draw]:
    """The two-sided drawing with one thing changed."""

    def staged(change: Callable[[two_sided.Stage], two_sided.Stage | None], **more: Any) -> Draw:
        def drawn(x: Array, y: Array, **options: Any) -> tuple[Array, Array]:
            usual = two_sided.STAGES
            changed = [change(stage) for stage in usual]
            two_sided.STAGES = tuple(stage for stage in changed if stage is not None)
            try:
                return two_sided.two_sided_map(x, y, **options, **more)
            finally:
                two_sided.STAGES = usual

        return drawn

    last = two_sided.STAGES[-1]
    return {
        "as it is": staged(lambda stage: stage),
        "share .05 (own side)": staged(lambda stage: stage, share=0.05),
        "share .5": staged(lambda stage: stage, share=0.5),
        "share .95 (other side)": staged(lambda stage: stage, share=0.95),
        "one normaliser": staged(lambda stage: stage._replace(by_row=False)),
        "no narrowing": staged(lambda stage: stage._replace(own=30, other=30)),
        "last stage alone, 800 steps": staged(
            lambda stage: stage._replace(n_iter=800) if stage is last else None
        ),
        "one cloud (openTSNE)": open_tsne,
    }


def table(found: Iterator[tuple[Any, ...]], ways: dict[str, Draw], by_cell: bool) -> None:
    """Print what each way keeps, over all cells, and that of the first by cell."""
    rows: dict[str, dict[tuple[str, str], list[list[float]]]] = {way: {} for way in ways}
    for name, method, seed, x, y, relevant in found:
        space = mrr(distances(x, y), relevant)
        best = max(space, mrr(csls(x, y), relevant))
        for way, draw in ways.items():
            a, b = draw(x, y, random_state=seed)
            kept = map_quality(x, y, a, b)
            drawn = mrr(distances(a, b), relevant)
            rows[way].setdefault((name, method), []).append(
                [drawn / space, drawn / best, kept.cross_overlap, kept.trustworthiness]
            )
    print(
        "| drawing | MRR drawn / in the space | worst cell | / better of cosine and CSLS | worst "
        "cell | kept of the 10 nearest across | trustworthiness |\n" + "|---" * 7 + "|"
    )
    for way, known in rows.items():
        means = np.array([np.mean(cell, axis=0) for cell in known.values()])
        (ratio, against, kept, trust), (worst, least, *_) = means.mean(axis=0), means.min(axis=0)
        print(
            f"| {way} | {ratio:.3f} | {worst:.3f} | {against:.3f} | {least:.3f} | {kept:.3f} "
            f"| {trust:.3f} |"
        )
    if by_cell:
        for cell, values in next(iter(rows.values())).items():
            print("|", " | ".join([*cell, *(f"{v:.3f}" for v in np.mean(values, axis=0))]), "|")


def place(found: Iterator[tuple[Any, ...]], n: int = 200) -> None:
    """Print the MRR of new x items placed on a drawing beside that of drawn ones."""
    rows = []
    for _, _, seed, x, y, relevant in found:
        new = np.random.default_rng(seed).permutation(len(x))[: min(n, len(x) // 2)]
        new = new[relevant[new].any(axis=1)]
        old = np.setdiff1d(np.arange(len(x)), new)
        a, b = two_sided.two_sided_map(x, y, random_state=seed)
        _, ground = two_sided.two_sided_map(x[old], y, random_state=seed)
        start = time.process_time()
        placed = np.array([two_sided.place_new(ground, y @ x[i]) for i in new])
        seconds = time.process_time() - start
        drawn = reciprocal(distances(a[new], b), relevant[new]).mean()
        again = reciprocal(distances(placed, ground), relevant[new]).mean()
        rows.append((drawn, again, again / drawn, 1e3 * seconds / len(new)))
    drawn, again, ratio, milliseconds = np.mean(rows, axis=0)
    worst = min(row[2] for row in rows)
    print(
        f"MRR drawn {drawn:.3f}, placed {again:.3f}; ratio {ratio:.3f}, worst {worst:.3f}; "
        f"{milliseconds:.1f} ms an item (processor time)"
    )


def seconds(n: int) -> None:
    """Print the time of each way for n made-up points, half on each side."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(60, 60))
    meant = topics[rng.integers(0, 60, n // 2)] + rng.normal(size=(n // 2, 60))
    sides = [meant + 0.9 * rng.normal(size=meant.shape) + offset for offset in (0.0, 0.3)]
    x, y = (side / np.linalg.norm(side, axis=1)[:, None] for side in sides)
    relevant = np.eye(n // 2, dtype=bool)
    space = mrr(distances(x, y), relevant)
    print(
        "| drawing | seconds | processor seconds | MRR drawn / in the space |\n" + "|---" * 4 + "|"
    )
    ways = drawings()
    for way, draw in ways.items():
        draw(x[:100], y[:100], random_state=0)  # compiles
        wall, cpu = time.perf_counter(), time.process_time()
        a, b = draw(x, y, random_state=0)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        ratio = mrr(distances(a, b), relevant) / space
        print(f"| {way} | {wall:.1f} | {cpu:.1f} | {ratio:.3f} |", flush=True)


def main(folder: Path, what: str, n: int) -> None:
    """Print the tables asked for."""
    if what == "seconds":
        seconds(n)
    elif what == "place":
        place(cells(folder, REPORTED, "test", n))
    else:
        on = (REPORTED, "test") if what == "report" else (CHOSEN_ON, "dev")
        ways = ablations() if what == "ablation" else drawings()
        table(cells(folder, *on, n), ways, by_cell=what != "ablation")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
