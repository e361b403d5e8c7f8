"""A file on its way in: read once, held in the session until it is kept or dropped."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import splits, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.data.result import ReadResult
    from simviz.data.roles import Roles
    from simviz.data.tables import Table
    from simviz.jobs import SplitSpec
    from simviz.relevance import Unjudged

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
    is_images : bool
        Whether the table names pictures of a zip; its roles are then fixed.
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
    is_images: bool
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
        if not self.is_images:
            self.read_as(replace(self.roles, unjudged=meaning))
        elif self.result is not None:
            relevance = replace(pairs.relevance, unjudged=meaning)
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


def is_zip(file: Any) -> bool:
    """Whether a file is handed in as a zip of pictures."""
    return bool(file.name.lower().endswith(".zip"))


def take(file: Any, keywords: Any = None) -> None:
    """Read a file that was handed in, once; if it is no good, what waits stays.

    Parameters
    ----------
    file : UploadedFile
        A table, or a zip of images.
    keywords : UploadedFile, optional
        The table of a zip that has none inside.
    """
    from simviz.exceptions import DatasetError

    parts = [part for part in (file, keywords) if part is not None]
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
                st.session_state[_WAITING] = _read(digest, file, keywords)
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


def _digest(parts: list[Any]) -> str:
    """Of names and bytes, so that the same file is read once."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        name = part.name.encode("utf-8", "surrogatepass")
        hasher.update(len(name).to_bytes(8, "little") + name)
        hasher.update(len(part.getbuffer()).to_bytes(8, "little"))
        hasher.update(part.getbuffer())
    return hasher.hexdigest()


def _read(digest: str, file: Any, keywords: Any) -> Upload:
    from simviz.data import guess_roles, read_images, read_table

    data = file.getvalue()
    if is_zip(file):
        beside = None if keywords is None else keywords.getvalue()
        beside_name = None if keywords is None else keywords.name
        result = read_images(data, beside, name=file.name, keywords_name=beside_name)
        upload = Upload(digest, result.table, result.roles, True, result.roles)
        upload._understand(result)
        return upload
    table = read_table(data, file.name)
    roles = guess_roles(table)
    upload = Upload(digest, table, roles, False, roles)
    upload.read_as(roles)
    return upload


@st.cache_resource(show_spinner=False)
def _one_reader() -> Any:
    return threading.Lock()
