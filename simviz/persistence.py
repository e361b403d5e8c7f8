"""Storing objects as JSON and arrays, never as code.

The state of an estimator is its parameters and its fitted attributes, that of a dataclass its
fields: numbers, strings, arrays, sparse arrays, lists, dicts, and other such objects. It becomes
a JSON tree in which arrays are named, beside one ``.safetensors`` file of those arrays. Loading
builds only classes that simviz itself discovers, or that the caller names.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import Field, fields, is_dataclass
from functools import partial
from importlib.metadata import version
from io import BufferedReader
from math import prod
from pathlib import Path
from types import FunctionType
from typing import IO, Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors.numpy import save
from sklearn.base import BaseEstimator

from simviz.base import PairModel
from simviz.base.stored import Sizes, check_stored, check_values
from simviz.exceptions import MissingLibraryError, StoreError
from simviz.features._base import Transformer

FORMAT = "simviz-2"
_TREE, _ARRAYS = "objects.json", "arrays.safetensors"
MAX_BYTES = 8 * 2**30
_MIN_ALLOWED = 2**20  # bytes that any file may unpack to
# Times its size that a file may unpack to; what `save_state` writes stays below 230.
_INFLATION, _TREE_INFLATION = 256, 32
_CHUNK = 2**18
_LONGEST_NUMBER = 19  # digits: what 64 bits hold
_MAX_CHARACTERS = 2**24  # of an array of strings, in 64 MB
_DTYPES = {
    **{f"{kind.upper()}{8 * n}": f"<{kind}{n}" for kind in "fiu" for n in (2, 4, 8)},
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}
_NATIVE = set(map(np.dtype, _DTYPES.values()))
#: What JSON knows.
_PLAIN = {type(None), bool, int, float, str}
Built = TypeVar("Built")


@contextmanager
def replacing(path: Path, *, sync: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that takes its name when all of it is written; `sync`: and is on the disk."""
    if path.exists() and not path.is_file():  # a device would be replaced, too
        raise StoreError(f"{path} is no file, and nothing can be written in its place.")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(draft):
            # Nobody has heard of the draft.
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def lock(file: IO[Any]) -> bool:
    """Lock a file against other processes while it is open; False where one has locked it."""
    # It ends with the process however that ends, and is inherited by no child.
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def require_writable(path: Path) -> None:
    """Raise what `replacing` would, before long work rather than after it."""
    with suppress(InterruptedError), replacing(path):
        raise InterruptedError  # what is there stays


def save_state(
    objects: Mapping[str, Any], path: str | Path, *, sync: bool = False, level: int = 1
) -> None:
    """Write estimators and dataclasses to one zip file; `sync`: so that it is on the disk."""
    arrays: dict[str, Any] = {}
    tree = {
        "format": FORMAT,
        "simviz": version("simviz"),
        "objects": {name: _pack(value, name, arrays) for name, value in objects.items()},
    }
    with (
        replacing(Path(path), sync=sync) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive,
    ):
        # Text from the web may hold lone surrogates; reading passes them on too.
        text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
        archive.writestr(_TREE, text.encode("utf-8", "surrogatepass"))
        archive.writestr(_ARRAYS, save(arrays))


def _as_objects(objects: dict[str, Any], sizes: dict[str, Sizes]) -> Any:
    return objects


def load_state(
    path: str | Path,
    build: Callable[[dict[str, Any], dict[str, Sizes]], Built] = _as_objects,
    *,
    max_bytes: int = MAX_BYTES,
    trusted: Sequence[Callable[..., Any]] = (),
) -> Built:
    """Read back what `save_state` wrote, as objects by name or what `build` makes of them.

    `build` is also given the dimensions that the objects have, by their names; see
    `simviz.base.stored`. Classes and functions that simviz does not know are used if they are
    trusted.
    """
    known: dict[str, Callable[..., Any]] = {**_classes()}
    for cls in trusted:
        if known.setdefault(cls.__name__, cls) is not cls:
            raise ValueError(f"There is a {cls.__name__} in simviz. Name yours otherwise.")
    try:
        return build(*_read_state(path, known, max_bytes))
    except (MissingLibraryError, StoreError, FileNotFoundError):
        raise
    except zipfile.BadZipFile as error:
        raise StoreError(
            f"{path} cannot be read as a saved pipeline: it is none, or was cut off. Give a file "
            "that save wrote."
        ) from error
    except Exception as error:  # whatever a damaged file leads to
        raise StoreError(
            f"{path} cannot be read as a saved pipeline ({reason_of(error)}). "
            "Save it again with this version."
        ) from error


