"""Every command line that the docs print runs, and every option is told there.

``make format`` writes the example of ``simviz compare`` anew.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import simviz
from simviz import exceptions
from simviz.cli import main
from simviz.data import ReadingLimits
from simviz.evaluation.trec import trec_qrels, trec_run

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]
DOCS = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
COMMANDS = ROOT / "docs" / "commands.md"
EXAMPLE = re.compile(r"`(simviz compare bm25.trec tfidf.trec [^`]*)` says:\n\n```\n(.*?)```", re.S)
#: Mentioned, not run: a part of a command, or what has no end of its own.
NAMED = ("simviz [files]", "simviz compare", "simviz compare --baseline", "simviz audit")
BY_A_SHELL = (
    "simviz compare <(zcat a.gz) /dev/stdin --qrels q.txt.gz",
    "simviz compare new.trec old.trec --qrels q.txt --baseline old || [ $? -eq 4 ]",
)
#: Programs of others.
OTHERS = ("dask", "docker", "export", "pip", "uvx")


def printed():
    """Lines of shell in the docs, in the order in which they stand, each once."""
    blocks = re.findall(r"^```sh\n(.*?)^```", DOCS, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`((?:simviz|python) [^`\n]+)`", DOCS)
    found = (re.sub(r"\s+# .*", "", line).strip() for line in lines)
    return list(dict.fromkeys(line for line in found if line and not line.startswith("#")))


def program(line):
    return Path(next(word for word in line.split() if "=" not in word)).name


def of_simviz():
    """What starts with `simviz` and is a whole command."""
    lines = [line for line in printed() if program(line) == "simviz"]
    return [line for line in lines if line not in NAMED]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the docs name."""
    folder = tmp_path_factory.mktemp("files")
    texts = [f"item{i} of group{i % 61} and kind{i % 83}" for i in range(200)]
    pairs = "query,answer\n" + "".join(f"{text},the {text} one\n" for text in texts)
    files = {
        "pairs.csv": pairs,
        "folder/pairs.csv": pairs,
        "titles.txt": "\n".join(texts),
        "queries.txt": "how do I reset it?\nblue b\n",
        "queries.tsv": "id\ttext\n1\tred a\n2\tblue b\n",
        "corpus.jsonl": '{"_id": "1", "text": "the red"}\n{"_id": "2", "text": "the blue"}\n',
        "qrels.txt": "1 0 1 1\n2 0 2 1\n",
        "q.txt": "1 0 1 1\n2 0 2 1\n",
        "scores.csv": "query,a,b\n1,0.5,0.25\n2,0.75,0.25\n3,0.5,0.5\n",
    }
    for name, right in (("bm25", 2), ("dense", 1), ("new", 2), ("old", 1), ("tfidf", 2)):
        ranked = ("1 Q0 1 1 2.0", "1 Q0 2 2 1.0", f"2 Q0 {right} 1 2.0")
        files[f"{name}.trec"] = "".join(f"{line} {name}\n" for line in ranked)
    for model, value in (("model_a", 0.5), ("model_b", 0.25)):
        for task in ("STS12", "STS13"):
            scores = {"test": [{"main_score": value, "hf_subset": "default"}]}
            found = {"task_name": task, "scores": scores}
            files[f"results/{model}/{task}.json"] = json.dumps(found)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name in ("bm25.trec", "q.txt"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    (folder / "bm25.trec.gz").rename(folder / "a.gz")
    return folder


def test_every_line_of_simviz_runs(folder, monkeypatch, capsys):
    served = []
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SIMVIZ_HOME", str(folder / "home"))
    monkeypatch.setattr("streamlit.web.cli.main", lambda words, prog_name: served.append(words))
    # It silences the process that it is called in, which is meant to end with it.
    monkeypatch.setattr("simviz.precompile.main", served.append)
    in_process = [line for line in of_simviz() if line not in BY_A_SHELL]
    assert len(in_process) >= 14
    for line in in_process:
        words = shlex.split(line)[1:]
        if "<" in words:
            asked = Path(words.pop()).read_text()
            monkeypatch.setattr(sys, "stdin", io.StringIO(asked))
            words.remove("<")
        assert main(words) in (0, 3, 4), (line, capsys.readouterr().err)
    assert len(served) >= 6 and [] in served
    assert Path("titles.simviz").exists() and Path("index.simviz").exists()


@pytest.mark.parametrize("line", BY_A_SHELL)
def test_lines_with_pipes_run(line, folder):
    assert line in of_simviz()
    call = f'simviz() {{ {shlex.quote(sys.executable)} -m simviz "$@"; }}; {line} < dense.trec'
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        ["bash", "-c", call], cwd=folder, env=path, capture_output=True, text=True
    )
    assert told.returncode in (0, 4) and "cannot be told apart" in told.stdout, told.stderr


