"""A file on its way in: what it holds, what was understood, and how both are corrected."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from simviz.charts.style import get_theme
from simviz.data import Items, PairSet, SkippedRow, guess_space
from simviz.data.cells import Note, counted, cut, first_of, shown, spread
from simviz.data.roles import Shape, label_words
from simviz.data.tables import DELIMITERS
from simviz.jobs import SplitSpec
from simviz.markdown import escape_markdown
from simviz.workbench.data import health, split, upload
from simviz.workbench.data.upload import Upload
from simviz.workbench.shell import display, forms, preferences, state

_ROWS = 20
# Of the preview of several files: queries, and documents of each.
_QUERIES, _DOCUMENTS = 8, 5
_CELL = 300  # characters of a cell in the preview
#: The upload that was asked to be kept, in the session.
_SAVED = "data-saved"
# Role: question, and whether it is asked at once rather than on request.
_COLUMN_ROLES = {
    "x": ("Left side (x)", True),
    "y": ("Right side (y)", True),
    "label": ("Judgment", True),
    "x_id": ("Id of the left side", False),
    "y_id": ("Id of the right side", False),
    "split": ("Train, validation or test", False),
    "group": ("Group", False),
}
# What a row is, which roles there are then, and what they are called.
_SHAPES: dict[Shape, str] = {
    "pairs": "a pair, with or without a judgment",
    "groups": "an item and its group",
    "triplets": "an anchor, a match and what does not match",
}
#: What is asked of several files.
_PARTS = {
    "x": "Left side (x)",
    "x_id": "Id",
    "x_text": "Text",
    "y": "Right side (y)",
    "y_id": "Id",
    "y_text": "Text",
    "relevance": "Judgments",
    "label": "Grade",
}
_ROLES_OF_SHAPE: dict[Shape, list[str]] = {
    "pairs": list(_COLUMN_ROLES),
    "groups": ["x", "y", "x_id", "split"],
    "triplets": ["x", "y", "x_id", "split", "group"],
}
_NAMED = {
    ("groups", "x"): "Item",
    ("groups", "y"): "Its group",
    ("groups", "x_id"): "Id of the item",
    ("triplets", "x"): "Anchor",
    ("triplets", "y"): "Its match",
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
_SPACES = {"one": "one space", "two": "two spaces"}


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
#: How much a note matters, by its kind: those of lost rows have a list of their own.
_WEIGHTS = {"lost": 0, "dropped": 0, "taken": 1, "part": 1, "info": 2}


def show_waiting(file: Upload) -> None:
    """Show a file that was read; let roles be corrected; keep it or drop it."""
    top = st.container()
    left, right = st.columns([3, 2], gap="large")
    with left:
        if file.is_fixed:
            key = f"data-table-{file.digest}"
            show_pairs(file.understood().pairs, key, _QUERIES, _DOCUMENTS)
            if file.understood().parts:
                with st.expander("Files and columns"):
                    _correct_parts(file)
        else:
            _correct_roles(file)
            _show_table(file)
    with right:
        spec = None
        if file.result is None:
            display.problem(file.problem)
        else:
            _show_understood(file)
            with st.expander("Advanced: split and unlisted pairs"):
                _choose_meaning(file)
                _choose_space(file)
                pairs = file.understood().pairs
                suggestion = preferences.suggestion_for(pairs)
                spec = split.choose(file.pairs_digest, pairs, preferences.as_spec(suggestion))
                split.show(pairs, spec, suggestion)
    file.save_corrections()
    with top:
        if file.uploaded:
            minutes = max(1, round((time.time() - file.uploaded) / 60))
            ago = counted(minutes, "minute") if minutes < 120 else f"{minutes // 60} hours"
            display.quiet(f"Uploaded {ago} ago and not saved yet; kept for a day.")
        _show_keep(file, spec)


def _show_keep(file: Upload, spec: SplitSpec | None) -> None:
    if file.result is None or spec is None:
        display.name(file.table.name)
        st.button("Discard", key="data-discard", on_click=upload.drop)
        return
    pairs, left_out = file.result.pairs, len(file.result.left_out)
    text = counted(pairs.relevance.matrix.nnz, "pair")
    display.name(f"{text}, {counted(left_out, 'row')} left out" if left_out else text)
    key = f"data-name-{file.pairs_digest}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name", pairs.name, 80, key=key, width=190)
        x_name = st.text_input("Left items", pairs.x_name, 40, key=f"{key}-x", width=140)
        y_name = st.text_input("Right items", pairs.y_name, 40, key=f"{key}-y", width=140)
        # Remembered until it is done: what redraws the page may end the run that the press began.
        keep = {_SAVED: file.digest}
        forms.button(
            "Save and continue", "data-keep", st.session_state.update, keep, type="primary"
        )
        st.button("Discard", key="data-discard", on_click=upload.drop)
    if problem := split.parts_of(pairs, spec).problem:
        display.problem(problem)
    if st.session_state.pop(_SAVED, None) == file.digest:
        with display.problems():
            dataset_id = upload.keep(file, (name, x_name, y_name), spec)
            st.switch_page("pages/train.py", query_params={"data": dataset_id})


def _correct_parts(file: Upload) -> None:
    offered = file.understood().parts
    for part in ("x", "y", "relevance"):
        parts = [p for p in _PARTS if p.startswith(part) or (part, p) == ("relevance", "label")]
        parts = [p for p in parts if len(offered.get(p, ())) > 1]
        for place, role in zip(st.columns(len(parts)) if parts else (), parts, strict=True):
            names, key = sorted(offered[role]), f"data-part-{file.digest}-{role}"
            place.selectbox(
                _PARTS[role],
                names,
                names.index(offered[role][0]),
                format_func=lambda name: name or "none",
                key=key,
                on_change=_correct_part,
                args=(file, role, key),
            )


def _correct_part(file: Upload, role: str, key: str) -> None:
    upload.correct_parts(file, **{role: st.session_state[key]})


def _correct_roles(file: Upload) -> None:
    """Ask for each role, with the guess and its reason; read anew where one changed."""
    shape = st.selectbox(
        "Row format",
        **forms.options(_SHAPES),
        index=list(_SHAPES).index(file.roles.shape),
        key=f"data-role-{file.digest}-shape",
    )
    reason = file.guessed.reasons.get("shape")
    if reason and shape == file.guessed.shape:
        display.quiet(f"guessed: {reason}")
    columns: dict[str, str | None] = dict.fromkeys(_COLUMN_ROLES)
    offered = _ROLES_OF_SHAPE[shape]
    first = [role for role in offered if _COLUMN_ROLES[role][1]]
    for column, role in zip(st.columns(len(first)), first, strict=True):
        with column:
            columns[role] = _choose_column(file, role, shape)
    labels = {}
    if shape == "pairs" and columns["label"] not in (None, columns["x"], columns["y"]):
        labels = _choose_grades(file, str(columns["label"]))
    negatives: list[str] = []
    if shape == "triplets":
        negatives = st.multiselect(
            "What does not match",
            [c for c in file.table.frame if c not in columns.values()],
            [c for c in file.roles.negatives if c not in columns.values()],
            key=f"data-role-{file.digest}-negatives",
        )
    rest = [role for role in offered if role not in first]
    guessed = [_COLUMN_ROLES[r][0].lower() for r in rest if getattr(file.guessed, r)]
    label = f"More roles: {', '.join(guessed)} found" if guessed else "More roles"
    with st.expander(label, key=f"data-more-{file.digest}"):
        for pair in (rest[:2], rest[2:]):
            for column, role in zip(st.columns(2), pair, strict=False):
                with column:
                    columns[role] = _choose_column(file, role, shape)
        ignored = st.multiselect(
            "Columns to leave out",
            [c for c in file.table.frame if c not in columns.values()],
            key=f"data-role-{file.digest}-ignored",
            help="All other columns describe the items whose rows agree on them.",
        )
    taken = {*columns.values(), *ignored, *negatives}
    roles = replace(
        file.guessed,
        **columns,  # type: ignore[arg-type]
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
    options = list(file.table.frame) if role in ("x", "y") else [_NONE, *file.table.frame]
    answer = st.selectbox(
        _NAMED.get((shape, role), _COLUMN_ROLES[role][0]),
        options,
        index=options.index(getattr(file.roles, role) or _NONE),
        format_func=lambda column: column or "none",
        key=f"data-role-{file.digest}-{role}",
    )
    if answer == _NONE:
        display.quiet(_WITHOUT.get(role, "no such column"))
        return None
    is_guess = answer == getattr(file.guessed, role)
    reason = file.guessed.reasons.get(role, "by its name")
    display.quiet(f"guessed: {reason}" if is_guess else "chosen by you")
    return answer


def _choose_grades(file: Upload, column: str) -> dict[str, float | None]:
    table = file.table
    if column in table.vectors or not len(table.uniques(column, _CELLS)):
        return {}
    words = label_words(table, column)
    if not words or len(words) > _WORDS:
        return {}
    display.quiet(f"What each word of {shown(column)} means; those of usual scales are filled in.")
    grades: dict[str, float | None] = {}
    with st.container(horizontal=True):
        for word in sorted(words, key=lambda w: w.grade is not None):  # unknown ones first
            name = cut(word.word, _LONGEST_WORD)
            # Keys of widgets are no place for what a file holds.
            raw = f"{column}\0{word.word}".encode("utf-8", "replace")
            key = hashlib.blake2b(raw, digest_size=8).hexdigest()
            answer = st.selectbox(
                escape_markdown(f"{name} ({counted(word.count, 'row')})"),
                list(_GRADES),
                index=None if word.grade is None else list(_GRADES.values()).index(word.grade),
                placeholder="choose",
                key=f"data-word-{file.digest}-{key}",
                width=200,
            )
            if answer is not None and (word.grade is None or _GRADES[answer] != word.grade):
                grades[word.word] = _GRADES[answer]
    return grades


def _show_table(file: Upload) -> None:
    """Show the first rows, columns coloured by their role."""
    table, colours = file.table, _role_colours()
    roles = {column: role for role in _COLUMN_ROLES if (column := getattr(file.roles, role))}
    display.legend(
        (colours[role], _COLUMN_ROLES[role][0]) for role in dict.fromkeys(roles.values())
    )
    # Names of the file may be anything: the frame has its own.
    frame = table.frame.head(_ROWS)
    names = [f"c{i}" for i in range(frame.shape[1])]
    frame = frame.set_axis(names, axis="columns").map(cut, limit=_CELL)
    # The two sides are what is looked at: they get twice the room of the rest.
    sides = (file.roles.x, file.roles.y)
    width = column_width(table.frame.shape[1] + len(sides))
    config: dict[Any, Any] = {
        f"c{i}": st.column_config.TextColumn(column, width=width * (2 if column in sides else 1))
        for i, column in enumerate(table.frame)
    }
    # Ids are fainter than what they are ids of.
    shades = {
        column: f"background-color: {colours[role]}{'18' if role.endswith('_id') else '30'}"
        for column, role in roles.items()
    }
    styles = [shades.get(column, "") for column in table.frame]
    styled = frame.style.apply(lambda row: styles, axis=1)
    height = table_height(len(frame), 420)
    st.dataframe(styled, column_config=config, height=height, key=f"data-table-{file.digest}")
    more = len(table) - len(frame)
    of = f"{len(frame)} of {len(table):,} rows" if more > 0 else f"All {len(table):,} rows"
    separated = f", separated by {DELIMITERS[table.delimiter]}" if table.delimiter else ""
    display.quiet(f"{of} of {table.name}{separated}.")
    if table.delimiter or table.name.lower().endswith(".xlsx"):
        key = f"data-header-{file.digest}"
        st.checkbox(
            "The first line names the columns",
            "header" not in file.corrected,
            key=key,
            on_change=lambda: upload.correct_header(file, st.session_state[key]),
        )


def show_pairs(pairs: PairSet, key: str, n: int, limit: int) -> None:
    """Show some items of the left side, spread over all, each with its best items on the right."""
    relevance, matrix = pairs.relevance, pairs.relevance.matrix
    judged = np.flatnonzero(np.diff(matrix.indptr))
    x, y, values = [], [], []
    for row in judged[spread(len(judged), n)]:
        at = slice(matrix.indptr[row], matrix.indptr[row + 1])
        best = np.argsort(-matrix.data[at], kind="stable")[:limit]
        x += [row] * len(best)
        y += list(matrix.indices[at][best])
        values += list(matrix.data[at][best])
    left, right = cells(pairs.x, x), cells(pairs.y, y)
    is_score, has_values = relevance.kind == "score", len(np.unique(matrix.data)) > 1
    # The longer texts get more of the room.
    mean = [
        min(60, max(20, sum(map(len, texts)) / max(1, len(texts)))) if kind == "text" else 20
        for texts, kind in ((left, pairs.x.kind), (right, pairs.y.kind))
    ]
    room = column_width(1) - 60 * has_values
    widths = [int(room * length / sum(mean)) for length in mean]
    columns = {"x": left, "value": values if is_score else np.maximum(values, 0), "y": right}
    label = "score" if is_score else "grade"
    config = {
        "x": column(pairs.x, pairs.x_name, widths[0]),
        "value": st.column_config.NumberColumn(label, format="%g", width=60),
        "y": column(pairs.y, pairs.y_name, widths[1]),
    }
    if not has_values:
        del columns["value"], config["value"]
    show_frame(columns, config, (pairs.x.kind, pairs.y.kind), 460, key)
    if len(x) < matrix.nnz:
        display.quiet(f"{len(x):,} of {matrix.nnz:,} pairs, evenly spaced.")


def show_frame(
    columns: Mapping[str, Any],
    config: Mapping[str, Any],
    kinds: Sequence[str],
    most: int,
    key: str,
) -> None:
    """Show items of some kinds as a table of `most` pixels or fewer."""
    import pandas as pd

    frame, row = pd.DataFrame(columns), 56 if "image" in kinds else 35
    st.dataframe(
        frame,
        hide_index=True,
        column_config=config,
        height=table_height(len(frame), most, row),
        row_height=row,
        key=key,
    )


def cells(items: Items, index: Any) -> list[str]:
    """Return what stands for each item in a table."""
    if items.kind == "image":
        return [display.item_picture(items, i, 64) or "" for i in index]
    if items.kind == "vector":
        return [f"{items.ids[i]} ({items.content.shape[1]:,} numbers)" for i in index]
    return short(items.content[index])


def short(texts: Iterable[Any]) -> list[str]:
    """Return cells no longer than a table can show."""
    return [cut(str(text), _CELL) for text in texts]


def column(items: Items, name: str, width: int) -> Any:
    """Return how a table shows the items of a side."""
    if items.kind == "image":
        return st.column_config.ImageColumn(name, width=width)
    return st.column_config.TextColumn(name, width=width)


def _role_colours() -> dict[str, str]:
    look = get_theme(state.theme())
    colours = {"x": look.accent, "x_id": look.accent, "y": look.second, "y_id": look.second}
    return colours | dict(zip(("label", "split", "group"), look.palette[2:5], strict=True))


def table_height(n_rows: int, max_height: int, row: int = 35) -> int:
    """Return the pixels of a table that ends with its last row, if that is not too far."""
    return min(max_height, row * n_rows + 38)


def column_width(n: int) -> int:
    """Return the pixels for each of `n` columns of text, so that both sides are seen at once."""
    return max(50, (290 if state.is_narrow() else 400) // n)


def _show_understood(file: Upload) -> None:
    result = file.understood()
    show_counts(result.pairs)
    health.show_disputed(file)
    if result.left_out:
        _show_left_out(file, result.left_out)
    # Where parts can be chosen, which file and column is which stands beside the pairs.
    show_notes(note for note in result.notes if not (result.parts and note.kind == "part"))


def _choose_meaning(file: Upload) -> None:
    """Ask what an unlisted pair is, and from which score on a pair is relevant."""
    relevance, key = file.understood().pairs.relevance, f"{file.digest}-{file.roles.label}"
    meaning = forms.segmented(
        "A pair that is not listed is",
        _MEANINGS,
        f"data-unjudged-{key}",
        is_labelled=True,
        default=relevance.unjudged,
        help="Not relevant: whatever is not listed counts as wrong, as in retrieval. "
        "Unknown: only judged pairs are learned from and measured.",
    )
    if meaning not in (None, relevance.unjudged):
        file.set_relevance(unjudged=meaning)
        st.rerun()
    if relevance.kind == "score" and relevance.threshold is not None:
        start = st.number_input(
            "A score counts as relevant from",
            value=float(relevance.threshold),
            format="%g",
            key=f"data-threshold-{key}",
            help="For metrics that ask yes or no; Spearman and Pearson use the scores.",
        )
        if start != relevance.threshold:
            file.set_relevance(threshold=start)
            st.rerun()


def _choose_space(file: Upload) -> None:
    """Ask whether vectors of one width are of one space, with the guess and its reason."""
    pairs = file.understood().pairs
    if pairs.x is pairs.y or not (pairs.x.kind == pairs.y.kind == "vector"):
        return
    if pairs.x.content.shape[1] != pairs.y.content.shape[1]:
        return
    guess = guess_space(pairs)
    known = pairs.space or guess.space
    space = forms.segmented(
        "Vectors of both sides are of",
        _SPACES,
        f"data-space-{file.digest}-{file.roles.x}-{file.roles.y}",
        is_labelled=True,
        default=known,
        help="One space: one encoder made them all, their cosine means something, and one matrix "
        "is learned for both sides. Two: each side has a matrix of its own.",
    )
    display.quiet(f"Guessed: {guess.space} space{'s' * (guess.space == 'two')}. {guess.reason}")
    if space is not None and space != known:
        file.set_space(space)
        st.rerun()


def show_counts(pairs: PairSet) -> None:
    """Show how much there is on both sides and between them."""
    relevance = pairs.relevance
    n_relevant, n_others = relevance.positives.nnz, relevance.negatives.nnz
    counts: list[tuple[int, str]] = []
    for items, name in ((pairs.x, pairs.x_name), (pairs.y, pairs.y_name)):
        kind = _KINDS[items.kind]
        counts.append((len(items), name if kind == name else f"{name}, {kind}"))
    if relevance.kind == "score":
        counts.append((relevance.matrix.nnz, "scored pairs"))
        counts.append((n_relevant, f"of them from {relevance.threshold:g} up"))
    else:
        counts.append((n_relevant, "relevant pairs"))
        if n_others:
            counts.append((n_others, "judged not relevant"))
    display.figures((f"{n:,}", what) for n, what in counts)


def _show_left_out(file: Upload, left_out: Sequence[SkippedRow]) -> None:
    """Show rows that are not in the pairs, each with its reason and what it holds."""
    import pandas as pd

    reasons = Counter(item.reason for item in left_out)
    with st.expander(f"{counted(len(left_out), 'row')} left out: see why"):
        display.notes(f"{reason}: {n:,}" for reason, n in reasons.most_common())
        at = {int(number): i for i, number in enumerate(file.table.rows)}
        first = left_out[:1000]
        rows = [at[item.row] for item in first]
        columns = {"row": [item.row for item in first], "why": [item.reason for item in first]}
        for side in ("x", "y"):
            texts = file.table[getattr(file.roles, side)]
            columns[side] = [texts[i][:_CELL] for i in rows]
        config = {
            "row": st.column_config.NumberColumn(file.table.unit, format="%d"),
            "x": st.column_config.TextColumn(file.roles.x),
            "y": st.column_config.TextColumn(file.roles.y),
        }
        frame = pd.DataFrame(columns)
        st.dataframe(frame, hide_index=True, column_config=config, key="data-left-out")
        if len(left_out) > len(first):
            st.caption(f"The first {len(first):,} of {len(left_out):,}.")


def show_notes(notes: Iterable[Note]) -> None:
    """Show the notes of a file, those of less weight folded."""
    notes = ordered_notes(notes)
    if not notes:
        return
    first = notes[:_NOTES_SHOWN] if len(notes) > _NOTES_SHOWN + 1 else notes
    rest = notes[len(first) :]
    folded = f"<summary>{len(rest)} more notes</summary>{_list_html(rest)}"
    st.html(_list_html(first) + (f'<details class="sv-more">{folded}</details>' if rest else ""))


def ordered_notes(notes: Iterable[Note]) -> list[Note]:
    """Return notes in the order of how much they change, each once."""
    known = [note for note in dict.fromkeys(notes) if note.kind in _WEIGHTS]
    if len(dropped := [note for note in known if note.kind == "dropped"]) > 1:
        joined = Note(
            f"{len(dropped)} columns were dropped, for one item has several values there: "
            f"{first_of([shown(note.column) for note in dropped], 6)}.",
            "dropped",
        )
        known = [joined, *(note for note in known if note.kind != "dropped")]
    return sorted(known, key=lambda note: _WEIGHTS[note.kind])


def _list_html(lines: Iterable[str]) -> str:
    return f'<ul class="sv-notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'
