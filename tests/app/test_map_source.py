"""The code of the map is one source out of modules that can be read alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from nodejs import NODE

from simviz.charts.canvas import __file__ as source, bundle
from simviz.workbench.map import canvas

ENTRIES = ("engine.js", "mount.js", "camera_told.js", "widget.js")
TOP = re.compile(r"^(?:export )?(?:async )?(?:const|let|class|function)\s+(\w+|\[[^\]]+\])", re.M)
MODULES = sorted(Path(source).parent.glob("*.js"))


@pytest.mark.parametrize("entry", ENTRIES)
def test_source_is_a_module_with_one_default_export_and_no_imports(entry, tmp_path):
    source = bundle(entry)
    path = tmp_path / "linked.mjs"
    path.write_text(source)
    subprocess.run([NODE, "--check", str(path)], check=True)
    assert source.count("export default") == 1
    assert not re.search(r"^import |^export (?!default)", source, re.M)


def test_every_module_is_linked_once():
    whole = [bundle(entry) for entry in (*ENTRIES, "page.js", "model_page.js")]
    for module in MODULES:
        first = module.read_text().splitlines()[0]
        assert max(source.count(first) for source in whole) == 1, module.name


@pytest.mark.parametrize("entry", ["engine.js", "widget.js", "page.js"])
def test_names_are_told_apart_once_joined(entry):
    names = TOP.findall(bundle(entry))
    assert len(names) > 40
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_modules_are_small_and_set_texts_only_as_text(module):
    source = module.read_text()
    assert source.startswith("//"), "the first line says what it is for"
    assert source.count("\n") <= 400
    for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert danger not in source
    assert "http" not in source.replace("http://www.w3.org/2000/svg", ""), "nothing is downloaded"


@pytest.mark.parametrize("text", ["!!", None, 7, "a", "é"])
def test_nonsense_is_no_bytes(text):
    assert canvas.unpacked(text) == b""
    assert canvas.unpacked(canvas.packed(b"\x00\xff")) == b"\x00\xff"


def test_an_earlier_state_of_the_map_is_no_news(monkeypatch):
    kept = {}
    monkeypatch.setattr(canvas.st, "session_state", kept)
    keys = []
    for n in (5, 5, 4, 6, "7", None):
        kept[canvas.KEY] = {"picked": {"key": f"x{n}", "n": n}}
        keys.append((canvas.new_event("picked") or {}).get("key"))
    assert keys == ["x5", None, None, "x6", None, None]
