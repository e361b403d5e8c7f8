from types import SimpleNamespace

from simviz.workbench.shell import progress, state


def test_again_clicked_twice_repeats_the_job_in_its_place(monkeypatch):
    queue = SimpleNamespace(repeat=lambda job_id, workspace: "again")
    monkeypatch.setattr(state, "queue", lambda: queue)
    monkeypatch.setattr(state, "workspace", lambda: "own")
    jobs = ["first", "other"]
    progress.repeat_in_place("first", jobs)
    progress.repeat_in_place("first", jobs)  # of a page that was not yet drawn anew
    assert jobs == ["again", "other"]
