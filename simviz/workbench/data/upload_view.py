"""The file as it is on the left, what was understood of it on the right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.workbench.data import health, split, upload
from simviz.workbench.shell import display, frame as page, settings, state

if TYPE_CHECKING:
    from simviz.data.columns import Roles, Shape
    from simviz.data.pairs import PairSet
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
_ASKED: dict[Shape, list[str]] = {
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
        _show_keep(file, spec)


def _show_keep(file: Upload, spec: SplitSpec | None) -> None:
    if file.result is None or spec is None:
        display.name(file.table.name)
        st.button("Discard", key="data-discard", on_click=upload.drop)
        return
    pairs, left_out = file.result.pairs, len(file.result.left_out)
    display.name(_summary(pairs, left_out))
    key = f"data-name-{file.pairs_digest}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Call it", pairs.name, 80, key=key, width=220)
        x_name = st.text_input(
            "Left items are called", pairs.x_name, 40, key=f"{key}-x", width=180
        )
        y_name = st.text_input(
            "Right items are called", pairs.y_name, 40, key=f"{key}-y", width=180
        )
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
    if (page.ROOT / "pages/train.py").exists():
        st.switch_page("pages/train.py", query_params={"data": dataset_id})
    st.rerun()


def _summary(pairs: PairSet, left_out: int) -> str:
    from simviz.data.cells import counted

    words = counted(pairs.relevance.matrix.nnz, "pair")
    return f"{words}, {counted(left_out, 'row')} left out" if left_out else words


# -- roles ------------------------------------------------------------------------------


def _correct_roles(file: Upload) -> None:
    """Ask for each role, with the guess and its reason; read anew where one changed."""
    shape = st.selectbox(
        "A row says",
        list(_SHAPES),
        index=list(_SHAPES).index(file.roles.shape),
        format_func=_SHAPES.__getitem__,
        key=f"data-role-{file.digest}-shape",
    )
    reason = file.guessed.reasons.get("shape")
    if reason and shape == file.guessed.shape:
        display.quiet(f"guessed: {reason}")
    chosen: dict[str, str | None] = dict.fromkeys(_ROLES)
    asked = _ASKED[shape]
    first = [role for role in asked if _ROLES[role][1]]
    for column, role in zip(st.columns(len(first)), first, strict=True):
        with column:
            chosen[role] = _ask(file, role, shape)
    labels = {}
    if shape == "pairs" and chosen["label"] not in (None, chosen["x"], chosen["y"]):
        labels = upload.ask(file, str(chosen["label"]))
    negatives: list[str] = []
    if shape == "triplets":
        negatives = st.multiselect(
            "What does not belong",
            [c for c in file.table.columns if c not in chosen.values()],
            [c for c in file.roles.negatives if c not in chosen.values()],
            key=f"data-role-{file.digest}-negatives",
        )
    rest = [role for role in asked if role not in first]
    guessed = [f"{_ROLES[r][0].lower()}" for r in rest if getattr(file.guessed, r)]
    label = f"More roles: {', '.join(guessed)} found" if guessed else "More roles"
    with st.expander(label, key=f"data-more-{file.digest}"):
        for pair in (rest[:2], rest[2:]):
            for column, role in zip(st.columns(2), pair, strict=False):
                with column:
                    chosen[role] = _ask(file, role, shape)
        ignored = st.multiselect(
            "Columns to leave out",
            [c for c in file.table.columns if c not in chosen.values()],
            key=f"data-role-{file.digest}-ignored",
            help="All other columns describe the items whose rows agree on them.",
        )
    roles = replace(
        _roles(file, chosen, [*ignored, *negatives]),
        shape=shape,
        ignored=tuple(ignored),
        negatives=tuple(negatives),
        labels=labels,
    )
    if roles != replace(file.roles, unjudged=None, threshold=None):
        with st.spinner("Reading the file"):
            file.read_as(roles)


def _ask(file: Upload, role: str, shape: Shape = "pairs") -> str | None:
    """The column of a role, with the reason of the guess below it."""
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


def _roles(file: Upload, chosen: dict[str, str | None], ignored: list[str]) -> Roles:
    taken = {*chosen.values(), *ignored}
    x_metadata, y_metadata = (
        tuple(c for c in columns if c not in taken)
        for columns in (file.guessed.x_metadata, file.guessed.y_metadata)
    )
    return replace(
        file.guessed,
        **chosen,  # type: ignore[arg-type]
        x_metadata=x_metadata,
        y_metadata=y_metadata,
        ignored=tuple(ignored),
    )


# -- the file ---------------------------------------------------------------------------


def _show_table(file: Upload) -> None:
    """The first rows, columns coloured by their role."""
    from simviz.data.delimited import DELIMITERS

    table, colours = file.table, _colours()
    roles = {column: role for role in _ROLES if (column := getattr(file.roles, role))}
    display.legend((_solid(role), _words(role)) for role in dict.fromkeys(roles.values()))
    frame = table.to_frame(_ROWS).map(lambda c: c if len(c) <= _CELL else c[:_CELL] + "…")
    # Names of the file may be anything: the frame has its own.
    # The two sides are what is looked at: they get twice the room of the rest.
    sides = (file.roles.x, file.roles.y)
    width = column_width(len(table.columns) + len(sides))
    config: dict[Any, Any] = {
        f"c{i}": st.column_config.TextColumn(column, width=width * (2 if column in sides else 1))
        for i, column in enumerate(table.columns)
    }
    shades = [colours.get(roles.get(column, ""), "") for column in table.columns]
    frame.columns = [f"c{i}" for i in range(len(shades))]
    styled = frame.style.apply(lambda row: shades, axis=1)
    height = table_height(len(frame), 420)
    st.dataframe(styled, column_config=config, height=height, key=f"data-table-{file.digest}")
    more = len(table) - len(frame)
    of = f"{len(frame)} of {len(table):,} rows" if more > 0 else f"All {len(table):,} rows"
    cut = f" Cells are separated by {DELIMITERS[table.delimiter]}." if table.delimiter else ""
    display.quiet(f"{of} of {table.name}, numbered by {table.unit}.{cut}")
    pictures = None if file.result is None else file.result.pairs.y
    if pictures is not None and pictures.kind == "image":
        st.image(list(pictures.content[:_PICTURES]), width=64, alt=list(pictures.ids[:_PICTURES]))


def table_height(n_rows: int, most: int, row: int = 35) -> int:
    """Pixels of a table that ends with its last row, if that is not too far."""
    return min(most, row * n_rows + 38)


def column_width(n: int) -> int:
    """Pixels for each of `n` columns of text, so that both sides are seen at once."""
    return max(90, (290 if state.is_narrow() else 480) // n)


def _solid(role: str) -> str:
    from simviz.charts.style import get_theme

    look = get_theme(state.theme())
    hues = {"x": look.accent, "x_id": look.accent, "y": look.second, "y_id": look.second}
    hues |= dict(zip(("label", "split", "group"), look.palette[2:5], strict=True))
    return hues[role]


def _colours() -> dict[str, str]:
    """A background for each role, ids fainter than what they are ids of."""
    return {
        role: f"background-color: {_solid(role)}{'18' if role.endswith('_id') else '30'}"
        for role in _ROLES
    }


def _words(role: str) -> str:
    return _ROLES[role][0]


# -- what was understood ----------------------------------------------------------------


def _show_understood(file: Upload) -> None:
    result = file.result
    if result is None:
        return
    show_counts(result.pairs)
    meaning = st.segmented_control(
        "A pair that is not listed is",
        list(_MEANINGS),
        format_func=_MEANINGS.__getitem__,
        default=result.pairs.relevance.unjudged,
        required=True,
        key=f"data-unjudged-{file.digest}-{file.roles.label}",
        help="Not relevant: whatever is not listed counts as wrong, as in retrieval. "
        "Unknown: only judged pairs are learned from and measured.",
    )
    if meaning is not None and meaning != result.pairs.relevance.unjudged:
        file.set_unjudged(meaning)
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
            file.set_threshold(start)
            st.rerun()
    if result.left_out:
        _show_left_out(file)
    upload.show(result.notes)


def show_counts(pairs: PairSet) -> None:
    """How much there is on both sides and between them."""
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


def _show_left_out(file: Upload) -> None:
    """Rows that are not in the pairs, each with its reason and what it holds."""
    import pandas as pd

    from simviz.data.cells import counted

    if file.result is None:
        return
    left_out = file.result.left_out
    reasons = Counter(item.reason for item in left_out)
    with st.expander(f"{counted(len(left_out), 'row')} left out: see why"):
        display.notes(f"{reason}: {n:,}" for reason, n in reasons.most_common())
        at = {int(number): i for i, number in enumerate(file.table.rows)}
        shown = left_out[:1000]
        first = [at[item.row] for item in shown]
        frame = pd.DataFrame(
            {
                "row": [item.row for item in shown],
                "why": [item.reason for item in shown],
                "x": [str(file.table.columns[file.roles.x][i])[:_CELL] for i in first],
                "y": [str(file.table.columns[file.roles.y][i])[:_CELL] for i in first],
            }
        )
        config = {
            "row": st.column_config.NumberColumn(file.table.unit, format="%d"),
            "x": st.column_config.TextColumn(file.roles.x),
            "y": st.column_config.TextColumn(file.roles.y),
        }
        st.dataframe(frame, hide_index=True, column_config=config, key="data-left-out")
        if len(left_out) > len(shown):
            st.caption(f"The first {len(shown):,} of {len(left_out):,}.")
