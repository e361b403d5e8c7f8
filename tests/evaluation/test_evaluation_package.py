from __future__ import annotations

import subprocess
import sys

import pytest

import simviz.evaluation


def test_every_name_is_found_and_listed():
    for name in simviz.evaluation.__all__:
        assert getattr(simviz.evaluation, name) is not None
    assert dir(simviz.evaluation) == sorted(simviz.evaluation.__all__)
    with pytest.raises(AttributeError, match="accuracy"):
        _ = simviz.evaluation.accuracy


def test_importing_it_loads_nothing_heavy():
    code = (
        "import sys, simviz.evaluation, simviz.evaluation.metrics, simviz.ranking; "
        "print(sorted({'numba', 'sklearn', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
