"""Experiments: one module a table or figure of a paper, run anew on open data.

`all_experiments` finds them by their files, as methods are found. Each can be
run from the command line: ``python -m simviz.experiments list``.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from simviz.experiments._experiment import ONLY_DRAWN, SIZES, Experiment, Paper, Size
from simviz.experiments._findings import (
    SIGNS,
    VERDICTS,
    Claim,
    Figure,
    Findings,
    Series,
    Table,
    Verdict,
    cell_text,
    tables_csv,
    to_markdown,
)
from simviz.experiments._parts import Parts, read_parts
from simviz.experiments._progress import Progress, Team
from simviz.registry import find_classes, unknown_name

__all__ = [
    "ONLY_DRAWN",
    "SIGNS",
    "SIZES",
    "VERDICTS",
    "Claim",
    "Experiment",
    "Figure",
    "Findings",
    "Paper",
    "Parts",
    "Progress",
    "Series",
    "Size",
    "Table",
    "Team",
    "Verdict",
    "all_experiments",
    "cell_text",
    "get_experiment",
    "read_parts",
    "tables_csv",
    "to_markdown",
]


@functools.cache
def _found() -> dict[str, type[Experiment[Any]]]:
    return find_classes(sys.modules[__name__], Experiment)


def all_experiments() -> dict[str, type[Experiment[Any]]]:
    """Every experiment by its id, sorted.

    Returns
    -------
    dict of str to type
        Module name to class.

    Examples
    --------
    >>> all_experiments()["siamese_blstm"].shown_as
    'Table 3'
    """
    return dict(_found())


def get_experiment(name: str) -> Experiment[Any]:
    """An experiment, ready to run.

    Parameters
    ----------
    name : str
        Its id, such as "siamese_blstm".

    Returns
    -------
    Experiment
        With `load` and `run`.

    Raises
    ------
    ValueError
        If there is none of that name; a near miss is suggested.
    """
    known = _found()
    if name not in known:
        raise ValueError(unknown_name("experiment", name, known))
    return known[name]()
