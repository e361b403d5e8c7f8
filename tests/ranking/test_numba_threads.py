from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from simviz._numba import n_threads, threads_for
from simviz.ranking import rank_block


def test_kernels_use_a_layer_that_two_threads_may_enter():
    scores = np.random.default_rng(0).standard_normal((1100, 1000))
    indptr, indices = np.arange(1101), np.arange(1100) % 1000
    with ThreadPoolExecutor(4) as pool:  # long enough for the kernels to be shared out
        runs = list(pool.map(lambda _: rank_block(scores, indptr, indices), range(12)))
    assert numba.threading_layer() in ("omp", "tbb")
    for run in runs:
        np.testing.assert_array_equal(run[0], runs[0][0])


def test_short_loops_stay_on_one_thread_and_the_number_comes_back():
    before = n_threads()
    with threads_for(10):
        assert n_threads() == 1
    with threads_for(2**30):
        assert n_threads() == before
    assert n_threads() == before


def test_the_environment_is_left_as_it_was():
    code = "import os, simviz._numba; print(os.environ.get('OMP_WAIT_POLICY'))"
    for given in (None, "ACTIVE"):
        env = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
        env |= {"OMP_WAIT_POLICY": given} if given else {}
        told = subprocess.check_output([sys.executable, "-c", code], env=env, text=True)
        assert told.strip() == str(given)
