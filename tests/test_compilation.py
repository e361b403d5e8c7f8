"""What is compiled before anybody waits, and who waits for it."""

import subprocess
import sys
import threading

import pytest
from waiting import LONG

from simviz import compilation


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(monkeypatch, tmp_path):
    from numba.core import caching

    from simviz._numba import njit

    def full(*_):
        raise OSError(28, "No space left on device")

    def add(a, b):
        return a + b

    with monkeypatch.context() as patch:
        patch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])  # none can write
        assert njit()(add)(1, 2) == 3
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    assert njit()(add)(1, 2) == 3


def test_a_stamp_says_that_all_is_compiled_for_this_processor(cache, monkeypatch):
    assert not compilation.is_done()
    before = compilation.folder()
    assert before.parent == cache
    before.mkdir()
    (before / "done").touch()
    assert compilation.is_done()
    code = (
        "import sys; from simviz import compilation; print(compilation.is_done());"
        "sys.exit(bool({'numba', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code]) == b"True\n"
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    compilation.digest.cache_clear()
    assert compilation.folder() != before
    compilation.digest.cache_clear()


class Child:
    """As what `start` keeps, told by hand."""

    def __init__(self):
        self.changed, self.compiled = threading.Condition(), set()
        self.done, self.n, self.is_running = 0, 3, True

    def tell(self, name=None):
        with self.changed:
            self.compiled |= {name} - {None}
            self.is_running = name is not None
            self.changed.notify_all()


@pytest.mark.parametrize("rest", [["cca", compilation.FIRST], ["bm25", None]])
def test_a_job_waits_for_its_method_or_the_end_unless_it_is_cancelled(monkeypatch, rest):
    child = Child()
    monkeypatch.setattr(compilation, "_child", child)
    compilation.wait("cca", lambda: True)
    assert compilation.progress().endswith("0 of 3")
    is_through = threading.Event()

    def wait():
        compilation.wait("cca", lambda: False)
        is_through.set()

    threading.Thread(target=wait, daemon=True).start()
    child.tell(rest[0])
    assert not is_through.wait(0.05)
    child.tell(rest[1])
    assert is_through.wait(LONG)


@pytest.mark.parametrize("part", ["--child", "--beside"])
def test_what_compiles_ends_when_its_input_does(cache, part):
    command = [sys.executable, "-m", "simviz.precompile", part]
    ended = subprocess.run(command, input=b"", timeout=LONG, check=False)
    assert ended.returncode
    assert not compilation.is_done()


SERVER = """
import threading
from simviz import compilation

compilation.start()
while compilation._child.is_running and not compilation._child.n:
    threading.Event().wait(0.01)
print(compilation.progress(), flush=True)
threading.Event().wait()
"""


def test_what_compiles_ends_with_a_server_that_was_killed(cache):
    shared = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SERVER], **shared) as server:
        assert " of " in server.stdout.readline()  # two processes compile
        server.kill()
        # They share its standard error, which is at its end when all three have ended.
        server.communicate(timeout=LONG)


TRAIN = """
from numba.core import event
from simviz import precompile

precompile.main([])
found = []

class Listener(event.Listener):
    def on_start(self, event):
        found.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
from simviz.datasets import DEMOS
from simviz.jobs import JobSpec, SplitSpec
from simviz.jobs.training import train

demo = DEMOS["icons"]
pairs = demo.loader()
for method, params in demo.methods.items():
    spec = JobSpec("demo:icons", pairs.digest, method, dict(params), SplitSpec(by=demo.split_by))
    train(spec, pairs, lambda stage, fraction, metrics: False)
assert not found, found
"""


def test_the_first_demo_compiles_nothing_that_was_not_compiled():
    subprocess.run([sys.executable, "-W", "ignore", "-c", TRAIN], check=True)
