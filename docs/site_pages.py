"""What Sphinx is told when the site is built: a page a method, a page a package, the live map.

Nothing is written for one method or one name: a method's page comes from its class, the results
of the experiments and the measured table of costs, a package's page from what it exports.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from site_methods import demos_table, method_page, methods_table
from sphinx.application import Sphinx

import simviz
from simviz.methods import all_methods

DOCS = Path(__file__).parent
#: Public modules beside the packages that `simviz` names.
MODULES = ("callbacks", "data.health", "exceptions", "explain.terms", "params", "relevance")
#: A page of so many names is divided, so that none is heavy.
MAX_NAMES = 45


def exported(name: str) -> dict[str, Any]:
    """The public names of a module but modules and methods, which have pages of their own."""
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None) or [
        n for n, thing in vars(module).items() if getattr(thing, "__module__", "") == name
    ]
    things = {n: getattr(module, n) for n in sorted(names) if not n.startswith("_")}
    left = [*all_methods().values(), *(t for t in things.values() if inspect.ismodule(t))]
    return {n: t for n, t in things.items() if not any(t is one for one in left)}


def documented(name: str, thing: Any) -> list[str]:
    """The directive that describes a name."""
    if inspect.isclass(thing):
        return ["", f".. autoclass:: {name}", "   :members:"]
    return ["", f".. auto{'function' if inspect.isroutine(thing) else 'data'}:: {name}"]


def reference_pages(name: str) -> dict[str, str]:
    """The page of a package, or two: of its functions and of its classes."""
    things = exported(name)
    classes = {n for n, thing in things.items() if inspect.isclass(thing)}
    parts = {name: [*things]}
    if len(things) > MAX_NAMES:
        parts = {name: [n for n in things if n not in classes], f"{name}.classes": sorted(classes)}
    pages = {}
    for page, names in parts.items():
        title = name if page == name else f"{name}, classes"
        lines = [title, "=" * len(title), "", f".. automodule:: {name}", "   :no-members:"]
        if page != name:
            lines[-1:] = ["   :no-members:", "   :no-index:"]
        for each in names:
            kind = (
                "class"
                if each in classes
                else "function"
                if inspect.isroutine(things[each])
                else "data"
            )
            lines += ["", f".. auto{kind}:: {name}.{each}"] + ["   :members:"] * (kind == "class")
        pages[page] = "\n".join(lines) + "\n"
    return pages


def packages() -> list[str]:
    """Public packages and modules."""
    named = [n for n in simviz.__all__ if inspect.ismodule(getattr(simviz, n))]
    return [n for n in (f"simviz.{n}" for n in sorted({*named, *MODULES})) if exported(n)]


def top_page() -> str:
    """What `simviz` itself exports: links to where it is described, and what only it has."""
    things = exported("simviz")
    homes = {
        each: f"{package}.{each}"
        for package in packages()
        for each, thing in exported(package).items()
        if things.get(each) is thing
    }
    lines = ["simviz", "======", "", ".. automodule:: simviz", "   :no-members:", ""]
    lines += [".. list-table::", ""]
    for name, thing in things.items():
        summary = (inspect.getdoc(thing) or "").split("\n")[0]
        lines.append(f"   * - :py:obj:`simviz.{name} <{homes.get(name, f'simviz.{name}')}>`")
        lines.append(f"     - {summary}")
    for name in sorted(things.keys() - homes.keys()):
        lines += documented(f"simviz.{name}", things[name])
    return "\n".join(lines) + "\n"


def write_pages(app: Sphinx) -> None:
    """Write the pages that are made of the package; unchanged ones are not read again."""
    pages = {f"methods/{m}.md": method_page(cls) for m, cls in all_methods().items()}
    made = {"simviz": top_page()}
    for package in packages():
        made |= reference_pages(package)
    pages |= {f"reference/{name}.rst": text for name, text in made.items()}
    listed = "\n   ".join(made)
    pages["reference/index.rst"] = (
        "Reference\n=========\n\nNames that can be imported, from their docstrings; classes of "
        "methods have :doc:`pages of their own <../which-method>`.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n   {listed}\n"
    )
    for path in (*DOCS.glob("methods/*"), *DOCS.glob("reference/*")):
        if path.relative_to(DOCS).as_posix() not in pages:
            path.unlink()  # of what is no more
    for name, text in pages.items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put tables where a page asks for them, and links to what lies outside these pages."""
    text = source[0].replace("../benchmarks/README.md", "measured.md")
    for mark, made in (("methods", methods_table), ("demos", demos_table)):
        if f"<!-- {mark} -->" in text:
            text = text.replace(f"<!-- {mark} -->", made())
    source[0] = text


def without_twice(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Leave out the idea of a method, which its page has, and what Python says of a constant."""
    if what == "class" and thing in all_methods().values() and "Parameters" in lines:
        del lines[: lines.index("Parameters")]
    elif what == "data":
        lines.clear()


def skipped(
    app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    return True if name.endswith("_request") else None


def reachable(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    """Let the keyboard scroll what is too wide; mend roles that the theme gives by half."""
    # Doctests end with an empty line, which is part of the test alone.
    body = re.sub(r"\n\s*</pre>", "\n</pre>", context.get("body", ""))
    body = body.replace("<pre>", '<pre tabindex="0">')
    body = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    context["body"] = body.replace('<div role="list" class="citation-list">', "<div>")
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('"heading"', '"heading" aria-level="2"')


def draw_map(app: Sphinx, error: Exception | None) -> None:
    """Write the live map of the front page."""
    path = Path(app.outdir, "map.html")
    if error or path.exists():
        return
    pairs = simviz.load_demo("icons")
    train = simviz.split(pairs, by="y").train
    simviz.draw(simviz.default_pipeline("cca", train).fit(train), pairs).save(path)


def show_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line of text as MathML."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def show_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own as MathML."""
    translator.body.append(
        f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>'
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", without_twice, priority=100)
    app.connect("html-page-context", reachable, priority=900)  # after the theme
    app.connect("autodoc-skip-member", skipped)
    app.connect("build-finished", draw_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
