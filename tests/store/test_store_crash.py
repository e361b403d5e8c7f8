"""What a store is after its process was killed, and while others use it too."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from waiting import LONG, run_script

from simviz.exceptions import StoreError
from simviz.store import Store
from simviz.store.directory import claim, is_alive, own_process

# One process imports everything once and forks a child for every moment. The
# child kills itself at its k-th operation on a file of the store, so that the
# moments are all there are, not those that a clock happens to hit.
KILLED = """
    import os, signal, sys
    from pathlib import Path
    from simviz.data import PairSet
    from simviz.store import Store

    root = Path(sys.argv[1])

    def words(n, tag):
        return PairSet.from_texts([f"{tag} x{i}" for i in range(n)], [f"y{i}" for i in range(n)])

    def killed_at(moment, work):
        pid = os.fork()
        if pid:
            return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        seen = 0
        def hook(event, arguments):
            nonlocal seen
            if event in EVENTS and any(str(root) in str(a) for a in arguments):
                seen += 1
                if seen == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        work()
        os._exit(0)

    EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "sqlite3.connect"}
    store = Store(root)
    mine = store.workspaces.create()
    kept = store.datasets.put(words(5, "kept"), mine)
    expected = {words(5, "kept").digest, words(9, "new").digest}

    def work():
        store = Store(root)
        new = store.datasets.put(words(9, "new"), mine)
        os.write(1, b"acknowledged\\n")
        store.datasets.delete(new, mine)

    moment, states = 1, set()
    while killed_at(moment, work):
        store = Store(root)
        own = [d for d in store.datasets.find(mine) if not d.is_demo]
        states.add(len(own))
        assert kept in [d.id for d in own], moment
        for info in own:
            assert store.datasets.get(info.id, mine).digest == info.digest in expected, moment
        folders = {p.name for p in (root / "datasets").iterdir()}
        assert folders == {d.id for d in own}, moment
        assert not list((root / "drafts").iterdir()), moment
        for info in own:
            if info.id != kept:
                store.datasets.delete(info.id, mine)
        moment += 1
    assert states == {1, 2}, states
    print("moments", moment - 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_finished_is_lost_whenever_a_writer_is_killed(tmp_path):
    done = run_script(KILLED, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= 10


OPENED_AND_FILLED = """
    import sys
    from simviz.data import PairSet
    from simviz.store import Store

    root, tag = sys.argv[1], sys.argv[2]
    store = Store(root)
    mine = store.workspaces.create()
    for i in range(8):
        store.datasets.put(PairSet.from_texts([f"{tag}{i}"], ["y"]), mine)
        Store(root)  # sweeps while the others write
    print(mine)
"""


def test_several_processes_open_fill_and_sweep_one_store_at_once(tmp_path):
    code = textwrap.dedent(OPENED_AND_FILLED)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path, tag], stdout=subprocess.PIPE, text=True
        )
        for tag in "ab"
    ]
    store = Store(tmp_path)
    for tag, process in zip("ab", processes, strict=True):
        printed, _ = process.communicate(timeout=LONG)
        assert process.returncode == 0
        own = [d for d in store.datasets.find(printed.strip()) if not d.is_demo]
        texts = {store.datasets.get(d.id).x.content[0] for d in own}
        assert texts == {f"{tag}{i}" for i in range(8)}


def test_one_process_at_a_time_serves_a_directory(tmp_path):
    code = (
        "import sys; from pathlib import Path; from simviz.store.directory import claim\n"
        "kept = claim(Path(sys.argv[1])); print('claimed', flush=True); input()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], text=True, **pipes) as other:
        assert other.stdout.readline() == "claimed\n"
        with pytest.raises(StoreError, match=f"process {other.pid}, .* SIMVIZ_HOME"):
            claim(tmp_path)
        claim(tmp_path / "another").close()
        Store(tmp_path).workspaces.create()  # scripts may use it all the same
        other.kill()
    kept = claim(tmp_path)
    assert kept is not None
    assert subprocess.run([sys.executable, "-c", code, tmp_path], input="", check=False).returncode
    kept.close()


def test_drafts_of_living_processes_are_not_swept(tmp_path):
    store = Store(tmp_path)
    (tmp_path / "drafts" / f"{own_process()}-abc").mkdir()
    (tmp_path / "drafts" / "1-2-3-abc").mkdir()
    store.sweep()
    assert [p.name for p in (tmp_path / "drafts").iterdir()] == [f"{own_process()}-abc"]


def test_a_process_is_known_by_more_than_its_number():
    assert is_alive(own_process())
    pid, start, boot = own_process().split("-")
    for gone in (f"{pid}-{start}1-{boot}", f"{pid}-{start}-other", pid, "", "x", "0-1-2", "-1-2"):
        assert not is_alive(gone)


def test_an_ended_process_is_not_alive():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    from simviz.store.directory import boot_id, start_time

    name = f"{child.pid}-{start_time(child.pid)}-{boot_id()}"
    assert is_alive(name)
    child.send_signal(signal.SIGKILL)
    # Until its parent asks, a killed process is a zombie that still has its number.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(name)
    child.communicate()
    assert not is_alive(name)
