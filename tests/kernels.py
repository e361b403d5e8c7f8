"""Keep compiled kernels between checkouts: ``python tests/kernels.py take`` or ``keep``.

numba stamps machine code by the content of one source file, and finds it beside that file. A fresh
checkout of the same kernels, with the same versions on the same processor, can take what another
one compiled: it lies in the user's cache folder, under a digest of all of these. Where the kernels
of a checkout have changed, its machine code is removed: numba does not see that a kernel contains
one of another file.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from pathlib import Path
from sysconfig import get_path

from simviz.compilation import folder

ROOT = Path(__file__).parents[1]
#: Where kernels lie beside their sources: ours, and those of the libraries that we call.
PLACES = {"simviz": ROOT / "simviz"} | {
    name: Path(get_path("purelib")) / name for name in ("umap", "pynndescent")
}
KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simviz-kernels"
#: Archives that are kept: those used last.
MAX_KEPT = 4
#: Says of which kernels the machine code of this checkout is.
STAMP = ROOT / "simviz" / "__pycache__" / "kernels"


def compiled(place: Path) -> list[Path]:
    """The files of numba below a folder."""
    return sorted(place.rglob("*.nb[ic]"))


def take(archive: Path) -> None:
    """Remove what other kernels left, and unpack what is kept where nothing is compiled."""
    if not STAMP.exists() or STAMP.read_text() != archive.stem:
        for path in compiled(PLACES["simviz"]):
            path.unlink()
        STAMP.parent.mkdir(exist_ok=True)
        STAMP.write_text(archive.stem)
    if not archive.exists():
        return
    archive.touch()
    with tarfile.open(archive) as tar:
        for name, place in PLACES.items():
            if not compiled(place):
                members = [one for one in tar.getmembers() if one.name.startswith(f"{name}/")]
                tar.extractall(place.parent, members, filter="data")


def keep(archive: Path) -> None:
    """Pack what is compiled; nothing is read half-written."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=KEPT, suffix=".part", delete=False) as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, place in PLACES.items():
                for path in compiled(place):
                    tar.add(path, f"{name}/{path.relative_to(place)}")
    Path(file.name).replace(archive)
    kept = sorted(KEPT.glob("*.tar"), key=lambda one: one.stat().st_mtime)
    for old in kept[:-MAX_KEPT]:
        old.unlink()


if __name__ == "__main__":
    # Whoever chose a folder for the cache keeps it; paths are part of its names.
    if "NUMBA_CACHE_DIR" not in os.environ:
        {"take": take, "keep": keep}[sys.argv[1]](KEPT / f"{folder().name}.tar")
