"""The file as it is on the left, what was understood of it on the right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import chrome, plain, split_view, splits, state, upload

if TYPE_CHECKING:
    from pages._shared.upload import Upload
    from simviz.data.pairs import PairSet
    from simviz.data.roles import Roles
    from simviz.jobs import SplitSpec

ENDINGS = ["csv", "tsv", "txt", "jsonl", "ndjson", "json", "parquet", "pq", "gz", "zip"]
MAX_MEGABYTES = 200
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
_NONE = ""
_WITHOUT = {
    "label": "every row is a pair that belongs together",
    "x_id": "items are told apart by their text",
    "y_id": "items are told apart by their text",
}
_KINDS = {"text": "texts", "keyword": "keywords", "image": "pictures", "vector": "vectors"}
_MEANINGS = {"negative": "not relevant", "ignore": "unknown"}


def show_uploader() -> None:
    """Take a file, and a table beside it where the file is a zip of pictures."""
    file = st.file_uploader(
        "A table of pairs, or a zip of pictures with a table of keywords",
        ENDINGS,
        key=f"data-file-{upload.turn()}",
        max_upload_size=MAX_MEGABYTES,
    )
    keywords = None
    if file is not None and upload.is_zip(file):
        keywords = st.file_uploader(
            "Its table of keywords, where it is not in the zip",
            ENDINGS[:-1],
            key=f"data-keywords-{upload.turn()}",
            max_upload_size=MAX_MEGABYTES,
        )
    # The uploader is also empty while a file replaces another, and after another
    # page: what waits is dropped by its own button only.
    if file is not None:
        upload.take(file, keywords)
        if upload.problem():
            plain.problem(upload.problem())


def show_templates() -> None:
    """Small files to begin with."""
    from simviz.data.templates import TEMPLATES, make_template

    with st.popover("Templates", type="tertiary", icon=":material/download:"):
        for suffix, what in TEMPLATES.items():
            st.download_button(
                f"{suffix[1:].upper() if suffix != '.parquet' else 'Parquet'}: {what}",
                lambda suffix=suffix: make_template(suffix),
                f"template{suffix}",
                "application/octet-stream",
                key=f"data-template-{suffix[1:]}",
                on_click="ignore",
                type="tertiary",
            )


def show_waiting(file: Upload) -> None:
    """Show a file that was read; let roles be corrected; keep it or drop it."""
    top = st.container()
    left, right = st.columns([3, 2], gap="large")
    with left:
        if not file.is_images:
            _correct_roles(file)
        st.markdown("#### The file as it is")
        _show_table(file)
    with right:
        spec = None
        st.markdown("#### What was understood")
        if file.result is None:
            plain.problem(file.problem)
            plain.quiet("Choose other roles on the left; the file is read anew at once.")
        else:
            _show_understood(file)
            st.markdown("#### How it is split")
            pairs = file.result.pairs
            suggestion = splits.suggestion_for(file.pairs_digest, pairs)
            spec = split_view.choose(
                file.pairs_digest, pairs, splits.as_spec(suggestion), suggestion
            )
    with top:
        _show_keep(file, spec)


def _show_keep(file: Upload, spec: SplitSpec | None) -> None:
    if file.result is None or spec is None:
        plain.name(file.table.name)
        st.button("Discard", key="data-discard", on_click=upload.drop)
        return
    pairs, left_out = file.result.pairs, len(file.result.left_out)
    plain.name(_summary(pairs, left_out))
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
        plain.problem(error)
        return
    if (chrome.ROOT / "pages/train.py").exists():
        st.switch_page("pages/train.py", query_params={"data": dataset_id})
    st.rerun()


def _summary(pairs: PairSet, left_out: int) -> str:
    from simviz.data.wording import counted

    words = counted(pairs.relevance.matrix.nnz, "pair")
    return f"{words}, {counted(left_out, 'row')} left out" if left_out else words


# -- roles ------------------------------------------------------------------------------


def _correct_roles(file: Upload) -> None:
    """Ask for each role, with the guess and its reason; read anew where one changed."""
    chosen: dict[str, str | None] = {}
    first = [role for role, (_, at_once) in _ROLES.items() if at_once]
    for column, role in zip(st.columns(len(first)), first, strict=True):
        with column:
            chosen[role] = _ask(file, role)
    rest = [role for role in _ROLES if role not in first]
    guessed = [f"{_ROLES[r][0].lower()}" for r in rest if getattr(file.guessed, r)]
    label = f"More roles: {', '.join(guessed)} found" if guessed else "More roles"
    with st.expander(label, key=f"data-more-{file.digest}"):
        for pair in (rest[:2], rest[2:]):
            for column, role in zip(st.columns(2), pair, strict=True):
                with column:
                    chosen[role] = _ask(file, role)
        ignored = st.multiselect(
            "Columns to leave out",
            [c for c in file.table.columns if c not in chosen.values()],
            key=f"data-role-{file.digest}-ignored",
            help="All other columns describe the items whose rows agree on them.",
        )
    roles = _roles(file, chosen, ignored)
    if roles != replace(file.roles, unjudged=None):
        with st.spinner("Reading the file"):
            file.read_as(roles)


def _ask(file: Upload, role: str) -> str | None:
    """The column of a role, with the reason of the guess below it."""
    guess: str | None = getattr(file.guessed, role)
    options = list(file.table.columns) if role in ("x", "y") else [_NONE, *file.table.columns]
    answer = st.selectbox(
        _ROLES[role][0],
        options,
        index=options.index(getattr(file.roles, role) or _NONE),
        format_func=lambda column: column or "none",
        key=f"data-role-{file.digest}-{role}",
    )
    if answer == _NONE:
        plain.quiet(_WITHOUT.get(role, "no such column"))
        return None
    if answer == guess:
        plain.quiet(f"guessed: {file.guessed.reasons.get(role, 'by its name')}")
    else:
        plain.quiet("chosen by you")
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
    table, colours = file.table, _colours()
    roles = {column: role for role in _ROLES if (column := getattr(file.roles, role))}
    plain.legend((_solid(role), _words(role)) for role in dict.fromkeys(roles.values()))
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
    plain.quiet(f"{of} of {table.name}, numbered by {table.unit}.")
    if file.is_images and file.result is not None:
        pictures = file.result.pairs.y
        st.image(list(pictures.content[:_PICTURES]), width=64, alt=list(pictures.ids[:_PICTURES]))


def table_height(n_rows: int, most: int, row: int = 35) -> int:
    """Pixels of a table that ends with its last row, if that is not too far."""
    return min(most, row * n_rows + 38)


def column_width(n: int) -> int:
    """Pixels for each of `n` columns of text, so that both sides are seen at once."""
    return max(90, (290 if state.is_narrow() else 580) // n)


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
    if result.left_out:
        _show_left_out(file)
    plain.notes(result.notes)


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
    plain.figures(figures)


def _show_left_out(file: Upload) -> None:
    """Rows that are not in the pairs, each with its reason and what it holds."""
    import pandas as pd

    if file.result is None:
        return
    left_out = file.result.left_out
    reasons = Counter(item.reason for item in left_out)
    with st.expander(f"{len(left_out):,} rows left out: see why"):
        plain.notes(f"{reason}: {n:,}" for reason, n in reasons.most_common())
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
