"""The house rules that a reader would otherwise have to remember."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "simviz"
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = {"torch", "umap", "plotly", "pandas", "pyarrow", "PIL", "emoji", "bm25s"}


def imports_at_module_level(path):
    """Names imported when the module is, those for type checkers aside."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module_is_quiet_and_light(path):
    text = path.read_text()
    heavy = set(imports_at_module_level(path)) & HEAVY
    assert not heavy, f"import {heavy} where it is needed"
    calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
    names = {n.func.id for n in calls if isinstance(n.func, ast.Name)}
    assert not names & {"print", "eval", "exec"}
    if path.name != "checks.py":
        assert "pickle" not in set(imports_at_module_level(path))


PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_page_delegates(path):
    assert path.read_text().count("\n") <= 25


def test_importing_simviz_imports_nothing_heavy():
    code = (
        "import sys, simviz; simviz.__all__; "
        "print({'numpy', 'scipy', 'sklearn', 'pandas', 'streamlit'} & set(sys.modules) or '')"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""


def test_public_names_are_there():
    import simviz

    for name in simviz.__all__:
        assert getattr(simviz, name) is not None
    assert simviz.__version__
    assert set(simviz.__all__) <= set(dir(simviz))
    with pytest.raises(AttributeError, match="nothing"):
        _ = simviz.nothing
