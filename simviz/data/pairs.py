"""Items of two sides, and what belongs together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.cells import all_whole, are_distinct, as_cells, heading_named, items_named, mended
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

ItemKind = Literal["text", "keyword", "image", "vector"]
Space = Literal["one", "two"]
Content = Any  # object array of str | uint8 array (n, h, w[, 3]) | dense or CSR matrix
KINDS: tuple[ItemKind, ...] = ("text", "keyword", "image", "vector")
#: Between the groups of an item that stands in several, in the column "group".
GROUP_SEPARATOR = " | "
Index = NDArray[np.integer] | Sequence[int]
_BATCH = 4096  # texts that are hashed at once


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The distinct items of one side, in a fixed order.

    Parameters
    ----------
    ids : sequence of str, length n
        Unique on this side.
    content : sequence of str, uint8 array or matrix
        Strings for "text" and "keyword"; pixels (n, height, width[, 3]) for
        "image"; a dense or CSR matrix (n, d) for "vector".
    kind : {"text", "keyword", "image", "vector"}
        What the content is.
    metadata : mapping of str to array of length n, optional
        One array a column; "label" is what a map writes beside an item.

    Raises
    ------
    DatasetError
        If lengths differ, an id repeats, or the content does not fit its kind.

    Examples
    --------
    >>> words = Items(["a", "b"], ["red heart", "car"], "keyword")
    >>> len(words), words.take([1]).content[0]
    (2, 'car')
    """

    ids: Any  # given as any sequence of str, kept as an object array
    content: Content
    kind: ItemKind
    metadata: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = _as_texts(self.ids)
        n = len(ids)
        if self.kind not in KINDS:
            raise DatasetError(f"kind must be one of {', '.join(KINDS)}; got {self.kind!r}.")
        if not are_distinct(ids):
            unique, counts = np.unique(ids, return_counts=True)
            repeated = unique[counts > 1][0]
            raise DatasetError(
                f"Item ids must be unique on their side; {repeated!r} occurs more than once. "
                "Merge its rows or give the second one another id."
            )
        content = _as_content(self.content, self.kind)
        if content.shape[0] != n:
            raise DatasetError(
                f"Every item needs its content: got {n} ids and {content.shape[0]} contents."
            )
        metadata = {mended(str(k)): _frozen(_as_column(v)) for k, v in self.metadata.items()}
        for name, column in metadata.items():
            if len(column) != n:
                raise DatasetError(
                    f"Metadata column {name!r} has {len(column)} values for {n} items."
                )
        object.__setattr__(self, "ids", _frozen(ids))
        object.__setattr__(self, "content", content)
        object.__setattr__(self, "metadata", MappingProxyType(metadata))

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be copied; what it shows can.
        return Items, (self.ids, self.content, self.kind, dict(self.metadata))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.content)

    def join(self, others: Items) -> Items:
        """These items, and others of their kind after them.

        Parameters
        ----------
        others : Items
            With other ids.

        Returns
        -------
        Items
            With the columns of metadata that both have.
        """
        if others.kind != self.kind:
            raise DatasetError(f"Items of kind {others.kind!r} cannot follow {self.kind!r} items.")
        join = sp.vstack if sp.issparse(self.content) else np.concatenate
        metadata = {
            name: np.concatenate([column, others.metadata[name]])
            for name, column in self.metadata.items()
            if name in others.metadata
        }
        ids = np.concatenate([self.ids, others.ids])
        return Items(ids, join([self.content, others.content]), self.kind, metadata)

    def take(self, index: NDArray[np.integer] | Sequence[int]) -> Items:
        """Some of the items.

        Parameters
        ----------
        index : array-like of int
            Positions of the items to keep, in the order wanted.

        Returns
        -------
        Items
            With their content and metadata.
        """
        index = np.asarray(index, dtype=np.int64)
        metadata = {k: v[index] for k, v in self.metadata.items()}
        return Items(self.ids[index], self.content[index], self.kind, metadata)

    @property
    def labels(self) -> NDArray[np.object_]:
        """What to write beside each item: its label, else its text, else its id."""
        if "label" in self.metadata:
            return self.metadata["label"].astype(object, copy=False)
        if self.kind in ("text", "keyword"):
            return self.content
        return self.ids

    @property
    def digest(self) -> str:
        """Content hash (hex) over ids, kind, content and metadata."""
        h = hashlib.blake2b(digest_size=16)
        h.update(f"{self.kind}|{len(self)}".encode())
        _hash_array(h, self.ids)
        if sp.issparse(self.content):
            h.update(repr(self.content.shape).encode())
            for part in (self.content.indptr, self.content.indices, self.content.data):
                _hash_array(h, part)
        else:
            _hash_array(h, self.content)
        for name in sorted(self.metadata):
            _hash_array(h, np.array([name], dtype=object))
            _hash_array(h, self.metadata[name])
        return h.hexdigest()

    def __repr__(self) -> str:
        return f"Items({len(self):,} {self.kind}{'' if len(self) == 1 else 's'})"


