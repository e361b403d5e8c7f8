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
_REPORT_SECONDS = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, run, and write what was found."""
    options = _parser().parse_args(arguments)
    try:
        if options.name == "list":
            _list()
        else:
            _run(options)
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


def _run(options: argparse.Namespace) -> None:
    experiment = get_experiment(options.name)
    experiment.chosen(options.methods)
    if options.output and options.output.suffix not in _SUFFIXES:
        raise ValueError(
            f"--output ends in {' or '.join(_SUFFIXES)}; got {options.output.name!r}."
        )
    size: Size = options.size or ("demo" if options.data is None else "full")
    begin = time.monotonic()
    data = experiment.load(
        options.data, size=size, seed=options.seed, n_train=options.train, n_pool=options.pool
    )
    with Team(options.scheduler) if options.scheduler else nullcontext() as team:
        progress = Progress(_StderrProgress(), helpers=team)
        findings = experiment.run(
            data, size=size, seed=options.seed, methods=options.methods, progress=progress
        )
    findings = replace(findings, seconds=time.monotonic() - begin, command=_command(options, size))
    if options.output and options.output.suffix == ".json":
        text = json.dumps(findings.to_json(), ensure_ascii=False, indent=1) + "\n"
    else:
        text = to_markdown(experiment, findings)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


def _command(options: argparse.Namespace, size: str) -> str:
    parts = ["python", "-m", "simviz.experiments", options.name]
    # Where somebody keeps data is nobody's business.
    parts += [] if options.data is None else ["--data", options.data.name]
    parts += ["--size", size, "--seed", str(options.seed)]
    parts += ["--methods", *options.methods] if options.methods else []
    parts += ["--train", str(options.train)] if options.train else []
    parts += ["--pool", str(options.pool)] if options.pool else []
    return shlex.join(parts)


class _StderrProgress:
    """Reports on stderr how far it is, but not more often than anybody reads."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._reported, self._words = -_REPORT_SECONDS, ""

    def __call__(self, words: str, fraction: float) -> bool:
        now = time.monotonic() - self._begin
        if words != self._words or now - self._reported >= 15 * _REPORT_SECONDS:
            self._reported, self._words = now, words
            sys.stderr.write(f"[{now:6,.0f} s] {fraction:4.0%} {words}\n")
        return False


if __name__ == "__main__":
    sys.exit(main())
