"""Damaged and crafted model files: what reading and using each of them leads to.

    python tests/soak/damage.py                               # 2,000 damaged, 200 crafted
    python tests/soak/damage.py --damaged 0 --crafted 5000 --seed 1

fits a small model of every method, and a few of other features and a blend. A damaged file is one
whose bytes were changed, a crafted one is whole and says something else. Each is loaded, and asked
for similarities, in a process of its own kind; it may be refused (`StoreError`) or answer with
finite numbers of the right shape. Another error, a signal, more than 5 s of processor time, or
more than twice the memory that the undamaged file takes is a fault, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import os
import random
import resource
import select
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

SECONDS = 5.0
MEMORY = 2.0
_TREE, _ARRAYS = "objects.json", "arrays.safetensors"
_ODD = (None, True, 0, -1, 1, 2, 10**6, 10**9, 10**12, 10**30, 10**4000, 0.5, -3.5, 1e30, 1e308,
        float("nan"), float("inf"), "8", "", [], [1, 2], [[[]]], {}, {"list": [], "as": "tuple"},
        {"list": [1, 10**6], "as": "tuple"}, {"list": ["a"] * 3, "as": "str"})  # fmt: skip
Members = dict[str, bytes]


def fit_models(folder: Path) -> None:
    """A small model of every method, and of features and a blend besides."""
    import simviz

    warnings.simplefilter("ignore")
    parts = simviz.split(simviz.load_demo("emoji"), by="x", fractions=(0.05, 0.05, 0.9), seed=0)
    pairs, icons = parts.train, simviz.load_demo("icons")
    icons = simviz.split(icons, by="y", fractions=(0.05, 0.05, 0.9), seed=0).train
    few = {"n_components": 4, "max_iter": 2, "hidden_units": 8, "embedding_size": 4, "n_grams": 64}

    def pipeline(method: str, data: Any, **more: Any) -> Any:
        known = simviz.all_methods()[method]().get_params()
        given = {k: v for k, v in few.items() if k in known}
        return simviz.default_pipeline(method, data, **given | more)

    made = {m: pipeline(m, pairs) for m in simviz.all_methods()}
    made["kernel_cca_shared"] = pipeline("kernel_cca", pairs, shared=True)
    made["ssi_full"] = pipeline("ssi", pairs, form="full", shared=False)
    made["query_expansion_lsa"] = pipeline("query_expansion", pairs, base="lsa")
    hashed = simviz.features.HashedText(2_000)
    model = simviz.all_methods()["lsa"](n_components=4)
    made["hashed"] = simviz.PairPipeline(model, hashed)
    made["blend"] = simviz.BlendPipeline(made["cca"], made["bm25"])
    for name, one in made.items():
        try:
            one.fit(pairs).save(folder / f"{name}.simviz")
        except ImportError:
            print(f"{name} needs a package that is not installed and is left out")
    for method in ("cca", "kernel_heterogeneous_svd"):
        pipeline(method, icons).fit(icons).save(folder / f"{method}_icons.simviz")


def damaged(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A file some of whose bytes were changed, and what was done to it."""
    how = rng.choice([flipped, cut, zeroed, doubled, members_changed, headers_changed])
    return how.__name__, how(bytearray(data), rng)


