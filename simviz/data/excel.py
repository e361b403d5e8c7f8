"""Excel workbooks (.xlsx): the cells of one sheet, read in one pass and in bounds.

The format is a zip of XML (ECMA-376, part 1, chapter 18). Entities are refused, and a
cell's address is not trusted to size anything.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from xml.etree import ElementTree

from simviz.data.cells import did_you_mean, shown
from simviz.data.jsonl import scalar_text
from simviz.data.limits import get_limits, report_progress
from simviz.data.sources import BROKEN, safe_entries, unpack
from simviz.exceptions import DatasetError

_DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_ADDRESS = re.compile(r"([A-Z]{1,3})[0-9]+")
#: Opens a part of a workbook by its path.
Open = Callable[[str], io.BytesIO]
Record = tuple[int, list[str]]


def is_workbook(data: bytes, suffix: str = "") -> bool:
    """Whether a file is an Excel workbook, by what it holds rather than its name."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "xl/workbook.xml" in archive.NameToInfo
    except BROKEN:
        return suffix in (".xlsx", ".xlsm")


def read_sheet(name: str, data: bytes, sheet: str | None) -> tuple[str, int, list[Record]]:
    """Read one sheet: its title, how many sheets there are, and its rows with their numbers."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {e.filename: e for e in safe_entries(name, archive)}
            part = partial(_open, name, archive, parts)
            title, path, n_sheets = _find_sheet(name, part, sheet)
            strings = _shared_strings(part) if "xl/sharedStrings.xml" in parts else []
            dates = _date_styles(part) if "xl/styles.xml" in parts else set()
            records = list(_records(name, part(path), strings, dates))
    except DatasetError:
        raise
    except (*BROKEN, ElementTree.ParseError, LookupError) as error:
        reason = str(error).split("\n")[0][:120]
        raise DatasetError(
            f"{name} is an Excel workbook that is damaged ({reason}). Save it again, or as CSV."
        ) from error
    if not records:
        raise DatasetError(
            f"{name}: sheet {shown(title)} is empty. Name the sheet with the pairs."
        )
    return title, n_sheets, records


def _open(
    name: str, archive: zipfile.ZipFile, parts: dict[str, zipfile.ZipInfo], path: str
) -> io.BytesIO:
    if path not in parts:
        raise KeyError(f"it lacks {path[:80]}")
    data = unpack(name, archive, parts[path])
    # No program that writes workbooks declares entities; attacks do.
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise DatasetError(f"{name} declares entities in {shown(path)}, which is never needed.")
    return io.BytesIO(data)


def _local(element: ElementTree.Element) -> str:
    """Name of an element without its namespace."""
    return element.tag.rsplit("}", 1)[-1]


def _find_sheet(name: str, part: Open, requested: str | None) -> tuple[str, str, int]:
    """Title and path of a sheet, and the number of sheets."""
    sheets: dict[str, str] = {}
    for element in ElementTree.parse(part("xl/workbook.xml")).iterfind(".//{*}sheet"):
        ids = [v for k, v in element.attrib.items() if k.endswith("}id")]
        sheets.setdefault(element.get("name", ""), ids[0] if ids else "")
    relations = ElementTree.parse(part("xl/_rels/workbook.xml.rels")).iter()
    targets = {element.get("Id"): element.get("Target", "") for element in relations}
    if not sheets:
        raise KeyError("it lists no sheet")
    title = next(iter(sheets)) if requested is None else requested
    if title not in sheets:
        raise DatasetError(f"{name} has no sheet {shown(title)}. {did_you_mean(title, sheets)}")
    target = targets.get(sheets[title], "")
    path = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return title, path, len(sheets)


def _shared_strings(part: Open) -> list[str]:
    """The texts that cells refer to by number."""
    strings = []
    for _, element in ElementTree.iterparse(part("xl/sharedStrings.xml")):
        if _local(element) == "si":
            strings.append(_text(element))
            element.clear()
    return strings


def _text(element: ElementTree.Element) -> str:
    """Text of a string without what is written above it as a reading aid."""
    return "".join(
        part.text or ""
        for child in element
        if _local(child) in ("t", "r")
        for part in ([child] if _local(child) == "t" else child)
        if _local(part) == "t"
    )


def _date_styles(part: Open) -> set[int]:
    """Numbers of the styles that show a number as a date."""
    styles_xml, formats = ElementTree.parse(part("xl/styles.xml")), set(_DATES)
    for one in styles_xml.iterfind("{*}numFmts/*"):
        if re.search("[ymdh]", _QUOTED.sub("", one.get("formatCode", "")).lower()):
            formats.add(int(one.get("numFmtId", "0")))
    styles = [int(one.get("numFmtId", "0")) for one in styles_xml.iterfind("{*}cellXfs/*")]
    return {i for i, style in enumerate(styles) if style in formats}


def _records(name: str, file: io.BytesIO, strings: list[str], dates: set[int]) -> Iterator[Record]:
    """Rows that hold anything, each with its number."""
    limits, number, n_cells = get_limits(), 0, 0
    for _, element in ElementTree.iterparse(file):
        if _local(element) != "row":
            continue
        number = int(element.get("r", number + 1))
        if not number % 1024:
            report_progress(0.0)
        fields: list[str] = []
        for cell in element:
            at = _column(cell.get("r"), len(fields))
            if at >= limits.columns:
                raise DatasetError(
                    f"{name}, row {number} has a cell in column {at + 1:,}; the limit is "
                    f"{limits.columns:,}. Keep the columns with the pairs."
                )
            fields += [""] * (at - len(fields))
            fields.append(_value(cell, strings, dates))
        n_cells += len(fields)
        if n_cells > limits.cells:
            raise DatasetError(
                f"{name} has more than {limits.cells:,} cells. Bring a sample, or fewer columns."
            )
        element.clear()
        while fields and not fields[-1]:
            fields.pop()
        if fields:
            yield number, fields


def _column(address: str | None, following: int) -> int:
    """Column of a cell, from 0; the next one where it has no address."""
    match = _ADDRESS.fullmatch(address or "")
    if match is None:
        return following
    number = 0
    for letter in match.group(1):
        number = 26 * number + ord(letter) - 64
    return max(number - 1, following)


def _value(cell: ElementTree.Element, strings: list[str], dates: set[int]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return "".join(_text(part) for part in cell if _local(part) == "is")
    raw = next((part.text or "" for part in cell if _local(part) == "v"), "")
    if kind == "s":
        return strings[int(raw)] if raw and int(raw) >= 0 else ""
    if kind == "b":
        return "true" if raw.strip() == "1" else "false"
    if kind == "e":
        return ""
    if kind == "n" and raw:
        number = float(raw)
        if int(cell.get("s", "0")) in dates and 0 <= number < 2_958_466:
            # Days since 1900, which Excel counts as a leap year.
            day = datetime(1899, 12, 30) + timedelta(seconds=round(number * 86_400))
            if number < 1:
                return day.strftime("%H:%M:%S")
            is_date = day.time() == day.time().min
            return day.strftime("%Y-%m-%d" if is_date else "%Y-%m-%d %H:%M:%S")
        return scalar_text(number) if number == number and abs(number) < 1e300 else raw
    return raw
