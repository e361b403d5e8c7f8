"""A file of the visitor's own: handed in, read once, held until it is kept or dropped."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.workbench.shell import display, forms, settings, state

if TYPE_CHECKING:
    from simviz.data import ReadResult, Roles, Table
    from simviz.data.health import Finding
    from simviz.jobs import SplitSpec

TABLES = "csv tsv tab txt jsonl ndjson json parquet pq arrow arrows feather xlsx gz".split()
#: Files that hold numbers alone: both sides, or one of several files.
VECTORS = (".npz", ".npy", ".mtx", ".svm", ".svmlight", ".libsvm")
ENDINGS = [*TABLES, "zip", *(ending[1:] for ending in VECTORS)]
# What several files may be beside tables and vectors.
_PARTS = "sgml xml trec topics qrels qrel dat all png jpg jpeg gif webp bmp".split()
_WAYS = {"one": "One file", "several": "Several files", "paste": "Paste lines"}
MAX_MEGABYTES = 200
# In the session: the file that waits, what was wrong with the last one, the
# files that were read, and how often the uploader was emptied.
_WAITING, _PROBLEM, _TAKEN, _N_EMPTIED = "data-waiting", "data-problem", "data-taken", "data-turn"


@dataclass(slots=True)
class Upload:
    """A file that could be read, and what is understood of it so far."""

    digest: str
    table: Table
    guessed: Roles
    is_fixed: bool
    roles: Roles
    result: ReadResult | None = None
    problem: str = ""

    @property
    def pairs_digest(self) -> str:
        """What stands for the content of the pairs; empty without any."""
        return "" if self.result is None else self.result.pairs.digest

    def read_as(self, roles: Roles) -> None:
        """Read the table by these roles."""
        from simviz.data import to_pairs
        from simviz.exceptions import DatasetError

        self.roles, self.problem, self.result = roles, "", None
        try:
            self.result = to_pairs(self.table, roles)
        except DatasetError as error:
            self.problem = str(error)

    def set_relevance(self, **changes: Any) -> None:
        """Change what judgments mean: `unjudged`, or the `threshold` of scores."""
        if not self.is_fixed:
            self.read_as(replace(self.roles, **changes))
            return
        result = self.understood()
        relevance = replace(result.pairs.relevance, **changes)
        self.result = replace(result, pairs=replace(result.pairs, relevance=relevance))

    def mend(self, finding: Finding) -> None:
        """Take the remedy of something that was found while reading."""
        if finding.remedy is None:
            raise ValueError(f"{finding.title}: nothing mends this at one stroke.")
        result = self.understood()
        notes = (*result.notes, f"Mended: {finding.title}. {finding.remedy.label}.")
        pairs = finding.remedy(result.pairs)
        self.result = replace(result, pairs=pairs, notes=notes, disputed=None)

    def understood(self) -> ReadResult:
        """Return what was read; refuse a file that is not understood yet."""
        if self.result is None:
            raise ValueError(f"{self.table.name} is not understood yet: {self.problem}")
        return self.result


class Pasted(BytesIO):
    """Lines that were typed or pasted, as if they were an uploaded file."""

    name = "pasted lines"

    def __init__(self, text: str) -> None:
        super().__init__(text.encode("utf-8", "replace"))
        self.file_id = text


def waiting() -> Upload | None:
    """Return the file that is being looked at."""
    upload: Upload | None = st.session_state.get(_WAITING)
    return upload


def drop() -> None:
    """Forget the file that waits, and empty the uploader."""
    for name in (_WAITING, _PROBLEM, _TAKEN):
        st.session_state.pop(name, None)
    st.session_state[_N_EMPTIED] = _n_emptied() + 1


def _n_emptied() -> int:
    """Return a part of the uploader's key: another number is an empty uploader."""
    return int(st.session_state.get(_N_EMPTIED, 0))


def keep(upload: Upload, names: tuple[str, str, str], split: SplitSpec) -> str:
    """Store what was understood, and work on it from now on; return the id of the data set."""
    result = upload.understood()
    pairs = result.pairs
    name, x_name, y_name = (
        given.strip() or old
        for given, old in zip(names, (pairs.name, pairs.x_name, pairs.y_name), strict=True)
    )
    pairs = replace(pairs, name=name, x_name=x_name, y_name=y_name)
    dataset_id = state.store().datasets.put(pairs, state.workspace(), result.notes)
    settings.choose_split(dataset_id, split)
    state.choose_dataset(dataset_id)
    drop()
    return dataset_id


def show_uploader() -> None:
    """Take one file, several that belong together, or lines that are pasted."""
    way = forms.segmented("What you bring", _WAYS, "data-way", default="one")
    parts = {"one": _one_file, "several": _several_files, "paste": _pasted}[way or "one"]()
    # The uploader is also empty while a file replaces another, and after another
    # page: what waits is dropped by its own button only.
    if parts:
        _take(parts)
        if problem := st.session_state.get(_PROBLEM):
            display.problem(problem)


