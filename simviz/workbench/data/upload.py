"""A file of the visitor's own: handed in, read once, held until it is kept or dropped."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import streamlit as st

from simviz.markdown import escape_markdown
from simviz.store.directory import masked
from simviz.workbench.shell import display, forms, settings, state

if TYPE_CHECKING:
    from simviz.data import ReadResult, Roles, Table
    from simviz.data.health import Finding
    from simviz.jobs import SplitSpec
    from simviz.jobs.background import Background, Report
    from simviz.store import Store

_log = logging.getLogger(__name__)
TABLES = "csv tsv tab txt jsonl ndjson json parquet pq arrow arrows feather xlsx gz".split()
#: Files that hold numbers alone: both sides, or one of several files.
VECTORS = (".npz", ".npy", ".mtx", ".svm", ".svmlight", ".libsvm")
ENDINGS = [*TABLES, "zip", *(ending[1:] for ending in VECTORS)]
# What several files may be beside tables and vectors.
_PARTS = "sgml xml trec topics qrels qrel dat all png jpg jpeg gif webp bmp".split()
_WAYS = {"one": "One file", "several": "Several files", "paste": "Paste lines"}
MAX_MEGABYTES = 200
#: Bytes of text that are read while the page is drawn; whatever is larger, or packed, takes turns.
_SMALL = 2**20
#: Uploads that are read at once, and seconds after which a page shows how far its own is.
_READERS, _PATIENCE = 2, 2.0
# In the session: the file that waits, the one that is read, what was wrong with the last one, the
# files that were taken, how often the uploader was emptied, and whether an earlier session's
# upload was looked for.
_WAITING, _READING, _PROBLEM, _TAKEN = "data-waiting", "data-reading", "data-problem", "data-taken"
_N_EMPTIED, _LOOKED = "data-turn", "data-looked"
Files = Sequence[tuple[str, bytes]]


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
    uploaded: float = 0.0  # seconds since 1970, where an earlier session did it

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


@dataclass(eq=False)
class _Reading:
    """A file on its way through a reader."""

    key: tuple[str, str]
    name: str
    n_bytes: int
    began: float
    upload: Upload | None = None

    @property
    def is_active(self) -> bool:
        """Whether it waits for its turn or is read."""
        progress = _readers().progress(self.key)
        return progress is not None and progress.is_active


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


def is_reading() -> bool:
    """Whether a file is being read."""
    return _READING in st.session_state


def drop() -> None:
    """Forget the file that waits, here and on disk, and empty the uploader."""
    _stop()
    for name in (_WAITING, _PROBLEM, _TAKEN):
        st.session_state.pop(name, None)
    st.session_state[_N_EMPTIED] = _n_emptied() + 1
    state.store().uploads.delete(state.workspace())
    _return_memory()


def _return_memory() -> None:
    """Return to the system what the C library keeps of memory that was freed."""
    # Arrays of a few megabytes leave a tenth of what a large table took with the process.
    with suppress(OSError, AttributeError, TypeError):  # other systems, other libraries
        ctypes.CDLL(None).malloc_trim(0)


def _stop() -> None:
    """Stop reading."""
    reading: _Reading | None = st.session_state.pop(_READING, None)
    if reading is not None:
        _readers().stop(reading.key)


def _cancel() -> None:
    """Stop reading, and empty the uploader; what waited before still waits."""
    _stop()
    st.session_state.pop(_TAKEN, None)
    st.session_state[_N_EMPTIED] = _n_emptied() + 1


def restore() -> None:
    """Bring back, once a session, what was uploaded before the page was loaded anew."""
    if _LOOKED in st.session_state:
        return
    st.session_state[_LOOKED] = True
    reading = _latest().get(state.workspace())
    if reading is not None and reading.is_active:
        st.session_state[_READING] = reading
    elif found := state.store().uploads.get(state.workspace()):
        uploaded, files = found
        _begin(_digest(files), files, uploaded)


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
    _collect()
    if is_reading():
        _watch(st.session_state[_READING])
        st.button("Cancel", key="data-cancel", on_click=_cancel, icon=":material/close:")
    elif (problem := st.session_state.get(_PROBLEM)) and (parts or _TAKEN not in st.session_state):
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
    ids = [part.file_id for part in parts]
    if st.session_state.get(_TAKEN) == ids:
        return
    _stop()
    st.session_state.pop(_PROBLEM, None)
    files = [(part.name, part.getvalue()) for part in parts]
    digest, held = _digest(files), waiting()
    if held is None or held.digest != digest:
        _begin(digest, files)
    st.session_state[_TAKEN] = ids


def _begin(digest: str, files: Files, uploaded: float = 0.0) -> None:
    """Read a small file at once, and have others read when it is their turn."""
    from simviz.data.sources import signature
    from simviz.exceptions import DatasetError

    workspace, store = state.workspace(), state.store()
    n_bytes = sum(len(data) for _, data in files)
    is_text = all(signature(data) is None and not _is_vectors(name) for name, data in files)
    if is_text and n_bytes <= _SMALL:
        try:
            with st.spinner("Reading the file"):
                st.session_state[_WAITING] = _read_and_save(
                    digest, files, uploaded, workspace, store
                )
        except DatasetError as error:
            st.session_state[_PROBLEM] = str(error)
        return
    # Of one visitor, one upload is read at a time.
    if before := _latest().get(workspace):
        _readers().stop(before.key)
    name = files[0][0][-60:] if len(files) == 1 else f"{len(files)} files"
    reading = _Reading((workspace, secrets.token_hex(8)), name, n_bytes, time.monotonic())

    def work(report: Report) -> None:
        with _bounded(reading, report):
            upload = _read_and_save(digest, files, uploaded, workspace, store)
            if upload.result is not None:  # takes as long as reading, and the page asks for it
                settings.suggestion_for(upload.pairs_digest, upload.result.pairs)
            reading.upload = upload
        _return_memory()

    progress = _readers().submit(reading.key, work, workspace)
    if progress.state == "failed":
        st.session_state[_PROBLEM] = progress.message
        return
    _latest()[workspace] = st.session_state[_READING] = reading
    with st.spinner("Reading the file"):
        while reading.is_active and time.monotonic() - reading.began < _PATIENCE:
            time.sleep(0.02)


def _read_and_save(
    digest: str, files: Files, uploaded: float, workspace: str, store: Store
) -> Upload:
    """Read files, and keep them on disk until they are a data set or a day has gone."""
    from simviz.exceptions import SimvizError, StoreError

    began = time.monotonic()
    details: dict[str, Any] = {"workspace": masked(workspace), "files": len(files)}
    details["bytes"] = sum(len(data) for _, data in files)
    try:
        upload = _read(digest, files)
    except SimvizError:
        _log.info("upload not read", details)
        raise
    _log.info("upload read", details | {"seconds": round(time.monotonic() - began, 2)})
    upload.uploaded = uploaded
    if not uploaded:
        with suppress(StoreError):  # only a reload would miss it
            store.uploads.put(workspace, files)
    return upload


@contextmanager
def _bounded(reading: _Reading, report: Report) -> Iterator[None]:
    """Report how far reading is; end it when it is cancelled or takes too long."""
    from simviz.data.sources import get_limits, watched
    from simviz.exceptions import DatasetError, JobCancelled

    limit, done = get_limits().seconds, 0.0
    began = reading.began = time.monotonic()

    def watch(fraction: float) -> None:
        nonlocal done
        done = max(done, fraction)
        if report(done):
            raise JobCancelled("Cancelled.")
        if time.monotonic() - began > limit:
            raise DatasetError(
                f"{reading.name} was not read within {limit:,} seconds, as long as an upload may "
                "take. Bring a sample, or read it in Python."
            )

    with watched(watch):
        yield


def _collect() -> None:
    """Take over what has been read, or what is wrong with it."""
    reading: _Reading | None = st.session_state.get(_READING)
    if reading is None or reading.is_active:
        return
    del st.session_state[_READING]
    progress = _readers().progress(reading.key)
    if reading.upload is not None:
        st.session_state[_WAITING] = reading.upload
    elif progress is not None and progress.state == "failed":
        st.session_state[_PROBLEM] = progress.message
    else:
        st.session_state[_PROBLEM] = "Not read: another upload of this workspace took its place."


@st.fragment(run_every=0.5)
def _watch(reading: _Reading) -> None:
    """Show how far a file is read, until it is."""
    from simviz.data.sources import get_limits

    progress = _readers().progress(reading.key)
    if progress is None or not progress.is_active:
        st.rerun()
    size = max(1, round(reading.n_bytes / 1e3))
    words = f"**{escape_markdown(reading.name)}**, {size:,} kB · "
    if progress.state == "waiting":
        words += "waits for its turn"
    else:
        seconds = time.monotonic() - reading.began
        words += f"reading for {seconds:.0f} s, at most {get_limits().seconds:,} s"
    st.progress(progress.fraction, text=words)


@st.cache_resource(show_spinner=False)
def _readers() -> Background:
    """The readers of this server, which outlive every page."""
    from simviz.jobs.background import Background
    from simviz.jobs.worker import DaemonPool

    return Background(DaemonPool(_READERS, "simviz-reader"), broken="The file could not be read.")


@st.cache_resource(show_spinner=False)
def _latest() -> WeakValueDictionary[str, _Reading]:
    """What was read last for each workspace, as long as somebody holds it."""
    return WeakValueDictionary()


def _digest(files: Files) -> str:
    """Return a digest of names and bytes, so that the same file is read once."""
    hasher = hashlib.blake2b(digest_size=16)
    for name, data in files:
        raw = name.encode("utf-8", "surrogatepass")
        hasher.update(len(raw).to_bytes(8, "little") + raw)
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()


def _read(digest: str, files: Files) -> Upload:
    from simviz.data import guess_roles, read_collection, read_images, read_table

    name, data = files[0]
    if len(files) == 1 and not name.lower().endswith(".zip") and not _is_vectors(name):
        table = read_table(data, name)
        roles = guess_roles(table)
        upload = Upload(digest, table, roles, False, roles)
        upload.read_as(roles)
        return upload
    if len(files) == 2 and name.lower().endswith(".zip"):
        result = read_images(data, files[1][1], name=name, keywords_name=files[1][0])
    elif len(files) == 1:
        result = read_collection({name: data}, name)
    else:
        result = read_collection(dict(files), _common_name([name for name, _ in files]))
    return Upload(digest, result.table, result.roles, True, result.roles, result)


def _is_vectors(name: str) -> bool:
    return name.lower().endswith(VECTORS)


def _is_zip(file: Any) -> bool:
    return bool(file.name.lower().endswith(".zip"))


def _common_name(names: Sequence[str]) -> str:
    """Return what the names of all files begin with, or a plain word."""
    letters = zip(*names, strict=False)
    shared = "".join(c[0] for c in takewhile(lambda c: len(set(c)) == 1, letters)).strip("._- ")
    return shared if len(shared) > 2 else "my files"


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
