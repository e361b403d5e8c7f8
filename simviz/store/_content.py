"""A pair set as JSON and arrays, and back, with the same digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.exceptions import StoreError
from simviz.relevance import Relevance
from simviz.store.files import read_arrays, read_json, write_arrays, write_json

FORMAT = "simviz-pairs-1"
Arrays = dict[str, NDArray[Any]]


def write_pairs(pairs: PairSet, folder: Path) -> None:
    """Write a pair set as ``pairs.json`` and ``arrays.npz``.

    Parameters
    ----------
    pairs : PairSet
        What to write.
    folder : Path
        An existing directory.

    Raises
    ------
    StoreError
        If a metadata column is of a kind that cannot be stored.
    """
    arrays: Arrays = {}
    relevance = pairs.relevance
    one_collection = pairs.x is pairs.y
    tree = {
        "format": FORMAT,
        "names": [pairs.name, pairs.x_name, pairs.y_name],
        "x": _pack_items(pairs.x, "x", arrays),
        "y": None if one_collection else _pack_items(pairs.y, "y", arrays),
        "relevance": {
            "unjudged": relevance.unjudged,
            "kind": relevance.kind,
            "threshold": relevance.threshold,
            "matrix": _pack_csr(relevance.matrix, "relevance", arrays),
        },
    }
    write_arrays(folder / "arrays.npz", arrays)
    write_json(folder / "pairs.json", tree)


def read_pairs(folder: Path) -> PairSet:
    """Read what `write_pairs` wrote.

    Parameters
    ----------
    folder : Path
        The directory.

    Returns
    -------
    PairSet
        With the same digest and names; one collection stays one.

    Raises
    ------
    StoreError
        If a file is missing or damaged.
    """
    tree = read_json(folder / "pairs.json")
    arrays = read_arrays(folder / "arrays.npz")
    try:
        if tree["format"] != FORMAT:
            raise StoreError(
                f"The data set is stored as {tree['format']!r}, this version reads {FORMAT!r}. "
                "Upload it again."
            )
        x = _unpack_items(tree["x"], arrays)
        y = x if tree["y"] is None else _unpack_items(tree["y"], arrays)
        judged = tree["relevance"]
        relevance = Relevance(
            _unpack_csr(judged["matrix"], arrays),
            unjudged=judged["unjudged"],
            kind=judged["kind"],
            threshold=judged["threshold"],
        )
        name, x_name, y_name = tree["names"]
        return PairSet(x, y, relevance, name=name, x_name=x_name, y_name=y_name)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StoreError(f"The stored data set is damaged ({error}). Upload it again.") from error


def _pack_items(items: Items, side: str, arrays: Arrays) -> dict[str, Any]:
    if items.kind in ("text", "keyword"):
        content: Any = {"texts": items.content.tolist()}
    elif sp.issparse(items.content):
        content = _pack_csr(items.content, f"{side}.content", arrays)
    else:
        content = _pack_array(items.content, f"{side}.content", arrays)
    columns = [
        [name, _pack_array(column, f"{side}.metadata.{i}", arrays)]
        for i, (name, column) in enumerate(items.metadata.items())
    ]
    return {
        "kind": items.kind,
        "ids": items.ids.tolist(),
        "content": content,
        "metadata": columns,
    }


def _unpack_items(tree: dict[str, Any], arrays: Arrays) -> Items:
    content = tree["content"]
    if "texts" in content:
        value = content["texts"]
    elif "csr" in content:
        value = _unpack_csr(content, arrays)
    else:
        value = _unpack_array(content, arrays)
    metadata = {name: _unpack_array(column, arrays) for name, column in tree["metadata"]}
    return Items(tree["ids"], value, tree["kind"], metadata)


def _pack_array(array: NDArray[Any], name: str, arrays: Arrays) -> dict[str, Any]:
    if array.dtype.kind == "O":
        return {"shape": array.shape, "values": [_plain(value) for value in array.ravel()]}
    arrays[name] = array
    return {"array": name}


def _unpack_array(tree: dict[str, Any], arrays: Arrays) -> NDArray[Any]:
    if "array" in tree:
        return arrays[tree["array"]]
    flat = np.empty(len(tree["values"]), dtype=object)
    flat[:] = tree["values"]
    return flat.reshape(tree["shape"])


def _plain(value: Any) -> Any:
    """A cell as JSON knows it: what it does not know becomes its text."""
    if value is None or type(value) in (str, bool, float):
        return value
    if type(value) is int and abs(value) < 2**63:
        return value
    return str(value)


def _pack_csr(matrix: sp.csr_array, name: str, arrays: Arrays) -> dict[str, Any]:
    for part in ("data", "indices", "indptr"):
        arrays[f"{name}.{part}"] = getattr(matrix, part)
    return {"csr": name, "shape": matrix.shape}


def _unpack_csr(tree: dict[str, Any], arrays: Arrays) -> sp.csr_array:
    data, indices, indptr = (
        arrays[f"{tree['csr']}.{part}"] for part in ("data", "indices", "indptr")
    )
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(tree["shape"]))
    # The constructor may narrow the index type, which the digest counts.
    matrix.indices, matrix.indptr = indices, indptr
    matrix.check_format(full_check=True)
    return matrix
