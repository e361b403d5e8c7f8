"""The command: what it prints, what it writes, and how it ends."""

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import COLOURS, THINGS

from simviz.cli import main
from simviz.pipeline import load_pipeline

WORDS = "red blue green gold grey car bus tram ship plane".split()


def refused(words, capsys):
    """One line that a terminal may show, and the documented status."""
    assert main(words) == 2
    said = capsys.readouterr()
    *notes, line = said.err.splitlines()
    assert said.out == "" and line.startswith("simviz: ") and all(map(str.isprintable, notes))
    assert line.isprintable() and "Traceback" not in line and len(line) > len("simviz: what")
    return line


@pytest.fixture
def table(tmp_path):
    """Values of 60 queries: b is ahead of a, c is a with noise, <d> is behind."""
    rng = np.random.default_rng(0)
    a, noise = rng.random(60), rng.normal(size=60)
    columns = {"a": a, "b": a + 0.3 + 0.1 * noise, "c": a + noise / 100, "<d>": a - 0.2}
    path = tmp_path / "values.csv"
    pd.DataFrame(columns, index=[f"q{i}" for i in range(60)]).to_csv(path, index_label="query")
    return path


@pytest.fixture
def pairs(tmp_path):
    words = np.random.default_rng(0).choice(WORDS, (60, 5))
    lines = [f"{' '.join(ws[:4])} {i},{' '.join(ws[1:])} {i}" for i, ws in enumerate(words)]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["query,document", *lines]))
    return path


def test_compare_says_who_is_ahead(table, capsys, tmp_path):
    page = tmp_path / "report.html"
    assert main(["compare", str(table), "--metric", "MAP", "--report", str(page)]) == 0
    said = capsys.readouterr().out
    assert "b is ahead of" in said and "MAP" in said
    first, *_, last = (line.split()[0] for line in said.splitlines()[1:5])
    assert (first, last) == ("b", "<d>")
    head, *rows = said.splitlines()[:5]
    starts = {re.search(r"\d\.\d{4}", row).start() for row in rows}
    assert starts == {head.index("MAP")}, "columns are in line"
    assert "Runs that share a letter cannot be told apart" in said
    html = page.read_text()
    assert "&lt;d&gt;" in html and "<d>" not in html and "b is ahead of" in html


@pytest.mark.parametrize(
    ("other", "baseline", "status", "verdict"),
    [
        ("b", "a", 0, "ahead"),
        ("c", "a", 4, "level"),
        ("c", None, 4, "level"),
        ("<d>", "a", 3, "behind"),
        ("<d>", "<d>", 0, "ahead"),
    ],
)
def test_exit_status_of_compare(table, capsys, other, baseline, status, verdict):
    pd.read_csv(table, usecols=["query", "a", other]).to_csv(table, index=False)
    words = ["compare", str(table), "--json", *(["--baseline", baseline] if baseline else [])]
    assert main(words) == status
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == verdict and found["n"] == 60 and len(found["comparisons"]) == 1
    assert ("groups" in found["runs"][0]) == (baseline is None)
    assert bool(found["power_words"]) == (verdict == "level")


def test_wrong_use_is_told_in_one_line(pairs, tmp_path, capsys):
    run, qrels = str(tmp_path / "a.trec"), str(tmp_path / "q.txt")
    assert "q.txt" in refused(["compare", run, "--qrels", qrels], capsys)
    (tmp_path / "a.trec").write_text("q Q0 d 1 2 r\n")
    (tmp_path / "q.txt").write_text("q 0 d 1\n")
    compare = ["compare", run, "--metric", "MRR", run, "--json", "--qrels", qrels]
    assert main(compare) == 4, "options and files come in any order"
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2
    for metric in ("P@99999999999999999999", "NDCG@1e9", "recall@0", "none"):
        assert metric in refused([*compare, "--metric", metric], capsys)
    for setting in ("pairs=1", "method=lsa", "features=1", "nope=1", "n_components"):
        words = ["train", str(pairs), "--set", setting, "--out", str(tmp_path / "o.simviz")]
        assert setting.partition("=")[0] in refused(words, capsys)
    with pytest.raises(SystemExit) as ended:
        main(["compare"])
    assert ended.value.code == 2


