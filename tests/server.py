"""A real server in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from waiting import until

ROOT = Path(__file__).parents[1]
#: The system gives ports away from 32,768 on: below, nobody takes one in the meantime. Processes
#: that run tests beside each other begin at different ones.
_PORTS = iter(range(20_000 + 16 * os.getpid() % 12_000, 32_768))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def free_port() -> int:
    """Return a port that nobody listens at, another each time."""
    return next(filter(_is_free, _PORTS))


def answers(url: str) -> bool:
    """Whether a server answers an address."""
    unverified = ssl._create_unverified_context()
    try:
        urllib.request.urlopen(url, timeout=10, context=unverified).close()
    except OSError:  # it does not listen yet
        return False
    return True


def until_up(process: subprocess.Popen, is_up: Callable[[], bool]) -> None:
    """Wait until a server is up; fail if it has ended."""

    def has_come() -> bool:
        assert process.poll() is None, "the server has ended"
        return is_up()

    until(has_come)


def dockerfile(path: Path, port: int) -> tuple[dict[str, list[str]], dict[str, str], list[str]]:
    """Arguments of instructions of a Dockerfile, the variables it sets, its command on a port."""
    said = defaultdict(list)
    text = path.read_text().replace("\\\n", " ")
    for instruction, arguments in re.findall(r"^([A-Z]+)\s+(.*)$", text, re.M):
        said[instruction].append(arguments)
    variables = dict(part.split("=", 1) for line in said["ENV"] for part in shlex.split(line))
    return said, variables, json.loads(said["CMD"][-1].replace("8501", str(port)))


class Server:
    """One process of the app on a free port, with a store of its own.

    Public unless told otherwise: each context of the browser is another visitor. With `tls` it
    speaks HTTPS with the certificate and the key of that folder; `log` is what it writes to.
    """

    def __init__(
        self,
        home: Path,
        *,
        public: bool = True,
        tls: Path | None = None,
        log: Path = Path(os.devnull),
        **variables: str,
    ) -> None:
        self.home, self.log, self.port = home, log, free_port()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        own = {"SIMVIZ_HOME": str(home), "SIMVIZ_PUBLIC": str(int(public))}
        for part in ("CERT", "KEY") if tls else ():
            own[f"STREAMLIT_SERVER_SSL_{part}_FILE"] = str(tls / f"{part.lower()}.pem")
        self.environment = os.environ | own | variables
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
        command += ["--server.port", str(self.port), "--server.headless", "true"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )
        until_up(self.process, lambda: answers(f"{self.url}/_stcore/health"))

    def kill(self) -> None:
        """End it without any warning."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it as an operator would."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
