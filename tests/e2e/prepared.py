"""A store of trained and drawn runs, made once, and the two servers that all tests share."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from payloads import PAYLOADS
from playwright.sync_api import Browser, BrowserContext
from server import Server
from waiting import until

from simviz.data import Items, PairSet
from simviz.datasets import DEMOS
from simviz.jobs import JobQueue, JobSpec, SplitSpec
from simviz.jobs.run_drawings import DEFAULT_LAYOUT, QUICK_LAYOUT, SHARES, draw_now, map_name
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.store import Store, load_map

DEMO = "demo:icons"
#: What the demo is asked for beside its own methods: as `?demo=icons&method=cca&k=50` asks.
METHODS = {**DEMOS["icons"].methods, "cca": {"n_components": 50}}
#: Its runs that pages draw: the best, and what was asked for.
DRAWN = ("s2net", "cca")
#: Of data that somebody brought, and quick to train.
QUICK: Mapping[str, Mapping[str, Any]] = {"cca": {"n_components": 5}, "bm25": {}}


@dataclass(frozen=True)
class Owner:
    """A workspace with a data set, two runs on it, and a published map of the first."""

    workspace: str
    data: str
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
    local : Owner
        The one and only of a server that is not public.
    hostile : Owner
        Whose every text is one of `PAYLOADS`; a job of theirs has failed.
    report : str
        The report on those runs.
    """

    root: str
    url: str
    local: Owner
    hostile: Owner
    report: str

    def context(
        self, browser: Browser, owner: Owner | None = None, **options: Any
    ) -> BrowserContext:
        """Return a browser that was never here, or one of this owner's."""
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}} | options)
        if owner is not None:
            cookie = {"name": "simviz_workspace", "value": owner.workspace, "url": self.url}
            context.add_cookies([cookie])
        return context


def own_pairs(n: int = 8) -> PairSet:
    """Short texts, and the same read backwards: so many colours, each of as many things."""
    colours = ["red", "blue", "green", "gold", "black", "white", "grey", "pink"]
    things = ["car", "house", "tree", "bird", "fish", "moon", "ship"]
    texts = [f"{colour} {thing}" for colour in colours[:n] for thing in things[:n]]
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
    store = Store(folder / "store")
    everybody, odd = store.workspaces.create(), store.workspaces.create()
    local = store.workspaces.open("local")
    pairs = {everybody: store.datasets.get(DEMO), local: own_pairs(), odd: hostile_pairs()}
    data = {everybody: DEMO, local: store.datasets.put(pairs[local], local)}
    data[odd] = store.datasets.put(pairs[odd], odd, notes=PAYLOADS[:5])
    with JobQueue(store, limit=40) as queue, ThreadPoolExecutor(2) as pool:

        def submit(whose: str, methods: Mapping, split: SplitSpec) -> dict[str, str]:
            asked = (data[whose], pairs[whose].digest)
            return {
                method: queue.submit(JobSpec(*asked, method, dict(params), split, workspace=whose))
                for method, params in methods.items()
            }

        jobs = {everybody: submit(everybody, METHODS, SplitSpec(by=DEMOS["icons"].split_by))}
        jobs |= {whose: submit(whose, QUICK, SplitSpec()) for whose in (local, odd)}
        runs, drawings = {}, []
        for whose, asked in jobs.items():
            ended = {method: queue.wait(job, 600) for method, job in asked.items()}
            runs[whose] = [status.run_id for status in ended.values()]
            assert all(runs[whose]), ended
            for method, status in ended.items():
                if whose != everybody or method in DRAWN:
                    drawings.append(pool.submit(draw, store, status.run_id, pairs[whose]))
        for drawing in drawings:
            drawing.result()

        # A column that is not there: the job fails, and says its name.
        failed = submit(odd, {"bm25": {}}, SplitSpec(by="group", group_key=PAYLOADS[12]))
        assert "onerror" in queue.wait(failed["bm25"], 60).message
    store.runs.rename(runs[odd][0], odd, PAYLOADS[11], PAYLOADS[47])
    found = [store.runs.get(run_id, odd) for run_id in runs[odd]]
    report = folder / "report.html"
    for run in found:
        draw_now(run, pairs[odd], QUICK_LAYOUT)
    labels = {run.id: PAYLOADS[9] for run in found}
    report.write_text(html_report(found, pairs[odd], labels=labels), "utf-8")

    def owner(whose: str, view: Mapping[str, str]) -> Owner:
        token = store.shares.publish(whose, "map", runs[whose], [data[whose]], view)
        return Owner(whose, data[whose], token)

    hostile = owner(odd, {PAYLOADS[1]: PAYLOADS[2]})
    return Prepared(str(store.root), "", owner(local, {}), hostile, str(report))


class Shared:
    """Makes the store, then starts a public and a private server of copies, and ends them.

    It lives in the process that started the tests. What is made is written to files of `folder`,
    which those that need it wait for.
    """

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="simviz-e2e-")
        self.folder = Path(self._temporary.name)
        self._servers: list[Server] = []
        self._thread = threading.Thread(target=self._make)
        self._thread.start()

    def _make(self) -> None:
        try:
            made = prepare(self.folder)
            self._tell("prepared", asdict(made))
            for kind in ("public", "private"):
                root = shutil.copytree(made.root, self.folder / kind)
                self._servers.append(server := Server(root, public=kind == "public"))
                own = replace(made, root=str(root), url=server.url)
                self._tell(f"{kind}_server", asdict(own))
        except Exception as error:  # of the tests that wait
            self._tell("failed", "".join(traceback.format_exception(error)))

    def _tell(self, name: str, what: object) -> None:
        part = self.folder / f"{name}.part"
        part.write_text(json.dumps(what), "utf-8")
        part.rename(self.folder / f"{name}.json")  # nobody reads half of it

    def close(self) -> None:
        """End the servers, and remove what was made."""
        self._thread.join()
        for server in self._servers:
            server.close()
        self._temporary.cleanup()


def ask(folder: Path, name: str) -> Prepared:
    """Wait for what a `Shared` makes, and read it."""
    made, failed = folder / f"{name}.json", folder / "failed.json"
    until(lambda: made.exists() or failed.exists())
    if not made.exists():
        raise RuntimeError(json.loads(failed.read_text("utf-8")))
    tree = json.loads(made.read_text("utf-8"))
    owners = {name: Owner(**tree.pop(name)) for name in ("local", "hostile")}
    return Prepared(**tree, **owners)
