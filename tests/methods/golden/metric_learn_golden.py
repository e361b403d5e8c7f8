"""Writes ``metric_learn.json``: what metric-learn learns from small synthetic pairs.

metric-learn 0.7.0 does not fit under scikit-learn 1.8 or later. Make an
environment of its own for it, here with Python 3.11, and run this file in it::

    python -m venv peer
    peer/bin/pip install scikit-learn==1.7.2 metric-learn==0.7.0
    peer/bin/python tests/methods/golden/metric_learn_golden.py

The file was written with numpy 2.3.5 and scipy 1.17.1. ITML is given the bounds
of squared distances, as it compares those, and no tolerance, so that it makes
exactly ten sweeps, over similar pairs first.
"""

import json
from pathlib import Path

import numpy as np
from metric_learn import ITML, MMC

rng = np.random.default_rng(0)
topics = rng.integers(0, 4, 40)
points = np.eye(6)[topics] + rng.normal(0, 1.5, (40, 6)) * [0.1, 0.2, 0.3, 0.3, 0.2, 1.0]
points = points.round(3)
drawn = rng.permutation(np.stack(np.triu_indices(40, 1), axis=1))
same = topics[drawn[:, 0]] == topics[drawn[:, 1]]
index = np.vstack([drawn[same][:40], drawn[~same][:60]])
sign = np.repeat([1, -1], [40, 60])
pairs = points[index]
bounds = (1.0, 4.0)

golden = {
    "points": points.tolist(),
    "pairs": index.tolist(),
    "sign": sign.tolist(),
    "bounds": bounds,
    "itml": {},
}
for gamma in (0.1, 1.0, 10.0):
    itml = ITML(gamma=gamma, max_iter=10, tol=0.0).fit(pairs, sign, bounds=np.array(bounds))
    golden["itml"][str(gamma)] = itml.get_mahalanobis_matrix().tolist()
golden["mmc_full"] = (
    MMC(max_iter=2_000, tol=1e-8).fit(pairs, sign).get_mahalanobis_matrix().tolist()
)
diagonal = MMC(diagonal=True, max_iter=1_000, tol=1e-12).fit(pairs, sign)
golden["mmc_diagonal"] = diagonal.get_mahalanobis_matrix().tolist()
Path(__file__).with_name("metric_learn.json").write_text(json.dumps(golden) + "\n")
