"""A file of the visitor's own: handed in, read once, held until it is kept or dropped."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from io import BytesIO
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from simviz.data.cells import Note, side_name
from simviz.data.collection.files import plan_parts
from simviz.data.collection.reader import read_collection
from simviz.data.health import Remedy
from simviz.data.limits import get_limits, progress_listener
from simviz.data.pairs import Space
from simviz.data.pairs_from_tables import ReadResult, to_pairs
from simviz.data.roles import ColumnRoles, guess_roles
from simviz.data.sources import signature
from simviz.data.tables import Table, read_table
from simviz.data.templates import TEMPLATES, make_template
from simviz.exceptions import DatasetError, JobCancelled, SimvizError, StoreError
from simviz.jobs import SplitSpec
from simviz.jobs.background import BackgroundTasks, ReportFraction
from simviz.jobs.memory import return_freed
from simviz.jobs.worker import DaemonPool
from simviz.markdown import escape_markdown
from simviz.store import Store
from simviz.store.directory import masked
from simviz.workbench.shell import display, forms, preferences, state

_log = logging.getLogger(__name__)
TABLES = "csv tsv tab txt jsonl ndjson json parquet pq arrow arrows feather xlsx gz".split()
#: Files that hold numbers alone: both sides, or one of several files.
VECTORS = (".npz", ".npy", ".mtx", ".svm", ".svmlight", ".libsvm")
#: What is offered to be saved, whatever it is.
BYTES = "application/octet-stream"
ENDINGS = [*TABLES, "zip", *(ending[1:] for ending in VECTORS)]
# What several files may be beside tables and vectors.
_PARTS = "sgml xml trec topics qrels qrel dat all png jpg jpeg gif webp bmp".split()
_WAYS = {"files": "Files", "paste": "Paste lines"}
#: Bytes of text that are read while the page is drawn; whatever is larger, or packed, takes turns.
_SMALL = 2**20
#: Uploads that are read at once, and seconds after which a page shows how far its own is.
_READERS, PATIENCE = 2, 2.0
# In the session: the file that waits, the one that is read, what was wrong with the last one, the
# files that were taken, how often the uploader was emptied, and whether an earlier session's
# upload was looked for, and files that a later one replaced.
_WAITING, _READING, _PROBLEM, _TAKEN = "data-waiting", "data-reading", "data-problem", "data-taken"
_N_EMPTIED, _LOOKED, _REPLACED = "data-turn", "data-looked", "data-replaced"
Files = Sequence[tuple[str, bytes]]
#: What files and columns are called, beside what is in them.
_NOT_A_NAME = re.compile(r"(?i)\s*[(\[][^)\]]*[)\]]|\b(final|raw|export|clean|copy|v\d+)\b")


@dataclass(slots=True)
class Upload:
    """A file that could be read, and what is understood of it so far."""

    digest: str
    table: Table
    guessed: ColumnRoles
    is_fixed: bool
    roles: ColumnRoles
    result: ReadResult | None = None
    problem: str = ""
    uploaded: float = 0.0  # seconds since 1970, where an earlier session did it
    corrected: dict[str, Any] = field(default_factory=dict)
    saved: dict[str, Any] = field(default_factory=dict)

    @property
    def pairs_digest(self) -> str:
        """What stands for the content of the pairs; empty without any."""
        return "" if self.result is None else self.result.pairs.digest

    def read_as(self, roles: ColumnRoles) -> None:
        """Read the table by these roles."""
        if (roles.x, roles.y) != (self.roles.x, self.roles.y):
            self.corrected.pop("space", None)  # it was said of other vectors
        self.roles, self.problem, self.result = roles, "", None
        if roles != self.guessed or self.corrected:
            self.corrected["roles"] = asdict(replace(roles, reasons={}))
        try:
            self.result = _named(to_pairs(self.table, roles))
            if space := self.corrected.get("space"):
                self.set_space(space)
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
        self.corrected["relevance"] = self.corrected.get("relevance", {}) | changes

    def set_space(self, space: Space) -> None:
        """Say whether both sides are vectors of one space."""
        result = self.understood()
        self.result = replace(result, pairs=replace(result.pairs, space=space))
        self.corrected["space"] = space

    def save_corrections(self) -> None:
        """Keep what was corrected beside the files, for a session after this one."""
        if self.corrected != self.saved:
            self.saved = deepcopy(self.corrected)
            state.store().uploads.correct(state.workspace(), self.corrected)

    def mend(self, title: str, remedy: Remedy) -> None:
        """Take the remedy of something that was found while reading."""
        result = self.understood()
        fixed = Note(f"Fixed: {title}. {remedy.label}.")
        pairs, notes = remedy(result.pairs), (*result.notes, fixed)
        self.result = replace(result, pairs=pairs, notes=notes, disputed=None)

    def understood(self) -> ReadResult:
        """Return what was read; refuse a file that is not understood yet."""
        if self.result is None:
            raise ValueError(f"{self.table.name} is not understood yet: {self.problem}")
        return self.result


@dataclass(eq=False)
class Reading:
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


def has_failed() -> bool:
    """Whether what was handed in last could not be read."""
    return _PROBLEM in st.session_state and _TAKEN in st.session_state


def drop() -> None:
    """Forget the file that waits, here and on disk, and empty the uploader."""
    _cancel()
    for name in (_WAITING, _PROBLEM):
        st.session_state.pop(name, None)
    state.store().uploads.delete(state.workspace())
    return_freed()


def _stop() -> None:
    reading: Reading | None = st.session_state.pop(_READING, None)
    if reading is not None:
        _readers().stop(reading.key)


def _cancel() -> None:
    """Stop reading, and empty the uploader; what waited before still waits."""
    _stop()
    for name in (_TAKEN, _REPLACED):
        st.session_state.pop(name, None)
    st.session_state[_N_EMPTIED] = _n_emptied() + 1


def restore() -> None:
    """Bring back, once a session, what was uploaded before the page was loaded anew."""
    if _LOOKED in st.session_state:
        return
    st.session_state[_LOOKED] = True
    reading = _latest().get(state.workspace())
    uploads = state.store().uploads
    if reading is not None and reading.is_active:
        st.session_state[_READING] = reading
    elif stored := uploads.get(state.workspace()):
        uploaded, files = stored
        _begin(_digest(files), files, uploaded, uploads.corrections(state.workspace()))


def correct_parts(file: Upload, **parts: str) -> None:
    """Read the files that wait again, with another file or column for some parts."""

    def file_of(part: str) -> str:
        return "relevance" if part == "label" else part.partition("_")[0]

    # Columns of a file go with it.
    before = file.corrected.get("parts", {}).items()
    old = {part: name for part, name in before if file_of(part) not in parts}
    _read_again(file, file.corrected | {"parts": old | parts})


def correct_header(file: Upload, header: bool) -> None:
    """Read the table that waits again, its first line as names of columns or as a row."""
    _read_again(file, {} if header else {"header": False})


def _read_again(file: Upload, corrected: Mapping[str, Any]) -> None:
    uploads, workspace = state.store().uploads, state.workspace()
    st.session_state.pop(_PROBLEM, None)
    if (stored := uploads.get(workspace)) is None:
        st.session_state[_PROBLEM] = "The files are no longer here. Upload them again."
        return
    uploads.correct(workspace, corrected)
    _begin(_digest(stored[1]), stored[1], file.uploaded, corrected)


def _n_emptied() -> int:
    """Return a part of the uploader's key: another number is an empty uploader."""
    return int(st.session_state.get(_N_EMPTIED, 0))


