"""Old paths still work, and say where the names are now."""

import subprocess
import sys
from importlib import import_module

import pytest

OLD = {
    "attribution": ("explain", "simviz.explain.terms"),
    "checks": ("yield_checks", "simviz.base.checks"),
    "cluster": ("fit_s2net", "simviz.scale.gradients"),
    "data.columns": ("Roles", "simviz.data.roles"),
    "data.items": ("Items", "simviz.data.pairs"),
    "data.limits": ("ReadingLimits", "simviz.data.sources"),
    "occlusion": ("occlude", "simviz.explain.terms"),
    "shards": ("SparseShards", "simviz.scale"),
}


@pytest.mark.parametrize("old", OLD)
def test_a_name_is_found_where_it_was(old):
    name, home = OLD[old]
    module = import_module(f"simviz.{old}")
    with pytest.warns(DeprecationWarning, match=f"simviz.{old}.{name} is now {home}.{name}"):
        found = getattr(module, name)
    assert found is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_old_path_points_to_nothing():
    shards, cluster = import_module("simviz.shards"), import_module("simviz.cluster")
    for name in import_module("simviz.scale").__all__:
        assert getattr(shards, name) is not None
    for name in ("ClusterExecutor", "cluster_queue", "fit_s2net"):
        assert callable(getattr(cluster, name))


@pytest.mark.parametrize("module", ["simviz.cluster", "simviz.jobs.local_cluster"])
def test_a_cluster_is_started_from_the_command_line(module):
    call = [sys.executable, "-W", "error", "-m", module, "--help"]
    told = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert "python -m simviz.jobs.local_cluster" in told and "--workers" in told