#: What is taken for items: texts, rows of a matrix, or images.
ItemsLike = Items | Sequence[str] | NDArray[Any] | sp.sparray


def as_items(values: Any, start: int = 0) -> Items:
    """Items as they are; texts, or rows of a matrix or images, numbered from `start`."""
    if isinstance(values, Items):
        return values
    if isinstance(values, str | bytes):
        raise DatasetError(
            f"{str(values)[:40]!r} is one text; give a sequence, such as [{str(values)[:40]!r}]."
        )
    is_matrix = sp.issparse(values) or (isinstance(values, np.ndarray) and values.ndim > 1)
    if not is_matrix:
        if not hasattr(values, "__iter__"):
            raise DatasetError(
                f"Items are texts, a matrix of vectors, or images; got a {type(values).__name__}. "
                "Give a list of texts, or simviz.Items."
            )
        values = list(values)
        if values and not isinstance(values[0], str) and np.ndim(values[0]) == 1:
            values, is_matrix = np.array(values), True
    n = values.shape[0] if is_matrix else len(values)
    kind: ItemKind = "text" if not is_matrix else "image" if values.ndim > 2 else "vector"
    return Items(range(start, start + n), values, kind)


def _as_content(content: Content, kind: ItemKind) -> Content:
    """Check content against its kind and make it read-only."""
    if kind in ("text", "keyword"):
        for i, value in enumerate(content if set(map(type, content)) - {str} else ()):
            if not isinstance(value, str):
                raise DatasetError(
                    f"Items of kind {kind!r} are strings; item {i} is a {type(value).__name__}."
                )
        return _frozen(_as_texts(content))
    if kind == "image":
        pixels = np.asarray(content)
        has_shape = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[-1] == 3)
        if pixels.dtype != np.uint8 or not has_shape:
            raise DatasetError(
                "Images are a uint8 array (n, height, width) or (n, height, width, 3); "
                f"got {pixels.dtype} of shape {pixels.shape}."
            )
        return _frozen(pixels)
    matrix = sp.csr_array(content) if sp.issparse(content) else np.asarray(content)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise DatasetError(
            f"Vectors are a numeric matrix (n, d); got {matrix.dtype} of shape {matrix.shape}."
        )
    if not np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all():
        raise DatasetError("Vectors must be finite; found NaN or infinity. Drop or fill those.")
    return matrix if sp.issparse(matrix) else _frozen(matrix)


def _as_column(values: Any) -> NDArray[Any]:
    """A column of metadata; what is no text in it stays as it is."""
    column = np.asarray(values)
    if column.dtype.kind not in "OU":
        return column
    odd = [i for i, v in enumerate(column.flat) if isinstance(v, str) and mended(v) is not v]
    column = column.copy() if odd else column
    for i in odd:
        column.flat[i] = mended(column.flat[i])
    return column


