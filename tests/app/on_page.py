"""What stands on a page, for its tests."""

from __future__ import annotations

import json
import re

from simviz.workbench.shell import state


def run(what):
    """Run a page again, or what was done on it, without an error."""
    app = what.run()
    assert not app.exception, app.exception
    return app


def go(app, **address):
    """Open a page by an address."""
    app.query_params.clear()
    app.query_params.update(address)
    return run(app)


def give(app, pairs, workspace=None):
    """Have a visitor with this workspace, else a new one, work on data of their own."""
    store = state.store()
    app.session_state.workspace = workspace or store.workspaces.create()
    app.session_state.dataset_id = store.datasets.put(pairs, app.session_state.workspace)
    return app


def hand_in(app, name, data):
    """Hand a file in on the Data page; return its HTML after that."""
    if not app.file_uploader:
        run(app)
    run(app.file_uploader[0].upload(name, data.encode() if isinstance(data, str) else data))
    return html(app)


def html(app):
    """The HTML of a page without its styles."""
    bodies = " ".join(e.proto.body for e in app.get("html"))
    return re.sub(r"<style>.*?</style>", "", bodies, flags=re.DOTALL)


def said(app):
    """All text of a page that is not HTML."""
    kinds = (app.markdown, app.caption, app.title, app.text, app.info)
    return " ".join(str(e.value) for kind in kinds for e in kind)


def canvas(app):
    """What the flat map is told; None where there is none."""
    told = [e.proto for e in app.get("bidi_component")]
    return next((json.loads(p.json) for p in told if p.component_name == "simviz_map"), None)


def control(app, label):
    """A row of pills or segments by its label."""
    return next(g for g in app.get("button_group") if g.proto.label.startswith(label))


def press(app, label, option):
    """Choose an option of a row of pills or segments."""
    run(control(app, label).set_value(option))


def link(app):
    """The address of a page, one value a name."""
    values = {name: app.query_params[name] for name in app.query_params}
    return {name: v[0] if isinstance(v, list) else v for name, v in values.items()}
