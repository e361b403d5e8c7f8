"""A store of trained and drawn runs, made once, and the two servers that all tests share."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from xmlrpc.client import ServerProxy
from xmlrpc.server import SimpleXMLRPCServer

from payloads import PAYLOADS
from playwright.sync_api import Browser, BrowserContext
from server import Server

from simviz.data import Items, PairSet
from simviz.datasets import DEMOS
from simviz.jobs import JobQueue, JobSpec, SplitSpec
from simviz.jobs.run_drawings import DEFAULT_LAYOUT, QUICK_LAYOUT, SHARES, draw_now, map_name
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.store import Store, load_map

#: What a demo is asked for beside its own methods: as `?demo=icons&method=cca&k=50` asks.
ASKED = {"icons": {"cca": {"n_components": 50}}}
#: Runs of the demos that pages draw: those that are best, and what was asked for.
DRAWN = {"icons": ("s2net", "cca")}
#: Of data that somebody brought, and quick to train.
QUICK: Mapping[str, Mapping[str, Any]] = {"cca": {"n_components": 5}, "bm25": {}}
#: Those who have brought and trained the same data: one to look at, others for who changes them.
N_OWNERS = 3


@dataclass(frozen=True)
class Owner:
    """A workspace with a data set, two runs on it, and a published map of the first."""

    workspace: str
    data: str
    runs: list[str]
    token: str


@dataclass(frozen=True)
class Prepared:
    """What was prepared: a demo with its runs, and what visitors own.

    Parameters
    ----------
    root : str
        The store.
    url : str
        Of its server, empty without one.
    owners : list of Owner
        Equal ones; who changes something takes one that no other test looks at.
    local : Owner
        The one and only of a server that is not public.
    hostile : Owner
        Whose every text is one of `PAYLOADS`; a job of theirs has failed.
    report : str
        The report on those runs.
    """

    root: str
    url: str
    owners: list[Owner]
    local: Owner
    hostile: Owner
    report: str

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Prepared:
        """Read what `asdict` wrote."""
        owners = {name: Owner(**told[name]) for name in ("local", "hostile")}
        return cls(**{**told, **owners, "owners": [Owner(**owner) for owner in told["owners"]]})

    def context(
        self, browser: Browser, owner: Owner | None = None, **options: Any
    ) -> BrowserContext:
        """Return a browser that was never here, or one of this owner's."""
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}} | options)
        if owner is not None:
            cookie = {"name": "simviz_workspace", "value": owner.workspace, "url": self.url}
            context.add_cookies([cookie])
        return context


def own_pairs() -> PairSet:
    """Short texts, and the same read backwards."""
    colours = ["red", "blue", "green", "gold", "black", "white", "grey", "pink"]
    things = ["car", "house", "tree", "bird", "fish", "moon", "ship"]
    texts = [f"{colour} {thing}" for colour in colours for thing in things]
    backwards = [" ".join(word[::-1] for word in reversed(text.split())) for text in texts]
    return PairSet.from_texts(texts, backwards, name="pairs", x_name="left", y_name="right")


def hostile_pairs() -> PairSet:
    """Pairs of which every text is a payload: ids, names and columns too."""
    n = len(PAYLOADS)

    def side(tail: str) -> Items:
        texts = [f"{text} {tail}{i % 9}" for i, text in enumerate(PAYLOADS)]
        columns = {PAYLOADS[0]: PAYLOADS[::-1], "label": texts, "group": PAYLOADS[:3] * n}
        return Items(
            [f"{i}{text}" for i, text in enumerate(PAYLOADS)],
            texts,
            "text",
            {name: values[:n] for name, values in columns.items()},
        )

    return PairSet(
        side("a"),
        side("b"),
        Relevance.identity(n),
        name=PAYLOADS[9],
        x_name=PAYLOADS[10],
        y_name=PAYLOADS[54],
    )


def draw(store: Store, run_id: str, pairs: PairSet) -> None:
    """Keep the drawings of a run that pages ask for."""
    run = store.runs.get(run_id)
    for drawing in (QUICK_LAYOUT, DEFAULT_LAYOUT):
        draw_now(run, pairs, drawing)
    # A server draws the other stops of the slider while nobody waits; no test asks for them.
    made = load_map(run, map_name(DEFAULT_LAYOUT))
    for share in SHARES[1:]:
        run.put_map(map_name(f"{DEFAULT_LAYOUT}-{share}"), *made)


