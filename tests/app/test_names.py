"""What items are called, and runs where several of one method stand side by side."""

from simviz.data import Items
from simviz.jobs import JobSpec
from simviz.store import RunInfo
from simviz.workbench.shell.display import item_glyph, item_label
from simviz.workbench.shell.runs import label_runs


def runs_of(*settings, method="s2net"):
    specs = [JobSpec("data", "digest", method, params).to_json() for params in settings]
    return [RunInfo(str(i), "data", method, spec) for i, spec in enumerate(specs)]


def test_a_sweep_is_named_by_what_differs_most_first():
    grid = [
        {"n_components": k, "regularization": reg, "max_iter": 40}
        for k in (50, 100)
        for reg in (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 20.0, 50.0, 70.0, 100.0)
    ]
    names = label_runs(runs_of(*grid)).values()
    assert "S2Net, reg 0.1, dim 50" in names
    assert len(set(names)) == len(grid)
    assert max(map(len, names)) < 30, "a phone shows them whole"
    assert list(label_runs(runs_of(grid[0])).values()) == ["S2Net"], "nothing differs"


def test_an_item_is_called_by_its_text_behind_its_glyph():
    items = Items(["a", "b", "c"], ["smile", "plain", "😀"], "text", {"label": ["😀", "B", "😀"]})
    assert [item_glyph(items, at) for at in range(3)] == ["😀", "", "😀"]
    assert [item_label(items, at) for at in range(3)] == ["😀 smile", "plain", "😀"]