def test_one_judged_query_is_valid_json_with_a_reason(tmp_path, capsys):
    for name, text in (("a", "q Q0 d 1 2 r\n"), ("b", "q Q0 e 1 2 r\n"), ("q", "q 0 d 1\n")):
        (tmp_path / name).write_text(text)
    page = tmp_path / "page.html"
    a, b, q = (str(tmp_path / name) for name in "abq")
    words = ["compare", a, b, "--qrels", q, "--report", str(page)]
    assert main([*words, "--json"]) == main(words) == 4
    text, _, said = capsys.readouterr().out.partition("\n}\n")
    found = json.loads(text + "}", parse_constant=pytest.fail)
    assert found["reason"] == "Intervals and tests need two queries or more; there is 1."
    first, second = found["runs"]
    unknown = {"low": None, "high": None}
    assert first == {"run": "a", "value": 1, "at_most": 1, "groups": "a", "judged": 1} | unknown
    assert (second["judged"], second["at_most"]) == (0, 1)
    (pair,) = found["comparisons"]
    assert pair.items() >= (unknown | {"p_value": None, "told_apart": False}).items()
    assert (found["verdict"], found["needed"], {*found["files"]}) == ("undecided", None, {*"abq"})
    for shown in (said, page.read_text()):
        assert found["reason"] in shown and "nan" not in shown and "too close" not in shown
        assert "Answers that nobody judged count as not relevant" in shown
    assert "a    1.0000" in said and found["files"]["a"] in page.read_text()
    assert re.search(r"^b .* 0 % +1\.0000$", said, re.MULTILINE)
    assert main([*words[:2], "--judged-only", b, "--ignore-self", "--qrels", q]) == 2
    assert "b answers no query of q" in capsys.readouterr().err


def test_few_queries_are_not_said_to_tell_apart_what_is_level(tmp_path, capsys):
    rows = "\n".join(f"q{i},{0.5 + i / 100},{0.1}" for i in range(5))
    (tmp_path / "t.csv").write_text(f"query,a,b\n{rows}\n")
    assert main(["compare", str(tmp_path / "t.csv")]) == 4
    said = capsys.readouterr().out
    assert "a and b cannot be told apart" in said and "p = 0.062" in said
    assert "apart already" not in said and "\nAbout 1 more query would separate a from b" in said
    level = "\n".join(f"q{i},{i % 3},{(i + 1) % 3}" for i in range(9))
    (tmp_path / "t.csv").write_text(f"query,a,b\n{level}\n")
    assert main(["compare", str(tmp_path / "t.csv")]) == 4
    assert "\nOn 9 queries, a and b are too close" in capsys.readouterr().out


