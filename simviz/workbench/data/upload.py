"""A file on its way in: read once, held in the session until it is kept or dropped."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.workbench.shell import display, settings, state
from simviz.workbench.shell.marks import plain as escaped

if TYPE_CHECKING:
    from simviz.data.columns import Roles
    from simviz.data.health import Finding
    from simviz.data.labels import LabelWord
    from simviz.data.pairs import PairSet
    from simviz.data.readers import ReadResult
    from simviz.data.tables import Table
    from simviz.jobs import SplitSpec
    from simviz.relevance import Unjudged

#: Files that hold numbers alone: both sides, or one of several files.
VECTORS = (".npz", ".npy", ".mtx", ".svm", ".svmlight", ".libsvm")
# In the session: the file that waits, what was wrong with the last one, the
# files that were read, and how often the uploader was emptied.
_WAITING, _PROBLEM, _TAKEN, _TURN = (f"data-{n}" for n in ("waiting", "problem", "taken", "turn"))


@dataclass(slots=True)
class Upload:
    """A file that could be read, and what is understood of it so far."""

    digest: str
    table: Table
    guessed: Roles
    is_fixed: bool
    roles: Roles
    result: ReadResult | None = None
    pairs_digest: str = ""
    problem: str = ""

    def read_as(self, roles: Roles) -> None:
        """Read the table by these roles."""
        from simviz.data import to_pairs
        from simviz.exceptions import DatasetError

        self.roles, self.problem, self.result = roles, "", None
        try:
            self._understand(to_pairs(self.table, roles))
        except DatasetError as error:
            self.problem = str(error)

    def set_unjudged(self, meaning: Unjudged) -> None:
        """Say what a pair that is not listed means."""
        pairs = self._pairs()
        if pairs.relevance.unjudged == meaning:
            return
        if not self.is_fixed:
            self.read_as(replace(self.roles, unjudged=meaning))
        elif self.result is not None:
            relevance = replace(pairs.relevance, unjudged=meaning)
            self._understand(replace(self.result, pairs=replace(pairs, relevance=relevance)))

    def mend(self, finding: Finding) -> None:
        """Take the remedy of something that was found while reading."""
        if self.result is None or finding.remedy is None:
            raise ValueError(f"{finding.title}: nothing mends this at one stroke.")
        notes = (*self.result.notes, f"Mended: {finding.title}. {finding.remedy.label}.")
        pairs = finding.remedy(self._pairs())
        self._understand(replace(self.result, pairs=pairs, notes=notes, disputed=None))

    def set_threshold(self, threshold: float) -> None:
        """Say from which score on a pair is relevant."""
        if self._pairs().relevance.threshold == threshold:
            return
        if not self.is_fixed:
            self.read_as(replace(self.roles, threshold=threshold))
        elif self.result is not None:
            pairs = self.result.pairs
            relevance = replace(pairs.relevance, threshold=threshold)
            self._understand(replace(self.result, pairs=replace(pairs, relevance=relevance)))

    def _understand(self, result: ReadResult) -> None:
        self.result, self.pairs_digest = result, result.pairs.digest

    def _pairs(self) -> PairSet:
        if self.result is None:
            raise ValueError(f"{self.table.name} is not understood yet: {self.problem}")
        return self.result.pairs


def waiting() -> Upload | None:
    """The file that is being looked at."""
    upload: Upload | None = st.session_state.get(_WAITING)
    return upload


def problem() -> str:
    """What was wrong with the file that was handed in last; empty if nothing."""
    return str(st.session_state.get(_PROBLEM, ""))


def turn() -> int:
    """Part of the uploader's key: another number is an empty uploader."""
    return int(st.session_state.get(_TURN, 0))


@dataclass(frozen=True, slots=True)
class Pasted:
    """Lines that were typed or pasted, as if they were a file."""

    text: str
    name: str = "pasted lines"

    @property
    def file_id(self) -> str:
        """The same for the same lines."""
        return self.text

    def getvalue(self) -> bytes:
        """The lines as a file holds them."""
        return self.text.encode("utf-8", "replace")

    getbuffer = getvalue


def is_zip(file: Any) -> bool:
    """Whether a file is handed in as a zip."""
    return bool(file.name.lower().endswith(".zip"))


def was_taken(text: str) -> bool:
    """Whether these lines are what was read last."""
    return bool(st.session_state.get(_TAKEN) == [text])


def take(*parts: Any) -> None:
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


def drop() -> None:
    """Forget the file that waits, and empty the uploader."""
    for name in (_WAITING, _PROBLEM, _TAKEN):
        st.session_state.pop(name, None)
    st.session_state[_TURN] = turn() + 1


