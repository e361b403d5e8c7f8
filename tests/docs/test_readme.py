"""Tables of the README are derived from the classes; ``--refresh`` writes them anew.

Run ``python tests/docs/test_readme.py`` after adding a method or a demo.
"""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

from simviz.datasets import DEMOS
from simviz.methods import all_methods

README = Path(__file__).parents[2] / "README.md"
SPACES = {"one": "one space", "two": "two spaces", "either": "one or two spaces"}
USES = {
    "unsupervised": "nothing but the items",
    "paired": "relevant pairs",
    "discriminative": "relevant and other pairs",
}


def methods_table() -> str:
    lines = ["| method | id | sides | learns from | features | reference |", "|" + "---|" * 6]
    found = sorted(all_methods().items(), key=lambda item: (item[1].tags.year, item[0]))
    for method, cls in found:
        t = cls.tags
        lines.append(
            f"| {t.title} | `{method}` | {SPACES[t.space]} | {USES[t.uses]} | {t.input} "
            f"| {t.reference} |"
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
    assert refreshed(text) == text, "run: python tests/docs/test_readme.py"


def test_pictures_and_files_it_names_are_there():
    text = README.read_text()
    for path in [*re.findall(r"\]\(((?!http)[^)]+)\)", text), "benchmarks/README.md"]:
        assert (README.parent / path).exists(), path


def test_the_method_shown_there_keeps_the_contract(monkeypatch):
    from simviz.checks import yield_checks

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