def _one_file() -> list[Any]:
    """Take a table or a zip; a table beside it where the zip holds pictures alone."""
    file = _uploader(
        "A table, or a zip of several files",
        ENDINGS,
        "file",
        help="CSV, TSV, JSON, JSONL, Parquet, Arrow, Feather or Excel, also gzipped; NumPy .npz "
        "with arrays x and y; or a zip, such as pictures with a table of keywords.",
    )
    keywords = None
    if file is not None and _is_zip(file):
        label = "A table of keywords, where pictures have none in the zip"
        keywords = _uploader(label, TABLES, "keywords")
    return [part for part in (file, keywords) if part is not None]


def _uploader(label: str, endings: list[str], name: str, **more: Any) -> Any:
    key = f"data-{name}-{_n_emptied()}"
    return st.file_uploader(label, endings, key=key, max_upload_size=MAX_MEGABYTES, **more)


def _several_files() -> list[Any]:
    """Take items of the two sides, their judgments, and what else there is."""
    label = "Items of the two sides, and what belongs together"
    files = _uploader(label, [*ENDINGS, *_PARTS], "files", accept_multiple_files=True)
    display.quiet(
        "Names say which is which: x, queries, topics · y, documents, corpus, images · "
        "relevance, qrels · split, folds, groups · ids. Texts, vectors and pictures may be mixed."
    )
    # One file alone says nothing yet: the others are still to come.
    return list(files) if len(files) > 1 else []


def _pasted() -> list[Any]:
    text = st.text_area(
        "Lines, the first with the names of the columns",
        placeholder="query, document, grade\nhow to boil an egg, Seven minutes in hot water., 2",
        height=140,
        key=f"data-pasted-{_n_emptied()}",
        max_chars=200_000,
    )
    read = st.button("Read these lines", key="data-paste", disabled=not text.strip())
    # Kept in the widget, so that a rerun shows the same.
    was_read = st.session_state.get(_TAKEN) == [text]
    return [Pasted(text)] if text.strip() and (read or was_read) else []


def _take(parts: Sequence[Any]) -> None:
    """Read what was handed in, once; if it is no good, what waits stays."""
    from simviz.exceptions import DatasetError

    ids = [part.file_id for part in parts]
    if st.session_state.get(_TAKEN) == ids:
        return
    digest = _digest(parts)
    held = waiting()
    st.session_state.pop(_PROBLEM, None)
    if held is None or held.digest != digest:
        try:
            # A large file takes many times its size while it is read: one at a time.
            with st.spinner("Reading the file"), _one_reader():
                st.session_state[_WAITING] = _read(digest, parts)
        except DatasetError as error:
            st.session_state[_PROBLEM] = str(error)
    st.session_state[_TAKEN] = ids


def _digest(parts: Sequence[Any]) -> str:
    """Return a digest of names and bytes, so that the same file is read once."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        name = part.name.encode("utf-8", "surrogatepass")
        hasher.update(len(name).to_bytes(8, "little") + name)
        hasher.update(len(part.getbuffer()).to_bytes(8, "little"))
        hasher.update(part.getbuffer())
    return hasher.hexdigest()


def _read(digest: str, parts: Sequence[Any]) -> Upload:
    from simviz.data import guess_roles, read_collection, read_images, read_table

    first, data = parts[0], parts[0].getvalue()
    if len(parts) == 1 and not first.name.lower().endswith((".zip", *VECTORS)):
        table = read_table(data, first.name)
        roles = guess_roles(table)
        upload = Upload(digest, table, roles, False, roles)
        upload.read_as(roles)
        return upload
    if len(parts) == 2 and _is_zip(first):
        result = read_images(
            data, parts[1].getvalue(), name=first.name, keywords_name=parts[1].name
        )
    elif len(parts) == 1:
        result = read_collection({first.name: data}, first.name)
    else:
        files = {part.name: part.getvalue() for part in parts}
        result = read_collection(files, _common_name(parts))
    return Upload(digest, result.table, result.roles, True, result.roles, result)


def _is_zip(file: Any) -> bool:
    return bool(file.name.lower().endswith(".zip"))


def _common_name(parts: Sequence[Any]) -> str:
    """Return what the names of all files begin with, or a plain word."""
    names = zip(*(part.name for part in parts), strict=False)
    shared = "".join(c[0] for c in takewhile(lambda c: len(set(c)) == 1, names)).strip("._- ")
    return shared if len(shared) > 2 else "my files"


@st.cache_resource(show_spinner=False)
def _one_reader() -> Any:
    return threading.Lock()


def show_templates() -> None:
    """Offer small files to begin with, one for each shape."""
    from simviz.data.templates import TEMPLATES, make_template

    with st.popover("Templates", type="tertiary", icon=":material/download:"):
        for name, what in TEMPLATES.items():
            forms.download(
                f"{what} ({PurePosixPath(name).suffix})",
                partial(make_template, name),
                name,
                key=f"data-template-{name}",
                mime="application/octet-stream",
                icon=None,
            )
