"""What the guide to large data shows runs, up to the search."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simviz.data import Items

GUIDE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.filterwarnings("ignore:.*is more than the data can give:UserWarning")
def test_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 20, 400)
    sides = {
        name: [f"{name}{t} {name}{rng.integers(20, 60)}" for t in topics]
        for name in ("query", "document")
    }
    ids = [str(i) for i in range(400)]

    def write(folder, **columns):
        Path(folder).mkdir()
        table = pa.table(columns)
        for i in range(2):
            pq.write_table(table.slice(200 * i, 200), Path(folder, f"part-{i}.parquet"))

    write("pairs", **sides)
    write("queries", id=ids, text=sides["query"])
    write("documents", id=ids, text=sides["document"])
    write("clicks", x_id=ids, y_id=ids[::-1], grade=rng.integers(1, 3, 400))
    told = GUIDE.read_text()
    frame = pd.DataFrame(sides)
    names: dict[str, object] = {"frame": frame, "new_frame": frame[:50]}
    for block in re.findall(r"```python\n(.*?)```", told.split("\n## Search")[0], re.DOTALL):
        exec(compile(block, str(GUIDE), "exec"), names)
    model, pipeline = names["model"], names["pipeline"]
    assert 0 < model.n_iter_ <= 10
    asked, offered = Items(["0"], ["query3"], "text"), [f"document{i}" for i in range(20)]
    found = pipeline.similarity(asked, Items(offered, offered, "text"))
    assert found.argmax() == 3
    assert names["hashed"].similarity(["query3"], offered).argmax() == 3