def prepare(folder: Path) -> Prepared:
    """Make the store."""
    root = folder / "store"
    store = Store(root)
    own, odd = own_pairs(), hostile_pairs()
    demos = {f"demo:{name}": name for name in ASKED}
    with JobQueue(store, limit=40) as queue, ThreadPoolExecutor(2) as pool:

        def submit(data: str, pairs: PairSet, workspace: str, methods: Mapping, split: SplitSpec):
            specs = [
                JobSpec(data, pairs.digest, method, dict(params), split, workspace=workspace)
                for method, params in methods.items()
            ]
            return dict(zip(methods, map(queue.submit, specs), strict=True))

        def trained(job: str) -> str:
            status = queue.wait(job, 600)
            assert status.run_id, status.message
            return status.run_id

        everybody = store.workspaces.create()
        asked = {}
        for data, name in demos.items():
            pairs = store.datasets.get(data)
            split = SplitSpec(by=DEMOS[name].split_by)
            methods = {**DEMOS[name].methods, **ASKED[name]}
            jobs = submit(data, pairs, everybody, methods, split)
            asked[data] = pairs, [(job, method in DRAWN[name]) for method, job in jobs.items()]
        owners = [store.workspaces.create() for _ in range(N_OWNERS)]
        owners += [store.workspaces.open("local"), store.workspaces.create()]
        for workspace in owners:
            is_odd = workspace == owners[-1]
            pairs = odd if is_odd else own
            data = store.datasets.put(pairs, workspace, notes=PAYLOADS[:5] if is_odd else ())
            jobs = submit(data, pairs, workspace, QUICK, SplitSpec())
            asked[workspace] = pairs, [(job, True) for job in jobs.values()], data
        drawings, made = [], {}
        for whose, (pairs, jobs, *_) in asked.items():
            made[whose] = [trained(job) for job, _ in jobs]
            for run_id, (_, is_drawn) in zip(made[whose], jobs, strict=True):
                if is_drawn:
                    drawings.append(pool.submit(draw, store, run_id, pairs))
        for drawing in drawings:
            drawing.result()

        # A column that is not there: the job fails, and says its name.
        by = SplitSpec(by="group", group_key=PAYLOADS[12])
        (failed,) = submit(asked[owners[-1]][2], odd, owners[-1], {"bm25": {}}, by).values()
        assert "onerror" in queue.wait(failed, 60).message
    runs = made[owners[-1]]
    store.runs.rename(runs[0], owners[-1], PAYLOADS[11], PAYLOADS[47])
    found = [store.runs.get(run_id, owners[-1]) for run_id in runs]
    report = folder / "report.html"
    for run in found:
        draw_now(run, odd, QUICK_LAYOUT)
    labels = {run.id: PAYLOADS[9] for run in found}
    report.write_text(html_report(found, odd, labels=labels), "utf-8")

    def owner(workspace: str) -> Owner:
        data, view = asked[workspace][2], {}
        runs = made[workspace]
        if workspace == owners[-1]:
            view = {PAYLOADS[1]: PAYLOADS[2]}
        token = store.shares.publish(workspace, "map", runs, [data], view)
        return Owner(workspace, data, runs, token)

    *equal, local, hostile = map(owner, owners)
    return Prepared(str(root), "", equal, local, hostile, str(report))


class _Asked(ThreadingMixIn, SimpleXMLRPCServer):
    """Answers while it makes what somebody else waits for."""


class Shared:
    """Makes the store and starts the servers when they are first asked for, and ends them.

    It lives in the process that started the tests. Processes that run them for it ask it at
    `address`.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="simviz-e2e-")
        self._made: dict[str, dict[str, Any] | Exception] = {}
        self._servers: list[Server] = []
        self._making = threading.RLock()
        self._ahead = ThreadPoolExecutor(1)
        self._asked = _Asked(("127.0.0.1", 0), logRequests=False)
        self._asked.register_function(self.get, "get")
        self._asked.register_function(self.begin, "begin")
        self.address = f"http://127.0.0.1:{self._asked.server_address[1]}"
        self._thread = threading.Thread(target=self._asked.serve_forever)
        self._thread.start()

    def get(self, kind: str) -> dict[str, Any]:
        """What was prepared: the "store", or with a "public" or a "private" server of a copy."""
        with self._making:
            if kind not in self._made:
                try:
                    self._made[kind] = self._make(kind)
                except Exception as error:  # of a test that asks, whoever made it
                    self._made[kind] = error
            made = self._made[kind]
        if isinstance(made, Exception):
            raise made
        return made

    def _make(self, kind: str) -> dict[str, Any]:
        folder = Path(self._folder.name)
        if kind == "store":
            return asdict(prepare(folder))
        store = self.get("store")
        root = shutil.copytree(store["root"], folder / kind)
        self._servers.append(server := Server(root, public=kind == "public"))
        return store | {"root": str(root), "url": server.url}

    def begin(self, kinds: Sequence[str]) -> bool:
        """Make what will be asked for, while other tests run; who asks is told of a failure."""
        for kind in kinds:
            self._ahead.submit(self.get, kind)
        return True

    def close(self) -> None:
        """End the servers, and remove what was made."""
        self._ahead.shutdown(cancel_futures=True)
        self._asked.shutdown()
        self._thread.join()
        self._asked.server_close()
        for server in self._servers:
            server.close()
        self._folder.cleanup()


def ask(address: str, kind: str) -> Prepared:
    """Ask the `Shared` at an address, and wait until it is made."""
    with ServerProxy(address) as shared:
        return Prepared.of(shared.get(kind))
