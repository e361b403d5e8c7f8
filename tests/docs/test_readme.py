"""Tables of the README are derived from the classes; ``make format`` writes them anew."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

from simviz.datasets import DEMOS
from simviz.features import why_impossible
from simviz.methods import all_methods

README = Path(__file__).parents[2] / "README.md"
SIDES = {
    "one": "the same kind",
    "two": "any two kinds",
    "either": "the same kind or any two",
}
KINDS = {"text": "texts", "keyword": "keywords", "image": "images", "vector": "vectors"}
USES = {
    "unsupervised": "nothing but the items",
    "paired": "relevant pairs",
    "discriminative": "relevant and other pairs",
}


def methods_table() -> str:
    head = "| method | id | items | sides | learns from | year | reference |"
    lines = [head, "|" + "---|" * 7]
    found = sorted(all_methods().items(), key=lambda item: (item[1].tags.year, item[0]))
    for method, cls in found:
        t = cls.tags
        items = [name for kind, name in KINDS.items() if not why_impossible(kind, t.input)]
        lines.append(
            f"| {t.title} | `{method}` | {', '.join(items)} | {SIDES[t.space]} "
            f"| {USES[t.uses]} | {t.year} | {t.reference} |"
        )
    return "\n".join(lines)


def demos_table() -> str:
    lines = ["| demo | what it is | source | licence |", "|" + "---|" * 4]
    lines += [
        f"| `{demo}` | {info.description} {info.size}. | {info.source} | {info.licence} |"
        for demo, info in DEMOS.items()
    ]
    return "\n".join(lines)


def refreshed(text: str) -> str:
    for name, table in (("methods", methods_table()), ("demos", demos_table())):
        block = f"<!-- {name} -->\n{table}\n<!-- /{name} -->"
        text = re.sub(
            rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _, b=block: b, text, flags=re.S
        )
    return text


def test_tables_are_up_to_date():
    text = README.read_text()
    assert refreshed(text) == text, "run: make format"


def test_pictures_and_files_it_names_are_there():
    text = README.read_text()
    named = re.findall(r"\]\(((?!http)[^)]+)\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text)
    assert "docs/map-light.png" in named
    for path in named:
        assert (README.parent / path).exists(), path


def test_the_method_shown_there_keeps_the_contract(monkeypatch):
    from simviz.base.checks import yield_checks

    code = next(
        b for b in re.findall(r"```python\n(.*?)```", README.read_text(), re.S) if "class" in b
    )
    module = types.ModuleType("method_of_the_readme")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code, vars(module))
    checks = list(yield_checks(module.RandomProjection(n_components=4)))
    assert checks
    for _, check in checks:
        check()


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text()))
