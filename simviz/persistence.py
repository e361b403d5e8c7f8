"""Storing fitted objects as JSON and arrays, never as code.

The state of an estimator is its parameters and its fitted attributes: numbers,
strings, arrays, sparse arrays, lists, dicts, and other estimators of this
package. It becomes a JSON tree in which arrays are named, beside one
``.safetensors`` file of those arrays. Loading builds only classes that simviz
itself discovers.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError
from safetensors.numpy import load, save
from sklearn.base import BaseEstimator

from simviz.exceptions import StoreError

FORMAT = "simviz-2"
_TREE, _ARRAYS = "objects.json", "arrays.safetensors"
MAX_BYTES = 8 * 2**30
_DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    zipfile.BadZipFile,
    SafetensorError,
)


def save_state(objects: Mapping[str, Any], path: str | Path) -> None:
    """Write estimators to one zip file."""
    arrays: dict[str, Any] = {}
    tree = {
        "format": FORMAT,
        "objects": {name: _pack(value, name, arrays) for name, value in objects.items()},
    }
    path = Path(path)
    draft = path.with_name(path.name + ".part")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_TREE, json.dumps(tree, ensure_ascii=False))
        archive.writestr(_ARRAYS, save(arrays))
    draft.replace(path)


def load_state(path: str | Path, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Read back what `save_state` wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
            if size > max_bytes:
                raise StoreError(
                    f"{path} unpacks to {size:,} bytes, more than the {max_bytes:,} allowed."
                )
            tree = json.loads(archive.read(_TREE))
            if tree.get("format") != FORMAT:
                raise StoreError(
                    f"{path} has the format {tree.get('format')!r}, expected {FORMAT!r}."
                )
            arrays = load(archive.read(_ARRAYS))
        return {name: _unpack(value, arrays) for name, value in tree["objects"].items()}
    except StoreError:
        raise
    except _DAMAGED as error:
        raise StoreError(
            f"{path} cannot be read as a saved pipeline ({error}). "
            "Save it again with this version."
        ) from error


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


def _pack(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"list": [_pack(v, name, arrays) for v in value.tolist()], "as": "object"}
        if value.dtype.kind == "U":
            return {"list": value.tolist(), "as": "str"}
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
        kind = type(value).__name__
        packed = [_pack(v, f"{name}.{i}", arrays) for i, v in enumerate(value)]
        return {"list": packed, "as": kind}
    if isinstance(value, Mapping):
        keys = list(value)
        return {
            "keys": [_pack(k, name, arrays) for k in keys],
            "values": [_pack(value[k], f"{name}.{i}", arrays) for i, k in enumerate(keys)],
        }
    if isinstance(value, BaseEstimator) and type(value) in _classes().values():
        fitted = {k: v for k, v in vars(value).items() if k.endswith("_") and k[0] != "_"}
        return {
            "class": type(value).__name__,
            "params": {
                k: _pack(v, f"{name}.{k}", arrays) for k, v in value.get_params(False).items()
            },
            "fitted": {k: _pack(v, f"{name}.{k}", arrays) for k, v in fitted.items()},
        }
    if callable(value) and not isinstance(value, BaseEstimator):
        called = getattr(value, "__name__", type(value).__name__)
        raise StoreError(
            f"{name} is the function {called!r}, and code is never stored. Use one of the values "
            "that have a name; a kernel of your own can be computed and passed as 'precomputed'."
        )
    raise StoreError(
        f"{name} is a {type(value).__name__}, which cannot be stored. Only numbers, strings, "
        "arrays, lists and simviz objects can."
    )


def _unpack(value: Any, arrays: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = arrays[value["array"]]
        return array.T if value["turned"] else array
    if "csr" in value:
        parts = (arrays[f"{value['csr']}.{part}"] for part in ("data", "indices", "indptr"))
        matrix = sp.csr_array(tuple(parts), shape=tuple(value["shape"]))
        matrix.check_format(full_check=True)  # indices from a file are not to be trusted
        return matrix
    if "list" in value:
        items = [_unpack(v, arrays) for v in value["list"]]
        if value["as"] == "str":
            return np.array(items, dtype=str)
        if value["as"] == "object":
            array = np.empty(len(items), dtype=object)
            array[:] = items
            return array
        return tuple(items) if value["as"] == "tuple" else items
    if "keys" in value:
        keys = [_unpack(k, arrays) for k in value["keys"]]
        return dict(zip(keys, (_unpack(v, arrays) for v in value["values"]), strict=True))
    known = _classes()
    if value["class"] not in known:
        raise StoreError(
            f"The file names the class {value['class']!r}, which this version of simviz "
            "does not have. Load it with the version that wrote it."
        )
    params = {k: _unpack(v, arrays) for k, v in value["params"].items()}
    made = known[value["class"]](**params)
    for k, v in value["fitted"].items():
        if not k.endswith("_") or k.startswith("_"):
            raise StoreError(f"{k!r} is not a fitted attribute.")
        setattr(made, k, _unpack(v, arrays))
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
