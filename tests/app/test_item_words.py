"""What items are called on pages."""

from __future__ import annotations

from simviz.data import Items
from simviz.workbench.shell.display import item_glyph, item_label


def test_an_item_is_called_by_its_text_behind_its_glyph():
    items = Items(["a", "b", "c"], ["smile", "plain", "😀"], "text", {"label": ["😀", "B", "😀"]})
    assert [item_glyph(items, at) for at in range(3)] == ["😀", "", "😀"]
    assert [item_label(items, at) for at in range(3)] == ["😀 smile", "plain", "😀"]
