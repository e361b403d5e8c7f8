"""From a path or an upload to bytes and text, with plain refusals."""

from __future__ import annotations

import gzip
import io
import re
import stat
import zipfile
import zlib
from collections import Counter
from pathlib import Path, PurePosixPath

from simviz.data.cells import Note, counted, shown
from simviz.data.limits import get_limits
from simviz.exceptions import DatasetError

Source = str | Path | bytes
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh91AY&SY", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstandard archive"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x80\x04\x95", "a Python pickle, which is never opened"),
    (b"\x80\x05\x95", "a Python pickle, which is never opened"),
)
_BOMS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_NUL = re.compile("\x00")
_BINARY = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f]")
#: What a damaged zip leads to.
BROKEN = (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, OverflowError)


def load_bytes(source: Source, name: str | None = None) -> tuple[str, bytes]:
    """Read a path, or pass bytes on, refusing what is too large."""
    name = _printable(name or ("" if isinstance(source, bytes) else Path(source).name))
    if not isinstance(source, bytes):
        path = Path(source)
        if path.is_dir() or not path.exists():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise DatasetError(f"{name} {what}. Give the path of one file ({path}).")
        _refuse_large(name, path.stat().st_size, "holds")
        try:
            with path.open("rb") as file:
                # A pipe says at its end how much there was.
                source = file.read(get_limits().file_bytes + 1)
        except OSError as error:
            raise DatasetError(
                f"{name} cannot be read ({error.strerror}). Check its permissions."
            ) from error
    if not source:
        raise DatasetError(f"{name} is empty (0 bytes). Export it again, with its content.")
    _refuse_large(name, len(source), "holds")
    return name, source