def keep(upload: Upload, names: tuple[str, str, str], split: SplitSpec) -> str:
    """Store what was understood, and work on it from now on; return the id of the data set."""
    result = upload.understood()
    pairs = result.pairs
    entered = dict(zip(("name", "x_name", "y_name"), map(str.strip, names), strict=True))
    changes: dict[str, Any] = {field: name for field, name in entered.items() if name}
    pairs = replace(pairs, **changes)
    dataset_id = state.store().datasets.put(pairs, state.workspace(), result.notes)
    preferences.choose_split(dataset_id, split)
    state.choose_dataset(dataset_id)
    drop()
    return dataset_id


def show_uploader() -> None:
    """Take files, or lines that are pasted."""
    way = forms.segmented("What you bring", _WAYS, "data-way", default="files")
    parts = _pasted() if way == "paste" else _uploaded()
    # The uploader is also empty while a file replaces another, and after another
    # page: what waits is dropped by its own button only.
    if parts:
        _take(parts)
    _collect()
    if is_reading():
        _watch(st.session_state[_READING])
        forms.button("Cancel", "data-cancel", _cancel, icon="close")
    elif (problem := st.session_state.get(_PROBLEM)) and (parts or _TAKEN not in st.session_state):
        display.problem(problem)


def _uploaded() -> list[Any]:
    """Take a file, or several that belong together."""
    files = st.file_uploader(
        "A table, a zip, or several files that belong together",
        [*ENDINGS, *_PARTS],
        key=f"data-file-{_n_emptied()}",
        accept_multiple_files=True,
        help="CSV, TSV, JSON, JSONL, Parquet, Arrow, Feather or Excel, also gzipped; NumPy .npz "
        "with arrays x and y; pictures with a table of keywords. Of several files, names say "
        "which is which: x, queries, topics; y, documents, corpus, images; relevance, judgments, "
        "qrels; split, folds, groups; ids.",
    )
    # What comes later belongs to what came before, or replaces it.
    before = {*st.session_state.get(_TAKEN, ()), *st.session_state.get(_REPLACED, ())}
    added = [file for file in files if file.file_id not in before]
    if added and len(added) < len(files) and not _belong([file.name for file in files]):
        st.session_state[_REPLACED] = [file.file_id for file in files if file not in added]
    return [file for file in files if file.file_id not in st.session_state.get(_REPLACED, ())]


