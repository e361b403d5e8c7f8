"""Files of a folder, a zip or an upload, opened one at a time and in bounds."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.cells import Note, counted, shown
from simviz.data.images import IMAGE_ENDINGS
from simviz.data.limits import get_limits, report_progress
from simviz.data.sources import Source, gunzip, load_bytes, open_zip, safe_entries, unpack
from simviz.exceptions import DatasetError

Sources = Mapping[str, bytes | str | Path]


@dataclass(frozen=True, slots=True)
class Files:
    """Paths with what opens them; nothing is read before it is asked for."""

    name: str
    openers: Mapping[str, Callable[[], bytes]]
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        if not self.openers:
            raise DatasetError(f"{self.name} holds no file. Put the data files into it.")

    @property
    def paths(self) -> list[str]:
        """The paths of all files, without the ending that gzip adds."""
        return list(self.openers)

    def read(self, path: str) -> bytes:
        """Content of one file, unpacked where it was gzipped."""
        report_progress(0.0)
        return gunzip(path, self.openers[path]())[1]


def from_folder(folder: Path) -> Files:
    """The files of a folder and of the folders in it; links are not followed."""
    limits = get_limits()
    openers: dict[str, Callable[[], bytes]] = {}
    links, total = 0, 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or any(p.is_symlink() for p in path.relative_to(folder).parents):
            links += 1
        elif path.is_file() and not path.name.startswith("."):
            total += path.stat().st_size
            inner = path.relative_to(folder).as_posix()
            openers[_without_gz(inner)] = partial(_load, path, path.name)
        if len(openers) > limits.files or total > limits.unpacked_bytes:
            raise DatasetError(
                f"{folder.name} holds more than {limits.files:,} files or "
                f"{limits.unpacked_bytes:,} bytes. Give the folder of one data set."
            )
    text = f"{counted(links, 'link')} in {folder.name} not followed."
    return Files(folder.name or str(folder), openers, (Note(text),) if links else ())


def from_zip(name: str, data: bytes) -> Files:
    """The files of a zip archive."""
    archive = open_zip(name, data)
    entries = safe_entries(name, archive)
    tops = {PurePosixPath(e.filename).parts[0] for e in entries}
    shared = len(tops) == 1 and all(len(PurePosixPath(e.filename).parts) > 1 for e in entries)
    openers = {}
    for entry in entries:
        inner = PurePosixPath(*PurePosixPath(entry.filename).parts[shared:])
        openers[_without_gz(str(inner))] = partial(_unpack, name, archive, entry)
    return Files(name, openers)


def from_mapping(name: str, sources: Sources) -> Files:
    """Files that were handed in one by one."""
    limits = get_limits()
    total = sum(len(s) for s in sources.values() if isinstance(s, bytes))
    if len(sources) > limits.files or total > limits.unpacked_bytes:
        raise DatasetError(
            f"{name}: {len(sources):,} files with {total:,} bytes; the limits are "
            f"{limits.files:,} files and {limits.unpacked_bytes:,} bytes. Bring a sample."
        )
    openers = {_without_gz(p): partial(_load, source, p) for p, source in sources.items()}
    if len(openers) < len(sources):
        raise DatasetError(f"{name}: two files bear one name. Rename one of them.")
    return Files(name, openers)


def open_files(source: str | Path | bytes | Sources, name: str | None = None) -> Files:
    """The files of a folder, a zip, or of those handed in one by one."""
    if isinstance(source, Mapping):
        zips = [path for path in source if path.lower().endswith(".zip")]
        if len(zips) != 1:
            return from_mapping(name or "the files", source)
        files = from_zip(*load_bytes(source[zips[0]], zips[0]))
        if len(source) == 1:
            return files
        # Such as a table of keywords beside the pictures.
        beside = from_mapping(files.name, {k: v for k, v in source.items() if k != zips[0]})
        return replace(files, openers={**files.openers, **beside.openers})
    if not isinstance(source, bytes) and Path(source).is_dir():
        return from_folder(Path(source).resolve())
    return from_zip(*load_bytes(source, name))


def _load(source: Source, name: str) -> bytes:
    return load_bytes(source, name)[1]


def _unpack(name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    data = unpack(name, archive, entry)
    if not data:
        raise DatasetError(f"{name}: {shown(entry.filename)} is empty (0 bytes).")
    return data


def _without_gz(path: str) -> str:
    return re.sub(r"(?is)(?<=.)\.(gz|gzip)\Z", "", path)


Part = Literal["x", "y", "relevance", "about", "ids", "images", "left_over"]
TABLE_ENDINGS = (
    ".csv .tsv .tab .txt .json .jsonl .ndjson .parquet .pq .arrow .arrows .feather .xlsx .qrels "
    ".qrel .topics .trec .xml .sgml .all .dat"
).split()

_WORDS: Mapping[Part, frozenset[str]] = {
    "ids": frozenset(["ids"]),
    "about": frozenset("split splits fold folds group groups meta metadata".split()),
    "relevance": frozenset(
        "relevance qrels qrel judgments judgements judgment pairs links labels matches mapping "
        "annotations keywords tags perfectmapping gold".split()
    ),
    "x": frozenset("x queries query topics topic questions left source src mentions".split()),
    "y": frozenset(
        "y corpus documents docs doc document collection passages answers products right target "
        "tgt images".split()
    ),
}
_OF_ENDING: Mapping[str, Part] = {".qrels": "relevance", ".qrel": "relevance", ".topics": "x"}
_IGNORED = re.compile(
    r"(?i)(^|/)(readme|licen[cs]e|changelog|vocabulary|vocab)\b|\.(md|rst|html?)$"
)


@dataclass(slots=True)
class Plan:
    """Which file plays which part."""

    x: str | None = None
    y: str | None = None
    relevance: list[str] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def plan_parts(name: str, paths: Iterable[str], assigned: Mapping[str, str] | None = None) -> Plan:
    """Guess which file is which."""
    plan, paths, given = Plan(), list(paths), assigned or {}
    for part, path in given.items():
        if part not in ("x", "y", "relevance"):
            raise DatasetError(f"{name}: {part!r} is no part; give 'x', 'y' or 'relevance'.")
        if path not in paths:
            raise DatasetError(f"{name} holds no file {path!r}. There is {', '.join(paths[:8])}.")
        _assign(name, plan, part, path, "given")

    def is_weak(path: str) -> bool:
        is_judged = "relevance" not in given and part_of(path)[0] == "relevance"
        return is_judged and not _is_exact(path)

    # relevance.tsv stands before relevance_3level.tsv, all of qrels/*.tsv together.
    for path in sorted((path for path in paths if path not in given.values()), key=is_weak):
        part, why = part_of(path)
        if part in given or (plan.relevance and is_weak(path)):
            part, why = "left_over", ""
        _assign(name, plan, part, path, why)
    return plan


def part_of(path: str) -> tuple[Part, str]:
    """The part that a name speaks of, and why."""
    pure = PurePosixPath(path)
    ending = pure.suffix.lower()
    if ending in IMAGE_ENDINGS:
        return "images", "an image"
    if _IGNORED.search(path):
        return "left_over", ""
    if ending not in ("", *TABLE_ENDINGS, *ENDINGS) and not ending[1:].isalpha():
        return "left_over", ""
    if ending in _OF_ENDING:
        return _OF_ENDING[ending], f"its name ends in {ending}"
    words = _words(pure.stem if ending else pure.name)
    folders = [word for part in pure.parts[:-1] for word in _words(part)]
    for where in (words, folders):
        for part, known in _WORDS.items():
            if hit := next((word for word in where if word in known), None):
                return part, f"{hit!r} in its name"
    return "left_over", ""


def _assign(name: str, plan: Plan, part: str, path: str, why: str) -> None:
    if part in ("x", "y"):
        if held := getattr(plan, part):
            raise DatasetError(
                f"{name}: {held} and {path} both look like the items of the {part} side. Leave "
                "one of them out, or rename it."
            )
        setattr(plan, part, path)
    elif part == "ids":
        words = _words(PurePosixPath(path).stem)
        side = next((s for s in ("x", "y") if _WORDS[s] & set(words)), "")
        plan.ids[side] = path
    else:
        getattr(plan, part).append(path)
    if why and part != "images":
        plan.reasons[path] = why


def _is_exact(path: str) -> bool:
    """Whether a file of judgments is named so and no more, or stands in a folder so named."""
    pure = PurePosixPath(path)
    words = _words(pure.stem)
    inside = any(set(_words(part)) & _WORDS["relevance"] for part in pure.parts[:-1])
    return inside or (len(words) == 1 and words[0] in _WORDS["relevance"])


def _words(name: str) -> list[str]:
    return [w for w in re.split(r"[^a-z0-9]+", name.lower()) if w]


ENDINGS = (".npy", ".npz", ".svm", ".svmlight", ".libsvm", ".mtx")
Matrix = Any  # dense (n, d) or CSR
_SPARSE = {"data", "indices", "indptr", "shape", "format"}


def read_matrices(name: str, data: bytes) -> dict[str, Matrix]:
    """Read all matrices of a file."""
    suffix = PurePosixPath(name).suffix.lower()
    try:
        if data.startswith(b"\x93NUMPY"):
            return {"": _numeric(name, _npy(name, data))}
        if data.startswith(b"PK\x03\x04"):
            return _npz(name, data)
        if suffix == ".mtx":
            return {"": _matrix_market(name, data)}
        if suffix in (".svm", ".svmlight", ".libsvm"):
            from sklearn.datasets import load_svmlight_file

            return {"": _numeric(name, sp.csr_array(load_svmlight_file(io.BytesIO(data))[0]))}
    except DatasetError:
        raise
    except Exception as error:  # parsers of others raise whatever they like
        reason = str(error).split("\n")[0][:120]
        raise DatasetError(
            f"{name} holds no vectors that can be read ({reason}). Save them again with "
            "numpy.save, numpy.savez, scipy.sparse.save_npz, or as Parquet with a column of lists."
        ) from error
    raise DatasetError(
        f"{name} holds no vectors that can be read. Bring .npy, .npz, .svmlight, .mtx, or Parquet "
        "with a column of lists."
    )


def _npz(name: str, data: bytes) -> dict[str, Matrix]:
    with open_zip(name, data) as archive:
        entries = {e.filename: e for e in safe_entries(name, archive)}
        arrays = {
            path.removesuffix(".npy"): _npy(f"{name}, {path}", unpack(name, archive, entry))
            for path, entry in entries.items()
            if path.endswith(".npy")
        }
    if _SPARSE <= arrays.keys():
        return {"": _sparse(name, arrays)}
    return {
        key: _numeric(f"{name}, array {shown(key)}", array)
        for key, array in arrays.items()
        if array.ndim == 2 and array.dtype.kind in "fiub"
    }


def _npy(name: str, data: bytes) -> NDArray[Any]:
    """One array, its size checked against the bytes before anything is reserved."""
    file = io.BytesIO(data)
    form = np.lib.format
    version = form.read_magic(file)
    readers = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
    if version in readers:
        shape, _, dtype = readers[version](file, max_header_size=10_000)
        if dtype.hasobject:
            raise DatasetError(
                f"{name} holds Python objects, which are never unpickled. Save numbers, or texts "
                "in a table."
            )
        n = math.prod(map(int, shape))
        if n * dtype.itemsize > len(data):
            raise DatasetError(f"{name} is cut off: it promises {n:,} numbers. Copy it again.")
    file.seek(0)
    return np.load(file, allow_pickle=False)


def _sparse(name: str, arrays: dict[str, NDArray[Any]]) -> Matrix:
    """A matrix of scipy.sparse.save_npz in CSR, its indices checked."""
    form = arrays["format"].item()
    form = form.decode("ascii", "replace") if isinstance(form, bytes) else str(form)
    if form not in ("csr", "csc"):
        raise DatasetError(f"{name} is a sparse matrix of format {shown(form)}. Save it as CSR.")
    shape = tuple(int(n) for n in arrays["shape"].ravel())
    if len(shape) != 2 or min(shape) < 1:
        raise DatasetError(f"{name} is a sparse matrix of shape {shape}. Save one of rows.")
    _refuse_rows(name, shape)
    kind = sp.csr_array if form == "csr" else sp.csc_array
    parts = tuple(arrays[k].ravel() for k in ("data", "indices", "indptr"))
    if parts[0].dtype.kind not in "fiub" or any(p.dtype.kind not in "iu" for p in parts[1:]):
        raise DatasetError(f"{name} holds a sparse matrix whose parts are no numbers.")
    matrix = kind(parts, shape=shape)
    matrix.check_format(full_check=True)
    return _numeric(name, sp.csr_array(matrix))


def _matrix_market(name: str, data: bytes) -> Matrix:
    """Coordinates or a dense table; the size is checked before it is reserved."""
    from scipy.io import mminfo, mmread

    rows, columns, entries, form, *_ = mminfo(io.BytesIO(data))
    _refuse_rows(name, (rows, columns))
    size = entries * 16 if form == "coordinate" else rows * columns * 8
    limit = get_limits().unpacked_bytes
    if size > limit or entries > len(data):
        raise DatasetError(
            f"{name} promises {entries:,} entries, more than it holds or than {limit:,} bytes "
            "take. Bring a sample."
        )
    matrix = mmread(io.BytesIO(data))
    return _numeric(name, sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix))


def _refuse_rows(name: str, shape: Iterable[int]) -> None:
    limits, (rows, columns) = get_limits(), shape
    if rows > limits.rows or columns > 2**31 - 1:
        raise DatasetError(
            f"{name} is a matrix of {rows:,} × {columns:,}; the limit is {limits.rows:,} rows. "
            "Bring a sample."
        )


def _numeric(name: str, matrix: Matrix) -> Matrix:
    """A finite matrix of two dimensions in a type that methods read."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub" or not matrix.shape[0]:
        raise DatasetError(
            f"{name} holds {matrix.dtype} of shape {matrix.shape}, not one row of numbers an "
            "item. Save a matrix (items, dimensions)."
        )
    _refuse_rows(name, matrix.shape)
    matrix = matrix.astype(matrix.dtype if matrix.dtype == np.float32 else np.float64)
    if not np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all():
        raise DatasetError(f"{name} holds NaN or infinity. Drop those rows, or fill them.")
    return matrix
