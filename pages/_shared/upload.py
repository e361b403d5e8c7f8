"""A file on its way in: read once, held in the session until it is kept or dropped."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import splits, state

if TYPE_CHECKING:
    from simviz.data.health import Finding
    from simviz.data.pairs import PairSet
    from simviz.data.result import ReadResult
    from simviz.data.roles import Roles
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
    """A file that could be read, and what is understood of it so far.

    Parameters
    ----------
    digest : str
        Of the bytes that came in.
    table : Table
        The file as it is.
    guessed : Roles
        The roles as they were guessed.
    is_fixed : bool
        Whether several files were read together; the roles are then fixed.
    roles : Roles
        The roles in use.
    result : ReadResult, optional
        The pairs by these roles.
    pairs_digest : str
        Of those pairs.
    problem : str
        Why there are no pairs by these roles.
    """

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
    """Lines that were typed or pasted, as if they were a file.

    Parameters
    ----------
    text : str
        The lines.
    name : str
        As which they are shown.
    """

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
    """Read what was handed in, once; if it is no good, what waits stays.

    Parameters
    ----------
    *parts : UploadedFile or Pasted
        A table; a zip, with its table beside it where it has none; or several
        files that belong together.
    """
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
    """Store what was understood, and work on it from now on.

    Parameters
    ----------
    upload : Upload
        Understood.
    names : tuple of str
        Of the data set, of its x items and of its y items.
    split : SplitSpec
        How to split it.

    Returns
    -------
    str
        Id of the data set.

    Raises
    ------
    StoreError
        If there is no room for it.
    """
    pairs = upload._pairs()
    given = [n.strip() or old for n, old in zip(names, _names(pairs), strict=True)]
    pairs = replace(pairs, name=given[0], x_name=given[1], y_name=given[2])
    said = () if upload.result is None else upload.result.notes
    dataset_id = state.store().put_dataset(pairs, state.workspace(), said)
    splits.choose_split(dataset_id, split)
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