def keep(upload: Upload, names: tuple[str, str, str], split: SplitSpec) -> str:
    """Store what was understood, and work on it from now on."""
    pairs = upload._pairs()
    given = [n.strip() or old for n, old in zip(names, _names(pairs), strict=True)]
    pairs = replace(pairs, name=given[0], x_name=given[1], y_name=given[2])
    said = () if upload.result is None else upload.result.notes
    dataset_id = state.store().put_dataset(pairs, state.workspace(), said)
    settings.choose_split(dataset_id, split)
    state.choose_dataset(dataset_id)
    drop()
    return dataset_id


def _names(pairs: PairSet) -> tuple[str, str, str]:
    return pairs.name, pairs.x_name, pairs.y_name


def _digest(parts: Sequence[Any]) -> str:
    """Of names and bytes, so that the same file is read once."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        name = part.name.encode("utf-8", "surrogatepass")
        hasher.update(len(name).to_bytes(8, "little") + name)
        hasher.update(len(part.getbuffer()).to_bytes(8, "little"))
        hasher.update(part.getbuffer())
    return hasher.hexdigest()


def _read(digest: str, parts: Sequence[Any]) -> Upload:
    from simviz.data import guess_roles, read_collection, read_images, read_table

    first = parts[0]
    data = first.getvalue()
    if len(parts) == 1 and not first.name.lower().endswith((".zip", *VECTORS)):
        table = read_table(data, first.name)
        roles = guess_roles(table)
        upload = Upload(digest, table, roles, False, roles)
        upload.read_as(roles)
        return upload
    if len(parts) == 2 and is_zip(first):
        result = read_images(
            data, parts[1].getvalue(), name=first.name, keywords_name=parts[1].name
        )
    elif len(parts) == 1:
        result = read_collection({first.name: data}, first.name)
    else:
        result = read_collection({part.name: part.getvalue() for part in parts}, _common(parts))
    upload = Upload(digest, result.table, result.roles, True, result.roles)
    upload._understand(result)
    return upload


def _common(parts: Sequence[Any]) -> str:
    """A name for several files: what all their names begin with, or a plain word."""
    names = [part.name for part in parts]
    shared = "".join(
        letters[0] for letters in takewhile(lambda z: len(set(z)) == 1, zip(*names, strict=False))
    )
    return shared.strip("._- ") if len(shared.strip("._- ")) > 2 else "my files"


@st.cache_resource(show_spinner=False)
def _one_reader() -> Any:
    return threading.Lock()


TABLES = "csv tsv tab txt jsonl ndjson json parquet pq arrow arrows feather xlsx gz".split()
ENDINGS = [*TABLES, "zip", *(ending[1:] for ending in VECTORS)]
# What several files may be beside tables and vectors.
_PARTS = "sgml xml trec topics qrels qrel dat all png jpg jpeg gif webp bmp".split()
_WAYS = {"one": "One file", "several": "Several files", "paste": "Paste lines"}
MAX_MEGABYTES = 200


def show_uploader() -> None:
    """Take one file, several that belong together, or lines that are pasted."""
    way = st.segmented_control(
        "What you bring",
        list(_WAYS),
        format_func=_WAYS.__getitem__,
        default="one",
        required=True,
        key="data-way",
        label_visibility="collapsed",
    )
    parts = {"one": _one_file, "several": _several_files, "paste": _pasted}[way or "one"]()
    # The uploader is also empty while a file replaces another, and after another
    # page: what waits is dropped by its own button only.
    if parts:
        take(*parts)
        if problem():
            display.problem(problem())


def _one_file() -> list[Any]:
    """A table or a zip; a table beside it where the zip holds pictures alone."""
    file = st.file_uploader(
        "A table, or a zip of several files",
        ENDINGS,
        key=f"data-file-{turn()}",
        max_upload_size=MAX_MEGABYTES,
        help="CSV, TSV, JSON, JSONL, Parquet, Arrow, Feather or Excel, also gzipped; NumPy .npz "
        "with arrays x and y; or a zip, such as pictures with a table of keywords.",
    )
    keywords = None
    if file is not None and is_zip(file):
        keywords = st.file_uploader(
            "A table of keywords, where pictures have none in the zip",
            TABLES,
            key=f"data-keywords-{turn()}",
            max_upload_size=MAX_MEGABYTES,
        )
    return [part for part in (file, keywords) if part is not None]


def _several_files() -> list[Any]:
    """Items of the two sides, their judgments, and what else there is."""
    files = st.file_uploader(
        "Items of the two sides, and what belongs together",
        [*ENDINGS, *_PARTS],
        accept_multiple_files=True,
        key=f"data-files-{turn()}",
        max_upload_size=MAX_MEGABYTES,
    )
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
        key=f"data-pasted-{turn()}",
        max_chars=200_000,
    )
    read = st.button("Read these lines", key="data-paste", disabled=not text.strip())
    # Kept in the widget, so that a rerun shows the same.
    return [Pasted(text)] if text.strip() and (read or was_taken(text)) else []


def show_templates() -> None:
    """Small files to begin with, one for each shape."""
    from simviz.data.templates import TEMPLATES, make_template

    with st.popover("Templates", type="tertiary", icon=":material/download:"):
        for name, what in TEMPLATES.items():
            st.download_button(
                f"{what} ({PurePosixPath(name).suffix})",
                lambda name=name: make_template(name),
                name,
                "application/octet-stream",
                key=f"data-template-{name}",
                on_click="ignore",
                type="tertiary",
            )


#: Distinct cells of a column that is looked at, and words that are asked for.
_CELLS, _WORDS = 2000, 24
_LONG = 40
_MEANINGS: dict[str, float | None] = {
    "4: relevant, most": 4.0,
    "3: relevant": 3.0,
    "2: relevant": 2.0,
    "1: relevant, least": 1.0,
    "not relevant": -1.0,
    "not judged: leave out": None,
}


def ask(file: Upload, column: str) -> dict[str, float | None]:
    """Ask what each word of a column means."""
    from simviz.data.cells import shown
    from simviz.data.labels import label_words

    table = file.table
    if column in table.vectors or len(table.factorize(column).uniques) > _CELLS:
        return {}
    words = label_words(table, column)
    if not words or len(words) > _WORDS:
        return {}
    display.quiet(f"What each word of {shown(column)} means; those of usual scales are filled in.")
    chosen: dict[str, float | None] = {}
    with st.container(horizontal=True):
        for word in sorted(words, key=lambda w: w.grade is not None):  # unknown ones first
            answer = _ask_word(file, column, word)
            if answer is not None and (word.grade is None or _MEANINGS[answer] != word.grade):
                chosen[word.word] = _MEANINGS[answer]
    return chosen


def _ask_word(file: Upload, column: str, word: LabelWord) -> str | None:
    from simviz.data.cells import counted

    name = word.word if len(word.word) <= _LONG else f"{word.word[:_LONG]}…"
    # Keys of widgets are no place for what a file holds.
    key = hashlib.blake2b(f"{column}\0{word.word}".encode("utf-8", "replace"), digest_size=8)
    known = None if word.grade is None else list(_MEANINGS.values()).index(word.grade)
    return st.selectbox(
        escaped(f"{name} ({counted(word.count, 'row')})"),
        list(_MEANINGS),
        index=known,
        placeholder="choose",
        key=f"data-word-{file.digest}-{key.hexdigest()}",
        width=200,
    )


#: Notes that are seen at once; one more than these is no reason to fold.
_SHOWN = 3
#: Rows that are not in the pairs have a list of their own, with what they hold.
_ROWS_LEFT_OUT = re.compile(r"[\d,]+ rows? left out because ")
#: Columns that say nothing about an item: from two on in one note.
_DROPPED = re.compile(r"Column (.*) was dropped: one item has several values there \(.*\)\.")
#: The first that is found in a note says how much it matters.
_WEIGHTS = tuple(
    re.compile(words)
    for words in (
        # Something is not in what was read, or is not as it stands in the file.
        r"left out|dropped|cannot|contradict|both relevant and|would leak|may judge|long cells|"
        r"read as \w+-",
        # Something was taken for something.
        r"count as empty|counts? once|read as|became|scores|no name|names two",
    )
)
_STYLE = """
<style>
.sv-more summary { cursor: pointer; opacity: .75; font-size: .9rem; padding: .2rem 0; }
.sv-more ul { margin-top: .2rem; }
</style>
"""


def show(lines: Sequence[str]) -> None:
    """Show the notes of a file."""
    told = ordered(lines)
    if not told:
        return
    at_once = told[:_SHOWN] if len(told) > _SHOWN + 1 else told
    rest = told[len(at_once) :]
    folded = f"<summary>{len(rest)} more notes</summary>{_list(rest)}"
    folded = f'<details class="sv-more">{folded}</details>' if rest else ""
    if folded:
        st.html(_STYLE)
    st.html(_list(at_once) + folded)


def ordered(lines: Iterable[str]) -> list[str]:
    """Notes in the order of how much they change, each once."""
    kept = [line for line in dict.fromkeys(lines) if not _ROWS_LEFT_OUT.match(line)]
    return sorted(_joined(kept), key=_weight)


def _joined(lines: Sequence[str]) -> list[str]:
    """Notes with all columns that were dropped for the same reason in one of them."""
    dropped = {line: found[1] for line in lines if (found := _DROPPED.fullmatch(line))}
    if len(dropped) < 2:
        return list(lines)
    joined = (
        f"{len(dropped)} columns were dropped, for one item has several values there: "
        f"{', '.join(dropped.values())}."
    )
    return [joined, *(line for line in lines if line not in dropped)]


def _weight(line: str) -> int:
    return next((i for i, words in enumerate(_WEIGHTS) if words.search(line)), len(_WEIGHTS))


def _list(lines: Iterable[str]) -> str:
    return f'<ul class="sv-notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'
