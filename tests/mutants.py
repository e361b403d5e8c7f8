"""Plant faults in the modules that matter, and name those that no test sees: ``make mutants``.

``python tests/mutants.py [--seed N] [--each N] [--jobs N] [MODULE ...]``. Sites are drawn by the
seed and the name of the module alone, operators evenly, so that rare ones (a missing `escape`) are
tried as often as common ones. The faults are planted in a copy of the tree; the tests of a module
must pass there unharmed.

``--seed 0 --each 2`` is judged: all its faults are seen by a test, or stand in `EQUIVALENT`. With
other sources it draws others.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
#: Seconds after which a fault counts as seen: the tests hang.
HANG = 600
_STORE = " ".join(
    f"store/test_{name}.py"
    for name in (
        "store_guards", "store_runs", "store_datasets", "workspaces", "store_content",
        "store_notes", "store_full", "store_damage", "store_crash",
    )
)  # fmt: skip
#: Modules that matter, and the tests that guard them (their doctests come along).
GUARDS = {
    "relevance": "test_relevance.py",
    "ranking/_ranks": "ranking evaluation/test_metrics.py",
    "ranking/_kernels": "ranking evaluation/test_metrics.py",
    "evaluation/metrics": "evaluation/test_metrics.py evaluation/test_comparisons.py",
    "evaluation/significance": "evaluation/test_significance.py evaluation/test_comparisons.py",
    "evaluation/thresholds": "evaluation/test_thresholds.py",
    "evaluation/judged_pair_tests": "evaluation/test_judged_pair_tests.py",
    "evaluation/roc": "evaluation/test_roc.py",
    "evaluation/blends": "evaluation/test_blends.py",
    "evaluation/repeated_splits": "evaluation/test_repeated_splits.py",
    "data/splitting": "data/test_splitting.py",
    "data/pairs_from_tables": "data/test_pairs_from_tables.py data/test_formats.py",
    "data/tables": "data/test_tables.py data/test_pairs_from_tables.py data/test_formats.py",
    "data/pairs": "data/test_pairs.py",
    "data/cells": "data/test_tables.py data/test_writers.py data/test_pairs_from_tables.py",
    "projection/layout": "projection/test_layouts.py",
    "projection/two_sided": "projection/test_two_sided.py projection/test_layouts.py",
    "projection/_two_sided_kernels": "projection/test_two_sided.py projection/test_layouts.py",
    "projection/quality": "projection/test_quality.py",
    "store/store": _STORE,
    "store/directory": _STORE,
    "store/datasets": _STORE,
    "store/run": _STORE,
    "scale/shards": "store/test_store_guards.py scale/test_scale_parquet.py",
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
    "reports/html": "reports/test_report_page.py",
    "reports/values": "test_cli.py",
    "markdown": "test_markdown.py",
    "workbench/search/page": "app/test_search_page.py",
    "workbench/search/why": "app/test_search_page.py",
    "workbench/shell/display": "app/test_names.py app/test_data_page.py",
}
#: Faults of the judged seed that change nothing anyone can see: module, line, change, and why.
EQUIVALENT = {
    ("evaluation/significance", "d = (x - y)[~np.isnan(x)]", "x → (y)"): (
        "both lack a value in the same places: others were refused above"
    ),
    (
        "ranking/_kernels",
        "if m == 0 or value < ordered[0]:",
        "m == 0 or value < ordered[0] → (m == 0 and value < ordered[0])",
    ): "a short cut past a count that nothing reads",
}

_FLIPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_SAFE = {"escape", "escape_markdown", "clean_text", "_text"}
#: Names of functions that are taken for one another.
_OTHER = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
_OTHER |= {other: name for name, other in _OTHER.items()}
#: A name, or a word of ours in quotes, that stands for one side.
_SIDE = re.compile(r"[xy](2[xy])?(?=_|$)")
_SIDES = str.maketrans("xy", "yx")
_SQL = re.compile(r"SELECT |DELETE |UPDATE |IS NULL")
_SQL_FAULTS = ((" < ", " > "), (" > ", " < "), (" AND ", " OR "), (" NOT ", " "), (" DESC", ""))


class Mutant(NamedTuple):
    """A fault: where it is, what it does, and the source with it."""

    module: str
    line: int
    operator: str
    change: str
    source: str
    text: str

    @property
    def why_equivalent(self) -> str | None:
        return EQUIVALENT.get((self.module, self.text, self.change))


def faults(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the name of each fault that fits a node, and the node with it."""
    new = deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in _FLIPPED:
            is_bound = isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
            new.ops = [_FLIPPED[type(op)]()]
            yield "bound" if is_bound else "comparison", new
        case ast.BoolOp(op=op):
            new.op = _FLIPPED[type(op)]()
            yield "and/or", new
        case ast.BinOp(op=op) if type(op) in _FLIPPED:
            new.op = _FLIPPED[type(op)]()
            yield "sign", new
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "sign", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "removed not", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "off by one", ast.Constant(value + 1)
        case ast.Constant(value=str(value)) if _SIDE.fullmatch(value):
            yield "other side", ast.Constant(value.translate(_SIDES))
        case ast.Constant(value=str(value)) if _SQL.search(value):
            for old, other in _SQL_FAULTS:
                if old in value:
                    yield "query", ast.Constant(value.replace(old, other, 1))
        case ast.Name(id=name, ctx=ast.Load()) if _SIDE.match(name):
            yield "other side", ast.Name(_other_side(name))
        case ast.Attribute(attr=name, ctx=ast.Load()) if _SIDE.match(name):
            new.attr = _other_side(name)
            yield "other side", new
        case ast.Name(id=name) if name in _OTHER:
            yield "other function", ast.Name(_OTHER[name])
        case ast.Attribute(attr=name) if name in _OTHER:
            new.attr = _OTHER[name]
            yield "other function", new
        case ast.keyword(arg="axis", value=ast.Constant(value=0 | 1 as axis)):
            yield "other axis", ast.keyword("axis", ast.Constant(1 - axis))
        case ast.Expr(value=ast.Call()):
            yield "removed call", ast.Pass()
        case ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
            yield "removed line", ast.Pass()
        case ast.Return(value=ast.expr()):
            yield "removed return", ast.Pass()
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _SAFE:
            yield "removed escape", first
        case ast.Call(func=ast.Name(id="sorted"), args=[first]):
            yield "removed order", ast.Call(ast.Name("list"), [first], [])
        case ast.Call(func=ast.Attribute(value=value, attr="copy" | "sort"), args=[]):
            yield f"removed {new.func.attr}", value
        case ast.Call(args=args, keywords=keywords):
            if len(args) > 1 and not any(isinstance(a, ast.Starred) for a in args[:2]):
                swapped = deepcopy(new)
                swapped.args[:2] = args[1::-1]
                yield "swapped arguments", swapped
            if keywords:
                del new.keywords[-1]
                yield "removed keyword", new


