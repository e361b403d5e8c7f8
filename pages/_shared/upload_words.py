"""What the words of a label column mean: known ones filled in, the others asked for."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import plain
from pages._shared.compare_marks import plain as escaped

if TYPE_CHECKING:
    from pages._shared.upload import Upload
    from simviz.data.labels import LabelWord

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
    """Ask what each word of a column means.

    Parameters
    ----------
    file : Upload
        That waits.
    column : str
        The label.

    Returns
    -------
    dict of str to float or None
        What was chosen and is not known anyway; None is not judged.
    """
    from simviz.data.labels import label_words
    from simviz.data.wording import shown

    table = file.table
    if column in table.vectors or len(table.coded(column).words) > _CELLS:
        return {}
    words = label_words(table, column)
    if not words or len(words) > _WORDS:
        return {}
    plain.quiet(f"What each word of {shown(column)} means; those of usual scales are filled in.")
    chosen: dict[str, float | None] = {}
    with st.container(horizontal=True):
        for word in sorted(words, key=lambda w: w.grade is not None):  # unknown ones first
            answer = _ask_word(file, column, word)
            if answer is not None and (word.grade is None or _MEANINGS[answer] != word.grade):
                chosen[word.word] = _MEANINGS[answer]
    return chosen


def _ask_word(file: Upload, column: str, word: LabelWord) -> str | None:
    from simviz.data.wording import counted

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
