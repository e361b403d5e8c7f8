"""Plant faults in the modules that matter, and name those that no test sees: ``make mutants``.

``python tests/mutants.py [--seed N] [--each N] [--jobs N] [MODULE ...]``. Sites are drawn by the
seed, operators evenly, so that rare ones (a missing `escape`) are tried as often as common ones.
The faults are planted in a copy of the tree; the tests of a module must pass there unharmed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
#: Seconds after which a fault counts as seen: the tests hang.
HANG = 1_800
#: Modules that matter, and the tests that guard them (their doctests come along).
GUARDS = {
    "relevance": "test_relevance.py",
    "ranking/_ranks": "ranking evaluation/test_metrics.py",
    "ranking/_kernels": "ranking evaluation/test_metrics.py",
    "evaluation/metrics": "evaluation/test_metrics.py evaluation/test_units.py",
    "evaluation/significance": "evaluation/test_significance.py evaluation/test_tie_groups.py "
    "evaluation/test_power.py evaluation/test_intervals.py",
    "evaluation/thresholds": "evaluation/test_thresholds.py",
    "evaluation/pair_tests": "evaluation/test_pair_tests.py",
    "evaluation/roc": "evaluation/test_roc.py",
    "evaluation/blends": "evaluation/test_blends.py",
    "evaluation/divisions": "evaluation/test_divisions.py",
    "data/splitting": "data/test_splitting.py",
    "data/readers": "data/test_readers.py data/test_formats.py",
    "data/tables": "data/test_tables.py data/test_readers.py data/test_formats.py",
    "data/pairs": "data/test_pairs.py",
    "data/cells": "data/test_tables.py data/test_writers.py data/test_readers.py",
    "projection/layout": "projection/test_layouts.py",
    "projection/two_sided": "projection/test_two_sided.py projection/test_layouts.py",
    "projection/_two_sided_kernels": "projection/test_two_sided.py projection/test_layouts.py",
    "projection/quality": "projection/test_quality.py projection/test_trust.py",
    "store/store": "store",
    "store/directory": "store",
    "store/datasets": "store",
    "store/run": "store",
    "persistence": "test_pipeline.py store/test_store_runs.py",
    "jobs/queue": "jobs/test_job_queue.py jobs/test_round_robin.py jobs/test_stopping.py",
    "jobs/cost": "jobs/test_job_cost.py jobs/test_job_time_left.py",
    "charts/tables": "charts/test_html_tables.py",
    "charts/style": "charts/test_style.py charts/test_chart_text.py",
    "charts/pictures": "charts/test_highlight.py",
    "charts/canvas/__init__": "charts/test_drawing.py charts/test_map_parts.py",
    "explain/terms": "test_attribution.py test_occlusion.py",
    "explain/topics": "test_topics.py",
    "exports/linear": "exports",
    "reports/page": "reports/test_report_page.py",
    "reports/values": "test_comparison.py",
    "markdown": "test_markdown.py",
    "workbench/search/page": "app/test_search_page.py",
    "workbench/shell/display": "app/test_data_page.py",
}
#: Faults that change nothing anyone can see, by module and change, and why.
EQUIVALENT: dict[tuple[str, str], str] = {}

_FLIPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_SAFE = {"escape", "escape_markdown", "clean_text", "_text"}


class Mutant(NamedTuple):
    """A fault: where it is, what it does, and the source with it."""

    module: str
    line: int
    operator: str
    change: str
    source: str


def faults(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the name of each fault that fits a node, and the node with it."""
    new = deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in _FLIPPED:
            new.ops = [_FLIPPED[type(op)]()]
            yield "comparison", new
        case ast.BoolOp(op=op):
            new.op = _FLIPPED[type(op)]()
            yield "and/or", new
        case ast.BinOp(op=op) if type(op) in _FLIPPED:
            new.op = _FLIPPED[type(op)]()
            yield "sign", new
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield "sign", operand
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield "off by one", ast.Constant(value + 1)
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield f"removed {'call' if isinstance(new, ast.Expr) else 'line'}", ast.Pass()
        case ast.Return(value=ast.expr()):
            yield "removed return", ast.Pass()
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _SAFE:
            yield "removed escape", first
        case ast.Call(args=args, keywords=keywords):
            if len(args) > 1 and not any(isinstance(a, ast.Starred) for a in args[:2]):
                swapped = deepcopy(new)
                swapped.args[:2] = args[1::-1]
                yield "swapped arguments", swapped
            if keywords:
                del new.keywords[-1]
                yield "removed keyword", new


