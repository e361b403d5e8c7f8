"""Run an experiment: ``python -m simviz.experiments NAME [--data FOLDER]``."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait
from simviz.exceptions import SimvizError
from simviz.experiments import (
    SIZES,
    Progress,
    Size,
    Team,
    all_experiments,
    get_experiment,
    to_markdown,
)

_SUFFIXES = (".md", ".json")
_TELL_SECONDS = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, run, and write what was found."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.name == "list":
            _list()
        else:
            _run(asked)
    except (SimvizError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simviz.experiments",
        description="Run a table or figure of a paper again, on open data.",
    )
    parser.add_argument("name", help="id of the experiment, or 'list' for all of them")
    parser.add_argument("--data", type=Path, help="folder; the bundled demo when omitted")
    parser.add_argument(
        "--size", choices=SIZES, help="how much to try: demo without --data, else full"
    )
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument("--methods", nargs="+", metavar="ID", help="only these methods")
    parser.add_argument("--train", type=int, metavar="N", help="training items to keep")
    parser.add_argument("--pool", type=int, metavar="N", help="validation and test items to keep")
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        default=os.environ.get("SIMVIZ_SCHEDULER", ""),
        help="of a Dask cluster that does parts of it; SIMVIZ_SCHEDULER when omitted",
    )
    parser.add_argument("--output", type=Path, help="file to write, .md or .json; else stdout")
    return parser


def _list() -> None:
    for name, cls in all_experiments().items():
        year = f"{cls.paper.authors.split(',')[0].split(' & ')[0]} {cls.paper.year}"
        sys.stdout.write(f"{name}\n    {cls.title} ({year}, {cls.shown_as})\n")
        tried = f" Tried on: {', '.join(cls.sets)}." if cls.sets else ""
        sys.stdout.write(
            f"    Needs {cls.needs}; demo {cls.demo!r}, about {cls.minutes:g} min.{tried}\n"
        )


def _run(asked: argparse.Namespace) -> None:
    experiment = get_experiment(asked.name)
    experiment.chosen(asked.methods)
    if asked.output and asked.output.suffix not in _SUFFIXES:
        raise ValueError(f"--output ends in {' or '.join(_SUFFIXES)}; got {asked.output.name!r}.")
    size: Size = asked.size or ("demo" if asked.data is None else "full")
    begin = time.monotonic()
    data = experiment.load(
        asked.data, size=size, seed=asked.seed, n_train=asked.train, n_pool=asked.pool
    )
    with Team(asked.scheduler) if asked.scheduler else nullcontext() as team:
        progress = Progress(_Teller(), helpers=team)
        found = experiment.run(
            data, size=size, seed=asked.seed, methods=asked.methods, progress=progress
        )
    found = replace(found, seconds=time.monotonic() - begin, command=_command(asked, size))
    if asked.output and asked.output.suffix == ".json":
        text = json.dumps(found.to_json(), ensure_ascii=False, indent=1) + "\n"
    else:
        text = to_markdown(experiment, found)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


def _command(asked: argparse.Namespace, size: str) -> str:
    parts = ["python", "-m", "simviz.experiments", asked.name]
    # Where somebody keeps data is nobody's business.
    parts += [] if asked.data is None else ["--data", asked.data.name]
    parts += ["--size", size, "--seed", str(asked.seed)]
    parts += ["--methods", *asked.methods] if asked.methods else []
    parts += ["--train", str(asked.train)] if asked.train else []
    parts += ["--pool", str(asked.pool)] if asked.pool else []
    return shlex.join(parts)


class _Teller:
    """Says on stderr how far it is, but not more often than anybody reads."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._told, self._words = -_TELL_SECONDS, ""

    def __call__(self, words: str, fraction: float) -> bool:
        now = time.monotonic() - self._begin
        if words != self._words or now - self._told >= 15 * _TELL_SECONDS:
            self._told, self._words = now, words
            sys.stderr.write(f"[{now:6,.0f} s] {fraction:4.0%} {words}\n")
        return False


if __name__ == "__main__":
    sys.exit(main())