def _belong(names: Sequence[str]) -> bool:
    """Whether names say that files are parts of one data set."""
    if len(names) == 2 and names[0].lower().endswith(".zip"):
        return not names[1].lower().endswith(".zip")
    try:
        return not plan_parts("", names).left_over
    except DatasetError:
        return False


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


def _begin(
    digest: str, files: Files, uploaded: float = 0.0, corrected: Mapping[str, Any] | None = None
) -> None:
    """Read a small file at once, and have others read when it is their turn."""
    workspace, store = state.workspace(), state.store()
    n_bytes = sum(len(data) for _, data in files)
    is_text = all(signature(data) is None and not _is_vectors(name) for name, data in files)
    if is_text and n_bytes <= _SMALL:
        try:
            with st.spinner("Reading the file"):
                st.session_state[_WAITING] = read_and_save(
                    digest, files, uploaded, workspace, store, corrected
                )
        except DatasetError as error:
            st.session_state[_PROBLEM] = str(error)
        return
    # Of one visitor, one upload is read at a time.
    if before := _latest().get(workspace):
        _readers().stop(before.key)
    name = files[0][0][-60:] if len(files) == 1 else f"{len(files)} files"
    reading = Reading((workspace, secrets.token_hex(8)), name, n_bytes, time.monotonic())

    def work(report: ReportFraction) -> None:
        with limit_reading(reading, report):
            upload = read_and_save(digest, files, uploaded, workspace, store, corrected)
            if upload.result is not None:  # takes as long as reading, and the page asks for it
                preferences.suggestion_for(upload.result.pairs)
            reading.upload = upload
        return_freed()

    progress = _readers().submit(reading.key, work, workspace)
    if progress.state == "failed":
        st.session_state[_PROBLEM] = progress.message
        return
    _latest()[workspace] = st.session_state[_READING] = reading
    with st.spinner("Reading the file"):
        while reading.is_active and time.monotonic() - reading.began < PATIENCE:
            time.sleep(0.02)


def read_and_save(
    digest: str,
    files: Files,
    uploaded: float,
    workspace: str,
    store: Store,
    corrected: Mapping[str, Any] | None,
) -> Upload:
    """Read files, and keep them on disk until they are a data set or a day has gone."""
    began = time.monotonic()
    size = sum(len(data) for _, data in files)
    details = {"workspace": masked(workspace), "files": len(files), "bytes": size}
    try:
        upload = read_files(digest, files, corrected or {})
    except SimvizError:
        _log.info("upload not read", details)
        raise
    _log.info("upload read", details | {"seconds": round(time.monotonic() - began, 2)})
    upload.uploaded = uploaded
    if not uploaded and corrected is None:
        with suppress(StoreError):  # only a reload would miss it
            store.uploads.put(workspace, files)
    return upload


@contextmanager
def limit_reading(reading: Reading, report: ReportFraction) -> Iterator[None]:
    """Report how far reading is; end it when it is cancelled or takes too long."""
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
                "take. Upload a sample, or read it in Python."
            )

    with progress_listener(watch):
        yield


