"""Every item is named by the parts it is in."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from simviz.data.splitting import (
    EVERY_PART,
    NO_PART,
    PARTS,
    is_in_part,
    part_labels,
    parts_present,
)


@given(st.lists(st.sets(st.sampled_from(PARTS)), min_size=1, max_size=12))
@settings(max_examples=60)
def test_parts_are_found_again(members):
    arrays = {
        f"x_{part}": np.array([i for i, parts in enumerate(members) if part in parts], dtype=int)
        for part in PARTS
    }
    labels = part_labels(arrays, "x", len(members))
    for part in PARTS:
        assert is_in_part(labels, part).tolist() == [part in parts for parts in members]
    assert is_in_part(labels, NO_PART).tolist() == [not parts for parts in members]
    assert (labels == EVERY_PART).tolist() == [parts == set(PARTS) for parts in members]
    named = {part for parts in members for part in parts or {NO_PART}}
    assert set(parts_present(labels)) == named