def reason_of(error: Exception) -> str:
    """What an error says, without the path of a file."""
    return (isinstance(error, OSError) and error.strerror) or str(error)[:300] or repr(error)


def load_records(
    path: Path, classes: Sequence[type], max_bytes: int = MAX_BYTES
) -> dict[str, Any]:
    """Read back dataclasses of these classes; a damaged file leads to any exception."""
    known = {cls.__name__: cls for cls in classes}
    return _read_state(path, known, max_bytes, fill_first=True)[0]


def _read_state(
    path: str | Path,
    known: Mapping[str, Callable[..., Any]],
    max_bytes: int,
    *,
    fill_first: bool = False,
) -> tuple[dict[str, Any], dict[str, Sizes]]:
    """The objects of a file, and the dimensions of the estimators among them."""
    n_bytes = Path(path).stat().st_size
    with zipfile.ZipFile(path) as archive:
        _check_members(archive, min(max_bytes, max(_MIN_ALLOWED, _INFLATION * n_bytes)))
        if sorted(archive.namelist()) != sorted([_TREE, _ARRAYS]):
            raise ValueError(f"it holds {str(archive.namelist())[:80]}")
        inflation = _INFLATION if fill_first else _TREE_INFLATION  # records may be texts alone
        if archive.getinfo(_TREE).file_size > max(_MIN_ALLOWED, inflation * n_bytes):
            raise ValueError(f"{_TREE} is too large for the file")
        tree = json.loads(archive.read(_TREE), parse_int=_whole_number)
        if tree.get("format") != FORMAT:
            writer, file_format = (str(tree.get(name))[:80] for name in ("simviz", "format"))
            raise StoreError(
                f"{path} was written by simviz {writer} in the format {file_format!r}; simviz "
                f"{version('simviz')} reads {FORMAT!r}. Load it with the version that wrote "
                "it, or train and save the model again."
            )
        with archive.open(_ARRAYS) as member, BufferedReader(cast(Any, member), _CHUNK) as stream:
            # Shapes are checked before values are read: untouched zeros take no memory. What
            # checks its values when it is built is built behind them.
            arrays = _empty_arrays(stream, archive.getinfo(_ARRAYS).file_size)
            left = dict(arrays)
            if fill_first:
                _fill(arrays, stream)
            objects = {
                name: _unpack(value, left, known, is_filled=fill_first)
                for name, value in tree["objects"].items()
            }
            if left:
                raise ValueError(f"not a pipeline: nothing refers to the array {min(left)[:80]!r}")
            checked = {
                name: check_stored(value)
                for name, value in objects.items()
                if isinstance(value, BaseEstimator)
            }
            if not fill_first:
                _fill(arrays, stream)
        check_values([later for _, pending in checked.values() for later in pending])
    return objects, {name: sizes for name, (sizes, _) in checked.items()}


def _check_members(archive: zipfile.ZipFile, allowed: int) -> None:
    """Refuse an archive that unpacks to more than is allowed, or is packed in another way."""
    members = archive.infolist()
    size = sum(info.file_size for info in members)
    if size > allowed:
        raise StoreError(
            f"{archive.filename} unpacks to {size:,} bytes, more than the {allowed:,} allowed."
        )
    for info in members:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{info.filename[:80]!r} is packed in a way that is not read")


