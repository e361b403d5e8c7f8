"""The README is short and names what is there; the method shown in the docs keeps the contract."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
#: About two minutes' reading.
WORDS = 450


def test_it_is_short_and_pictures_and_files_it_names_are_there():
    text = README.read_text()
    assert len(text.split()) <= WORDS
    named = re.findall(r"\]\(((?!http)[^)#]+)", text) + re.findall(r'src(?:set)?="([^"]+)"', text)
    assert "docs/map-light.png" in named and len(named) > 15
    for path in named:
        assert (README.parent / path).exists(), path


def test_the_method_shown_in_the_docs_keeps_the_contract(monkeypatch):
    from simviz.base.checks import yield_checks

    text = (ROOT / "docs" / "add-a-method.md").read_text()
    code = next(b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "class" in b)
    module = types.ModuleType("method_of_the_docs")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code, vars(module))
    checks = list(yield_checks(module.RandomProjection(n_components=4)))
    assert checks
    for _, check in checks:
        check()
