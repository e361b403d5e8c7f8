"""Drawings of a finished run: made once, kept with it, and drawn again from other seeds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from simviz import compilation
from simviz.data import PairSet
from simviz.exceptions import JobCancelled
from simviz.jobs.background import BackgroundTasks, ReportFraction, TaskProgress, step_callback
from simviz.projection.joint import METHODS, Balance, JointMap
from simviz.projection.layout import align
from simviz.projection.pipeline_map import DRAWING, draw
from simviz.projection.quality import N_SEEDS, points_moved
from simviz.store.run import Run, load_map

#: What may be done about the gap between the sides; the first where a drawing does not say.
_BALANCES: tuple[Balance, ...] = ("center", "none", "rank")
#: Shares of the forces across the sides, in percent; the first where a drawing does not say.
SHARES = (70, 30, 50, 90)
#: The drawing that is made first, being quick, and the one that lies on it.
QUICK_LAYOUT, DEFAULT_LAYOUT = "mds-2", "two-sided-2"
_FLAT = [method for method in METHODS if method != "two-sided"]
_DRAWING = re.compile(
    rf"(?:({'|'.join(_FLAT)})-2(?:-({'|'.join(_BALANCES)}))?"
    rf"|two-sided-2(?:-({'|'.join(map(str, SHARES))}))?)"
)
#: Of the work of a drawing, what is done after the last epoch: its quality is measured then.
_LAYOUT = 0.9


def map_name(drawing: str) -> str:
    """Return the name under which a run keeps a drawing: "mds-2-center", "two-sided-2-70"."""
    options = _options(drawing)
    share = options.get("share")
    how = options["balance"] if share is None else f"{100 * share:.0f}"
    return f"{options['method']}-2-{how}"


def draw_run(
    background: BackgroundTasks, run: Run, pairs: PairSet, drawing: str, workspace: str = ""
) -> TaskProgress | None:
    """Have a drawing made and kept with the run, once for all; return None if it is there."""
    key = (run.id, drawing)
    if map_name(drawing) in run.maps():
        background.forget(key)
        return None
    if (progress := background.progress(key)) is not None:
        return progress
    return background.submit(key, lambda report: draw_now(run, pairs, drawing, report), workspace)


def draw_now(
    run: Run, pairs: PairSet, drawing: str, report: ReportFraction = lambda fraction: False
) -> None:
    """Make a drawing and keep it with the run."""
    seed = int(run.spec["split"]["seed"])
    callback = step_callback(report, 0.0, _LAYOUT)
    options = _options(drawing)
    compilation.wait(options["method"], lambda: report(0.0))
    made, *drawn = draw(run.pipeline(), pairs, seed=seed, callback=callback, **options)
    if made.method == "two-sided" and DRAWING in run.maps():
        made = aligned_drawing(made, load_map(run, DRAWING)[0])
    run.put_map(map_name(drawing), made, *drawn)


def aligned_drawing(made: JointMap, first: JointMap) -> JointMap:
    """A drawing turned to lie on another, what is in its lower left corner there again."""
    points = np.concatenate([made.x, made.y])
    points = points - points.mean(axis=0)
    turned = align(points, np.concatenate([first.x, first.y]))
    turned = turned - turned.mean(axis=0)
    if not (size := np.linalg.norm(turned)) > 0:
        return made
    # In its own units: new items are placed by a kernel of their size.
    turned *= np.linalg.norm(points) / size
    # Items of which nothing is known lie in one place outside all others.
    is_apart = (points == points.min(axis=0)).all(axis=1)
    if is_apart.any() and not is_apart.all():
        rest = turned[~is_apart]
        turned[is_apart] = rest.min(axis=0) - 0.03 * np.ptp(rest, axis=0)
    return replace(made, x=turned[: len(made.x)], y=turned[len(made.x) :])


def redraw_run(
    background: BackgroundTasks, run: Run, pairs: PairSet, drawing: str, workspace: str = ""
) -> TaskProgress | None:
    """Draw a kept drawing from other seeds, to keep where items land; None if that is known."""
    name, key = map_name(drawing), (run.id, drawing, "seeds")
    made, x_drawn, y_drawn = load_map(run, name)
    quality = made.quality
    if quality is None or quality.moved is not None:
        background.forget(key)
        return None
    if (progress := background.progress(key)) is not None:
        return progress

    def work(report: ReportFraction) -> None:
        pipeline, drawn = run.pipeline(), pairs.take(x_drawn, y_drawn)
        others = []
        for k in range(N_SEEDS):
            callback = step_callback(report, k / N_SEEDS, 1 / N_SEEDS)
            seed = made.seed + 1 + k
            options = _options(drawing) | {"seed": seed, "quality": False, "callback": callback}
            other = draw(pipeline, drawn, **options)[0]
            others.append((other.x, other.y))
            if report((k + 1) / N_SEEDS):
                raise JobCancelled("Stopped.")
        moved = points_moved((made.x, made.y), others)
        run.put_map(name, replace(made, quality=replace(quality, moved=moved)), x_drawn, y_drawn)

    return background.submit(key, work, workspace)


def _options(drawing: str) -> dict[str, Any]:
    """Return the options of `joint_map` that a drawing's name stands for."""
    match = _DRAWING.fullmatch(drawing)
    if not match:
        raise ValueError(
            f"A drawing is a method ({', '.join(_FLAT)}) and 2 dimensions, such as 'umap-2', and "
            f"may name a balance ({', '.join(_BALANCES)}), or 'two-sided-2' and may name percent "
            f"({', '.join(map(str, SHARES))}); got {drawing!r}."
        )
    if match[1] is None:
        return {"method": "two-sided", "share": int(match[3] or SHARES[0]) / 100}
    return {"method": match[1], "balance": match[2] or _BALANCES[0]}