@pytest.mark.parametrize("error", [ZeroDivisionError("two\nlines"), KeyError("k"), MemoryError()])
def test_a_fault_has_its_own_status_and_one_line(error, table, monkeypatch, capsys):
    def fails(*_):
        raise error

    monkeypatch.setattr("simviz.reports.values.summarize_values", fails)
    assert main(["compare", str(table)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("simviz: a fault of simviz (test_cli.py, line ")
    assert type(error).__name__ in said and said.count("\n") == 1


def _status(words, stdout):
    command = [sys.executable, "-m", "simviz", *map(str, words)]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


def test_output_that_nobody_reads_is_no_verdict(table):
    reads, writes = os.pipe()
    os.close(reads)
    assert _status(["compare", table], writes) == (141, "")
    os.close(writes)
    with Path("/dev/full").open("w") as full:
        assert _status(["compare", table], full) == (
            2,
            "simviz: The output cannot be read or written (No space left on device). "
            "Make room on the disk.\n",
        )


def test_files_come_through_pipes(tmp_path):
    lines = "".join(f"q{i} Q0 d{j} 1 {-((i * j) % 7)} r\n" for i in range(30) for j in range(7))
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "b.trec").write_text(lines)
    (tmp_path / "q.txt").write_text("".join(f"q{i} 0 d{i % 7} 1\n" for i in range(30)))
    compare = f"{sys.executable} -m simviz compare <(zcat a.gz) b.trec --qrels /dev/stdin --json"
    command = ["bash", "-c", f"cat q.txt | {compare}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (4, "")
    found = json.loads(done.stdout)
    assert [one["run"] for one in found["runs"]] == ["r", "b"]
    assert found["comparisons"][0]["difference"] == 0


def test_statuses_are_told(capsys):
    text = Path(__file__).parents[1].joinpath("docs", "commands.md").read_text()
    for words in ([], ["compare"], ["audit"]):
        with pytest.raises(SystemExit) as done:
            main([*words, "--help"])
        assert done.value.code == 0
    helps = capsys.readouterr().out
    for status in (0, 1, 2, 3, 4, 141, 143):
        assert f"| {status} |" in text and f"\n  {status} " in helps


def test_train_evaluate_search_and_export(pairs, tmp_path, capsys, monkeypatch):
    model = tmp_path / "m.simviz"
    words = [str(pairs), "--split", "pair"]
    how = ["--method", "cca", "--set", "n_components=5", "--out", str(model)]
    assert main(["train", *words, *how]) == 0
    assert load_pipeline(model).model_.n_components_ == 5
    assert main(["evaluate", str(model), *words, "--json", "--metric", "MRR"]) == 0
    records = json.loads(capsys.readouterr().out)["records"]
    assert ("MRR", "x2y", 12) in {(one["metric"], one["direction"], one["n"]) for one in records}
    assert main(["evaluate", str(model), *words]) == 0
    said = capsys.readouterr().out
    assert "MRR" in said and "nan" not in said
    assert main(["evaluate", str(model), *words, "--json", "--metric", "AUC"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["records"][0]
    assert found["standard_error"] is None and found["reason"] == "one value of all pairs"
    index = tmp_path / "answers.simviz"
    ask = ["search", str(model), "--items", str(pairs), "-k", "2", "red bus"]
    assert main([*ask, "--save", str(index)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "red bus" and [line.split()[0] for line in said[1:]] == ["1", "2"]
    assert main(["search", str(index), "red bus", "-k", "2", "--json"]) == 0
    found = [one["text"] for one in json.loads(capsys.readouterr().out)]
    assert found == [line.split(maxsplit=2)[2] for line in said[1:]]
    (tmp_path / "items.txt").write_text("red \x1b[2Jbus\n\nblue car\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("red bus\n"))
    assert main(["search", str(model), "--items", str(tmp_path / "items.txt")]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said and len(said.splitlines()) == 3
    without = ["search", str(model), "red bus"]
    assert "a model without items to search among" in refused(without, capsys)
    assert main(["export", str(model)]) == 0
    assert (tmp_path / "m-numpy.zip").stat().st_size
    refused(["export", str(model), "--form", "dense"], capsys)
    assert main(["export", str(model), "--form", "page", "--items", str(pairs)]) == 0
    assert "whoever has it can read them" in capsys.readouterr().err
    page = (tmp_path / "m-page.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>") and "CCA, 5 dimensions" in page
    for wrong in (["--form", "page"], ["--items", str(pairs)]):
        assert "A page holds items" in refused(["export", str(model), *wrong], capsys)


def test_columns_of_both_sides_are_told_and_can_be_said(tmp_path, capsys):
    path, model = tmp_path / "two.csv", tmp_path / "m.simviz"
    words = "red blue green white".split()
    rows = "".join(f"{a} car,{a} coche\n" for a in words)
    path.write_text(f"product,producto\n{rows}")
    train = ["train", str(path), "--method", "tfidf_cosine", "--out", str(model)]
    assert main(train) == 0
    assert "Left side: producto; right side: product." in capsys.readouterr().err
    assert main([*train, "--x", "product", "--y", "producto"]) == 0
    assert "Left side: product; right side: producto." in capsys.readouterr().err
    items = ["--items", str(path), "--x", "product", "-k", "1"]
    assert main(["search", str(model), *items, "blue"]) == 0
    assert capsys.readouterr().out.endswith("blue coche\n")
    assert "no column 'none'" in refused([*train, "--y", "none"], capsys)
    two = ["train", str(path), str(path), "--x", "product"]
    assert "--x is of one table" in refused(two, capsys)
    path.write_text(rows)
    assert main([*train, "--no-header"]) == 0
    assert main(["search", str(model), *items[:2], "--no-header", "-k", "1", "red"]) == 0
    assert capsys.readouterr().out.endswith("red coche\n")
    assert "--no-header is of one" in refused(["train", "demo:emoji", "--no-header"], capsys)


def test_audit_lists_wrong_pairs_with_a_status_of_its_own(tmp_path, capsys):
    sizes = ("big", "tiny", "long", "wide", "old")
    texts = [f"{size} {a} {b}" for size in sizes for a in COLOURS for b in THINGS[:4]]
    frame = pd.DataFrame({"left": texts, "right": [f"the {text}" for text in texts]})
    path = tmp_path / "pairs.csv"
    ask = ["audit", str(path), "--seed", "1"]
    for order, status in (([3, 52], 0), ([52, 3], 3)):
        frame.loc[[3, 52], "right"] = frame["right"][order].to_numpy()
        frame.to_csv(path, index=False)
        assert main([*ask, "--json"]) == status
        found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert found["pairs"] == 100 and 0 < found["share_wrong"] < 1 and found["notes"]
    said = {(one["x"], one["better_y"]) for one in found["listed"]}
    assert said == {(texts[3], f"the {texts[3]}"), (texts[52], f"the {texts[52]}")}
    assert main(ask) == 3
    assert f"-> the {texts[3]} (swapped partner)" in capsys.readouterr().out
    assert main([*ask, "--above", "1"]) == 0
    most = max(one["probability_wrong"] for one in found["listed"])
    assert f"0 of 100 pairs; the most probable one has {most:.2f}." in capsys.readouterr().err
    refused([*ask, "--above", "2"], capsys)


HOSTILE = {
    "empty.csv": b"",
    "nul.csv": bytes(1_000),
    "\x1b[2Jtwo\nlines.csv": b"a\n",
    "quote.jsonl": b'{"a": 1}\n{"b"',
    "deep.json": b"[" * 100_000,
    "book.xlsx": b"PK\3\4rest",
    "table.parquet": b"PAR1restPAR1",
    "folder.zip": b"PK\5\6" + bytes(18),
    "none": None,
    "a folder": None,
    "\0": None,
}


@pytest.fixture
def model(pairs, tmp_path, capsys):
    words = ["--method", "lsa", "--set", "n_components=3", "--out", str(tmp_path / "m.simviz")]
    assert main(["train", str(pairs), *words]) == 0
    capsys.readouterr()
    return tmp_path / "m.simviz"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_told_in_one_line(name, model, tmp_path, capsys):
    path = tmp_path / name
    if name == "a folder":
        path.mkdir()
    elif HOSTILE[name] is not None:
        path.write_bytes(HOSTILE[name])
    before = {*tmp_path.iterdir()}
    for words in (
        ["train", str(path), "--out", str(tmp_path / "o.simviz")],
        ["search", str(model), "q", "--items", str(path), "--save", str(tmp_path / "o.simviz")],
        ["search", str(path), "q"],
        ["export", str(path), "--out", str(tmp_path / "o.zip")],
    ):
        line = refused(words, capsys)
        assert "Errno" not in line and (name != "none" or "No such file" in line)
    assert {*tmp_path.iterdir()} == before


CANNOT = "cannot be read or written"
CHECK = "Check the path and the permissions."
NO_FILE = "is no file, and nothing can be written in its place."


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("", f". {NO_FILE}"),
        (
            "none/o.simviz",
            f"none/o.simviz {CANNOT} (No such file or directory). Check the path; the folder of a "
            "new file must be there.",
        ),
        ("m.simviz/o", f"m.simviz/o {CANNOT} (Not a directory). {CHECK}"),
        ("device", f"device {NO_FILE}"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_work(out, why, model, capsys, monkeypatch):
    monkeypatch.chdir(model.parent)
    if out == "device":  # such as /dev/full, in whose place a file would be put
        os.mkfifo(out)
    before, content = {*model.parent.iterdir()}, model.read_bytes()
    train = ["train", "pairs.csv", "--method", "lsa", "--set", "n_components=3"]
    for words in (
        [*train, "--out", out],
        ["search", "m.simviz", "q", "--items", "pairs.csv", "--save", out],
        ["export", "m.simviz", "--out", out],
    ):
        assert main(words) == 2
        assert capsys.readouterr() == ("", f"simviz: {why}\n"), "nothing was read before"
    assert {*model.parent.iterdir()} == before and model.read_bytes() == content


#: One process for all commands: to start one takes longer than they do.
HINDERED = """
import os, resource, sys
from simviz.cli import main

# Larger files cannot be written, as on a full disk.
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
for line in sys.stdin:
    folder, *words = line.split()
    os.chdir(folder)
    sys.stderr.write(f"{main(words)}\\n")
"""
#: Root may write anywhere, unless it gives that up.
OBEYS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


def test_a_full_disk_and_a_folder_that_may_only_be_read_stay_as_they_were(model, tmp_path):
    commands = [
        "train pairs.csv --method lsa --set n_components=3 --out m.simviz",
        "search m.simviz red --items pairs.csv --save m.simviz",
        "export m.simviz --out m.simviz",
    ]
    full, locked = model.parent, tmp_path / "locked"
    locked.mkdir()
    for path in (model, model.with_name("pairs.csv")):
        shutil.copy(path, locked)
    locked.chmod(0o500)
    before, content = {*full.rglob("*")}, model.read_bytes()
    assert len(content) > 1024
    done = subprocess.run(
        [*(OBEYS if os.geteuid() == 0 else []), sys.executable, "-c", HINDERED],
        # Nothing at home can be written, either.
        env={**os.environ, "HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"},
        input="\n".join(f"{folder} {words}" for folder in (full, locked) for words in commands),
        capture_output=True,
        text=True,
        check=True,
    )
    locked.chmod(0o700)
    assert done.stdout == ""
    said = [line for line in done.stderr.splitlines() if line == "2" or "cannot be" in line]
    large = f"simviz: The output {CANNOT} (File too large). Make room, or raise the limit of this"
    denied = f"simviz: m.simviz {CANNOT} (Permission denied). {CHECK}"
    assert said == [f"{large} account.", "2"] * 3 + [denied, "2"] * 3, done.stderr
    assert {*full.rglob("*")} == before
    assert model.read_bytes() == (locked / "m.simviz").read_bytes() == content


ENDED = """
import os, signal, sys
from simviz import cli, persistence

def save(arrays):
    os.kill(os.getpid(), signal.SIGTERM)  # while the file is open
    return b""

persistence.save = save
sys.exit(cli.main(sys.argv[1:]))
"""


def test_an_end_by_a_signal_or_a_key_leaves_what_was_there(model, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    before, content = {*model.parent.iterdir()}, model.read_bytes()
    words = "train pairs.csv --method lsa --set n_components=3 --out m.simviz".split()
    command = [sys.executable, "-c", ENDED, *words]
    done = subprocess.run(command, cwd=model.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 143 and done.stderr.endswith("\nStopped.\n"), done.stderr
    monkeypatch.chdir(model.parent)
    for place, name in (("simviz.persistence", "save"), ("simviz.pipeline.PairPipeline", "fit")):
        with monkeypatch.context() as patch:
            patch.setattr(f"{place}.{name}", interrupted)
            assert main(words) == 130
    assert {*model.parent.iterdir()} == before and model.read_bytes() == content


def test_files_wait_on_data_for_whoever_sits_here(pairs, tmp_path, monkeypatch):
    from simviz.store import Store
    from simviz.store.directory import LOCAL_WORKSPACE

    begun = []
    monkeypatch.setattr("streamlit.web.cli.main", lambda words, prog_name: begun.append(words))
    monkeypatch.setenv("SIMVIZ_HOME", "")
    monkeypatch.setenv("SIMVIZ_PUBLIC", "")
    home = tmp_path / "home"
    assert main([str(pairs), "--no-browser", "--home", str(home)]) == 0
    _, files = Store(home).uploads.get(LOCAL_WORKSPACE)
    assert files == [("pairs.csv", pairs.read_bytes())]
    assert begun[0][0] == "run" and str(pairs) not in " ".join(begun[0])
    assert main([str(tmp_path / "none.csv"), "--home", str(home)]) == 2
    assert main([str(pairs), "--public", "--home", str(home)]) == 2
    assert len(begun) == 1


def test_a_port_that_is_taken_is_passed_over_or_refused(monkeypatch, tmp_path, capsys):
    import socket

    from simviz.workbench import server

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(server, "PORT", port)
        assert server.free_port("127.0.0.1") > port
        assert main(["--port", str(port), "--host", "127.0.0.1", "--no-browser"]) == 2
    assert "--port" in capsys.readouterr().err


def test_help_loads_no_library():
    code = (
        "import sys, simviz.cli\n"
        "try: simviz.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print({'numpy', 'streamlit', 'sklearn', 'torch'} & {*sys.modules} or 'none')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "simviz compare" in done.stdout and done.stdout.rstrip().endswith("none")


def test_train_on_vectors_of_one_space_says_what_they_do_alone(pairs, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8))
    columns = {"x": list(X), "y": list(X + 0.6 * rng.standard_normal(X.shape))}
    path, out = tmp_path / "vectors.parquet", str(tmp_path / "m.simviz")
    pd.DataFrame(columns).to_parquet(path)
    train = ["train", str(path), "--out", out, "--split", "pair", "--method"]
    few = ["--set", "n_components=3"]
    assert main([*train, "heterogeneous_svd", *few]) == 0
    said = capsys.readouterr().err
    assert "Validation MRR: heterogeneous_svd 0." in said and ", cosine " in said
    assert "The vectors alone do as well." in said
    assert main([*train, "cosine"]) == 0
    assert "Validation" not in capsys.readouterr().err
    assert main(["train", str(pairs), *train[2:], "cca", *few]) == 0
    assert "Validation" not in capsys.readouterr().err, "words are no ready vectors"