def _as_texts(values: Any) -> NDArray[np.object_]:
    """Values as strings; an array of strings that nobody can change is taken as it is."""
    # Halves of a surrogate pair are no characters, and no file could hold them.
    texts = values if not set(map(type, values)) - {str} else [str(v) for v in values]
    if not all_whole(texts):
        return as_cells(list(map(mended, texts)))
    if isinstance(texts, np.ndarray) and texts.dtype == object:
        return texts.copy() if texts.flags.writeable else texts
    return as_cells(list(texts))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: items are shared between runs and must not change."""
    view = array.view()
    view.flags.writeable = False
    return view


def _hash_array(h: Any, array: NDArray[Any]) -> None:
    """Feed an array to a hash so that element boundaries count."""
    h.update(f"{array.shape}|".encode())
    if array.dtype.kind in "OUS":
        flat = array.ravel()
        for start in range(0, len(flat), _BATCH):
            raw = [str(v).encode("utf-8", "surrogatepass") for v in flat[start : start + _BATCH]]
            h.update(b"".join([len(r).to_bytes(8, "little") + r for r in raw]))
    else:
        h.update(array.dtype.str.encode())
        h.update(np.ascontiguousarray(array).tobytes())


@dataclass(frozen=True, slots=True, eq=False)
class PairSet:
    """Two sides and their relevance, frozen, with a content digest.

    Parameters
    ----------
    x, y : Items
        The left side (queries, keywords) and the right side (documents, images);
        the same object where the items of one collection are linked.
    relevance : Relevance
        Judgments of shape (len(x), len(y)).
    name : str, default="pairs"
        A short name to show.
    x_name, y_name : str
        What the items of a side are called, in the plural.
    divided : {"x", "y"}, optional
        The side that a split divided, whose items will be new; a fit that holds
        out some pairs holds out items of that side.
    space : {"one", "two"}, optional
        Whether the features of both sides mean the same, such as vectors of one encoder or words
        of one language; guessed where it matters when omitted, see `simviz.data.guess_space`.

    Raises
    ------
    DatasetError
        If a side is empty, the shapes do not fit, or the sides cannot be of one space.

    Examples
    --------
    >>> pairs = PairSet.from_texts(["heart", "car"], ["corazón", "coche"])
    >>> pairs
    PairSet('pairs': 2 x × 2 y, 2 relevant)
    """

    x: Items
    y: Items
    relevance: Relevance
    name: str = "pairs"
    x_name: str = "x"
    y_name: str = "y"
    divided: str | None = None
    space: Space | None = None
    _digest: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for side, items in (("x", self.x), ("y", self.y)):
            if not len(items):
                raise DatasetError(f"The {side} side is empty. Bring at least one item a side.")
        if self.relevance.shape != (len(self.x), len(self.y)):
            raise DatasetError(
                f"Relevance has shape {self.relevance.shape}, the sides have "
                f"{len(self.x)} and {len(self.y)} items."
            )
        if self.space not in (None, "one", "two"):
            raise DatasetError(f"space must be 'one' or 'two', got {self.space!r}.")
        kinds = {self.x.kind, self.y.kind}
        widths = {np.shape(side.content)[1:] for side in (self.x, self.y)}
        if self.space == "one" and (len(kinds) > 1 or (kinds == {"vector"} and len(widths) > 1)):
            raise DatasetError(
                "Both sides can be of one space only if their items are of one kind, and vectors "
                f"of one width; got {self.x!r} and {self.y!r} of widths "
                f"{', '.join(str(w[0]) if w else 'none' for w in sorted(widths))}. "
                "Leave space out, or say 'two'."
            )

    @classmethod
    def from_texts(
        cls, x: Sequence[str], y: Sequence[str], relevance: Relevance | None = None, **names: Any
    ) -> PairSet:
        """Pair texts row by row, or by the given relevance.

        Parameters
        ----------
        x, y : sequences of str
            The texts of the two sides.
        relevance : Relevance, optional
            Judgments of shape (len(x), len(y)); row i belongs to row i when omitted.
        **names : str
            ``name``, ``x_name``, ``y_name``; and ``space``.

        Returns
        -------
        PairSet
            With ids "0", "1", ... on both sides.
        """
        sides = [Items([str(i) for i in range(len(s))], s, "text") for s in (x, y)]
        return cls(sides[0], sides[1], Relevance.coerce(relevance, len(x), len(y)), **names)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of x items and of y items."""
        return len(self.x), len(self.y)

    @property
    def nouns(self) -> tuple[str, str]:
        """What items of each side are called in a sentence, such as "left items"."""
        return items_named(self.x_name, "x"), items_named(self.y_name, "y")

    @property
    def headings(self) -> tuple[str, str]:
        """What stands over the items of each side, such as the heading of their column."""
        return heading_named(self.x_name), heading_named(self.y_name)

    @property
    def digest(self) -> str:
        """Content hash (hex), taken once; names do not count."""
        if self._digest is None:
            h = hashlib.blake2b(digest_size=16)
            for part in (self.x.digest, self.y.digest, self.relevance.digest):
                h.update(part.encode())
            if self.space is not None:
                h.update(self.space.encode())
            object.__setattr__(self, "_digest", h.hexdigest())
        return cast(str, self._digest)

    @property
    def cache_key(self) -> tuple[str, str, str]:
        """What stands for them in caches of what shows the names, too."""
        return self.digest, self.x_name, self.y_name

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # scikit-learn's cross_val_score and train_test_split ask for one.
        raise TypeError(
            "A PairSet is no array whose rows could be drawn: simviz.tune measures a method by "
            "folds of pairs, simviz.split makes parts that do not leak."
        )

    def take(self, x_index: Index | None = None, y_index: Index | None = None) -> PairSet:
        """Some items of each side with the judgments between them.

        Parameters
        ----------
        x_index, y_index : array-like of int, optional
            Items to keep, in the order wanted; all when omitted.

        Returns
        -------
        PairSet
            Under the same names; what a pair means stays what it was.
        """
        return replace(
            self,
            x=self.x if x_index is None else self.x.take(x_index),
            y=self.y if y_index is None else self.y.take(y_index),
            relevance=self.relevance.take(x_index, y_index),
        )

    def swap(self) -> PairSet:
        """The same pairs with the sides exchanged."""
        return replace(
            self,
            x=self.y,
            y=self.x,
            relevance=self.relevance.T,
            x_name=self.y_name,
            y_name=self.x_name,
            divided={"x": "y", "y": "x"}.get(self.divided or ""),
        )

    def __repr__(self) -> str:
        return (
            f"PairSet({self.name!r}: {len(self.x):,} {self.x_name} × {len(self.y):,} "
            f"{self.y_name}, {self.relevance.positives.nnz:,} relevant)"
        )


