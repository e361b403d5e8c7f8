"""Tables 2 and 3 and figure 3 of Yih et al. (2011): which text suits a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simviz.data.pairs import PairSet
from simviz.evaluation import (
    NDCG,
    Comparison,
    Evaluation,
    Roc,
    compare_all,
    correct,
    paired_randomization,
    paired_t,
)
from simviz.experiments._claims import Claim, counted
from simviz.experiments._experiment import S2NET, Experiment, Size
from simviz.experiments._findings import Cell, Figure, Findings, Series, Table
from simviz.experiments._graded import (
    DEPTHS,
    Graded,
    Ranker,
    Values,
    gains,
    over_subsets,
    ranked,
    roc,
)
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.relevance import Relevance

_SPECTRAL = {"n_components": (50, 100, 200, 300, 500, 1000)}
_PAIRED = {"regularization": (0.1, 1.0, 10.0), "n_components": (100, 200, 500)}
_TOPICS = {"n_components": (50, 100), "measure": ("js", "cosine")}
#: Values that are tried, by size.
GRIDS: Mapping[Size, Mapping[str, Values]] = {
    "demo": {
        "pca": {"n_components": (100, 300, 1000)},
        "opca": {"regularization": (0.1, 1.0, 10.0), "n_components": (100, 200)},
        "cca": {"regularization": (0.3, 1.0, 10.0), "n_components": (100, 200)},
        "plsa": {"n_components": (50,), "measure": ("js", "cosine")},
        "jplsa": {"n_components": (50,), "measure": ("js", "cosine")},
        "cplsa": {"n_components": (50,), "measure": ("js", "cosine")},
        "hdlr": {"n_components": (100, 300)},
        "s2net": {"n_components": (50, 100, 300)},
    },
    "full": {
        "pca": _SPECTRAL,
        "opca": _PAIRED,
        "cca": {**_PAIRED, "regularization": (0.3, 1.0, 10.0)},
        "plsa": _TOPICS,
        "jplsa": _TOPICS,
        "cplsa": _TOPICS,
        "hdlr": {"n_components": (100, 300)},
        "s2net": {"n_components": (100, 300, 600)},
    },
}
_WEIGHTS = {
    "tfidf_cosine": 0.1, "pca": 1.0, "opca": 1.5, "cca": 1.5, "plsa": 1.0, "jplsa": 2.0,
    "cplsa": 5.0, "hdlr": 1.5, "s2net": 5.0,
}  # fmt: skip
#: What the paper says, for its numbers are of other data.
_TABLE_2 = "so on its own data (table 2)"
_ABSTRACT = "high accuracy with few dimensions (abstract)"
#: Points of a drawn curve.
_DRAWN = 200
#: Part of the ROC that the paper draws.
LOW_FPR = 0.25


@dataclass(frozen=True, slots=True)
class Tested:
    """What a ranker did on test queries.

    Parameters
    ----------
    ranker : Ranker
        With the settings that validation chose.
    result : Evaluation
        Ranks of every query.
    curve : Roc
        Over all pairs.
    """

    ranker: Ranker
    result: Evaluation
    curve: Roc


class QueryDocument(Experiment[Parts]):
    """AUC, NDCG and ROC of learned similarities beside TFIDF's."""

    title = "Which text suits a query: learned similarities beside TFIDF"
    paper = S2NET
    shown_as = "Tables 2 and 3 and figure 3"
    sentence = "Does a learned similarity judge queries and documents better than shared words do?"
    needs = "queries and documents with graded judgments"
    demo = "pydocs"
    sets = ("mediqa_qa", "nfcorpus")
    methods = (
        "s2net", "tfidf_cosine", "hdlr", "cplsa", "pca", "opca", "jplsa", "cca", "plsa",
    )  # fmt: skip
    minutes = 3.0
    pool = "all"
    split_by = "x"

    def refusal(self, pairs: PairSet) -> str:
        """Why it cannot be run on these pairs.

        Parameters
        ----------
        pairs : PairSet
            What somebody brought.

        Returns
        -------
        str
            A sentence; empty for texts with several grades, or with
            judgments below 0.
        """
        texts = pairs.x.kind == pairs.y.kind == "text"
        grades = np.unique(pairs.relevance.matrix.data)
        if (
            texts
            and pairs.relevance.kind == "grade"
            and len(grades) > 1
            and pairs.x is not pairs.y
        ):
            return ""
        return f"It needs {self.needs}."

    def run(
        self,
        data: Parts,
        *,
        size: Size = "demo",
        seed: int = 0,
        methods: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Findings:
        """Choose each method's settings on validation queries, and test what was chosen.

        Parameters
        ----------
        data : Parts
            Queries divided, the same documents in all parts. Where queries
            have the metadata column "snippets", it is read with the query.
        size : {"demo", "full"}, default="demo"
            How many settings are tried.
        seed : int, default=0
            Of everything random.
        methods : sequence of str, optional
            Ids; all when omitted. TFIDF is always among them.
        progress : Progress, optional
            Hears how far it is, and may stop it.

        Returns
        -------
        Findings
            The tables, the figure and what holds.
        """
        wanted, progress = self.chosen(methods), progress or Progress()
        progress("Reading texts")
        bench = Graded(data, GRIDS[size], seed)
        shown = [m for m in self.methods if m in wanted or m == "tfidf_cosine"]
        tried = progress.part(0.02, 0.95).each(bench.tried, {m: _WEIGHTS[m] for m in shown})
        progress("Testing", 0.95)
        judged = bench.judged["test"]
        tested = {
            method: _tested(max(found, key=lambda r: r.validation), judged)
            for method, found in tried.items()
        }
        by_size = {r.k: _tested(r, judged) for r in tried.get("s2net", ())}
        snippets = ["Snippets were read with the queries."] if bench.has_snippets else []
        pool = "all documents" if judged.unjudged == "negative" else "judged documents"
        return self.findings(
            data.name,
            f"{data.in_words()}; ranked: {pool}",
            size,
            seed,
            tables=[_table(tested), _tests(tested, judged, seed), *_dimensions(by_size, tested)],
            figures=[_figure(tested)],
            claims=_claims(tested, by_size, judged, seed),
            notes=[
                *data.notes,
                *snippets,
                "Settings were chosen on validation queries by the mean of NDCG@1, @3 and @5 "
                "(gain 2^grade − 1); test queries were ranked once.",
                "Texts of all documents, but none of the judgments of validation and test "
                "queries, are known to all methods, in one vocabulary without English stop words.",
                "S2Net and HDLR start from PCA; S2Net has the paper's loss and learns from graded "
                "preferences of the same query.",
            ],
        )


def _tested(ranker: Ranker, judged: Relevance) -> Tested:
    scores = ranker.scores["test"]
    return Tested(ranker, ranked(scores, judged), roc(scores, judged))


def _table(tested: Mapping[str, Tested]) -> Table:
    letters = dict.fromkeys(tested, "")
    if len(tested) > 1:
        letters = compare_all(
            {m: t.result.per_query(NDCG(5)) for m, t in tested.items()}
        ).letters()
    rows: list[tuple[Cell, ...]] = [
        (
            t.ranker.title,
            t.result.value("AUC"),
            t.curve.partial_auc(LOW_FPR),
            *(t.result.value(NDCG(k)) for k in DEPTHS),
            letters[method],
            t.ranker.validation,
            t.ranker.settings,
        )
        for method, t in tested.items()
    ]
    return Table(
        "Table 2: AUC and NDCG",
        (
            "method", "AUC", f"AUC, FPR ≤ {LOW_FPR}", *(f"NDCG@{k}" for k in DEPTHS),
            "NDCG@5 level with", "validation", "chosen",
        ),
        tuple(rows),
        "Methods that share a letter cannot be told apart in NDCG@5 (paired randomisation, Holm, "
        "5 %). The paper's data, judged pairs of queries and advertisements, are not public.",
    )  # fmt: skip


def _tests(tested: Mapping[str, Tested], judged: Relevance, seed: int) -> Table:
    """The paper's tests against TFIDF, and today's beside them."""
    base = tested["tfidf_cosine"]
    others = {m: t for m, t in tested.items() if m != "tfidf_cosine"}
    ndcg = _against(others, base, lambda t: t.result.per_query(NDCG(5)))
    auc = _against(others, base, lambda t: t.result.per_query("AUC (by query)"))
    rows: list[tuple[Cell, ...]] = []
    for method, t in others.items():
        subsets = over_subsets(t.ranker.scores["test"], base.ranker.scores["test"], judged, seed)
        dcg = [paired_t(*(gains(o.result, judged, k) for o in (t, base))) for k in DEPTHS]
        rows.append((t.ranker.title, *map(_told, (subsets, *dcg, auc[method], ndcg[method]))))
    return Table(
        "Against TFIDF: difference (p)",
        (
            "method", "AUC, t over disjoint subsets", *(f"DCG@{k}, paired t" for k in DEPTHS),
            "AUC by query, randomisation, Holm", "NDCG@5, randomisation, Holm",
        ),
        tuple(rows),
        "The first four are the paper's tests, with subsets that do not overlap; the last two "
        "suit the question better.",
    )  # fmt: skip


def _dimensions(by_size: Mapping[int, Tested], tested: Mapping[str, Tested]) -> list[Table]:
    if not by_size:
        return []
    base = tested["tfidf_cosine"]
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            t.result.value("AUC"),
            t.curve.partial_auc(LOW_FPR),
            *(t.result.value(NDCG(k)) for k in DEPTHS),
        )
        for name, t in [(f"S2Net, {k}", t) for k, t in by_size.items()] + [("TFIDF", base)]
    ]
    columns = ("method", "AUC", f"AUC, FPR ≤ {LOW_FPR}", *(f"NDCG@{k}" for k in DEPTHS))
    return [Table("Table 3: S2Net by dimensions", columns, tuple(rows))]


