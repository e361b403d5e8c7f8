"""The command ``simviz``: the workbench, runs compared, models trained and used.

Exit status: 0 done; 1 a fault of simviz; 2 wrong use, or a file that cannot be read or written;
130 interrupted; 141 nobody read the output; 143 ended by SIGTERM. Of ``simviz compare`` also 3
(behind the baseline) and 4 (cannot be told apart); of ``simviz audit`` 3 (pairs are listed).
"""

from __future__ import annotations

import ast
import errno
import json
import os
import signal
import sys
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isnan
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.data import PairSet
    from simviz.data.splitting import Split
    from simviz.evaluation.result import Record
    from simviz.pipeline import PairPipeline

# Python itself ends with 1 where it cannot go on, which must look like no verdict.
_FAULT, _REFUSED, _INTERRUPTED, _UNREAD, _ENDED = 1, 2, 130, 141, 143
_LISTED = 3
_COMPARED = {"ahead": 0, "behind": 3, "level": 4, "undecided": 4}
_STATUSES = f"""
  {_FAULT:<3}  a fault of simviz, in one line
  {_REFUSED:<3}  wrong use, or a file that cannot be read or written
"""
_REMEDIES = {
    errno.ENOENT: "Check the path; the folder of a new file must be there",
    errno.ENOSPC: "Make room on the disk",
    errno.EFBIG: "Make room, or raise the limit of this account",
}
_SPLITS = ("pair", "x", "y", "group", "column", "time")
_FORMS = {
    "numpy": "numpy_files", "onnx": "onnx_graphs", "dense": "dense_modules", "page": "model_page",
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, by default with the arguments of its line; return the exit status."""
    args = sys.argv[1:] if arguments is None else list(arguments)
    name = args.pop(0) if args and args[0] in _COMMANDS else ""
    parser, run = parser_of(name), _COMMANDS.get(name, _WORKBENCH)[2]
    if sys.stdout is None:  # closed by whoever started this
        sys.stdout = Path(os.devnull).open("w")
    from simviz.exceptions import SimvizError

    warnings.formatwarning = lambda message, *_: f"{_one_line(str(message))}\n"
    if run is not _workbench:  # Streamlit ends by it as it should
        _end_by_exception()
    try:
        status = run(parser.parse_intermixed_args(args))
        sys.stdout.flush()
    except KeyboardInterrupt:
        _report("\nStopped.\n")
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return _UNREAD
    except (SimvizError, ValueError, OSError, ImportError) as error:
        _drop_output()
        _report(f"simviz: {_one_line(_reason(error))}\n")
        return _REFUSED
    except Exception as error:
        _drop_output()
        _report(f"simviz: {_fault(error)}\n")
        return _FAULT
    return status


def parser_of(name: str) -> ArgumentParser:
    """What a command can be told on its line; without a name, the workbench."""
    summary, options, _ = _COMMANDS.get(name, _WORKBENCH)
    parser = ArgumentParser(
        f"simviz {name}".strip(),
        description=summary,
        epilog=_EPILOGS.get(name),
        formatter_class=RawDescriptionHelpFormatter,
    )
    for option, text, how in options:
        parser.add_argument(option, help=text, **how)
    return parser


def _end_by_exception() -> None:
    """Let SIGTERM end what is under way as Ctrl-C does: no file stays that is written in part."""

    def end(*_: object) -> None:
        _report("\nStopped.\n")
        raise SystemExit(_ENDED)

    with suppress(ValueError):  # only the main thread may
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, end)


def _reason(error: Exception) -> str:
    """What cannot be done, why, and what to do; the system names a file and a number."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    what = "The output" if error.filename is None else error.filename
    remedy = _REMEDIES.get(error.errno or 0, "Check the path and the permissions")
    return f"{what} cannot be read or written ({error.strerror}). {remedy}."


def _fault(error: Exception) -> str:
    """What went wrong where, on one line."""
    at = extract_tb(error.__traceback__)[-1]
    where = f"{Path(at.filename).name}, line {at.lineno}"
    return _one_line(f"a fault of simviz ({where}): {type(error).__name__}: {error}")


def _drop_output() -> None:
    """Point standard output nowhere: Python writes what is left of it when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _report(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _workbench(options: Namespace) -> int:
    from simviz.exceptions import SimvizError

    if options.version:
        from importlib.metadata import version

        sys.stdout.write(f"simviz {version('simviz')}\n")
        return 0
    if options.home is not None:
        os.environ["SIMVIZ_HOME"] = str(options.home.absolute())
    if options.public:
        os.environ["SIMVIZ_PUBLIC"] = "1"
    if options.files and os.environ.get("SIMVIZ_PUBLIC", "0").lower() in ("1", "true", "yes"):
        raise SimvizError(
            "A public server opens no files: its visitors would not be told from you. Leave out "
            "--public, or hand the files in on the Data page."
        )
    from simviz.workbench.server import serve

    serve(options.files, host=options.host, port=options.port, browser=not options.no_browser)
    return 0


def _compare(options: Namespace) -> int:
    from simviz.evaluation.run_values import read_run_values, run_name
    from simviz.reports.values import summarize_values, values_page, values_text

    runs = read_run_values(
        options.runs,
        options.qrels,
        options.metric,
        judged_only=options.judged_only,
        ignore_self=options.ignore_self,
        fuse=options.fuse,
    )
    baseline = options.baseline
    if baseline is not None and baseline not in runs.values:
        baseline = run_name(Path(baseline))
    summary = summarize_values(runs, baseline)
    if options.report is not None:
        _write(options.report, values_page(summary).encode())
    sys.stdout.write(_as_json(summary) if options.json else values_text(summary))
    return _COMPARED[summary["verdict"]]


def _as_json(tree: object) -> str:
    return json.dumps(tree, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _read(options: Namespace) -> PairSet:
    names: list[str] = options.files
    columns = {side: getattr(options, side) for side in "xy" if getattr(options, side) is not None}
    of_table = [*columns, *(["no-header"] if options.no_header else [])]
    if of_table and (len(names) > 1 or names[0].startswith("demo:") or Path(names[0]).is_dir()):
        raise ValueError(f"--{of_table[0]} is of one table; give one, or leave it out.")
    if names[0].startswith("demo:"):
        from simviz.datasets import load_demo

        return load_demo(names[0].removeprefix("demo:"))
    from simviz.data import read_pairs, read_table
    from simviz.data.collection.reader import read_collection
    from simviz.data.roles import named_roles

    for name in names:
        Path(name).stat()  # what is not there need not be guessed at
    whole = len(names) == 1 and (Path(names[0]).is_dir() or names[0].lower().endswith(".zip"))
    if of_table:
        header = not options.no_header
        roles = named_roles(read_table(names[0], header=header), columns) if columns else None
        result = read_pairs(names[0], roles=roles, header=header)
    else:
        result = read_collection(names[0] if whole else {Path(n).name: n for n in names})
    sides = (result.pairs.x_name, result.pairs.y_name)
    _report("Left side: {}; right side: {}.\n".format(*map(_one_line, sides)))
    for note in result.notes:
        _report(f"{_one_line(note)}\n")
    return result.pairs


def _parts(options: Namespace, pairs: PairSet) -> Split:
    from simviz.data import split

    return split(pairs, by=options.split, seed=options.seed)


def _audit(options: Namespace) -> int:
    from simviz.callbacks import terminal_progress
    from simviz.evaluation import audit

    if not 0 <= options.above <= 1:
        raise ValueError(f"--above is a probability from 0 to 1, got {options.above:g}.")
    audited = audit(_read(options), seed=options.seed, callback=terminal_progress("Auditing"))
    listed = audited[audited["probability_wrong"] > options.above]
    records = listed.to_dict("records")
    if options.json:
        tree = {"pairs": len(audited), **audited.attrs, "listed": records}
        sys.stdout.write(_as_json(tree))
    else:
        for one in records:
            better = f" -> {one['better_y']}" if one["better_y_id"] else ""
            line = _one_line(f"{one['x']} | {one['y']}{better} ({one['kind']})")
            sys.stdout.write(f"{one['probability_wrong']:.2f}  {line}\n")
        highest = audited["probability_wrong"].max()
        _report(
            f"{len(listed):,} of {len(audited):,} pairs; the most probable one "
            f"has {highest:.2f}.\n"
        )
        for note in audited.attrs["notes"]:
            _report(f"{note}\n")
    return _LISTED if len(listed) else 0


def _train(options: Namespace) -> int:
    from simviz.callbacks import terminal_progress
    from simviz.persistence import require_writable
    from simviz.pipeline import default_pipeline

    require_writable(options.out)
    pairs = _read(options)
    train, validation = pairs, None
    if options.split is not None:
        parts = _parts(options, pairs)
        train, validation = parts.train, parts.validation
    params = dict(map(_parameter, options.set))
    if taken := params.keys() & {"method", "pairs", "x", "y"}:
        raise ValueError(f"--set gives parameters of the method; {min(taken)} is none.")
    pipeline = default_pipeline(options.method, train, **params)
    pipeline.set_callbacks(terminal_progress(f"Training {options.method}"))
    pipeline.fit(train, validation).set_callbacks()
    pipeline.save(options.out)
    _report(f"Wrote {_one_line(str(options.out))}.\n")
    if validation is not None and validation.relevance.positives.nnz:
        _report(_beside_the_vectors(options.method, pipeline, train, validation))
    return 0


def _beside_the_vectors(
    method: str, pipeline: PairPipeline, train: PairSet, validation: PairSet
) -> str:
    """What the cosine of ready vectors does where a model learned from them; else nothing."""
    from simviz.data import default_direction
    from simviz.evaluation import default_metric, evaluate, verdict
    from simviz.pipeline import plain_cosine

    base = plain_cosine(pipeline, train)
    if base is None or method in ("cosine", "tfidf_cosine"):
        return ""
    metric, sides = default_metric(validation.relevance), (default_direction(validation),)
    evaluations = {
        name: evaluate(
            one, validation.x, validation.y, validation.relevance, [metric], directions=sides
        )
        for name, one in {method: pipeline, "cosine": base.fit(train)}.items()
    }
    outcome = verdict(evaluations, metric, sides, vectors=(method, "cosine"))
    values = ", ".join(f"{name} {one.value(metric):.3f}" for name, one in evaluations.items())
    return f"Validation {metric.name}: {values}. {outcome.describe(with_p=False)}\n"


def _parameter(text: str) -> tuple[str, Any]:
    """A name and a value: a number, True, None, or a text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set takes NAME=VALUE, got {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _evaluate(options: Namespace) -> int:
    from simviz.callbacks import terminal_progress
    from simviz.evaluation import evaluate
    from simviz.pipeline import load_pipeline

    pipeline, pairs = load_pipeline(options.model), _read(options)
    if options.split is not None:
        pairs = _parts(options, pairs).test
    sides, hear = (pairs.x, pairs.y, pairs.relevance), terminal_progress("Measuring")
    evaluation = evaluate(pipeline, *sides, options.metric, callback=hear)
    records = evaluation.to_records()
    if options.json:
        lines = [{**one, **_unknown(one)} for one in records]
        sys.stdout.write(_as_json({"pool": evaluation.pool, "records": lines}))
        return 0
    for one in records:
        error = one["standard_error"]
        value = "–" if isnan(one["value"]) else f"{one['value']:.4f}"
        interval = "" if isnan(error) else f"± {1.96 * error:.4f}"
        head = f"{one['metric']:<26} {one['direction']:<5} {value:>7}"
        sys.stdout.write(f"{head} {interval:<8}  ({one['n']:,})\n")
    return 0


def _unknown(one: Record) -> dict[str, str | None]:
    """Nothing in place of numbers that are NaN, and why."""
    missing: dict[str, str | None] = {}
    for name in ("standard_error", "value"):
        if isnan(one[name]):
            what = "one value of all pairs" if one["direction"] == "pairs" else "too few queries"
            missing |= {name: None, "reason": what}
    return missing


def _search(options: Namespace) -> int:
    from simviz.persistence import require_writable
    from simviz.pipeline import load_index, load_pipeline

    if options.save is not None:
        require_writable(options.save)
    if options.files is None:
        from simviz.exceptions import StoreError

        try:
            index = load_index(options.model)
        except StoreError:
            load_pipeline(options.model)  # which says what else is wrong with the file
            raise ValueError(
                f"{options.model} is a model without items to search among. "
                "Give some: --items FILE."
            ) from None
    else:
        path, items = Path(options.files[0]), None
        if path.suffix.lower() == ".txt":
            from simviz.data.sources import decode_text, load_bytes

            text, _ = decode_text(*load_bytes(path))
            items = [line for line in text.splitlines() if line.strip()]
        else:
            items = getattr(_read(options), options.side)
        index = load_pipeline(options.model).index(items, options.side)
    if options.save is not None:
        index.save(options.save)
        _report(f"Wrote {_one_line(str(options.save))}.\n")
    queries = options.queries
    if not queries and (options.save is None or not sys.stdin.isatty()):
        queries = [line for line in sys.stdin.read().splitlines() if line.strip()]
    if not queries:
        return 0
    nearest = index.search(queries, options.k)
    if options.json:
        sys.stdout.write(_as_json(nearest.to_dict("records")))
        return 0
    for query, rank, text, score in nearest[["query", "rank", "text", "score"]].itertuples(
        index=False
    ):
        if rank == 1:
            sys.stdout.write(f"{_one_line(query)}\n")
        sys.stdout.write(f"{rank:>4}  {score:8.4f}  {_one_line(text)}\n")
    return 0


def _one_line(text: str) -> str:
    """Text on one line of a terminal, which obeys none of it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _export(options: Namespace) -> int:
    from simviz import exports
    from simviz.exports.html import page_contents
    from simviz.pipeline import load_pipeline

    is_page = options.form == "page"
    if is_page != (options.files is not None):
        raise ValueError("A page holds items, no other form does: give --form page --items FILE.")
    ending = "html" if is_page else "zip"
    out = options.out or options.model.with_name(f"{options.model.stem}-{options.form}.{ending}")
    write, pipeline = getattr(exports, _FORMS[options.form]), load_pipeline(options.model)
    if is_page:
        pairs = _read(options)
        _report(f"{_one_line(page_contents(pairs))}\n")
        _write(out, write(pipeline, pairs).encode())
    else:
        _write(out, write(pipeline))
    _report(f"Wrote {_one_line(str(out))}.\n")
    return 0


def _methods(options: Namespace) -> int:
    from simviz.methods import all_methods

    for method, tags in sorted((method, cls.tags) for method, cls in all_methods().items()):
        sys.stdout.write(f"{method:<28} {tags.title:<34} {tags.year or '':<4}  {tags.uses}\n")
    return 0


def _write(path: Path, data: bytes) -> None:
    """Write a file whole, or not at all."""
    from simviz.persistence import replacing

    with replacing(path) as file:
        file.write(data)


def _precompile(options: Namespace) -> int:
    from simviz.precompile import main as precompile

    precompile([])
    return 0


#: Name, help, and what else `argparse` is told.
_Option = tuple[str, str, dict[str, Any]]
_FLAG: dict[str, Any] = {"action": "store_true"}
_PATH: dict[str, Any] = {"type": Path}
_ITEMS: dict[str, Any] = {"dest": "files", "nargs": 1, "metavar": "FILE"}
_MODEL: _Option = "model", "as simviz train wrote it", _PATH
_JSON: _Option = "--json", "print JSON", _FLAG
_SIDES: tuple[_Option, ...] = (
    ("--x", "column of a table with the left side", {"metavar": "COLUMN"}),
    ("--y", "column of a table with the right side", {"metavar": "COLUMN"}),
    ("--no-header", "the first line of a table is a pair, too", _FLAG),
)
_FILES: tuple[_Option, ...] = (
    ("files", "pairs: a table, a zip, a folder, several files, or demo:icons", {"nargs": "+"}),
    *_SIDES,
)
_PAIRS: tuple[_Option, ...] = (
    *_FILES,
    ("--split", "use a part of the pairs, and what must not be in two", {"choices": _SPLITS}),
    ("--seed", "of the split", {"type": int, "default": 0}),
)
#: What it does, in a line; its options; and what runs it.
_Command = tuple[str, tuple[_Option, ...], Callable[[Namespace], int]]
_WORKBENCH: _Command = (
    "Open the workbench in the browser, on files or without.",
    (
        ("files", "a table, a zip, a folder, or several files", {"nargs": "*", **_PATH}),
        ("--host", "address to listen on; 0.0.0.0 lets others in", {}),
        ("--port", "by default the first free one from 8501 on", {"type": int}),
        ("--public", "strangers may come: each has a workspace of its own", _FLAG),
        ("--home", "directory of data sets, runs and jobs", _PATH),
        ("--no-browser", "only serve", _FLAG),
        ("--version", "say which version this is", _FLAG),
    ),
    _workbench,
)
_COMMANDS: dict[str, _Command] = {
    "compare": (
        "Say which run is ahead, if not by luck.\nRuns are TREC runs or tables of query, document "
        "and score (with --qrels), tables of values\n(one row a query, one column a run), or "
        "folders of results of MTEB.",
        (
            ("runs", "files, or folders of MTEB", {"nargs": "+", **_PATH}),
            ("--qrels", "judgments: TREC's or a table such as BEIR's", _PATH),
            (
                "--metric",
                "such as NDCG@10 (linear gain, the default), MAP, MRR@10, recall@100, Judged@10",
                {},
            ),
            ("--judged-only", "leave out answers that nobody judged", _FLAG),
            ("--ignore-self", "leave out answers that are the query itself", _FLAG),
            ("--fuse", "add their fusion: by ranks, and as a weighted sum", _FLAG),
            ("--baseline", "compare all others with this run alone", {}),
            ("--report", "write a page of HTML too", _PATH),
            _JSON,
        ),
        _compare,
    ),
    "audit": (
        "List pairs that are probably wrong.",
        (
            *_FILES,
            (
                "--above",
                "list pairs that are wrong with more probability",
                {"type": float, "default": 0.5},
            ),
            ("--seed", "of folds and of swapped pairs", {"type": int, "default": 0}),
            _JSON,
        ),
        _audit,
    ),
    "train": (
        "Train a method on pairs, and save the model.",
        (
            *_PAIRS,
            ("--method", "such as cca, opca, s2net, bm25", {"default": "opca"}),
            (
                "--set",
                "a parameter of the method",
                {"action": "append", "default": [], "metavar": "NAME=VALUE"},
            ),
            ("--out", "file to write", {**_PATH, "default": Path("model.simviz")}),
        ),
        _train,
    ),
    "evaluate": (
        "Measure a model on pairs, or on a part of them.",
        (
            _MODEL,
            *_PAIRS,
            ("--metric", "may be repeated; the usual ones when omitted", {"action": "append"}),
            _JSON,
        ),
        _evaluate,
    ),
    "search": (
        "Ask a model for its nearest items.",
        (
            ("model", "as simviz train wrote it, or a saved index", _PATH),
            ("queries", "texts; else lines are read", {"nargs": "*"}),
            ("--items", "a text a line (.txt), or pairs", _ITEMS),
            *_SIDES,
            ("--side", "of which side items are", {"choices": ("x", "y"), "default": "y"}),
            ("-k", "items a query", {"type": int, "default": 10}),
            ("--save", "write model and items to one file too", _PATH),
            _JSON,
        ),
        _search,
    ),
    "export": (
        "Write a linear model for other programs.",
        (
            _MODEL,
            (
                "--form",
                "dense: modules of sentence-transformers; page: HTML that answers by itself",
                {"choices": _FORMS, "default": "numpy"},
            ),
            ("--items", "of a page: pairs to search among", _ITEMS),
            *_SIDES,
            ("--out", "file to write; MODEL-FORM.zip, or .html, by default", _PATH),
        ),
        _export,
    ),
    "methods": ("Name the methods: id, title, year, what they learn from.", (), _methods),
    "precompile": ("Compile now what is else compiled behind the app.", (), _precompile),
}
_LINES = [f"  simviz {name:<10}  {one[0].splitlines()[0]}\n" for name, one in _COMMANDS.items()]
_EPILOGS = {
    "": f"commands:\n{''.join(_LINES)}\n"
    "Each has a --help. A file named like a command is opened by ./NAME.\n"
    f"\nexit status:\n  0    done{_STATUSES}"
    f"  {_INTERRUPTED}  interrupted\n  {_UNREAD}  nobody read the output to its end\n"
    f"  {_ENDED}  ended by SIGTERM",
    "compare": "exit status:\n"
    "  0    the best run is ahead of the next; with --baseline: ahead of the baseline"
    f"{_STATUSES}"
    "  3    with --baseline: all others are behind the baseline\n"
    "  4    they cannot be told apart at 5 %\n"
    f"  {_UNREAD}  nobody read the output to its end",
    "audit": f"exit status:\n  0    no pair is listed{_STATUSES}"
    f"  {_LISTED}    pairs are listed\n  {_INTERRUPTED}  interrupted",
}