def _whole_number(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER + 1:
        raise ValueError(f"{digits[:20]}... is too large a number")
    return int(digits)


def _empty_arrays(stream: BufferedReader[Any], size: int) -> dict[str, NDArray[Any]]:
    """Zeros of the shapes that a safetensors file declares, in the order of its bytes."""
    length = int.from_bytes(stream.read(8), "little")
    if length > size - 8:
        raise ValueError(f"{_ARRAYS} has no header")
    header = json.loads(stream.read(length), parse_int=_whole_number)
    header.pop("__metadata__", None)
    at = 0
    declared: list[tuple[str, str, tuple[int, ...]]] = []
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
        start, stop = entry["data_offsets"]
        whole = all(type(n) is int and n >= 0 for n in shape)
        if not whole or start != at or stop - start != prod(shape) * np.dtype(dtype).itemsize:
            raise ValueError(f"{_ARRAYS} has bytes {start} to {stop} for {name[:80]!r} {shape}")
        declared.append((name, dtype, shape))
        at = stop
    if at + 8 + length != size:
        raise ValueError(f"{_ARRAYS} has {size:,} bytes, its header declares {at + 8 + length:,}")
    return {name: np.zeros(shape, dtype) for name, dtype, shape in declared}


def _fill(arrays: Mapping[str, NDArray[Any]], stream: BufferedReader[Any]) -> None:
    """Read the bytes of all arrays into them."""
    for array in arrays.values():
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), _CHUNK):
            part = flat[start : start + _CHUNK]
            if stream.readinto(part.data) != len(part):
                raise EOFError(f"{_ARRAYS} ends too early")
    if stream.read(1):  # compares the checksum, too
        raise ValueError(f"{_ARRAYS} is longer than it says")


def state_digest(objects: Mapping[str, Any]) -> str:
    """What tells the state of estimators from every other state."""
    arrays: dict[str, Any] = {}
    tree = {name: _pack(value, name, arrays) for name, value in objects.items()}
    digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def stored_name(one: Field[Any]) -> str:
    """What a field of a dataclass is called in files."""
    return str(one.metadata.get("stored_as", one.name))


