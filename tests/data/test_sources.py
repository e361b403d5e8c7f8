import gzip
import os

import pytest

from simviz.data.limits import reading_limits
from simviz.data.sources import decode_text, gunzip, load_bytes, signature
from simviz.exceptions import DatasetError


def test_a_path_must_be_a_file_and_its_size_is_checked_before_it_is_read(tmp_path):
    path = tmp_path / "big.csv"
    path.write_bytes(b"x" * 1001)
    for wrong, message in (
        (tmp_path / "nothing.csv", r"nothing\.csv does not exist"),
        (tmp_path, "is a folder"),
        (path, r"big\.csv holds 1,001 bytes; the limit is 1,000"),
    ):
        with reading_limits(file_bytes=1000), pytest.raises(DatasetError, match=message):
            load_bytes(wrong)
    with reading_limits(file_bytes=1001):
        assert load_bytes(path)[1] == b"x" * 1001


def test_a_pipe_is_read_to_its_end_or_to_the_limit():
    for limit in (9, 8):
        reads, writes = os.pipe()
        os.write(writes, b"x,y\na,b\n\n")
        os.close(writes)
        with reading_limits(file_bytes=limit):
            if limit == 9:
                assert load_bytes(f"/dev/fd/{reads}") == (str(reads), b"x,y\na,b\n\n")
            else:
                with pytest.raises(DatasetError, match="the limit is 8 bytes"):
                    load_bytes(f"/dev/fd/{reads}")
        os.close(reads)


def test_a_hostile_name_is_made_printable_and_short():
    name, _ = load_bytes(b"x", "../../etc/\x1b[31mpass\nwd" + "a" * 500)
    assert name.isprintable() and "/" not in name and len(name) <= 100


WHOLE = gzip.compress(b"x,y\na,b\n" * 50, mtime=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b"\0" * 50_000_000, mtime=0), "unpacks to more than 1,000,000 bytes"),
        *((WHOLE[:cut], r"a\.gz is a damaged gzip archive") for cut in (5, 15, -4)),
        (gzip.compress(b"", mtime=0), "empty once unpacked"),
    ],
)
def test_a_gzip_bomb_and_damaged_archives_are_refused(data, message):
    assert len(data) < 100_000
    with reading_limits(file_bytes=1_000_000), pytest.raises(DatasetError, match=message):
        gunzip("a.gz", data)


def test_gzip_unpacks_all_members_and_drops_its_ending():
    both = gzip.compress(b"x,y\n") + gzip.compress(b"a,b\n")
    assert gunzip("Pairs.CSV.GZ", both) == ("Pairs.CSV", b"x,y\na,b\n")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le+bom", "utf-16-be+bom", "utf-32"]
)
def test_marked_encodings_are_read_without_a_note(encoding):
    text = "x,y\nseñal,日本 €\n"
    plain, _, bom = encoding.partition("+")
    data = (("\ufeff" if bom else "") + text).encode(plain)
    assert decode_text("a.csv", data) == (text, [])


def test_windows_and_latin_1_are_read_with_a_note_that_names_the_line():
    text, notes = decode_text("a.csv", "x,y\nprice,5 €\n".encode("cp1252"))
    assert text == "x,y\nprice,5 €\n"
    assert "line 2 holds byte 0x80" in notes[0] and "Windows-1252" in notes[0]
    # 0x81 stands for nothing in Windows-1252.
    text, notes = decode_text("a.csv", b"x\xe9\x81")
    assert text == "x\xe9\x81" and "Latin-1" in notes[0]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_file_of_two_encodings_is_read_line_by_line(bom):
    lines = [b"x,y", "für,Café".encode(), "für,5 €".encode("cp1252"), "ñ,{}\n".encode()]
    text, notes = decode_text("a.csv", bom + b"\n".join(lines))
    assert text == "x,y\nfür,Café\nfür,5 €\nñ,{}\n"
    assert "UTF-8 but for 1 line (line 3 is the first, with byte 0xfc)" in notes[0]
    text, notes = decode_text("a.csv", b"\xef\xbb\xbfx,y\ncaf\xe9,b\n")
    assert text == "x,y\ncafé,b\n" and "line 2 is the first" in notes[0]
    text, notes = decode_text("{0}.csv", bom + b"\n".join([*lines, b"\xe9\x81"]))
    assert text.endswith("\xe9\x81") and notes[0].startswith("{0}.csv is UTF-8 but for 2 lines")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"x,y\na,b\0c\n", "line 2: the file holds NUL bytes"),
        ("x,y\na,b\n".encode("utf-16-le"), "line 1: the file holds NUL bytes"),
        (b"\xff\xfex\0,\0y\0\xd8", "UTF-16-LE but line 1 is not"),
        (b"\xe9\x02\x03", "control characters"),
    ],
)
def test_what_is_not_text_is_refused(data, what):
    with pytest.raises(DatasetError, match=what):
        decode_text("a.csv", data)


def test_lines_of_old_macs_are_lines():
    assert decode_text("a.csv", b"x,y\ra,b\r") == ("x,y\na,b\n", [])
    assert decode_text("a.csv", b"x\x02y") == ("x\x02y", []), "a stray control character stays"
    assert decode_text("a.csv", b"x,y\r\na\rb,c\r\n")[0] == "x,y\r\na\rb,c\r\n"


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP image"),
        (b"PK\x03\x04rest", "a zip archive"),
        (b"\x80\x04\x95rest", "a Python pickle, which is never opened"),
        (b"PARTS,x", None),
    ],
)
def test_signatures(start, what):
    assert signature(start) == what
