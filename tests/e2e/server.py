"""A real server in a process of its own, and how the browser is started."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

from waiting import until

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


#: The system gives ports away from 32,768 on: below, nobody takes one in the meantime. Processes
#: that run tests beside each other begin at different ones.
_PORTS = iter(range(20_000 + 16 * os.getpid() % 12_000, 32_768))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


class Server:
    """One process of the app on a free port, with a store of its own.

    Public unless told otherwise: each context of the browser is another visitor.
    With `site` it runs the app that stands in another folder, from that folder; with `tls` it
    speaks HTTPS with the certificate and the key of that folder.
    """

    def __init__(
        self,
        home: Path,
        *,
        public: bool = True,
        site: Path = ROOT,
        path: Path | None = None,
        tls: Path | None = None,
    ) -> None:
        self.home, self.public, self.site = home, public, site
        self.environment = {"PYTHONPATH": str(path)} if path else {}
        self.port = next(filter(_is_free, _PORTS))
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        if tls:
            for part in ("CERT", "KEY"):
                file = tls / f"{part.lower()}.pem"
                self.environment[f"STREAMLIT_SERVER_SSL_{part}_FILE"] = str(file)
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [sys.executable, "-m", "streamlit", "run", str(self.site / "app.py")]
        options = ["--server.port", str(self.port), "--server.headless", "true"]
        self.process = subprocess.Popen(
            command + options,
            cwd=self.site,
            env=os.environ
            | {"SIMVIZ_HOME": str(self.home), "SIMVIZ_PUBLIC": str(int(self.public))}
            | self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._answers)

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the server has ended"
        unverified = ssl._create_unverified_context()
        try:
            urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=10, context=unverified)
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End it without any warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """End it as an operator would."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