def test_other_programs_are_told_what_is_there():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    built = re.findall(r"run: (make .+)", release)
    assert built and "secrets" not in release
    for line in (*printed(), *built):
        words = [word for word in line.split() if "=" not in word]
        if words[0] == "make":
            assert words[1] in targets, line
        elif program(line) == "python" and words[1] == "-m":
            assert importlib.util.find_spec(words[2]), line
        elif program(line) == "python":
            assert (ROOT / words[1]).exists(), line
        else:
            assert program(line) in (*OTHERS, "simviz"), line
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"python ((?:benchmarks|tests)/[\w/]+\.py)", text)
    assert len(named) > 20 and all((ROOT / name).exists() for name in named)


@pytest.mark.parametrize(
    "command",
    ["", "compare", "audit", "train", "evaluate", "search", "export", "methods", "precompile"],
)
def test_the_docs_have_every_option(command, capsys):
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    options = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert options and not [o for o in options if not re.search(rf"{o}\b", DOCS)]


def test_the_docs_have_every_variable_and_error():
    sources = [*(ROOT / "simviz").rglob("*.py"), ROOT / "app.py"]
    variables = {
        name
        for source in sources
        for name in re.findall(r"SIMVIZ_[A-Z_]*[A-Z]", source.read_text(encoding="utf-8"))
    }
    errors = {name for name, kind in vars(exceptions).items() if isinstance(kind, type)}
    assert "SIMVIZ_HOME" in variables and "DatasetError" in errors
    limits = {f"SIMVIZ_MAX_{name.upper()}" for name in ReadingLimits.__dataclass_fields__}
    assert not [name for name in variables - limits | errors if name not in DOCS]


def example():
    """What the command says of two methods on a demo."""
    result = simviz.compare(simviz.load_demo("pydocs"), {"bm25": "bm25", "tfidf": "tfidf_cosine"})
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()) as out:
        files = {"qrels.txt": trec_qrels(result.parts.test)}
        for name, pipeline in result.pipelines.items():
            files[f"{name}.trec"] = trec_run(pipeline, result.parts.test)
        for name, pieces in files.items():
            Path(folder, name).write_text("".join(pieces), encoding="utf-8")
        runs = [f"{folder}/{name}.trec" for name in result.pipelines]
        main(["compare", *runs, "--qrels", f"{folder}/qrels.txt", "--metric", "MRR"])
    return out.getvalue()


def test_the_example_is_what_the_command_says():
    # Apart from other tests, which cut demos.
    call = [sys.executable, "-c", "import test_commands; print(test_commands.example(), end='')"]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}
    told = subprocess.run(call, env=path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    said, printed = told.stdout, EXAMPLE.search(DOCS)[2]
    figure = re.compile(r"[−+-]?\d[\d.,]*\d|\d")
    assert figure.sub("#", said) == figure.sub("#", printed), "run: make format"
    # The demo is made of installed packages: their next versions may shift the third digit.
    figures = [figure.findall(text.replace("−", "-")) for text in (said, printed)]
    ours, theirs = ([float(n) for n in found if re.match(r"[-+]?0?\.", n)] for found in figures)
    assert ours and ours == pytest.approx(theirs, abs=0.03), "run: make format"


if __name__ == "__main__":
    text, said = COMMANDS.read_text(encoding="utf-8"), example()
    at = EXAMPLE.search(text).span(2)
    COMMANDS.write_text(text[: at[0]] + said + text[at[1] :], encoding="utf-8")
