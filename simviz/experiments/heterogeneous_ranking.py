"""Table 1 of Wu, Xu and Li (2010): ranking documents for new queries, over many trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from simviz.data import Items, PairSet
from simviz.datasets import load_demo
from simviz.evaluation import corrected_resampled_t, paired_t
from simviz.evaluation.groups import correct
from simviz.exceptions import DatasetError
from simviz.experiments._claims import Claim
from simviz.experiments._experiment import WXL, Experiment, Size
from simviz.experiments._findings import Cell, Findings, Table
from simviz.experiments._parts import Parts, read_parts
from simviz.experiments._progress import Progress
from simviz.experiments._resampling import TEST_SHARE, Collection, Measured, divided
from simviz.relevance import Relevance

N_TRIALS = 10
#: Queries of the demo; the paper has 50.
N_QUERIES = 250
_MLC: Mapping[Size, tuple[int, ...]] = {"demo": (20,), "full": (20, 50)}
_FOLDS: Mapping[Size, int] = {"demo": 3, "full": 5}
_FEWEST = 15
_OURS, _MLC_NAME = "heterogeneous SVD", "MLC"


class HeterogeneousRanking(Experiment[PairSet]):
    """MAP of learned scores, alone and with BM25, over ten random divisions of the queries."""

    title = "Ranking documents for new queries"
    paper = WXL
    shown_as = "Table 1"
    sentence = "Does what is learned from some queries help to rank documents for others?"
    needs = "queries and documents, with relevant documents for 15 queries or more"
    demo = "pydocs"
    sets = ("cranfield", "cisi", "med")
    methods = ("tfidf_cosine", "bm25", "mlc", "heterogeneous_svd")
    minutes = 3.0

    def load(
        self,
        path: str | Path | None = None,
        *,
        size: Size = "demo",
        seed: int = 0,
        n_train: int | None = None,
        n_pool: int | None = None,
    ) -> PairSet:
        """Read queries and documents.

        Parameters
        ----------
        path : str or Path, optional
            Folder, see `simviz.experiments.read_parts`; its split, where it
            has one, is not used. The bundled demo when omitted.
        size : {"demo", "full"}, default="demo"
            Not used here.
        seed : int, default=0
            Of the draw of queries.
        n_train : int, optional
            Queries to draw; 250 of the demo, all of a folder when omitted.
        n_pool : int, optional
            Not used: all documents are ranked.

        Returns
        -------
        PairSet
            Queries that have a relevant document, and all documents.
        """
        pairs = load_demo(self.demo) if path is None else _whole(read_parts(path, pool="all"))
        return self.prepared(pairs, seed=seed, n_train=n_train, n_pool=n_pool)

    def prepared(
        self,
        pairs: PairSet,
        *,
        seed: int = 0,
        n_train: int | None = None,
        n_pool: int | None = None,
    ) -> PairSet:
        """Make data of pairs that somebody brought.

        Parameters
        ----------
        pairs : PairSet
            Texts.
        seed : int, default=0
            Of the draw of queries.
        n_train, n_pool : int, optional
            As in `load`.

        Returns
        -------
        PairSet
            Queries that have a relevant document, and all documents.
        """
        asked = np.flatnonzero(np.diff(pairs.relevance.positives.indptr))
        if len(asked) < _FEWEST:
            raise DatasetError(f"{len(asked)} queries have a relevant document. {self.needs}.")
        wanted = n_train or (N_QUERIES if pairs.name == self.demo else len(asked))
        if wanted < len(asked):
            drawn = np.random.default_rng(seed).permutation(asked)[: max(wanted, _FEWEST)]
            asked = np.sort(drawn)
        return pairs.take(asked)

    def refusal(self, pairs: PairSet) -> str:
        """Why it cannot be run on these pairs.

        Parameters
        ----------
        pairs : PairSet
            What somebody brought.

        Returns
        -------
        str
            A sentence; empty for texts with enough queries.
        """
        texts = pairs.x.kind == pairs.y.kind == "text" and pairs.x is not pairs.y
        asked = int((np.diff(pairs.relevance.positives.indptr) > 0).sum())
        return "" if texts and asked >= _FEWEST else f"It needs {self.needs}."

    def run(
        self,
        data: PairSet,
        *,
        size: Size = "demo",
        seed: int = 0,
        methods: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Findings:
        """Divide, choose by folds of the training queries, and test; ten times.

        Parameters
        ----------
        data : PairSet
            Queries and documents.
        size : {"demo", "full"}, default="demo"
            How many folds, and settings of MLC, there are.
        seed : int, default=0
            Of the methods; the divisions are always the same ten.
        methods : sequence of str, optional
            Ids; all when omitted. What learns nothing is always run.
        progress : Progress, optional
            Hears how far it is, and may stop it.

        Returns
        -------
        Findings
            The table and its claims.
        """
        progress = progress or Progress()
        wanted = self.chosen(methods)
        progress("Weighing terms")
        collection = Collection(data, _MLC[size], seed)
        known = {
            "mlc": (_MLC_NAME, collection.mlc),
            "heterogeneous_svd": (_OURS, collection.svd),
        }
        learners = dict(known[method] for method in wanted if method in known)
        tested = progress.part(0.02, 1.0).each(
            lambda trial, part: divided(collection, learners, trial, _FOLDS[size], part),
            range(N_TRIALS),
        )
        trials = list(tested.values())
        return self.findings(
            data.name,
            f"{len(data.x):,} {data.x_name}, {len(data.y):,} {data.y_name}",
            size,
            seed,
            tables=[_table(trials)],
            claims=_claims(trials),
            notes=[
                f"{N_TRIALS} random divisions of the queries, {1 - TEST_SHARE:.0%} to learn from; "
                "all other documents count as not relevant. Dimensions, form, weights and α: by "
                f"{_FOLDS[size]} folds of the training queries. Scores of a blend are divided by "
                "their spread.",
                "Training parts of the divisions overlap, so the t-test over trials is corrected "
                "(Nadeau and Bengio); the paper's is not.",
                "tf·idf and BM25 of words without English stop words; MLC learns among principal "
                "components. The paper uses 50 queries and 6,913 documents of the AP collection.",
            ],
        )


def _whole(parts: Parts) -> PairSet:
    """What a folder holds, undivided."""
    sets = (parts.train, parts.validation, parts.test)
    x = Items(
        np.concatenate([part.x.ids for part in sets]),
        np.concatenate([part.x.content for part in sets]),
        parts.train.x.kind,
    )
    matrix = sp.csr_array(sp.vstack([part.relevance.matrix for part in sets]))
    relevance = Relevance(matrix, unjudged=parts.train.relevance.unjudged)
    whole = replace(parts.train, x=x, relevance=relevance, x_name="queries", y_name="documents")
    return replace(whole, name=parts.name)


def _table(trials: Sequence[Mapping[str, Measured]]) -> Table:
    base = np.array([trial["BM25"].value for trial in trials])
    rows: list[tuple[Cell, ...]] = []
    for name in trials[0]:
        values = np.array([trial[name].value for trial in trials])
        ahead = None if name == "BM25" else f"{(values > base).sum()} of {len(values)}"
        often = Counter(trial[name].setting for trial in trials).most_common(1)[0][0]
        rows.append((name, float(values.mean()), float(values.mean() - base.mean()), ahead, often))
    return Table(
        f"Table 1: MAP, mean of {len(trials)} trials",
        ("scores", "MAP", "over BM25", "ahead of BM25 in", "chosen most often"),
        tuple(rows),
        "The paper's own numbers are of other documents and are not shown.",
    )


def _claims(trials: Sequence[Mapping[str, Measured]]) -> list[Claim]:
    """What the paper concludes, each with its test."""
    blend = f"{_OURS} + BM25"
    wanted = [
        (blend, "BM25", "BM25 ranks better with what is learned across the spaces."),
        (blend, f"{_MLC_NAME} + BM25", "It helps BM25 more than a metric (MLC) does."),
        (blend, "VSM", "With BM25 it ranks better than the vector space model."),
        (_OURS, _MLC_NAME, "Alone it ranks better than the metric does."),
    ]
    values = {name: [trial[name].value for trial in trials] for name in trials[0]}
    known = [(a, b, words) for a, b, words in wanted if a in values and b in values]
    tested = correct(
        {
            (0, i): corrected_resampled_t(values[a], values[b], test_fraction=TEST_SHARE)
            for i, (a, b, _) in enumerate(known)
        }
    )
    return [
        Claim.ahead(
            words,
            tested[0, i],
            f"MAP, {a} − {b}",
            paper=replace(paired_t(values[a], values[b]), unit="split"),
        )
        for i, (a, b, words) in enumerate(known)
    ]