def as_pairs(value: Any) -> PairSet:
    """A pair set as it is, or that of what a reader found; anything else is refused."""
    pairs = getattr(value, "pairs", value)
    if not isinstance(pairs, PairSet):
        raise DatasetError(
            f"Pairs are wanted, got a {type(value).__name__}. Make them with "
            "simviz.from_frame(frame, x=..., y=...).pairs, or of lists with "
            "simviz.from_frame(x=..., y=...).pairs."
        )
    return pairs


@dataclass(frozen=True, slots=True, eq=False)
class AlignedSide:
    """One side of pairs given row by row: its distinct items, and the item of each row."""

    items: Items
    rows: NDArray[np.intp]


def aligned_sides(x: Any, y: Any = None) -> tuple[AlignedSide, AlignedSide]:
    """Both sides of pairs that are given row by row, as a frame of two columns or as two sides."""
    if y is None:
        import pyarrow as pa

        from simviz.data.arrow import as_arrow

        try:
            table = as_arrow(x)
        except (DatasetError, pa.ArrowException, TypeError, ValueError, NotImplementedError) as e:
            raise ValueError(
                f"A {type(x).__name__} alone is no pairs. Give a data frame of two columns, or "
                "two sequences of equal length."
            ) from e
        if table.num_columns != 2:
            names = ", ".join(map(repr, table.column_names[:6]))
            raise ValueError(
                f"Pairs are two columns; the frame has {table.num_columns} ({names}). Choose two "
                "of them, such as frame[['x', 'y']]."
            )
        x, y = (column.to_pylist() for column in table.columns)
    sides = _aligned_side("x", x), _aligned_side("y", y)
    n_x, n_y = (len(side.rows) for side in sides)
    if n_x != n_y:
        raise ValueError(
            f"Row i of x is compared with row i of y: x has {n_x:,} rows, y has {n_y:,}. Give as "
            "many of both, or use similarity for all pairs."
        )
    return sides


def _aligned_side(name: str, values: Any) -> AlignedSide:
    is_matrix = sp.issparse(values) or (isinstance(values, np.ndarray) and values.ndim == 2)
    if is_matrix or isinstance(values, Items):
        items = as_items(values)
        return AlignedSide(items, np.arange(len(items)))
    if isinstance(values, str | bytes):
        raise ValueError(f"{name} is one text; give a sequence, such as [{str(values)[:40]!r}].")
    place: dict[str, int] = {}
    rows = []
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise ValueError(
                f"A pair needs two texts; row {i} of {name} is {str(value)[:40]!r} "
                f"({type(value).__name__}). Drop such rows, or turn them into texts."
            )
        rows.append(place.setdefault(value, len(place)))
    items = Items(range(len(place)), list(place), "text")
    return AlignedSide(items, np.array(rows, dtype=np.intp))
