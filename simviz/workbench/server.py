"""The app as a server: where its files stand, its port, and the files it is opened on."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from simviz.exceptions import SimvizError

_SITE = Path(__file__).with_name("site")
#: Where `app.py` and `pages/` stand: in an installed copy a folder of this package.
ROOT = _SITE if _SITE.is_dir() else Path(__file__).parents[2]
#: The first port that is tried, and how many after it.
PORT, _PORTS = 8501, 100
#: Seconds until which a browser waits for the server.
_PATIENCE = 60.0


def serve(
    files: Sequence[Path],
    *,
    host: str | None = None,
    port: int | None = None,
    browser: bool = True,
) -> None:
    """Run the app until it is interrupted, with files as the upload that waits on Data."""
    # Theme, limits and watcher stand in .streamlit/config.toml beside app.py, where Streamlit
    # looks for it whatever the current directory is.
    if files:
        _hand_in(files)
    address = host or os.environ.get("STREAMLIT_SERVER_ADDRESS") or "localhost"
    if port is None:
        port = int(os.environ.get("STREAMLIT_SERVER_PORT") or 0) or free_port(address)
    elif not _is_free(address, port):
        raise SimvizError(f"Port {port} of {address} is taken. Name another one by --port.")
    shown = "localhost" if address in ("0.0.0.0", "::") else address
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}{'/data' if files else ''}"
    sys.stdout.write(f"simviz: {url}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if browser and has_screen:
        threading.Thread(target=_open, args=(url, shown, port), daemon=True).start()
    from streamlit.web.cli import main as streamlit

    options = ["--server.address", address, "--server.port", str(port)]
    options += ["--server.headless", "true", "--logger.hideWelcomeMessage", "true"]
    streamlit(["run", str(ROOT / "app.py"), *options], prog_name="streamlit")


def _hand_in(paths: Sequence[Path]) -> None:
    """Keep files as the upload that waits in the workspace of this computer."""
    # Only whoever sits at this computer opens that workspace; no address names the files.
    from simviz.data.sources import load_bytes
    from simviz.store import Store
    from simviz.store.directory import LOCAL_WORKSPACE, claim, default_root

    named_files: list[tuple[str, Path]] = []
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        named_files += [
            (one.relative_to(path).as_posix() if one != path else path.name, one)
            for one in inside
            if one == path or (one.is_file() and not one.name.startswith("."))
        ]
    files = [(name, load_bytes(one)[1]) for name, one in named_files]
    if claimed := claim(default_root()):  # another server would hold the upload of its own
        claimed.close()
    store = Store()
    store.uploads.put(store.workspaces.open(LOCAL_WORKSPACE), files)


def free_port(address: str) -> int:
    """The first port from 8501 on that nobody listens on."""
    for port in range(PORT, PORT + _PORTS):
        if _is_free(address, port):
            return port
    raise SimvizError(
        f"All ports from {PORT} to {PORT + _PORTS - 1} are taken. Name one by --port."
    )


def _is_free(address: str, port: int) -> bool:
    family, _, _, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":  # connections that have ended do not count
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def _open(url: str, address: str, port: int) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection((address, port), timeout=1):
            webbrowser.open(url)
            return
        time.sleep(0.1)
