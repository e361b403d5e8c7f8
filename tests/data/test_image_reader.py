import struct
import zipfile
import zlib

import numpy as np
import pytest
from made_up import has_note, saved, zipped
from PIL import Image

from simviz.data import read_collection
from simviz.data.images import ImageError, make_sprite
from simviz.data.limits import progress_listener, reading_limits
from simviz.exceptions import DatasetError


def picture(mode="RGB", size=(40, 20), colour="red", kind="PNG", **options):
    return saved(Image.new(mode, size, colour).save, kind, **options)


PAIR = {"a.png": picture(), "b.png": picture(colour="blue")}
WORDS = b"file,keywords\na.png,red|warm\nb.png,blue|Warm\n"


def read_images(archive, words=None, name="p.zip"):
    return read_collection({name: archive} | ({} if words is None else {"words.csv": words}))


def test_a_zip_with_its_table():
    clutter = {"__MACOSX/._words.csv": b"x", ".DS_Store": b"x", "p/Thumbs.db": b"x"}
    result = read_images(zipped({**clutter, **PAIR, "words.csv": WORDS}), name="colours.zip")
    pairs = result.pairs
    assert list(pairs.x.content) == ["red", "warm", "blue"] and pairs.x.kind == "keyword"
    assert list(pairs.y.ids) == ["a.png", "b.png"]
    assert pairs.y.content.shape == (2, 64, 64, 3) and pairs.y.content.dtype == np.uint8
    # Capitals make no other keyword.
    assert pairs.relevance.matrix.toarray().tolist() == [[1, 0], [1, 1], [0, 1]]
    assert pairs.relevance.unjudged == "negative" and pairs.name == "colours"
    assert has_note(result, "separated by '|'")


@pytest.mark.parametrize(
    "words",
    [
        b"keyword,path\nred,A.PNG\nwarm,./a.png\nblue,b\nwarm,b.png\n",
        b"file;tags\na.png;red,warm\nb.png;blue, warm\n",
        b'{"image": "a", "tags": "red;warm"}\n{"image": "b", "tags": "blue;warm"}\n',
        b"file\tid\tkeywords\na.png\tx1\tred; warm\nb.png\tx2\tblue;;warm\n",
    ],
)
def test_the_table_may_stand_beside_in_many_forms(words, tmp_path):
    path = tmp_path / "pictures.zip"
    path.write_bytes(zipped(PAIR))
    pairs = read_images(path, words).pairs
    rows, columns = pairs.relevance.matrix.nonzero()
    found = set(zip(pairs.x.content[rows], pairs.y.ids[columns], strict=True))
    assert found == {("red", "a.png"), ("warm", "a.png"), ("blue", "b.png"), ("warm", "b.png")}


def test_full_paths_tell_equal_file_names_apart():
    files = {"p/a.png": picture(), "q/a.png": picture(), "b.png": picture()}
    result = read_images(zipped(files), b"file,keyword\np/a.png,one\na.png,two\nb.png,three\n")
    assert list(result.pairs.y.ids) == ["p/a.png", "b.png"]
    assert [(item.row, item.reason) for item in result.left_out] == [(3, "no image of that name")]


def test_what_is_left_out_is_named():
    files = {**PAIR, "fake.png": b"MZ this is a program", "spare.png": picture()}
    words = WORDS + b"fake.png,odd\ngone.png,lost\na.png,\n"
    result = read_images(zipped(files), words)
    assert list(result.pairs.y.ids) == ["a.png", "b.png"]
    assert "odd" not in result.pairs.x.content
    assert has_note(result, "1 image left out: 'fake.png' is no image, whatever its name says")
    assert has_note(result, "1 row of words.csv left out", "line 5; 'gone.png'")
    assert has_note(result, "no keyword", "line 6")
    assert has_note(result, "1 image without a keyword left out")


@pytest.mark.parametrize(
    "path", ["../a.png", "p/../../a.png", "/etc/a.png", "C:\\a.png", "p\\..\\a.png"]
)
def test_paths_that_lead_out_are_refused(path):
    with pytest.raises(DatasetError, match="leads out of the archive"):
        read_images(zipped({**PAIR, "words.csv": WORDS, path: picture()}))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({**PAIR}, "no table of keywords"),
        ({**PAIR, "a.csv": WORDS, "b.csv": WORDS}, r"several tables \('a\.csv', 'b\.csv'\)"),
        ({**PAIR, "words.csv": b"x,y\n1,2\n"}, "no column names an image in the zip"),
        ({"a.png": b"no", "words.csv": WORDS}, "no image can be used.*'a.png' is no image"),
    ],
)
def test_archives_without_what_is_needed(files, message):
    with pytest.raises(DatasetError, match=message):
        read_images(zipped(files), name="p.zip")


def test_damaged_and_empty_archives():
    whole = zipped({**PAIR, "words.csv": WORDS}, zipfile.ZIP_STORED)
    with pytest.raises(DatasetError, match=r"p\.zip is not a zip archive"):
        read_images(whole[:-30], name="p.zip")
    with pytest.raises(DatasetError, match="is empty"):
        read_images(b"", name="p.zip")
    at = whole.index(b"a.png") + 60
    broken = whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]
    with pytest.raises(DatasetError, match=r"'a\.png' is damaged"):
        read_images(broken)


def test_zip_bombs_are_refused_before_unpacking():
    bomb = zipped({"a.png": b"\0" * 5_000_000, "words.csv": WORDS})
    assert len(bomb) < 50_000
    with pytest.raises(DatasetError, match=r"'a\.png' unpacks from .* to 5,000,000 bytes"):
        read_images(bomb)
    limited = reading_limits(unpacked_bytes=100)
    with limited, pytest.raises(DatasetError, match="the limit is 100"):
        read_images(zipped({**PAIR, "words.csv": WORDS}))
    with reading_limits(files=2), pytest.raises(DatasetError, match="holds 3 files; the limit"):
        read_images(zipped({**PAIR, "words.csv": WORDS}))


def test_an_encrypted_archive_is_refused():
    data = bytearray(zipped({"a.png": picture()}))
    for start in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[start] |= 1
    with pytest.raises(DatasetError, match="is encrypted"):
        read_images(bytes(data), WORDS)


def huge_png(width, height):
    def chunk(kind, body):
        length, check = len(body), zlib.crc32(kind + body)
        return struct.pack(">I", length) + kind + body + struct.pack(">I", check)

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0" * 100))
    return b"\x89PNG\r\n\x1a\n" + header + body + chunk(b"IEND", b"")


def half(kind):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (90, 90, 3), np.uint8))
    data = saved(noise.save, kind)
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        *((huge_png(side, side), "pixels") for side in (5_001, 10_000, 60_000)),
        *((half(kind), r"is damaged|is no image") for kind in ("PNG", "JPEG", "GIF")),
        (picture(kind="TIFF"), "is no image"),
    ],
)
def test_bombs_told_by_their_header_and_what_cannot_be_decoded_are_refused(data, message):
    with pytest.raises(ImageError, match=message):
        make_sprite(data)


def test_all_images_together_have_a_budget_of_pixels_that_headers_tell():
    files = {f"{'odd' if i % 2 else 'even'}/{i}.png": huge_png(3_000, 3_000) for i in range(9)}
    refused = pytest.raises(
        DatasetError, match="81,000,000 pixels in all; the limit is 80,000,000"
    )
    with reading_limits(total_pixels=80_000_000), refused:
        read_collection(zipped(files), "many.zip")


def test_who_watches_hears_of_every_image_and_may_end_it():
    heard = []

    def watch(fraction):
        heard.append(fraction)
        if fraction > 0.5:
            raise DatasetError("enough")

    files = {f"{'odd' if i % 2 else 'even'}/{i}.png": picture() for i in range(4)}
    with progress_listener(watch), pytest.raises(DatasetError, match="enough"):
        read_collection(zipped(files), "four.zip")
    assert heard[-1] == 0.75 and 0.25 in heard
    assert len(read_collection(zipped(files), "four.zip").pairs.y) == 4  # nobody watches


def test_aspect_is_kept_on_white():
    sprite = make_sprite(picture(size=(400, 100)))
    assert (sprite[32] == [255, 0, 0]).all()
    assert (sprite[:23] == 255).all() and (sprite[41:] == 255).all()


@pytest.mark.parametrize(
    ("data", "colour"),
    [
        (picture("RGBA", colour=(0, 0, 255, 0)), [255, 255, 255]),
        (picture("RGBA", colour=(0, 0, 0, 128)), [127, 127, 127]),
        (picture("L", colour=100), [100, 100, 100]),
        (picture("I;16", colour=100 * 256), [100, 100, 100]),
        (picture("1", colour=0), [0, 0, 0]),
        (picture("P", colour=0), [0, 0, 0]),
        (picture("CMYK", colour=(0, 0, 0, 255), kind="JPEG"), [0, 0, 0]),
        (picture(kind="WEBP", lossless=True), [255, 0, 0]),
    ],
)
def test_every_mode_becomes_rgb(data, colour):
    assert np.abs(make_sprite(data)[32, 32].astype(int) - colour).max() <= 2


def test_orientation_marks_are_obeyed():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    sprite = make_sprite(picture(size=(80, 20), kind="JPEG", exif=exif))
    assert (sprite[32, :20] == 255).all() and sprite[5, 32, 1] < 50
