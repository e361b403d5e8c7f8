"""Any judged table: what is offered trains, or says beforehand what is missing."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

import simviz
from simviz.data.health import check_health
from simviz.data.splitting import PARTS, split, suggest_split
from simviz.jobs import JobSpec, SplitSpec
from simviz.jobs.training import train
from simviz.methods import all_methods
from simviz.relevance import FEW_JUDGED
from simviz.workbench.train.method_lines import why_not

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "nrlst"]
#: Every number of grades with every number of judgments a query.
N_TABLES = 12
SMALL = {"n_components": 3, "max_iter": 2}
#: Trained on one table each; all others on every table.
SLOW = ("kernel_heterogeneous_svd", "siamese_blstm", "s2net", "pamir", "ssi")
#: Their encoder takes seconds to load.
LEFT_OUT = [name for name, cls in all_methods().items() if cls.tags.input == "pretrained"]


def table(seed):
    """Queries with documents and grades: 2 to 5 grades, 1 to 30 judgments a query."""
    rng = np.random.default_rng(seed)
    n_grades, most = 2 + seed % 4, (1, 2, 4, 8, 15, 30)[seed % 6]
    rejected = np.linspace(0.05, 0.6, N_TABLES)[seed]
    documents = [" ".join(rng.choice(WORDS, 6)) for _ in range(60)]
    rows = ["query,document,grade"]
    for query in range(max(12, 60 // most)):
        text = " ".join(rng.choice(WORDS, 4))
        for at in rng.choice(60, rng.integers(1, most + 1), replace=False):
            grade = 0 if rng.random() < rejected else rng.integers(1, n_grades)
            rows.append(f"{text} q{query},{documents[at]},{grade}")
    return simviz.read_pairs("\n".join(rows).encode(), "judged.csv").pairs


def trained(method, pairs, how):
    names = all_methods()[method]().get_params(deep=False)
    params = {name: value for name, value in SMALL.items() if name in names}
    by = SplitSpec(how.by, group_key=how.group_key)
    return train(JobSpec("d", pairs.digest, method, params, by), pairs, lambda *_: False)


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_what_is_offered_trains_and_what_is_thin_is_said(seed):
    pairs = table(seed)
    how = suggest_split(pairs)
    parts = split(pairs, how.by, group_key=how.group_key)
    kept = {part: getattr(parts, part).relevance for part in PARTS}
    n_rejected = kept["train"].negatives.nnz
    slow = [method for method, at in zip(SLOW, cycle(range(1, N_TABLES, 2))) if at == seed]
    for name, cls in all_methods().items():
        if name in LEFT_OUT or (name in SLOW and name not in slow):
            continue
        if why_not(cls, pairs, n_rejected=n_rejected) is None:
            assert set(trained(name, pairs, how).measured) == {"validation", "test"}
    is_judged = pairs.relevance.unjudged == "ignore" and pairs.relevance.negatives.nnz > 0
    thin = [
        part
        for part, judged in kept.items()
        if min(judged.positives.nnz, judged.negatives.nnz) < (1 if part == "train" else FEW_JUDGED)
    ]
    finding = check_health(pairs, parts).find("thin")
    said = [example[0] for example in finding.examples] if finding else []
    assert said == (thin if is_judged else [])


def test_a_split_that_leaves_training_no_rejected_pairs_is_said_before():
    texts = [f"{word} {other}" for word, other in zip(WORDS[:40], WORDS[40:80], strict=True)]
    part = ["train"] * 24 + ["validation"] * 8 + ["test"] * 8
    label = [1] * 24 + [1, 0] * 8
    columns = {"left": texts, "right": texts, "label": label, "split": part}
    pairs = simviz.from_frame(columns).pairs
    how = suggest_split(pairs)
    assert how.by == "column" and pairs.relevance.negatives.nnz == 8
    for name in ("ssi", "mlc", "s2net"):
        reason = why_not(all_methods()[name], pairs, n_rejected=0)
        assert reason == "Needs pairs judged not relevant; this split leaves none for training."
        with pytest.raises(ValueError, match="not relevant"):
            trained(name, pairs, how)
