"""Run experiments: ``python -m simviz.experiments NAME [--data FOLDER]``, or ``all``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait
from simviz.datasets import DEMOS
from simviz.exceptions import SimvizError
from simviz.experiments import SIZES, Experiment, Size, all_experiments, get_experiment
from simviz.experiments._findings import Findings, to_markdown
from simviz.experiments._progress import Listener, Progress
from simviz.persistence import lock, replacing

_SUFFIXES = (".md", ".json")
_REPORT_SECONDS = 30.0
#: They take long: `all` runs them where ``--only`` names them.
_LONG = ("siamese_blstm",)
#: Share of a run behind which its own speed tells what is left.
_TELLING = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, run, and write what was found."""
    parser = argparse.ArgumentParser(
        prog="python -m simviz.experiments",
        description="Run a table or figure of a paper again, on open data.",
    )
    for name, text, how in _ARGUMENTS:
        parser.add_argument(name, help=text, **how)
    options = parser.parse_args(arguments)
    # With another count of threads sums are rounded in another way, and items that nearly tie
    # change places: .001 of MAP. What is printed must not depend on the machine's cores.
    threadpool_limits(1, user_api="blas")
    try:
        return {"list": _list, "all": _run_all}.get(options.name, _run_one)(options)
    except (SimvizError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


_ARGUMENTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("name", "id of the experiment, 'list' to name all of them, or 'all' to run them", {}),
    ("--data", "folder; the bundled demo when omitted. With 'all', a folder that holds the "
     "folders of the sets; each experiment runs on its demo, too", {"type": Path}),
    ("--size", "how much to try: demo without --data, else full; full with 'all'",
     {"choices": SIZES}),
    ("--seed", "of everything random", {"type": int, "default": 0}),
    ("--methods", "only these methods", {"nargs": "+", "metavar": "ID"}),
    ("--train", "training items to keep", {"type": int, "metavar": "N"}),
    ("--pool", "validation and test items to keep", {"type": int, "metavar": "N"}),
    ("--output", "file to write, .md or .json; else stdout. With 'all', a folder of results, "
     "papers when omitted: what it holds is not run again", {"type": Path}),
    ("--only", f"with 'all': only these; {_LONG[0]} needs it", {"nargs": "+", "metavar": "NAME"}),
    ("--without", "with 'all': not these", {"nargs": "+", "metavar": "NAME"}),
    ("--results", "with 'all': file of all results that is written anew", {"type": Path}),
)  # fmt: skip


def _list(options: argparse.Namespace) -> int:
    for name, cls in all_experiments().items():
        year = f"{cls.paper.authors.split(',')[0].split(' & ')[0]} {cls.paper.year}"
        tried = f" Tried on: {', '.join(cls.sets)}." if cls.sets else ""
        sys.stdout.write(
            f"{name}\n    {cls.title} ({year}, {cls.shown_as})\n"
            f"    Needs {cls.needs}; demo {cls.demo!r}, about {cls.minutes:g} min, full "
            f"{cls().estimate('full'):.2g} min.{tried}\n"
        )
    return 0


def _run_one(options: argparse.Namespace) -> int:
    experiment, output = get_experiment(options.name), options.output
    experiment.selected_methods(options.methods)
    if output and output.suffix not in _SUFFIXES:
        raise ValueError(f"--output ends in {' or '.join(_SUFFIXES)}; got {output.name!r}.")
    size: Size = options.size or ("demo" if options.data is None else "full")
    findings = _findings(experiment, size, options, _reporter())
    is_json = output and output.suffix == ".json"
    text = _json(findings.to_json()) if is_json else to_markdown(experiment, findings)
    if output:
        _write(output, text)
    else:
        sys.stdout.write(text)
    return 0


def _json(tree: Any) -> str:
    return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"


def _findings(
    experiment: Experiment[Any],
    size: Size,
    options: argparse.Namespace,
    heard: Listener,
    folder: Path | None = None,
) -> Findings:
    """Run an experiment once; what the options say of data and methods is its command."""
    begin = time.monotonic()
    how: Any = {"size": size, "seed": options.seed}
    data = experiment.load(options.data, **how, n_train=options.train, n_pool=options.pool)
    progress = Progress(heard, folder=folder)
    found = experiment.run(data, **how, methods=options.methods, progress=progress)
    command = experiment.command(
        size, options.seed, methods=options.methods, train=options.train, pool=options.pool,
        # Where somebody keeps data is nobody's business.
        data=options.data and options.data.name,
    )  # fmt: skip
    return replace(found, seconds=time.monotonic() - begin, command=command)


