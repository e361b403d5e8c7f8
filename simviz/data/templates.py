"""Small files to begin with, one for each format that can be read."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from types import MappingProxyType

from simviz.discovery import unknown_name
from simviz.exceptions import DatasetError

#: File ending to what the file shows.
TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        ".csv": "questions and answers with a grade",
        ".tsv": "words in two languages, a pair a line",
        ".jsonl": "titles with ids and the group they belong to",
        ".parquet": "questions and answers with a grade, typed",
        ".zip": "pictures with a table of keywords",
    }
)
_GRADED = (
    ("query", "document", "grade"),
    ("how to boil an egg", "Put the egg into boiling water for seven minutes.", 2),
    ("how to boil an egg", "Fresh eggs sink, old eggs float.", 1),
    ("how to boil an egg", "Sharpen a knife at an angle of fifteen degrees.", 0),
    ("why is bread sour", "Lactic acid from the leaven makes bread sour.", 2),
    ("why is bread sour", "Put the egg into boiling water for seven minutes.", 0),
)
_WORDS = (("english", "spanish"), ("bread", "pan"), ("egg", "huevo"), ("knife", "cuchillo"))
_TITLES = (
    ("title", "group_id", "group_name"),
    ("night nurse", "g1", "nurses"),
    ("registered nurse (RN)", "g1", "nurses"),
    ("lorry driver", "g2", "drivers"),
    ("truck driver, long distance", "g2", "drivers"),
)
_PICTURES = (
    ("red-square.png", "red|square", "#b03a2e", False),
    ("blue-square.png", "blue|square", "#2e6fb0", False),
    ("blue-circle.png", "blue|circle", "#2e6fb0", True),
)


def make_template(suffix: str) -> bytes:
    r"""A small file of one format, to be filled with one's own pairs.

    Parameters
    ----------
    suffix : str
        A key of `TEMPLATES`.

    Returns
    -------
    bytes
        The file, which `simviz.data.read_pairs` (a zip: `read_images`) reads.

    Raises
    ------
    DatasetError
        If there is no template of that ending.

    Examples
    --------
    >>> from simviz.data import read_pairs
    >>> read_pairs(make_template(".tsv"), "words.tsv").pairs
    PairSet('words': 3 english × 3 spanish, 3 relevant)
    """
    if suffix == ".csv":
        return _delimited(_GRADED, ",")
    if suffix == ".tsv":
        return _delimited(_WORDS, "\t")
    if suffix == ".jsonl":
        lines = [json.dumps(dict(zip(_TITLES[0], row, strict=True))) for row in _TITLES[1:]]
        return ("\n".join(lines) + "\n").encode()
    if suffix == ".parquet":
        return _parquet()
    if suffix == ".zip":
        return _pictures()
    raise DatasetError(unknown_name("template", suffix, TEMPLATES))


def _delimited(rows: tuple[tuple[object, ...], ...], delimiter: str) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = zip(_GRADED[0], zip(*_GRADED[1:], strict=True), strict=True)
    buffer = io.BytesIO()
    pq.write_table(pa.table({str(name): list(cells) for name, cells in columns}), buffer)
    return buffer.getvalue()


def _pictures() -> bytes:
    from PIL import Image, ImageDraw

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        words = [(file, keywords) for file, keywords, _, _ in _PICTURES]
        archive.writestr("keywords.csv", _delimited((("file", "keywords"), *words), ","))
        for file, _, colour, is_round in _PICTURES:
            picture, png = Image.new("RGB", (64, 64), "white"), io.BytesIO()
            pen = ImageDraw.Draw(picture)
            (pen.ellipse if is_round else pen.rectangle)((12, 12, 52, 52), fill=colour)
            picture.save(png, "PNG")
            archive.writestr(file, png.getvalue())
    return buffer.getvalue()