def gunzip(name: str, data: bytes) -> tuple[str, bytes]:
    """Unpack gzip content, never beyond the limit; other content passes through."""
    if not data.startswith(b"\x1f\x8b"):
        return name, data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as archive:
            unpacked = archive.read(get_limits().file_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(
            f"{name} is a damaged gzip archive ({error}). Copy or compress it again."
        ) from error
    if not unpacked:
        raise DatasetError(f"{name} is empty once unpacked. Export it again, with its content.")
    _refuse_large(name, len(unpacked), "unpacks to more than")
    return re.sub(r"(?i)\.gz$", "", name), unpacked


def signature(data: bytes) -> str | None:
    """Tell what a file is from its first bytes, whatever its name says."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "a WebP image"
    return next((what for start, what in _SIGNATURES if data.startswith(start)), None)


def decode_text(name: str, data: bytes) -> tuple[str, list[Note]]:
    """Decode bytes as text, and say so when the encoding had to be guessed."""
    # UTF-8 with or without a byte-order mark, UTF-16 and UTF-32 with one; what is none of these
    # is read as Windows-1252, else Latin-1, with a note. Where some lines with letters beyond
    # ASCII are UTF-8 and others are not, each line is read as what it is.
    notes: list[Note] = []
    bom, encoding = next((b for b in _BOMS if data.startswith(b[0])), (b"", "utf-8"))
    body = data[len(bom) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        if bom and encoding != "utf-8":
            raise DatasetError(
                f"{name} is marked as {encoding.upper()} but line {line} is not. "
                "Save it again as UTF-8."
            ) from error
        _refuse_binary(name, data.decode("latin-1"), _BINARY)
        text, note = _decode_lines(body, is_marked=bool(bom))
        message = name + note.format(line=line, byte=f"0x{body[error.start]:02x}")
        notes.append(Note(message, "lost", [line]))
    # Valid UTF-8 is text even where it holds a stray control character.
    _refuse_binary(name, text, _NUL)
    # Old Macs ended lines with a carriage return alone.
    return text if "\n" in text else text.replace("\r", "\n"), notes


def _decode_lines(data: bytes, is_marked: bool) -> tuple[str, str]:
    """Decode what is not all UTF-8: line by line if any is, and what there is to say of it."""
    lines = data.split(b"\n")
    texts: list[str | None] = []
    for each in lines:
        try:
            texts.append(each.decode())
        except UnicodeDecodeError:
            texts.append(None)
    n_others = texts.count(None)
    if is_marked or any(text is not None and not text.isascii() for text in texts):
        text = "\n".join(
            _decode_western(each)[0] if known is None else known
            for each, known in zip(lines, texts, strict=True)
        )
        which = "it was" if n_others == 1 else "these were"
        return text, (
            f" is UTF-8 but for {counted(n_others, 'line')} (line {{line}} is the first, with "
            f"byte {{byte}}); {which} read as Windows-1252. If accented letters look wrong there, "
            "save the file as UTF-8."
        )
    text, encoding = _decode_western(data)
    return text, (
        " is not UTF-8 (line {line} holds byte {byte}); it was read "
        f"as {encoding}. If accented letters look wrong, save the file as UTF-8."
    )


def _decode_western(data: bytes) -> tuple[str, str]:
    """Read as Windows-1252, or Latin-1 where there are bytes that the former does not know."""
    try:
        return data.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "Latin-1"


def _refuse_binary(name: str, text: str, pattern: re.Pattern[str]) -> None:
    """Raise for characters that no editor writes."""
    if match := pattern.search(text):
        line = text.count("\n", 0, match.start()) + 1
        what = "NUL bytes" if "\x00" in text else "control characters"
        raise DatasetError(
            f"{name}, line {line}: the file holds {what}, so it is binary, damaged, or UTF-16 "
            "without its mark. Open it in an editor and save it as UTF-8 text."
        )


def _refuse_large(name: str, size: int, verb: str) -> None:
    limit = get_limits().file_bytes
    if size > limit:
        bound = counted(limit if "more" in verb else size, "byte")
        raise DatasetError(
            f"{name} {verb} {bound}; the limit is {counted(limit, 'byte')}. "
            "Bring a sample, or split the file."
        )


def _printable(name: str) -> str:
    """Keep the last part of a file name, printable and of bounded length."""
    last = re.split(r"[\\/]", name)[-1]
    return "".join(c if c.isprintable() else "_" for c in last)[-100:] or "upload"


def open_zip(name: str, data: bytes) -> zipfile.ZipFile:
    """Open a zip archive in memory."""
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except BROKEN as error:
        raise DatasetError(
            f"{name} is not a zip archive that can be opened ({str(error)[:120]}). Pack it again."
        ) from error


def safe_entries(name: str, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Files of an archive, refused as a whole where it is unsafe or too large."""
    limits = get_limits()
    entries = [e for e in archive.infolist() if not e.filename.endswith("/")]
    if len(entries) > limits.files:
        raise DatasetError(
            f"{name} holds {len(entries):,} files; the limit is {limits.files:,}. Bring a sample."
        )
    total = sum(e.file_size for e in entries)
    if total > limits.unpacked_bytes:
        raise DatasetError(
            f"{name} unpacks to {total:,} bytes; the limit is {limits.unpacked_bytes:,}. Bring a "
            "sample, or smaller images."
        )
    for entry in entries:
        path = entry.filename
        if re.match(r"[\\/]|[A-Za-z]:", path) or ".." in re.split(r"[\\/]", path):
            raise DatasetError(
                f"{name} holds {shown(path)}, a path that leads out of the archive. "
                "Pack it again, without absolute paths and '..'."
            )
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise DatasetError(
                f"{name} holds a link ({shown(path)}), which could lead anywhere. Pack the file "
                "itself in its place."
            )
        if entry.flag_bits & 0x1:
            raise DatasetError(f"{name} is encrypted ({shown(path)}). Pack it without a password.")
        packed = entry.compress_size + 1024  # a short file may well shrink to nothing
        if entry.file_size > min(limits.file_bytes, limits.ratio * packed):
            raise DatasetError(
                f"{name}: {shown(path)} unpacks from {entry.compress_size:,} to "
                f"{entry.file_size:,} bytes; the limits are {limits.file_bytes:,} bytes and a "
                f"ratio of {limits.ratio}. Remove it, or make it smaller."
            )
    repeated = [p for p, n in Counter(e.filename for e in entries).items() if n > 1]
    if repeated:
        raise DatasetError(f"{name} holds {shown(repeated[0])} twice. Remove one of the two.")
    return [e for e in entries if not _is_clutter(e.filename)]


def _is_clutter(path: str) -> bool:
    """Files that operating systems add by themselves, or without a name."""
    parts = PurePosixPath(path).parts
    if not parts or not path.isprintable():
        return True
    return parts[0] == "__MACOSX" or parts[-1].startswith(".") or parts[-1] == "Thumbs.db"


def unpack(name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Content of one file, never more than it claims to hold."""
    try:
        with archive.open(entry) as file:
            return file.read(entry.file_size + 1)
    except (*BROKEN, zlib.error) as error:
        raise DatasetError(
            f"{name}: {shown(entry.filename)} is damaged ({str(error)[:120]}). Pack it again."
        ) from error