def _other_side(name: str) -> str:
    return _SIDE.sub(lambda found: found[0].translate(_SIDES), name, count=1)


def sites(tree: ast.AST) -> Iterator[tuple[ast.AST, list[tuple[str, ast.AST]]]]:
    """Yield the nodes whose text is replaced, with what replaces it; annotations have none."""
    for field, value in ast.iter_fields(tree):
        if field in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            # Python 3.11 has no positions inside of f-strings; wording of errors is no behaviour.
            yield child, list((_inside if isinstance(child, ast.JoinedStr) else faults)(child))
            if not isinstance(child, ast.JoinedStr | ast.Raise):
                yield from sites(child)


def _inside(string: ast.JoinedStr) -> Iterator[tuple[str, ast.AST]]:
    """Yield an f-string once for each fault in what it formats."""
    for at, part in enumerate(string.values):
        is_value = isinstance(part, ast.FormattedValue)
        for operator, changed in faults(part.value if is_value else part):
            new = deepcopy(string)
            if is_value:
                new.values[at].value = changed
            else:
                new.values[at] = changed
            yield operator, new


def mutants(module: str, each: int, seed: int) -> list[Mutant]:
    """Draw faults of a module: an operator first, then a site."""
    path = ROOT / "simviz" / f"{module}.py"
    text = path.read_bytes()
    lines = text.splitlines(keepends=True)
    begins = [0, *accumulate(map(len, lines))]
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
            line = lines[node.lineno - 1].decode().strip()
            found[operator].append(Mutant(module, node.lineno, operator, change, source, line))
    rng, intact = random.Random(f"{seed} {module}"), ast.dump(ast.parse(text))
    drawn = []
    while found and len(drawn) < each:
        operator = rng.choice(sorted(found))
        mutant = found[operator].pop(rng.randrange(len(found[operator])))
        if _says_something_else(mutant.source, intact):
            drawn.append(mutant)
        if not found[operator]:
            del found[operator]
    return drawn


def _says_something_else(source: str, intact: str) -> bool:
    """Whether a faulty source is Python, and not the same program."""
    with suppress(SyntaxError):
        return ast.dump(ast.parse(source)) != intact
    return False


def run(tree: Path, module: str) -> str:
    """Run the tests of a module in a copy; the first that failed, or nothing."""
    guards = [f"tests/{name}" for name in GUARDS[module].split()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", "not e2e and not soak", f"simviz/{module}.py", *guards]
    alone = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
    # Bytecode of a fault planted within the same second would pass for that of the next.
    alone["PYTHONDONTWRITEBYTECODE"] = "1"
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


def _forget_callers(package: Path, module: str) -> None:
    """Remove the compiled code of other files that call kernels of a module: it holds them."""
    imported = f"from simviz.{module.replace('/', '.')} import"
    for path in package.rglob("*.py"):
        if imported in (source := path.read_text()) and "njit" in source:
            for kept in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb[ci]"):
                kept.unlink()


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
        seen = []
        for mutant in drawn:
            path.write_text(mutant.source)
            if "njit" in intact:
                _forget_callers(tree / "simviz", module)
            seen.append((mutant, run(tree, module)))
            killed = seen[-1][1] or mutant.why_equivalent or "SURVIVED"
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
    unseen = [mutant for mutant, by in judged if not by]
    survived = [mutant for mutant in unseen if not mutant.why_equivalent]
    n_seen, n_equal = len(judged) - len(unseen), len(unseen) - len(survived)
    print(f"{len(judged)} faults: {n_seen} seen, {n_equal} equivalent, {len(survived)} survived")
    raise SystemExit(bool(survived))


if __name__ == "__main__":
    main()