def _pack(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and (value.dtype.kind == "O" or not value.dtype.hasobject):
        if value.dtype.kind == "O":
            shape = {} if value.ndim == 1 else {"shape": list(value.shape)}
            return {
                "list": _pack_all(value.ravel().tolist(), name, arrays),
                "as": "object",
            } | shape
        if value.dtype.kind == "U":
            return {"list": value.tolist(), "as": "str"}
        if value.dtype not in _NATIVE:  # dates, or bytes in another order
            arrays[name] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            return {"bytes": name, "dtype": value.dtype.str, "shape": list(value.shape)}
        # Bits of a product may depend on the layout of its factors: it is kept.
        turned = value.flags.f_contiguous and not value.flags.c_contiguous
        arrays[name] = value.T if turned else np.require(value, requirements="C")
        return {"array": name, "turned": turned}
    if sp.issparse(value):
        value = sp.csr_array(value)
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = np.require(getattr(value, part), requirements="C")
        return {"csr": name, "shape": list(value.shape)}
    if isinstance(value, list | tuple):
        return {"list": _pack_all(value, name, arrays), "as": type(value).__name__}
    if isinstance(value, Mapping):
        keys = list(value)
        return {
            "keys": [_pack(k, name, arrays) for k in keys],
            "values": [_pack(value[k], f"{name}.{i}", arrays) for i, k in enumerate(keys)],
        }
    if isinstance(value, PairModel | Transformer) or type(value) in _classes().values():
        fitted = {k: v for k, v in vars(value).items() if k.endswith("_") and k[0] != "_"}
        return {
            "class": type(value).__name__,
            "params": {
                k: _pack(v, f"{name}.{k}", arrays) for k, v in value.get_params(False).items()
            },
            "fitted": {k: _pack(v, f"{name}.{k}", arrays) for k, v in fitted.items()},
        }
    if is_dataclass(value) and type(value).__module__.startswith("simviz."):
        parts = {stored_name(f): getattr(value, f.name) for f in fields(value) if f.init}
        params = {k: _pack(v, f"{name}.{k}", arrays) for k, v in parts.items()}
        return {"class": type(value).__name__, "params": params, "fitted": {}}
    if isinstance(value, FunctionType) and value.__name__.isidentifier():
        return {"function": value.__name__}
    if callable(value) and not isinstance(value, BaseEstimator):
        called = getattr(value, "__name__", type(value).__name__)
        raise StoreError(
            f"{name} is {called!r}, and code is never stored, only the name of a function. Write "
            f"def {name.rpartition('.')[2]}(...), use that, and load it with trusted=[...]."
        )
    raise StoreError(
        f"{name} is a {type(value).__name__}, which cannot be stored. Only numbers, strings, "
        "arrays, lists and simviz objects can."
    )


def _pack_all(values: Sequence[Any], name: str, arrays: dict[str, Any]) -> list[Any]:
    if set(map(type, values)) <= _PLAIN:  # texts may be millions
        return list(values)
    return [_pack(v, f"{name}.{i}", arrays) for i, v in enumerate(values)]


def _unpack(
    value: Any,
    arrays: dict[str, NDArray[Any]],
    classes: Mapping[str, Callable[..., Any]],
    *,
    is_filled: bool = False,
) -> Any:
    """What was packed; arrays, each of which is taken once, need not have their values yet."""
    if not isinstance(value, dict):
        return value
    unpack = partial(_unpack, arrays=arrays, classes=classes, is_filled=is_filled)
    if "bytes" in value:
        return arrays.pop(value["bytes"]).view(value["dtype"]).reshape(value["shape"])
    if "array" in value:
        array = arrays.pop(value["array"])
        return array.T if value["turned"] else array
    if "csr" in value:
        data, indices, indptr = (
            arrays.pop(f"{value['csr']}.{part}") for part in ("data", "indices", "indptr")
        )
        rows, columns = value["shape"]
        fits = indptr.shape == (rows + 1,) and indices.ndim == 1 and indices.shape == data.shape
        if not fits or {indices.dtype, indptr.dtype} - set(map(np.dtype, (np.int32, np.int64))):
            raise ValueError(f"{str(value['csr'])[:80]!r} is no CSR array")
        matrix = sp.csr_array((rows, columns), dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        if is_filled:  # before compiled code follows them
            matrix.check_format(full_check=True)
        return matrix
    if "list" in value:
        items = value["list"]
        if dict in set(map(type, items)):
            items = list(map(unpack, items))
        if value["as"] == "str":
            if len(items) * max(map(len, items), default=0) > _MAX_CHARACTERS:
                raise ValueError("an array of strings is too large")
            return np.array(items, dtype=str)
        if value["as"] == "object":
            array = np.empty(len(items), dtype=object)
            array[:] = items
            return array.reshape(value.get("shape", -1))
        return tuple(items) if value["as"] == "tuple" else items
    if "keys" in value:
        return dict(zip(*(map(unpack, value[what]) for what in ("keys", "values")), strict=True))
    if "function" in value:
        if not isinstance(classes.get(value["function"]), FunctionType):
            raise StoreError(
                f"The file names the function {str(value['function'])[:80]!r}, and code is never "
                "stored. Give it: load_pipeline(path, trusted=[...])."
            )
        return classes[value["function"]]
    cls = classes.get(value["class"])
    if not isinstance(cls, type):
        raise StoreError(
            f"The file names the class {value['class']!r}, which this version of simviz "
            "does not have. Load it with the version that wrote it, or, if the class is yours, by "
            "load_pipeline(path, trusted=[...])."
        )
    names = {stored_name(f): f.name for f in fields(cls)} if is_dataclass(cls) else {}
    params = {names.get(k, k): unpack(v) for k, v in value["params"].items()}
    if issubclass(cls, PairModel) and (reason := cls.tags.why_missing()):
        raise MissingLibraryError(reason)
    made = cls(**params)
    for k, v in value["fitted"].items():
        if not k.endswith("_") or k.startswith("_"):
            raise StoreError(f"{k!r} is not a fitted attribute.")
        setattr(made, k, unpack(v))
    return made


def _classes() -> dict[str, type]:
    """Classes that may be stored: discovered methods, exported features, imported scores."""
    import simviz.features as features
    from simviz.features.keywords import KnownItems
    from simviz.methods import all_methods
    from simviz.methods._imported import ImportedScores

    classes: dict[str, type] = {cls.__name__: cls for cls in all_methods().values()}
    classes |= {"ImportedScores": ImportedScores, "KnownItems": KnownItems}
    exported = (getattr(features, name) for name in dir(features))
    return classes | {c.__name__: c for c in exported if isinstance(c, type)}