def _figure(tested: Mapping[str, Tested]) -> Figure:
    series = []
    for method, t in tested.items():
        fpr, tpr = t.curve.fpr, t.curve.tpr
        at = np.unique(np.r_[np.geomspace(1e-4, LOW_FPR, _DRAWN // 2), np.linspace(0, 1, _DRAWN)])
        drawn = np.interp(at, fpr, tpr)
        label = t.ranker.title
        series.append(Series(label, tuple(at.tolist()), tuple(drawn.tolist()), method))
    return Figure(
        "Figure 3: ROC",
        "roc",
        tuple(series),
        "false-positive rate",
        "true-positive rate",
        f"All pairs of the test that count. The paper draws false positives up to {LOW_FPR:.0%}.",
    )


def _against(
    others: Mapping[str, Tested], base: Tested, of: Callable[[Tested], np.ndarray]
) -> dict[str, Comparison]:
    """Each against TFIDF by paired randomisation, corrected for how many there are."""
    names = list(others)
    found = {
        (i, len(names)): paired_randomization(of(others[name]), of(base))
        for i, name in enumerate(names)
    }
    fixed = correct(found)
    return {name: fixed[i, len(names)] for i, name in enumerate(names)}


def _claims(
    tested: Mapping[str, Tested],
    by_size: Mapping[int, Tested],
    judged: Relevance,
    seed: int,
) -> list[Claim]:
    metrics = ["AUC", *(f"NDCG@{k}" for k in DEPTHS)]
    statements = [f"S2Net is ahead of TFIDF in {metric}." for metric in metrics]
    alone = "No other learned similarity is ahead of TFIDF."
    early = "S2Net is ahead of TFIDF with its fewest dimensions, too."
    if "s2net" not in tested:
        reason = "S2Net was not run."
        open_claims = [Claim(told, published=_TABLE_2, reason=reason) for told in statements]
        open_claims.append(Claim(early, published=_ABSTRACT, reason=reason))
        return [*open_claims, _alone(alone, tested)]
    network, base = tested["s2net"], tested["tfidf_cosine"]
    found = {(0, 1): _by_query(network, base)}
    scores = [t.ranker.scores["test"] for t in (network, base)]
    paper = [over_subsets(scores[0], scores[1], judged, seed)]
    for i, k in enumerate(DEPTHS, start=1):
        found[0, i + 1] = paired_randomization(
            *(t.result.per_query(NDCG(k)) for t in (network, base))
        )
        paper.append(paired_t(*(gains(t.result, judged, k) for t in (network, base))))
    corrected = list(correct(found).values())
    claims = []
    for metric, statement, one, published in zip(
        metrics, statements, corrected, paper, strict=True
    ):
        values = " − ".join(f"{t.result.value(metric):.3f}" for t in (network, base))
        what = (
            "AUC by query (pooled: " + values + ")" if metric == "AUC" else f"{metric}, {values}"
        )
        claims.append(Claim.ahead(statement, one, what, published=_TABLE_2, paper=published))
    least = min(by_size)
    small = by_size[least]
    values = " − ".join(f"{t.result.value(NDCG(5)):.3f}" for t in (small, base))
    claims.append(
        Claim.ahead(
            early,
            paired_randomization(*(t.result.per_query(NDCG(5)) for t in (small, base))),
            f"NDCG@5 with {least} dimensions, {values}",
            published=_ABSTRACT,
        )
    )
    return [*claims, _alone(alone, tested)]


def _alone(statement: str, tested: Mapping[str, Tested]) -> Claim:
    """Holds where no other method is significantly ahead in NDCG@5."""
    base = tested["tfidf_cosine"]
    others = {m: t for m, t in tested.items() if m not in ("tfidf_cosine", "s2net")}
    if not others:
        return Claim(statement, published=_TABLE_2, reason="No other was run.")
    found = _against(others, base, lambda t: t.result.per_query(NDCG(5)))
    ahead = [m for m, one in found.items() if one.difference > 0 and one.is_significant()]
    best = max(found, key=lambda m: found[m].difference)
    title, one = tested[best].ranker.title, found[best]
    names = ", ".join(tested[m].ranker.title for m in ahead) or "none"
    return Claim(
        statement,
        -float(len(ahead)),
        test=f"paired randomisation, Holm, {len(others)} comparisons, {counted(one)}",
        published=_TABLE_2,
        ours=f"significantly ahead in NDCG@5: {names}; the furthest, {title}: {_told(one)}",
    )


def _by_query(a: Tested, b: Tested) -> Comparison:
    return paired_randomization(*(t.result.per_query("AUC (by query)") for t in (a, b)))


def _told(found: Comparison) -> str:
    """Difference and p-value."""
    p = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".lstrip("0")
    return f"{found.difference:+.3f} ({p})".replace("-", "−")