class _Run(NamedTuple):
    """An experiment on one of its sets, and where its result is kept."""

    experiment: Experiment[Any]
    data: str
    size: Size
    file: Path

    def stored(self) -> tuple[bool, Findings | None]:
        """Whether a result of this protocol is there, and what is."""
        try:
            tree = json.loads(self.file.read_text(encoding="utf-8"))
            return tree["protocol"] == self._protocol, Findings.from_json(tree["findings"])
        except (OSError, ValueError, KeyError, TypeError):
            return False, None

    def do(self, options: argparse.Namespace, heard: Listener) -> None:
        """Run it, unless another process does or has done so."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        place = self.file.with_suffix(".lock")
        with place.open("a") as file:
            if not lock(file):
                return
            if not self.stored()[0]:
                self._run(options, heard)
        place.unlink(missing_ok=True)

    def _run(self, options: argparse.Namespace, heard: Listener) -> None:
        train, pool = self.experiment.limits.get(self.data, (None, None))
        data = self.folder(options) if self.data else None
        here = argparse.Namespace(**{**vars(options), "train": train, "pool": pool, "data": data})
        steps = self.file.parent / "steps" / f"{self.file.stem}-{self._protocol}"
        found = _findings(self.experiment, self.size, here, heard, steps)
        _write(self.file, _json({"protocol": self._protocol, "findings": found.to_json()}))
        shutil.rmtree(steps, ignore_errors=True)

    def folder(self, options: argparse.Namespace) -> Path:
        """Where its data are, or the name of a demo."""
        return Path(self.data) if self.data in DEMOS else Path(options.data, self.data)

    @property
    def _protocol(self) -> str:
        return self.experiment.protocol(self.size)

    @property
    def words(self) -> str:
        return f"{self.experiment.id} on {self.data or self.experiment.demo}"


def _run_all(options: argparse.Namespace) -> int:
    """Run every experiment on each of its sets, but for what is there already."""
    if options.methods or options.train or options.pool:
        raise ValueError("--methods, --train and --pool go with one experiment, not with 'all'.")
    size: Size = options.size or "full"
    left_out = [get_experiment(name).id for name in options.without or ()]
    left_out += [] if options.only else _LONG
    runs, waiting = [], []
    for experiment in map(get_experiment, options.only or all_experiments()):
        for data in ("", *(s for s in experiment.sets if s in DEMOS or options.data)):
            name = f"{experiment.id}-{data or 'demo'}-{size}-{options.seed}.json"
            run = _Run(experiment, data, size, (options.output or Path("papers")) / name)
            if experiment.id in left_out:
                continue
            if data and data not in DEMOS and not run.folder(options).is_dir():
                sys.stderr.write(f"{run.words}: {options.data} has no such folder\n")
                continue
            runs.append(run)
            done, before = run.stored()
            if not done:
                seconds = before.seconds if before else 60 * experiment.estimate(size, data)
                stale = ", of another protocol before" if before else ""
                sys.stderr.write(f"{run.words}: about {seconds / 60:,.1f} min{stale}\n")
                waiting.append((run, seconds))
    left, failed = sum(seconds for _, seconds in waiting), 0
    sys.stderr.write(
        f"{len(runs) - len(waiting)} known, {len(waiting)} to run, about {left / 60:,.0f} min\n"
    )
    waiting.sort(key=lambda one: -one[1])  # processes that share them end at about the same time
    for number, (run, seconds) in enumerate(waiting, 1):
        left -= seconds
        heard = _reporter(f"{number}/{len(waiting)} {run.words}: ", seconds, left)
        try:
            run.do(options, heard)
        except (SimvizError, ValueError) as error:
            sys.stderr.write(f"{run.words}: {error}\n")
            failed = 1
    if options.results:
        known = [found for done, found in (run.stored() for run in runs) if done and found]
        _write(options.results, _results(options.results, known))
    return failed


def _results(file: Path, findings: Sequence[Findings]) -> str:
    """What a file of results has, with what was found in place of what it had of the same."""
    there = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    trees = {(tree["experiment"], tree["data"]): tree for tree in there}
    for one in findings:
        trees[one.experiment, one.data] = replace(one, figures=()).to_json()
    text = ",\n".join(json.dumps(tree, ensure_ascii=False) for tree in trees.values())
    return f"[\n{text}\n]\n"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as draft:
        draft.write(text.encode())


def _reporter(head: str = "", expected: float = 0.0, later: float = 0.0) -> Listener:
    """Reports on stderr how far it is, but not more often than anybody reads."""
    begin, reported, said = time.monotonic(), 0.0, ""

    def heard(message: str, fraction: float) -> bool:
        nonlocal reported, said
        now = time.monotonic() - begin
        if message != said or now - reported >= _REPORT_SECONDS:
            reported, said = now, message
            whole = now / fraction if fraction >= _TELLING else expected
            left = max(whole - now, 0.0) + later
            behind = f", about {left / 60:,.0f} min left" if expected else ""
            sys.stderr.write(f"[{now:6,.0f} s{behind}] {head}{fraction:4.0%} {message}\n")
        return False

    return heard


if __name__ == "__main__":
    sys.exit(main())