def flipped(data: bytearray, rng: random.Random) -> bytes:
    # Of most files all but some hundred bytes are numbers, which have a checksum.
    near_end = rng.random() < 0.4
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        at = rng.randrange(max(0, len(data) - 300) if near_end else 0, len(data))
        data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut(data: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return bytes(data[:at]) if rng.random() < 0.7 else bytes(data[at:])


def zeroed(data: bytearray, rng: random.Random) -> bytes:
    at, n = rng.randrange(len(data)), rng.choice([4, 100, 10_000])
    data[at : at + n] = bytes(len(data[at : at + n]))
    return bytes(data)


def doubled(data: bytearray, rng: random.Random) -> bytes:
    at, n = rng.randrange(len(data)), rng.choice([1, 30, 3_000])
    return bytes(data[:at] + data[at : at + n] * 2 + data[at + n :])


def members_changed(data: bytearray, rng: random.Random) -> bytes:
    """Members removed, renamed, repeated, exchanged, or packed in another way."""
    members = unpacked(bytes(data))
    names = list(members)
    what = rng.randrange(6)
    out = io.BytesIO()
    packings = [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA] if what == 0 else [zipfile.ZIP_DEFLATED]
    method = rng.choice(packings)
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")
        if what == 1:
            names.remove(rng.choice(names))
        elif what == 2:
            names.append(rng.choice(names))
        for name in names:
            renamed = {_TREE: "../objects.json", _ARRAYS: "arrays.pickle"} if what == 3 else {}
            other = {_TREE: _ARRAYS, _ARRAYS: _TREE} if what == 4 else {}
            archive.writestr(renamed.get(name, name), members[other.get(name, name)])
        if what == 5:
            archive.writestr("more.bin", bytes(rng.choice([0, 10, 10**7])))
    return out.getvalue()


def headers_changed(data: bytearray, rng: random.Random) -> bytes:
    """Fields of zip headers: flags, method, checksum, sizes, offsets."""
    fields = {b"PK\1\2": (8, 10, 16, 20, 24, 28, 42), b"PK\3\4": (6, 8, 14, 18, 22, 26)}
    marks = [(i, m) for m in fields for i in range(len(data) - 4) if data[i : i + 4] == m]
    for at, mark in rng.sample(marks, min(len(marks), rng.choice([1, 2, 4]))):
        field = at + rng.choice(fields[mark])
        value = rng.choice([0, 1, 12, 14, 99, 0xFFFF, 2**31, 0xFFFFFFFF, rng.getrandbits(32)])
        short = field - at in (6, 8, 10, 26, 28)
        new = struct.pack("<H", value & 0xFFFF) if short else struct.pack("<I", value)
        data[field : field + len(new)] = new
    return bytes(data)


def crafted(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A whole file that says something else, and what was changed."""
    members = unpacked(data)
    how = rng.choice([*[array_changed] * 6, *[node_changed] * 6, vocabulary_changed,
                      vocabulary_changed, header_changed, tree_replaced, bomb])  # fmt: skip
    level = how(members, rng) or 1
    return how.__name__, packed(members, level)


def unpacked(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Members, level: int = 1) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def write_arrays(members: Members, arrays: dict[str, Any], **claims: Any) -> None:
    """Replace the arrays; `claims` are put into the entries of the header as they are."""
    data = save({name: array.copy() for name, array in arrays.items()})
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    for name, claim in claims.items():
        header[name] |= claim
    text = json.dumps(header).encode()
    members[_ARRAYS] = len(text).to_bytes(8, "little") + text + data[start:]


def array_changed(members: Members, rng: random.Random) -> None:
    arrays = load(members[_ARRAYS])
    if not arrays:
        return node_changed(members, rng)
    name = rng.choice(list(arrays))
    array = arrays[name].copy()

    def one_odd(a: Any, at: int) -> Any:
        return np.where(np.arange(a.size).reshape(a.shape) == at, odd, a).astype(a.dtype)

    changes: list[Callable[[Any], Any]] = [
        lambda a: a[:1],
        lambda a: a[:-1],
        lambda a: a[:0],
        lambda a: a[..., :1],
        lambda a: a[..., :0],
        lambda a: np.concatenate([a, a]),
        lambda a: np.concatenate([a, a[..., :1]], axis=-1),
        lambda a: a.T,
        lambda a: a.ravel(),
        lambda a: a[None],
        lambda a: a.reshape(-1)[0] if a.size else a,
        lambda a: a.astype(rng.choice(["f2", "f4", "f8", "i1", "i4", "i8", "u8", "?"])),
        lambda a: one_odd(a, a.size // 2),
        lambda a: one_odd(a, 0),
        lambda a: np.full_like(a, odd),
        lambda a: a[::-1],
        lambda a: -a,
    ]
    if array.dtype.kind == "f":
        odd: Any = rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30])
    else:
        odd = rng.choice([-1, 0, 10**6, 2**31 - 1, -(2**31)])
    with np.errstate(all="ignore"):
        arrays[name] = np.asarray(rng.choice(changes)(array))
    write_arrays(members, arrays)


def nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Every place in a tree, but for the strings of vocabularies, as container and key."""
    found: list[tuple[Any, Any]] = []
    items: Any = tree.items() if isinstance(tree, dict) else enumerate(tree[:5])
    for key, value in items:
        found.append((tree, key))
        if isinstance(value, dict | list):
            found += nodes(value)
    return found


def node_changed(members: Members, rng: random.Random) -> None:
    tree = json.loads(members[_TREE])
    for _ in range(rng.choice([1, 1, 1, 2])):
        places = nodes(tree)
        container, key = rng.choice(places)
        what = rng.random()
        if what < 0.15 and isinstance(container, dict):
            del container[key]
        elif what < 0.25:
            other, place = rng.choice(places)
            container[key] = copy.deepcopy(other[place])
        elif what < 0.3 and isinstance(container, dict):
            container["another_"] = copy.deepcopy(container[key])
        else:
            container[key] = rng.choice(_ODD)
    members[_TREE] = as_json(tree)


def as_json(tree: Any) -> bytes:
    sys.set_int_max_str_digits(0)
    return json.dumps(tree).encode()


def vocabulary_changed(members: Members, rng: random.Random) -> None:
    tree = json.loads(members[_TREE])
    lists = [
        (holder["fitted"], name)
        for holder in tree["objects"].values()
        for name in holder.get("fitted", {})
        if name in ("vocabulary_", "alphabet_", "keys_")
    ]
    if not lists:
        return node_changed(members, rng)
    holder, name = rng.choice(lists)
    terms = holder[name]["list"]
    changes: list[Callable[[], Any]] = [
        lambda: terms[:-1],
        lambda: terms[:1],
        lambda: [],
        lambda: [*terms, "never seen"],
        lambda: [terms[0]] * len(terms),
        lambda: [*terms[1:], 5],
        lambda: [*terms[1:], None],
        lambda: [*terms[1:], [1]],
        lambda: terms[::-1],
        lambda: [*terms, *(f"t{i}" for i in range(rng.choice([1_000, 2_000_000])))],
        lambda: [*terms[1:], "\ud800"],
    ]
    holder[name]["list"] = rng.choice(changes)()
    if rng.random() < 0.5:  # the widths say the same, the arrays do not
        for value in tree["objects"].values():
            for width in ("n_features_in_", "n_features_y_"):
                if width in value.get("fitted", {}):
                    value["fitted"][width] = len(holder[name]["list"])
    members[_TREE] = as_json(tree)


def header_changed(members: Members, rng: random.Random) -> None:
    """A header that declares arrays which are not there."""
    arrays = load(members[_ARRAYS])
    if not arrays:
        return tree_replaced(members, rng)
    name = rng.choice(list(arrays))
    n = rng.choice([10**9, 2**40, 2**63, -1, 0])
    claim = rng.choice([
        {"shape": [n]}, {"shape": [n, n]}, {"data_offsets": [0, n]}, {"data_offsets": [n, 0]},
        {"dtype": "F8_E4M3"}, {"dtype": 5}, {"shape": "x"}, {"shape": [0.5]}, {"data_offsets": []},
        {"shape": [n], "data_offsets": [0, 4 * n]}, {"shape": [1] * 100},
    ])  # fmt: skip
    write_arrays(members, arrays, **{name: claim})
    if rng.random() < 0.2:
        length = rng.choice([0, 1, 2**20, 2**40, 2**64 - 1])
        members[_ARRAYS] = length.to_bytes(8, "little") + members[_ARRAYS][8:]


def tree_replaced(members: Members, rng: random.Random) -> None:
    tree = json.loads(members[_TREE])
    name = next(iter(tree["objects"]))
    members[_TREE] = rng.choice([
        b"[" * 10**6, b'{"a":' * 10**6, b"null", b"5", b'"x"', b"[]", b"\xff\xfe", b"", b"{",
        b'{"format": "simviz-2"}', b'{"format": "simviz-2", "objects": []}',
        b'{"format": "simviz-2", "objects": {}}', b"9" * 10**6, b"[" + b"[]," * 300_000 + b"0]",
        nested(tree["format"], name).encode(), b'{"format": 1e400}',
    ])  # fmt: skip


def nested(version: str, name: str) -> str:
    """An estimator in an estimator in an estimator, hundreds of times."""
    inner = '{"class": "LSA", "params": {}, "fitted": {}}'
    for _ in range(300):
        inner = f'{{"class": "QueryExpansion", "params": {{"base": {inner}}}, "fitted": {{}}}}'
    return f'{{"format": "{version}", "objects": {{"{name}": {inner}}}}}'


def bomb(members: Members, rng: random.Random) -> int:
    """Much from little: zeros, spaces, long strings."""
    what = rng.randrange(4)
    if what == 0:
        members[_ARRAYS] = bytes(200_000_000)
    elif what == 1:
        members[_TREE] = members[_TREE] + b" " * 200_000_000
    elif what == 2:
        arrays = load(members[_ARRAYS])
        write_arrays(members, {**arrays, "more": np.zeros(25_000_000)})
    else:
        tree = json.loads(members[_TREE])
        texts = ["x" * 50_000, *[""] * 50_000]
        next(iter(tree["objects"].values()))["fitted"] = {"a_": {"list": texts, "as": "str"}}
        members[_TREE] = as_json(tree)
    return rng.choice([1, 9])


def work(folder: Path) -> None:
    """Answer a file's path a line with how long it took, what it took and what came of it."""
    import simviz
    from simviz.base import EmbeddingModel
    from simviz.exceptions import StoreError

    warnings.simplefilter("ignore")
    sides = {}
    for name in ("emoji", "icons"):
        pairs = simviz.load_demo(name)
        sides[name] = pairs.x.take(np.arange(5)), pairs.y.take(np.arange(7))
    known: dict[str, Any] = {}
    base = peak(reset=True)

    def run(path: Path, x: Any, y: Any) -> tuple[str, Any]:
        try:
            loaded = simviz.load_pipeline(path)
        except StoreError as error:
            return "refused", str(error)
        answer = loaded.similarity(x, y)
        if isinstance(getattr(loaded, "model_", None), EmbeddingModel):
            for vectors in (loaded.transform(x), loaded.transform_y(y)):
                if vectors.shape[1] != loaded.model_.n_components_:
                    return "fault", f"vectors of shape {vectors.shape}"
        if answer.shape != (len(x), len(y)) or answer.dtype.kind != "f":
            return "fault", f"shape {answer.shape}, {answer.dtype}"
        return "answered", answer

    for line in sys.stdin:
        path, model = (Path(part) for part in json.loads(line))
        x, y = sides["icons" if "icons" in model.name else "emoji"]
        if model.name not in known:
            run(model, x, y)  # compiles, loads what is loaded once
            before = peak(reset=True)
            known[model.name] = run(model, x, y)[1], peak() - before
        honest, usual = known[model.name]
        before, start = peak(reset=True), time.process_time()
        try:
            kind, found = run(path, x, y)
        except BaseException as error:
            kind, found = "fault", f"{type(error).__name__}: {error}"
        seconds, taken = time.process_time() - start, peak() - before
        if kind == "answered":
            same = np.array_equal(found, honest)
            kind = "equal" if same else "other" if np.isfinite(found).all() else "fault"
            found = "" if kind != "fault" else "numbers that are not finite"
        # Of a process that has done nothing else: what libraries keep counts for neither.
        said = {"kind": kind, "seconds": seconds, "share": (base + taken) / (base + usual)}
        print(json.dumps(said | {"said": str(found)[:300]}), flush=True)


def peak(reset: bool = False) -> int:
    """Bytes that this process held at most since it was last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


class Worker:
    """A process that reads files until one of them ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def ask(self, path: Path, model: Path) -> dict[str, Any]:
        """What came of a file."""
        if self._process is None:
            command = [sys.executable, __file__, "--work", str(self._folder)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
            )  # fmt: skip
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([str(path), str(model)]) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], 60)[0]:
            self.close()
            return {"kind": "fault", "said": "no answer in 60 s", "seconds": 60.0}
        line = process.stdout.readline()
        if not line:
            status = process.wait()
            self._process = None
            return {"kind": "fault", "said": f"the process ended with {status}"}
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def main() -> int:
    """Damage, read and count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--damaged", type=int, default=2_000)
    parser.add_argument("--crafted", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=Path, help="a folder to keep the models in")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.work)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.models or Path(scratch) / "models"
        folder.mkdir(exist_ok=True, parents=True)
        if not list(folder.glob("*.simviz")):
            fit_models(folder)
        models = sorted(folder.glob("*.simviz"))
        path, worker = Path(scratch) / "file.simviz", Worker(folder)
        faults = 0
        for title, make, n in (
            ("damaged", damaged, asked.damaged),
            ("crafted", crafted, asked.crafted),
        ):
            counts: Counter[str] = Counter()
            slowest = most = 0.0
            # All files of a model in turn: each is warmed up once.
            for i in sorted(range(n), key=lambda i: (i % len(models), i)):
                model = models[i % len(models)]
                rng = random.Random(f"{asked.seed} {title} {i}")
                how, data = make(model.read_bytes(), rng)
                path.write_bytes(data)
                said = worker.ask(path, model)
                kind = said["kind"]
                seconds, share = said.get("seconds", 0.0), said.get("share", 0.0)
                if kind != "fault" and (seconds > SECONDS or share > MEMORY):
                    kind, said["said"] = "fault", f"{seconds:.1f} s, {share:.2f} of the memory"
                counts[kind] += 1
                slowest, most = max(slowest, seconds), max(most, share)
                if kind == "fault":
                    faults += 1
                    print(f"FAULT {title} {i}: {model.stem}, {how}: {said['said']}")
            print(
                f"{title}: {n:,} files of {len(models)} models; {counts['refused']:,} refused, "
                f"{counts['equal']:,} answered as before, {counts['other']:,} otherwise, "
                f"{counts['fault']:,} faults; at most {slowest:.2f} s, {most:.2f} times the memory"
            )
        worker.close()
    return 1 if faults else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
