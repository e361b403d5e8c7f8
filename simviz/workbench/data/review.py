"""A file on its way in: what it holds, what was understood, and how both are corrected."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.data.cells import counted, shown
from simviz.markdown import escape_markdown
from simviz.workbench.data import health, split, upload
from simviz.workbench.shell import display, forms, frame as page_frame, settings, state

if TYPE_CHECKING:
    from simviz.data import LeftOut, PairSet
    from simviz.data.roles import LabelWord, Shape
    from simviz.jobs import SplitSpec
    from simviz.workbench.data.upload import Upload

_ROWS = 20
_PICTURES = 24
_CELL = 300  # characters of a cell in the preview
# Role: question, and whether it is asked at once rather than on request.
_ROLES = {
    "x": ("Left side (x)", True),
    "y": ("Right side (y)", True),
    "label": ("Judgment", True),
    "x_id": ("Id of the left side", False),
    "y_id": ("Id of the right side", False),
    "split": ("Train, validation or test", False),
    "group": ("Group", False),
}
# What a row says, which roles there are then, and what they are called.
_SHAPES: dict[Shape, str] = {
    "pairs": "these two belong together, or how far they do",
    "groups": "this item stands in that group; members of a group belong together",
    "triplets": "this belongs to the anchor, that does not",
}
_ROLES_OF: dict[Shape, list[str]] = {
    "pairs": list(_ROLES),
    "groups": ["x", "y", "x_id", "split"],
    "triplets": ["x", "y", "x_id", "split", "group"],
}
_NAMED = {
    ("groups", "x"): "Item",
    ("groups", "y"): "Its group",
    ("groups", "x_id"): "Id of the item",
    ("triplets", "x"): "Anchor",
    ("triplets", "y"): "What belongs to it",
    ("triplets", "x_id"): "Id of the anchor",
}
_NONE = ""
_WITHOUT = {
    "label": "every row is a pair that belongs together",
    "x_id": "items are told apart by their text",
    "y_id": "items are told apart by their text",
}
_KINDS = {"text": "texts", "keyword": "keywords", "image": "pictures", "vector": "vectors"}
_MEANINGS = {"negative": "not relevant", "ignore": "unknown"}


#: Distinct cells of a column that is looked at, and words that are asked for.
_CELLS, _WORDS = 2000, 24
_LONGEST_WORD = 40
_GRADES: dict[str, float | None] = {
    "4: relevant, most": 4.0,
    "3: relevant": 3.0,
    "2: relevant": 2.0,
    "1: relevant, least": 1.0,
    "not relevant": -1.0,
    "not judged: leave out": None,
}


#: Notes that are seen at once; one more than these is no reason to fold.
_NOTES_SHOWN = 3
#: Rows that are not in the pairs have a list of their own, with what they hold.
_ROWS_LEFT_OUT = re.compile(r"[\d,]+ rows? left out because ")
#: Columns that say nothing about an item: from two on in one note.
_DROPPED = re.compile(r"Column (.*) was dropped: one item has several values there \(.*\)\.")
#: The first that is found in a note says how much it matters.
_WEIGHTS = (
    # Something is not in what was read, or is not as it stands in the file.
    r"left out|dropped|cannot|contradict|both relevant and|would leak|may judge|long cells|"
    r"read as \w+-",
    # Something was taken for something.
    r"count as empty|counts? once|read as|became|scores|no name|names two",
)


def show_waiting(file: Upload) -> None:
    """Show a file that was read; let roles be corrected; keep it or drop it."""
    top = st.container()
    left, right = st.columns([3, 2], gap="large")
    with left:
        if not file.is_fixed:
            _correct_roles(file)
        st.markdown("#### What belongs together" if file.is_fixed else "#### The file as it is")
        _show_table(file)
    with right:
        spec = None
        st.markdown("#### What was understood")
        if file.result is None:
            display.problem(file.problem)
            display.quiet("Choose other roles on the left; the file is read anew at once.")
        else:
            _show_understood(file)
            st.markdown("#### How it is split")
            pairs = file.result.pairs
            suggestion = settings.suggestion_for(file.pairs_digest, pairs)
            spec = split.choose(file.pairs_digest, pairs, settings.as_spec(suggestion), suggestion)
    with top:
        if file.uploaded:
            minutes = max(1, round((time.time() - file.uploaded) / 60))
            ago = counted(minutes, "minute") if minutes < 120 else f"{minutes // 60} hours"
            display.quiet(
                f"Brought back: uploaded {ago} ago and not kept yet. Keep it or discard it; after "
                "a day it goes by itself."
            )
        _show_keep(file, spec)


def _show_keep(file: Upload, spec: SplitSpec | None) -> None:
    if file.result is None or spec is None:
        display.name(file.table.name)
        st.button("Discard", key="data-discard", on_click=upload.drop)
        return
    pairs, left_out = file.result.pairs, len(file.result.left_out)
    words = counted(pairs.relevance.matrix.nnz, "pair")
    display.name(f"{words}, {counted(left_out, 'row')} left out" if left_out else words)
    key = f"data-name-{file.pairs_digest}"
    x_label, y_label = "Left items are called", "Right items are called"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Call it", pairs.name, 80, key=key, width=220)
        x_name = st.text_input(x_label, pairs.x_name, 40, key=f"{key}-x", width=180)
        y_name = st.text_input(y_label, pairs.y_name, 40, key=f"{key}-y", width=180)
        kept = st.button("Keep this data set", key="data-keep", type="primary")
        st.button("Discard", key="data-discard", on_click=upload.drop)
    if kept:
        _keep(file, (name, x_name, y_name), spec)


def _keep(file: Upload, names: tuple[str, str, str], spec: SplitSpec) -> None:
    from simviz.exceptions import StoreError

    try:
        dataset_id = upload.keep(file, names, spec)
    except StoreError as error:
        display.problem(error)
        return
    if (page_frame.ROOT / "pages/train.py").exists():
        st.switch_page("pages/train.py", query_params={"data": dataset_id})
    st.rerun()


def _correct_roles(file: Upload) -> None:
    """Ask for each role, with the guess and its reason; read anew where one changed."""
    shape = st.selectbox(
        "A row says",
        **forms.options(_SHAPES),
        index=list(_SHAPES).index(file.roles.shape),
        key=f"data-role-{file.digest}-shape",
    )
    reason = file.guessed.reasons.get("shape")
    if reason and shape == file.guessed.shape:
        display.quiet(f"guessed: {reason}")
    chosen: dict[str, str | None] = dict.fromkeys(_ROLES)
    offered = _ROLES_OF[shape]
    first = [role for role in offered if _ROLES[role][1]]
    for column, role in zip(st.columns(len(first)), first, strict=True):
        with column:
            chosen[role] = _choose_column(file, role, shape)
    labels = {}
    if shape == "pairs" and chosen["label"] not in (None, chosen["x"], chosen["y"]):
        labels = _choose_grades(file, str(chosen["label"]))
    negatives: list[str] = []
    if shape == "triplets":
        negatives = st.multiselect(
            "What does not belong",
            [c for c in file.table.columns if c not in chosen.values()],
            [c for c in file.roles.negatives if c not in chosen.values()],
            key=f"data-role-{file.digest}-negatives",
        )
    rest = [role for role in offered if role not in first]
    guessed = [_ROLES[r][0].lower() for r in rest if getattr(file.guessed, r)]
    label = f"More roles: {', '.join(guessed)} found" if guessed else "More roles"
    with st.expander(label, key=f"data-more-{file.digest}"):
        for pair in (rest[:2], rest[2:]):
            for column, role in zip(st.columns(2), pair, strict=False):
                with column:
                    chosen[role] = _choose_column(file, role, shape)
        ignored = st.multiselect(
            "Columns to leave out",
            [c for c in file.table.columns if c not in chosen.values()],
            key=f"data-role-{file.digest}-ignored",
            help="All other columns describe the items whose rows agree on them.",
        )
    taken = {*chosen.values(), *ignored, *negatives}
    roles = replace(
        file.guessed,
        **chosen,  # type: ignore[arg-type]
        x_metadata=tuple(c for c in file.guessed.x_metadata if c not in taken),
        y_metadata=tuple(c for c in file.guessed.y_metadata if c not in taken),
        shape=shape,
        ignored=tuple(ignored),
        negatives=tuple(negatives),
        labels=labels,
    )
    if roles != replace(file.roles, unjudged=None, threshold=None):
        with st.spinner("Reading the file"):
            file.read_as(roles)


def _choose_column(file: Upload, role: str, shape: Shape) -> str | None:
    """Choose the column of a role, with the reason of the guess below it."""
    guess: str | None = getattr(file.guessed, role)
    options = list(file.table.columns) if role in ("x", "y") else [_NONE, *file.table.columns]
    answer = st.selectbox(
        _NAMED.get((shape, role), _ROLES[role][0]),
        options,
        index=options.index(getattr(file.roles, role) or _NONE),
        format_func=lambda column: column or "none",
        key=f"data-role-{file.digest}-{role}",
    )
    if answer == _NONE:
        display.quiet(_WITHOUT.get(role, "no such column"))
        return None
    if answer == guess:
        display.quiet(f"guessed: {file.guessed.reasons.get(role, 'by its name')}")
    else:
        display.quiet("chosen by you")
    return answer


def _choose_grades(file: Upload, column: str) -> dict[str, float | None]:
    """Choose what each word of a column means."""
    from simviz.data.roles import label_words

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
            answer = _choose_grade(file, column, word)
            if answer is not None and (word.grade is None or _GRADES[answer] != word.grade):
                chosen[word.word] = _GRADES[answer]
    return chosen


def _choose_grade(file: Upload, column: str, word: LabelWord) -> str | None:
    name = word.word if len(word.word) <= _LONGEST_WORD else f"{word.word[:_LONGEST_WORD]}…"
    # Keys of widgets are no place for what a file holds.
    key = hashlib.blake2b(f"{column}\0{word.word}".encode("utf-8", "replace"), digest_size=8)
    known = None if word.grade is None else list(_GRADES.values()).index(word.grade)
    return st.selectbox(
        escape_markdown(f"{name} ({counted(word.count, 'row')})"),
        list(_GRADES),
        index=known,
        placeholder="choose",
        key=f"data-word-{file.digest}-{key.hexdigest()}",
        width=200,
    )


def _show_table(file: Upload) -> None:
    """Show the first rows, columns coloured by their role."""
    import pandas as pd

    from simviz.data.tables import DELIMITERS

    table, colours = file.table, _role_colours()
    roles = {column: role for role in _ROLES if (column := getattr(file.roles, role))}
    display.legend((colours[role], _ROLES[role][0]) for role in dict.fromkeys(roles.values()))
    # Names of the file may be anything: the frame has its own.
    cells = {
        f"c{i}": [c if len(c) <= _CELL else c[:_CELL] + "…" for c in column[:_ROWS]]
        for i, column in enumerate(table.columns.values())
    }
    frame = pd.DataFrame(cells, index=pd.Index(table.rows[:_ROWS], name=table.unit))
    # The two sides are what is looked at: they get twice the room of the rest.
    sides = (file.roles.x, file.roles.y)
    width = column_width(len(table.columns) + len(sides))
    config: dict[Any, Any] = {
        f"c{i}": st.column_config.TextColumn(column, width=width * (2 if column in sides else 1))
        for i, column in enumerate(table.columns)
    }
    # Ids are fainter than what they are ids of.
    shades = {
        column: f"background-color: {colours[role]}{'18' if role.endswith('_id') else '30'}"
        for column, role in roles.items()
    }
    styles = [shades.get(column, "") for column in table.columns]
    styled = frame.style.apply(lambda row: styles, axis=1)
    height = table_height(len(frame), 420)
    st.dataframe(styled, column_config=config, height=height, key=f"data-table-{file.digest}")
    more = len(table) - len(frame)
    of = f"{len(frame)} of {len(table):,} rows" if more > 0 else f"All {len(table):,} rows"
    cut = f" Cells are separated by {DELIMITERS[table.delimiter]}." if table.delimiter else ""
    display.quiet(f"{of} of {table.name}, numbered by {table.unit}.{cut}")
    pictures = None if file.result is None else file.result.pairs.y
    if pictures is not None and pictures.kind == "image":
        st.image(list(pictures.content[:_PICTURES]), width=64, alt=list(pictures.ids[:_PICTURES]))


def _role_colours() -> dict[str, str]:
    from simviz.charts.style import get_theme

    look = get_theme(state.theme())
    colours = {"x": look.accent, "x_id": look.accent, "y": look.second, "y_id": look.second}
    return colours | dict(zip(("label", "split", "group"), look.palette[2:5], strict=True))


def table_height(n_rows: int, most: int, row: int = 35) -> int:
    """Return the pixels of a table that ends with its last row, if that is not too far."""
    return min(most, row * n_rows + 38)


def column_width(n: int) -> int:
    """Return the pixels for each of `n` columns of text, so that both sides are seen at once."""
    return max(90, (290 if state.is_narrow() else 480) // n)


def _show_understood(file: Upload) -> None:
    result = file.understood()
    show_counts(result.pairs)
    meaning = forms.segmented(
        "A pair that is not listed is",
        _MEANINGS,
        f"data-unjudged-{file.digest}-{file.roles.label}",
        is_labelled=True,
        default=result.pairs.relevance.unjudged,
        help="Not relevant: whatever is not listed counts as wrong, as in retrieval. "
        "Unknown: only judged pairs are learned from and measured.",
    )
    if meaning is not None and meaning != result.pairs.relevance.unjudged:
        file.set_relevance(unjudged=meaning)
        st.rerun()
    health.show_disputed(file)
    relevance = result.pairs.relevance
    if relevance.kind == "score" and relevance.threshold is not None:
        start = st.number_input(
            "A score counts as relevant from",
            value=float(relevance.threshold),
            format="%g",
            key=f"data-threshold-{file.digest}-{file.roles.label}",
            help="For metrics that ask yes or no; Spearman and Pearson use the scores.",
        )
        if start != relevance.threshold:
            file.set_relevance(threshold=start)
            st.rerun()
    if result.left_out:
        _show_left_out(file, result.left_out)
    show_notes(result.notes)


def show_counts(pairs: PairSet) -> None:
    """Show how much there is on both sides and between them."""
    relevance = pairs.relevance
    figures = [
        (
            f"{len(items):,}",
            name if _KINDS[items.kind] == name else f"{name}, {_KINDS[items.kind]}",
        )
        for items, name in ((pairs.x, pairs.x_name), (pairs.y, pairs.y_name))
    ]
    if relevance.kind == "score":
        figures.append((f"{relevance.matrix.nnz:,}", "scored pairs"))
        figures.append(
            (f"{relevance.positives.nnz:,}", f"of them from {relevance.threshold:g} up")
        )
    else:
        figures.append((f"{relevance.positives.nnz:,}", "relevant pairs"))
        if relevance.negatives.nnz:
            figures.append((f"{relevance.negatives.nnz:,}", "judged not relevant"))
    display.figures(figures)


def _show_left_out(file: Upload, left_out: Sequence[LeftOut]) -> None:
    """Show rows that are not in the pairs, each with its reason and what it holds."""
    import pandas as pd

    reasons = Counter(item.reason for item in left_out)
    with st.expander(f"{counted(len(left_out), 'row')} left out: see why"):
        display.notes(f"{reason}: {n:,}" for reason, n in reasons.most_common())
        at = {int(number): i for i, number in enumerate(file.table.rows)}
        first = left_out[:1000]
        rows = [at[item.row] for item in first]
        frame = pd.DataFrame(
            {
                "row": [item.row for item in first],
                "why": [item.reason for item in first],
                "x": [str(file.table.columns[file.roles.x][i])[:_CELL] for i in rows],
                "y": [str(file.table.columns[file.roles.y][i])[:_CELL] for i in rows],
            }
        )
        config = {
            "row": st.column_config.NumberColumn(file.table.unit, format="%d"),
            "x": st.column_config.TextColumn(file.roles.x),
            "y": st.column_config.TextColumn(file.roles.y),
        }
        st.dataframe(frame, hide_index=True, column_config=config, key="data-left-out")
        if len(left_out) > len(first):
            st.caption(f"The first {len(first):,} of {len(left_out):,}.")


def show_notes(lines: Sequence[str]) -> None:
    """Show the notes of a file, those of less weight folded."""
    notes = ordered_notes(lines)
    if not notes:
        return
    first = notes[:_NOTES_SHOWN] if len(notes) > _NOTES_SHOWN + 1 else notes
    rest = notes[len(first) :]
    folded = f"<summary>{len(rest)} more notes</summary>{_list_html(rest)}"
    st.html(_list_html(first) + (f'<details class="sv-more">{folded}</details>' if rest else ""))


def ordered_notes(lines: Iterable[str]) -> list[str]:
    """Return notes in the order of how much they change, each once."""
    kept = [line for line in dict.fromkeys(lines) if not _ROWS_LEFT_OUT.match(line)]
    return sorted(_joined(kept), key=_weight)


def _joined(lines: Sequence[str]) -> list[str]:
    """Return notes with all columns that were dropped for the same reason in one of them."""
    dropped = {line: found[1] for line in lines if (found := _DROPPED.fullmatch(line))}
    if len(dropped) < 2:
        return list(lines)
    joined = (
        f"{len(dropped)} columns were dropped, for one item has several values there: "
        f"{', '.join(dropped.values())}."
    )
    return [joined, *(line for line in lines if line not in dropped)]


def _weight(line: str) -> int:
    return next((i for i, words in enumerate(_WEIGHTS) if re.search(words, line)), len(_WEIGHTS))


def _list_html(lines: Iterable[str]) -> str:
    return f'<ul class="sv-notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'