def _collect() -> None:
    """Take over what has been read, or what is wrong with it."""
    reading: Reading | None = st.session_state.get(_READING)
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
def _watch(reading: Reading) -> None:
    """Show how far a file is read, until it is."""
    progress = _readers().progress(reading.key)
    if progress is None or not progress.is_active:
        st.rerun()
    size = max(1, round(reading.n_bytes / 1e3))
    text = f"**{escape_markdown(reading.name)}**, {size:,} kB · "
    if progress.state == "waiting":
        text += "waits for its turn"
    else:
        seconds = time.monotonic() - reading.began
        text += f"reading for {seconds:.0f} s, at most {get_limits().seconds:,} s"
    st.progress(progress.fraction, text=text)


@st.cache_resource(show_spinner=False)
def _readers() -> BackgroundTasks:
    """The readers of this server, which outlive every page."""
    pool = DaemonPool(_READERS, "simviz-reader")
    return BackgroundTasks(pool, broken="The file could not be read.")


@st.cache_resource(show_spinner=False)
def _latest() -> WeakValueDictionary[str, Reading]:
    """What was read last for each workspace, as long as somebody holds it."""
    return WeakValueDictionary()


def _digest(files: Files) -> str:
    hasher = hashlib.blake2b(digest_size=16)
    for name, data in files:
        for raw in (name.encode("utf-8", "surrogatepass"), data):
            hasher.update(len(raw).to_bytes(8, "little"))
            hasher.update(raw)
    return hasher.hexdigest()


def read_files(digest: str, files: Files, corrected: Mapping[str, Any]) -> Upload:
    """Read files, with the corrections of an earlier session."""
    name, data = files[0]
    if len(files) == 1 and not name.lower().endswith(".zip") and not _is_vectors(name):
        header = bool(corrected.get("header", True))
        # Other columns are asked for by other widgets.
        digest = digest if header else f"{digest}-rows"
        table = read_table(data, name, header=header)
        guessed = roles = guess_roles(table)
        if given_roles := corrected.get("roles"):
            lists = {k: tuple(v) for k, v in given_roles.items() if isinstance(v, list)}
            roles = ColumnRoles(**given_roles | lists)
        upload = Upload(digest, table, guessed, False, roles)
        upload.corrected = {k: corrected[k] for k in ("header", "space") if k in corrected}
        upload.read_as(roles)
        return upload
    is_whole = len(files) == 1 or name.lower().endswith(".zip")
    called = name if is_whole else _common_name([name for name, _ in files])
    result = _named(read_collection(dict(files), called, parts=corrected.get("parts")))
    upload = Upload(digest, result.table, result.roles, True, result.roles, result)
    upload.corrected = dict(corrected)
    upload.set_relevance(**corrected.get("relevance", {}))
    if space := corrected.get("space"):
        upload.set_space(space)
    return upload


def _named(result: ReadResult) -> ReadResult:
    """Call the sides by plain words, without what only their file or column says."""
    pairs = result.pairs
    plain = [
        " ".join(_NOT_A_NAME.sub(" ", name.replace("_", " ")).split()) or name
        for name in (pairs.x_name, pairs.y_name)
    ]
    if plain[0] == plain[1]:
        plain = [pairs.x_name, pairs.y_name]
    name = " and ".join(plain) if pairs.name == "the files" else pairs.name
    x_name, y_name = map(side_name, plain, "xy")
    return replace(result, pairs=replace(pairs, name=name, x_name=x_name, y_name=y_name))


def _is_vectors(name: str) -> bool:
    return name.lower().endswith(VECTORS)


def _common_name(names: Sequence[str]) -> str:
    """Return what the names of all files begin with; empty if that says nothing."""
    letters = zip(*names, strict=False)
    shared = "".join(c[0] for c in takewhile(lambda c: len(set(c)) == 1, letters)).strip("._- ")
    return shared if len(shared) > 2 else ""


def show_templates() -> None:
    """Offer small files to begin with, one for each shape."""
    with st.popover("Templates", type="tertiary", icon=":material/download:"):
        for name, what in TEMPLATES.items():
            label, make = f"{what} ({PurePosixPath(name).suffix})", partial(make_template, name)
            forms.download(label, make, name, key=f"data-template-{name}", mime=BYTES, icon=None)
