"""What an operator says to a server, and who sits at its computer."""

import json
import math
import re
from pathlib import Path

import pytest

from simviz.cli import parser_of
from simviz.exceptions import SimvizError
from simviz.workbench.deployment import Deployment
from simviz.workbench.shell.state import is_this_computer


def test_a_server_belongs_to_one_person_unless_it_is_said_to_be_public():
    assert Deployment.of({}) == Deployment(False, "", 4 * 2**30, math.inf)
    public = Deployment.of({"SIMVIZ_PUBLIC": "1"})
    assert public.public and public.workspace_bytes == 500_000_000 and public.idle_days == 14
    assert (public.datasets, public.runs, public.jobs) == (30, 300, 8)
    said = {"SIMVIZ_PUBLIC": "yes", "SIMVIZ_WORKSPACE_MB": "50", "SIMVIZ_IDLE_DAYS": "1.5"}
    assert Deployment.of(said) == Deployment(True, "", 50_000_000, 1.5, jobs=8)
    room = {f"SIMVIZ_WORKSPACE_{name}": str(n) for n, name in enumerate(("RUNS", "JOBS"), 3)}
    said |= room | {"SIMVIZ_WORKSPACE_DATASETS": "2", "SIMVIZ_LOG": "json"}
    assert Deployment.of(said) == Deployment(True, "", 50_000_000, 1.5, "", 2, 3, 4, True)
    others = {"BASE_URL": " https://example.org/sim/ ", "SCHEDULER": " tls://10.0.0.5:8786 "}
    others = Deployment.of({f"SIMVIZ_{name}": value for name, value in others.items()})
    assert (
        others.base_url == "https://example.org/sim" and others.scheduler == "tls://10.0.0.5:8786"
    )


WRONG = (
    "PUBLIC=perhaps WORKSPACE_MB=-1 WORKSPACE_MB=much IDLE_DAYS=nan BASE_URL=javascript:alert(1) "
    "BASE_URL=example.org BASE_URL=https://example.org/?x=1 SCHEDULER=127.0.0.1:8786 "
    "SCHEDULER=tcp:// WORKSPACE_RUNS=0 WORKSPACE_JOBS=2.5 LOG=xml"
)


@pytest.mark.parametrize("said", WRONG.split())
def test_what_cannot_be_understood_is_named(said):
    name, value = f"SIMVIZ_{said}".split("=", 1)
    with pytest.raises(SimvizError, match=name):
        Deployment.of({name: value})


def test_who_sits_at_this_computer():
    for host in ("localhost:8501", "127.0.0.1:80", "[::1]:8501", "", "127.3.2.1"):
        for address in (None, "127.0.0.1", "::1", "::ffff:127.0.0.1"):
            assert is_this_computer(host, address), (host, address)
    for host, address in (
        ("simviz.example.org", "127.0.0.1"),  # through a proxy on this computer
        ("192.168.1.5:8501", "192.168.1.7"),
        ("localhost:8501", "192.168.1.7"),  # a host is easily said
        ("localhost", "::ffff:192.168.1.7"),
        ("localhost.example.org", None),
        ("127.0.0.1", "no address"),
    ):
        assert not is_this_computer(host, address), (host, address)


def test_a_space_listens_where_its_front_matter_says():
    space = Path(__file__).parents[1] / "deploy/space"
    front = (space / "README.md").read_text().split("---")[1]
    assert "sdk: docker" in front and "app_port: 8501" in front
    (command,) = re.findall(r"^CMD (.*)$", (space / "Dockerfile").read_text(), re.M)
    words = json.loads(command)
    assert words[0] == "simviz" and words[words.index("--port") + 1] == "8501"
    assert parser_of("").parse_args(words[1:]).public
