"""The house rules that a reader would otherwise have to remember."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import simviz

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "simviz"
HEAVY = {"torch", "umap", "plotly", "pandas", "pyarrow", "PIL", "emoji", "bm25s"}


def imports_and_calls(path):
    """Names imported when the module is, those for type checkers aside, and names called."""
    tree = ast.parse(path.read_text())
    imported = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported.add(node.module.split(".")[0])
    calls = (n.func for n in ast.walk(tree) if isinstance(n, ast.Call))
    return imported, {func.id for func in calls if isinstance(func, ast.Name)}


# Read before any test starts a thread: trees built in two threads fail in CPython 3.11.
MODULES = {
    str(path.relative_to(PACKAGE)): imports_and_calls(path)
    for path in sorted(PACKAGE.rglob("*.py"))
}


@pytest.mark.parametrize("name", MODULES)
def test_module_is_quiet_and_light(name):
    imported, called = MODULES[name]
    assert not imported & HEAVY, f"import {imported & HEAVY} where it is needed"
    assert not called & {"print", "eval", "exec"}
    if Path(name).name != "checks.py":
        assert "pickle" not in imported


PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_page_delegates(path):
    assert path.read_text().count("\n") <= 25


def test_what_stands_in_soak_says_why():
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        uses = re.findall(r"pytest\.mark\.so[a]k(.{0,3})", path.read_text(), re.S)
        assert all(re.match(r'\("\S', given) for given in uses), path


def test_modules_with_planted_faults_and_the_tests_that_guard_them_are_there():
    guards = runpy.run_path(str(ROOT / "tests/mutants.py"))["GUARDS"]
    paths = [PACKAGE / f"{module}.py" for module in guards]
    paths += [ROOT / "tests" / name for names in guards.values() for name in names.split()]
    assert not [path for path in paths if not path.exists()]


#: What a process of its own does with a package, and libraries that it must not need for it.
LIGHT = {
    "simviz; simviz.__all__": "numpy scipy sklearn pandas streamlit",
    "simviz.charts.drawing": "anywidget",
    "simviz.data as d; d.read_pairs, d.split, d.read_collection, d.write_pairs": (
        "pandas pyarrow PIL torch sklearn"
    ),
    "simviz.datasets as d; [demo.title for demo in d.DEMOS.values()]": (
        "PIL emoji fontawesomefree pandas sklearn torch"
    ),
    "simviz.evaluation.metrics, simviz.ranking": "numba sklearn scipy pandas",
    "simviz.features": "sklearn scipy PIL torch",
    "simviz.methods as m; m.all_methods()": "torch umap plotly streamlit numba",
}


@pytest.mark.parametrize("code", LIGHT)
def test_importing_imports_nothing_heavy(code):
    code, heavy = f"import sys, {code}; print(*sys.modules)", set(LIGHT[code].split())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize("name", ["", ".data", ".datasets", ".evaluation", ".features"])
def test_public_names_are_there_and_no_others(name):
    package = importlib.import_module(f"simviz{name}")
    assert simviz.__version__
    assert all(getattr(package, public) is not None for public in package.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing
