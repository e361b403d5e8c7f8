import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.data.pairs import Items, PairSet
from simviz.data.pairs_from_tables import read_pairs
from simviz.data.writers import dump_pairs, write_pairs
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
# Characters that any of the formats might trip over, and any others.
TEXT = st.text(
    st.one_of(
        st.sampled_from("=+-@'\"\t\r\n ,;|\\\x0b\x85\u2028\ufeffé日"),
        st.characters(exclude_categories=("Cs",), exclude_characters="\x00"),
    ),
    max_size=8,
)


@st.composite
def pair_sets(draw):
    sides = []
    for _ in range(2):
        ids = draw(st.lists(TEXT.filter(bool), min_size=1, max_size=5, unique=True))
        n = len(ids)
        column = st.lists(TEXT, min_size=n, max_size=n)
        numbers = st.lists(st.integers(-(2**53), 2**53), min_size=n, max_size=n)
        # NaN has many bit patterns; a file knows one.
        real = st.one_of(st.just(np.nan), st.floats(width=32, allow_nan=False))
        floats = st.lists(real, min_size=n, max_size=n)
        metadata = {
            draw(TEXT): np.array(draw(column), dtype=object),
            "number": np.array(draw(numbers), dtype=np.int64),
            "float": np.array(draw(floats), dtype=np.float32),
            "flag": np.array(draw(numbers), dtype=np.int64) > 0,
        }
        kept = draw(st.sets(st.sampled_from(list(metadata))))
        metadata = {k: v for k, v in metadata.items() if k in kept}
        sides.append(
            Items(ids, draw(column), draw(st.sampled_from(["text", "keyword"])), metadata)
        )
    shape = tuple(map(len, sides))
    kind = draw(st.sampled_from(["grade", "score"]))
    at = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1))
    value = st.floats(-1e300, 1e300) if kind == "score" else st.sampled_from([-1, 1, 2, 0.5])
    entries = draw(st.dictionaries(at, value, max_size=8))
    unjudged = draw(st.sampled_from(["negative", "ignore"]))
    judged = [i for i, _ in entries], [j for _, j in entries], list(entries.values())
    relevance = Relevance.from_pairs(*judged, shape=shape, kind=kind, unjudged=unjudged)
    return PairSet(*sides, relevance)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=80)
@given(pairs=pair_sets())
def test_what_is_written_is_read_back_to_the_same_digest(pairs, suffix):
    result = read_pairs(dump_pairs(pairs, suffix), f"own{suffix}")
    assert result.pairs.digest == pairs.digest
    assert result.left_out == ()
    assert result.pairs.relevance.unjudged == pairs.relevance.unjudged
    assert result.pairs.x.kind == pairs.x.kind


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_no_cell_that_a_spreadsheet_reads_begins_a_formula(suffix):
    attack = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"]
    items = Items(attack, attack, "text", {"=note": np.array(attack, dtype=object)})
    data = dump_pairs(PairSet(items, items, Relevance.identity(len(attack))), suffix)
    dialect = {".csv": ",", ".tsv": "\t"}[suffix]
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=dialect))
    assert len(rows) == 1 + len(attack)
    assert not any(cell.startswith(tuple("=+-@\t\r\n＝")) for row in rows for cell in row)


def test_the_file_is_plain_long_form(tmp_path):
    x = Items(["q1", "q2"], ["heart", "car"], "keyword", {"lang": np.array(["en", "en"])})
    y = Items(["d1", "d2", "d3"], ["pump", "truck", "none"], "text")
    relevance = Relevance.from_pairs([0, 1, 1], [1, 0, 1], [2, 1, -1], shape=(2, 3))
    path = write_pairs(PairSet(x, y, relevance), tmp_path / "pairs.csv")
    assert path.read_text().splitlines() == [
        "x_id,x[keyword],y_id,y[text],grade[unjudged=ignore],x.lang[text]",
        ",,d1,pump,,",
        "q1,heart,d2,truck,2,en",
        "q2,car,d1,pump,1,en",
        "q2,car,d2,truck,-1,en",
        ",,d3,none,,",
    ]


def test_an_own_file_can_be_extended_by_hand():
    data = dump_pairs(PairSet.from_texts(["a"], ["b"]), ".csv") + b"7,new,9,other,3\r\n"
    pairs = read_pairs(data, "own.csv").pairs
    assert list(pairs.x.ids) == ["0", "7"] and pairs.relevance.matrix[1, 1] == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("$", "0,changed,0,b,1,5", r"own\.csv, line 3, column 'x\[text\]': id '0' stands for 'ch"),
        ("$", "0,a,0,b,0,5", r"line 3, column 'grade\[unjudged=negative\]': '0' is not a grade"),
        ("$", "0,a,0,b,often,5", "'often' is not a grade"),
        (",5\r\n$", ",five\r\n", r"line 2, column 'x\.n\[<i8\]': 'five' does not fit"),
    ],
)
def test_a_broken_own_file_names_the_place(old, new, message):
    x = Items(["0"], ["a"], "text", {"n": np.array([5])})
    pairs = PairSet(x, Items(["0"], ["b"], "text"), Relevance.identity(1))
    data = dump_pairs(pairs, ".csv").decode() + "$"
    with pytest.raises(DatasetError, match=message):
        read_pairs(data.replace(old, new).removesuffix("$").encode(), "own.csv")


def test_what_a_format_cannot_hold_is_refused():
    nul = PairSet.from_texts(["a\0"], ["b"])
    for suffix in (".csv", ".tsv"):
        with pytest.raises(DatasetError, match=r"holds a NUL.*Write \.jsonl or \.parquet"):
            dump_pairs(nul, suffix)
    for suffix in (".jsonl", ".parquet"):
        assert read_pairs(dump_pairs(nul, suffix), f"a{suffix}").pairs.digest == nul.digest
    text = Items(["1"], ["a"], "text")
    for x, message in [
        (Items([""], ["a"], "text"), "x side has an empty id"),
        (Items(["1"], np.zeros((1, 2)), "vector"), "items of kind 'vector'"),
        (Items(["1"], ["a"], "text", {"m": np.zeros((1, 2))}), "Metadata 'm'.*2 dimensions"),
    ]:
        with pytest.raises(DatasetError, match=message):
            dump_pairs(PairSet(x, text, Relevance.identity(1)), ".csv")


def test_an_unknown_ending_or_folder_is_named_and_nothing_is_left_behind(tmp_path):
    pairs = PairSet.from_texts(["a"], ["b"])
    with pytest.raises(DatasetError, match=r"ends in '\.xlsx'; pairs are written to one of \.csv"):
        write_pairs(pairs, tmp_path / "a.xlsx")
    with pytest.raises(DatasetError, match="cannot be written"):
        write_pairs(pairs, tmp_path / "nowhere" / "a.csv")
    assert list(tmp_path.iterdir()) == []
