"""Ready-made vectors: NumPy, SciPy, svmlight and Matrix Market files, never pickled."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.archives import open_zip, safe_entries, unpack
from simviz.data.limits import get_limits
from simviz.data.wording import shown
from simviz.exceptions import DatasetError

ENDINGS = (".npy", ".npz", ".svm", ".svmlight", ".libsvm", ".mtx")
Matrix = Any  # dense (n, d) or CSR
_SPARSE = {"data", "indices", "indptr", "shape", "format"}


def read_matrices(name: str, data: bytes) -> dict[str, Matrix]:
    """Read all matrices of a file.

    Parameters
    ----------
    name : str
        File name; its ending decides how text is read.
    data : bytes
        The whole file.

    Returns
    -------
    dict of str to matrix
        By its key in an .npz; elsewhere by "".

    Raises
    ------
    DatasetError
        If the file is damaged, holds Python objects, or too much.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.savez(file, x=np.eye(2), y=np.ones((2, 3)))
    >>> {key: m.shape for key, m in read_matrices("v.npz", file.getvalue()).items()}
    {'x': (2, 2), 'y': (2, 3)}
    """
    suffix = PurePosixPath(name).suffix.lower()
    try:
        if data.startswith(b"\x93NUMPY"):
            return {"": _numeric(name, _npy(name, data))}
        if data.startswith(b"PK\x03\x04"):
            return _npz(name, data)
        if suffix == ".mtx":
            return {"": _matrix_market(name, data)}
        if suffix in (".svm", ".svmlight", ".libsvm"):
            return {"": _svmlight(name, data)}
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
    version = np.lib.format.read_magic(file)
    form = np.lib.format
    readers = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
    if version in readers:
        shape, _, dtype = readers[version](file, max_header_size=10_000)
        if dtype.hasobject:
            raise DatasetError(
                f"{name} holds Python objects, which are never unpickled. Save numbers, or texts "
                "in a table."
            )
        n = 1
        for length in shape:
            n *= int(length)
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


def _svmlight(name: str, data: bytes) -> Matrix:
    from sklearn.datasets import load_svmlight_file

    matrix, _ = load_svmlight_file(io.BytesIO(data))
    return _numeric(name, sp.csr_array(matrix))


def _refuse_rows(name: str, shape: Iterable[int]) -> None:
    limits = get_limits()
    rows, columns = shape
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
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.float64
    matrix = matrix.astype(dtype)
    values = matrix.data if sp.issparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise DatasetError(f"{name} holds NaN or infinity. Drop those rows, or fill them.")
    return matrix