def sites(tree: ast.AST) -> Iterator[tuple[ast.AST, list[tuple[str, ast.AST]]]]:
    """Yield the nodes whose text is replaced, with what replaces it; annotations have none."""
    for field, value in ast.iter_fields(tree):
        if field in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise):
                if isinstance(child, ast.Raise):  # wording is no behaviour
                    yield child, list(faults(child))
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.JoinedStr):  # Python 3.11 has no positions inside
                yield child, list(_inside(child))
                continue
            yield child, list(faults(child))
            yield from sites(child)


def _inside(string: ast.JoinedStr) -> Iterator[tuple[str, ast.AST]]:
    """Yield an f-string once for each fault in what it formats."""
    for at, part in enumerate(string.values):
        if isinstance(part, ast.FormattedValue):
            for operator, changed in faults(part.value):
                new = deepcopy(string)
                new.values[at].value = changed
                yield operator, new


def mutants(module: str, each: int, seed: int) -> list[Mutant]:
    """Draw faults of a module: an operator first, then a site."""
    path = ROOT / "simviz" / f"{module}.py"
    text = path.read_bytes()
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    found = defaultdict(list)
    for node, changes in sites(ast.parse(text)):
        for operator, new in changes:
            start = begins[node.lineno - 1] + node.col_offset
            stop = begins[node.end_lineno - 1] + node.end_col_offset
            words = ast.unparse(ast.fix_missing_locations(new))
            if isinstance(new, ast.expr) and not isinstance(new, ast.Constant | ast.JoinedStr):
                words = f"({words})"
            source = b"".join((text[:start], words.encode(), text[stop:])).decode()
            change = f"{' '.join(text[start:stop].decode().split())} → {words}"
            found[operator].append(Mutant(module, node.lineno, operator, change, source))
    rng = random.Random(f"{seed} {module}")
    drawn = []
    while found and len(drawn) < each:
        operator = rng.choice(sorted(found))
        mutant = found[operator].pop(rng.randrange(len(found[operator])))
        if _says_something_else(mutant.source, text):
            drawn.append(mutant)
        if not found[operator]:
            del found[operator]
    return drawn


def _says_something_else(source: str, intact: bytes) -> bool:
    """Whether a faulty source is Python, and not the same program."""
    try:
        return ast.dump(ast.parse(source)) != ast.dump(ast.parse(intact))
    except SyntaxError:
        return False


def run(tree: Path, module: str) -> str:
    """Run the tests of a module in a copy; the first that failed, or nothing."""
    guards = [f"tests/{name}" for name in GUARDS[module].split()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", "not e2e and not soak", f"simviz/{module}.py", *guards]
    alone = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
    environment = {**os.environ, **alone, "PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=HANG
        )
    except subprocess.TimeoutExpired:
        return "hang"
    if done.returncode == 0:
        return ""
    named = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return named[0].split(" - ")[0] if named else f"exit {done.returncode}: {done.stdout[-300:]}"


def judge(module: str, drawn: list[Mutant]) -> list[tuple[Mutant, str]]:
    """Plant the faults of a module one by one."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        # Dates are kept: what numba compiled of the sources is used again.
        skipped = shutil.ignore_patterns(".git", ".venv", "*.egg-info", ".*_cache")
        shutil.copytree(ROOT, tree, ignore=skipped)
        if failed := run(tree, module):
            raise SystemExit(f"{module}: its tests fail without a fault: {failed}")
        path = tree / "simviz" / f"{module}.py"
        intact, told = path.read_text(), path.stat()
        if "njit" in intact:  # callers in other files hold a compiled copy of what they call
            for kept in tree.rglob("*.nb[ci]"):
                kept.unlink()
        seen = []
        for mutant in drawn:
            path.write_text(mutant.source)
            seen.append((mutant, run(tree, module)))
            killed = seen[-1][1] or EQUIVALENT.get((module, mutant.change), "SURVIVED")
            what = f"{mutant.module}:{mutant.line} {mutant.operator}: {mutant.change}"
            print(f"{what[:200]}\n    {killed}", flush=True)
        path.write_text(intact)
        os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
    return seen


def main() -> None:
    """Print each fault with the test that sees it; fail if one is neither seen nor explained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(GUARDS), metavar="MODULE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=2, help="faults a module (default: 2)")
    parser.add_argument("--jobs", type=int, default=2, help="modules at a time (default: 2)")
    asked = parser.parse_args()
    with ThreadPoolExecutor(asked.jobs) as pool:
        every = pool.map(lambda m: judge(m, mutants(m, asked.each, asked.seed)), asked.modules)
        judged = [one for of_module in every for one in of_module]
    open_ = [m for m, by in judged if not by and (m.module, m.change) not in EQUIVALENT]
    equal = sum(not by for _, by in judged) - len(open_)
    n_seen = len(judged) - equal - len(open_)
    print(f"{len(judged)} faults: {n_seen} seen, {equal} equivalent, {len(open_)} survived")
    raise SystemExit(bool(open_))


if __name__ == "__main__":
    main()
