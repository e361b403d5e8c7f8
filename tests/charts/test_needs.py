"""The tiny picture shows what the tags say."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import get_args, get_type_hints

import pytest

from simviz.base import MethodTags
from simviz.charts.needs import needs_picture, picture_text
from simviz.charts.style import DARK, LIGHT
from simviz.methods import get_method

TAGS = get_method("cca").tags
CHOICES = {name: get_args(get_type_hints(MethodTags)[name]) for name in ("input", "space", "uses")}


def shapes(picture, kind):
    return ElementTree.fromstring(picture).findall(f"{{http://www.w3.org/2000/svg}}{kind}")


@pytest.mark.parametrize("values", list(itertools.product(*CHOICES.values())))
def test_any_tags_make_a_picture(values):
    tags = replace(TAGS, **dict(zip(CHOICES, values, strict=True)))
    picture = needs_picture(tags)
    (title,) = shapes(picture, "title")
    assert title.text == picture_text(tags)
    assert len(shapes(picture, "circle")) == 4


def test_frames_and_lines_follow_the_tags():
    def count(**changes):
        picture = needs_picture(replace(TAGS, **changes))
        frames = [r for r in shapes(picture, "rect") if r.get("fill") == "none"]
        lines = shapes(picture, "line")
        return len(frames), len(lines), len([x for x in lines if x.get("stroke-dasharray")])

    assert count(space="one", uses="unsupervised") == (1, 0, 0)
    assert count(space="two", uses="paired") == (2, 4, 0)
    assert count(space="either", uses="discriminative") == (3, 6, 2)


def test_colours_are_those_of_the_sides():
    for theme in (LIGHT, DARK):
        picture = needs_picture(TAGS, theme)
        assert theme.accent in picture and theme.second in picture
