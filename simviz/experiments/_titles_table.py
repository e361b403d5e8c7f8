"""Rows and tests of table 3 of Neculoiu et al. (2016)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.augment import (
    Augmenter,
    Feedback,
    MinedWords,
    SampledWords,
    Typos,
    augment,
)
from simviz.data.pairs import PairSet
from simviz.data.taxonomy import taxonomy_pairs
from simviz.evaluation.intervals import confidence_interval
from simviz.evaluation.scoring import evaluate
from simviz.evaluation.significance import paired_randomization
from simviz.experiments._claims import Claim
from simviz.experiments._progress import Progress
from simviz.experiments._titles import (
    Grouped,
    Material,
    composition_test,
    extra_words_test,
    typos_test,
)
from simviz.pipeline import PairPipeline, default_pipeline

if TYPE_CHECKING:
    import pandas as pd

BASELINE = "n-gram"
ROWS = ("(0) none", "(1) typos", "(2) + synonyms", "(3) + extra words", "(4) + feedback")
TYPOS, COMPOSITION, EXTRA, ANNOTATIONS = "Typos", "Composition", "Extra words", "Annotations"
#: Inputs that a model got wrong before it was told.
CORRECTED = "Corrected"
#: Texts of each kind to watch at most; a pass over more would take as long as learning.
_WATCHED = 60


@dataclass(frozen=True, slots=True, eq=False)
class Table3:
    """Hits of every row on every test.

    Parameters
    ----------
    frame : DataFrame
        Columns "row", "test", "hits" (their share), "low" and "high" (95 %
        bootstrap interval), "n" (texts of the test).
    claims : tuple of Claim
        What should hold.
    ceiling : float
        What looking a title up in the taxonomy can reach.
    sizes : mapping of str to int
        Texts of the x side that each row was trained on.
    seconds : mapping of str to float
        How long each row took to train.
    """

    frame: pd.DataFrame
    claims: tuple[Claim, ...]
    ceiling: float
    sizes: Mapping[str, int]
    seconds: Mapping[str, float]

    def wide(self) -> pd.DataFrame:
        """Rows and columns as in the paper."""
        order = list(dict.fromkeys(self.frame["row"]))
        tests = list(dict.fromkeys(self.frame["test"]))
        table = self.frame.pivot(index="row", columns="test", values="hits")
        return table.loc[order, tests]


def table(
    material: Material,
    params: Mapping[str, Any] | None = None,
    *,
    rows: Sequence[str] | None = None,
    most_synonyms: int | None = None,
    share_of_words: float = 0.2,
    seed: int = 0,
    heard: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Table3:
    """Train and test the rows of the table.

    Parameters
    ----------
    material : Material
        A taxonomy. Without real inputs, the rows and tests that need some are
        left out.
    params : mapping, optional
        Parameters of `siamese_blstm` that differ from its defaults.
    rows : sequence of str, optional
        Of `ROWS`; each is trained from the beginning, on what the rows before
        it were trained on and more. All that the material allows when omitted.
    most_synonyms : int, optional
        Texts with synonyms to make at most of each kind, see
        `simviz.experiments.titles.composition_test`.
    share_of_words : float, default=0.2
        Share of the pairs of row (3) that have sampled words around a title.
    seed : int, default=0
        Of tests, augmentation and networks.
    heard : callable, optional
        Told in words how far it is.
    progress : Progress, optional
        Hears how far it is, and may stop it.

    Returns
    -------
    Table3
        Hits: the nearest title by cosine stands in a group of the text; where
        several are equally near, the expected hit.

    Notes
    -----
    No text of a test, and none that is watched to stop early, is ever trained
    on. The paper tests typos on every title; titles that no typo hit are left
    out here, for they are known from training.

    References
    ----------
    .. [1] Neculoiu, P., Versteegh, M., & Rotaru, M. (2016). "Learning Text
       Similarity with Siamese Recurrent Networks". Proceedings of the 1st
       Workshop on Representation Learning for NLP, 148-157. Section 5, table 3.
    """
    say = heard or (lambda words: None)
    course = _Course(material, most_synonyms, share_of_words, seed)
    wanted = [row for row in (rows or ROWS) if row in course.possible]
    base = taxonomy_pairs(material.titles)
    say(BASELINE)
    known: dict[tuple[str, str], NDArray[np.float64]] = {}
    matcher = default_pipeline("ngram_matcher", base).fit(base)
    sizes, seconds = {BASELINE: len(base.x)}, {}
    fitted = {BASELINE: matcher}
    for test, texts in course.tests.items():
        known[BASELINE, test] = hits(matcher, material.titles, texts)
    for row, part in (progress or Progress()).over(wanted):
        part(f"Training {row}")
        if row == ROWS[4]:
            teacher = fitted.get(ROWS[3]) or fitted.get(wanted[max(0, wanted.index(row) - 1)])
            if teacher is None or teacher is matcher:
                continue
            course.ask(teacher)
        train = augment(base, course.steps(row), course.kept_out)
        say(f"{row}: {len(train.x):,} texts")
        begin = time.perf_counter()
        network = default_pipeline(
            "siamese_blstm", train, **{"shared": True, "random_state": seed, **(params or {})}
        )
        network.set_callbacks(part.listen(f"Training {row}"))
        fitted[row] = network.fit(train, course.watched)
        part(f"Testing {row}", 1.0)
        seconds[row], sizes[row] = time.perf_counter() - begin, len(train.x)
        for test, texts in course.tests.items():
            known[row, test] = hits(fitted[row], material.titles, texts)
        found = [f"{test} {known[row, test].mean():.3f}" for test in course.tests]
        watched = max(fitted[row].model_.validation_scores_, default=float("nan"))
        say(f"  {', '.join(found)}; watched MRR {watched:.3f}; {seconds[row]:,.0f} s")
    if course.corrected:
        for row, model in fitted.items():
            known[row, CORRECTED] = hits(model, material.titles, course.corrected)
    return Table3(_frame(known), _claims(known), material.ceiling, sizes, seconds)


def hits(pipeline: PairPipeline, titles: Grouped, texts: Grouped) -> NDArray[np.float64]:
    """Whether the nearest title of each text stands in one of its groups.

    Parameters
    ----------
    pipeline : PairPipeline
        Fitted.
    titles, texts : mapping of str to sequence of str
        Taxonomy and texts of a test, each with its groups.

    Returns
    -------
    ndarray of shape (len(texts),)
        From 0 to 1; between them where several titles are equally near.
    """
    pairs = taxonomy_pairs(titles, texts)
    result = evaluate(
        pipeline, pairs.x, pairs.y, pairs.relevance, metrics=["top-1"], directions=["x2y"]
    )
    return np.asarray(result.per_query("top-1", "x2y"), dtype=np.float64)


class _Course:
    """Tests, and what is learned in which row."""

    def __init__(
        self, material: Material, most: int | None, share_of_words: float, seed: int
    ) -> None:
        self.material, self.seed, self.share = material, seed, share_of_words
        titles = material.titles
        learned, composed = composition_test(titles, material.synonyms, most=most, seed=seed)
        tests = {TYPOS: typos_test(titles, seed=seed), COMPOSITION: composed}
        self.possible = list(ROWS[:3])
        if material.annotated:
            tests[EXTRA] = extra_words_test(titles, material.annotated)
            tests[ANNOTATIONS] = material.annotated
        if material.words or material.pool:
            self.possible.append(ROWS[3])
        if material.pool:
            self.possible.append(ROWS[4])
        self.tests = {name: texts for name, texts in tests.items() if texts}
        # What is watched is drawn from what the table trains on in its last rows, and
        # then no longer trained on; that it is the same for all rows keeps them comparable.
        rng = np.random.default_rng(seed + 1)
        kept_in_mind = (
            _some(learned, rng, len(learned) // 5),
            _some(typos_test(titles, 0.15, seed + 1), rng),
        )
        watched = {**kept_in_mind[0], **kept_in_mind[1], **_some(material.watched, rng)}
        near = {group for groups in watched.values() for group in groups}
        pool = {t: of for t, of in titles.items() if near.intersection(of)}
        self.watched: PairSet = taxonomy_pairs(pool, watched)
        self.synonyms = {t: of for t, of in learned.items() if t not in watched}
        self.kept_out = [*watched, *(text for texts in self.tests.values() for text in texts)]
        self.verdicts: list[tuple[str, str, float]] = []
        self.corrected: dict[str, Sequence[str]] = {}

    def steps(self, row: str) -> list[Augmenter]:
        """Augmentations of a row; typos come last, for all texts."""
        level, material = ROWS.index(row), self.material
        steps: list[Augmenter] = []
        if level >= 2:
            made = [(t, g, 1) for t, of in self.synonyms.items() for g in of]
            steps.append(Feedback(made, weight=1.0))
        if level >= 3:
            steps.append(MinedWords(list(material.pool)))
            steps.append(SampledWords(material.words, self.share, seed=self.seed))
        if level >= 4:
            steps.append(Feedback(self.verdicts))
        if level >= 1:
            steps.append(Typos(seed=self.seed + 2))
        return steps

    def ask(self, model: PairPipeline) -> None:
        """Let a model answer inputs it has not learned, and note the verdict on each."""
        titles = self.material.titles
        mined = extra_words_test(titles, self.material.pool)
        asked = {text: of for text, of in self.material.pool.items() if text not in mined}
        pairs = taxonomy_pairs(titles, asked)
        best = model.similarity(pairs.x, pairs.y).argmax(axis=1)
        names = list(titles)
        for (text, of), j in zip(asked.items(), best, strict=True):
            answer = titles[names[j]]
            if not set(answer) & set(of):
                self.corrected[text] = of
                self.verdicts += [(text, group, -1) for group in answer]
            self.verdicts += [(text, group, 1) for group in of]


def _some(
    texts: Grouped, rng: np.random.Generator, most: int = _WATCHED
) -> dict[str, Sequence[str]]:
    names = list(texts)
    chosen = rng.permutation(len(names))[: min(most, _WATCHED)]
    return {names[i]: texts[names[i]] for i in sorted(chosen.tolist())}


def _frame(known: Mapping[tuple[str, str], NDArray[np.float64]]) -> pd.DataFrame:
    import pandas as pd

    lines = []
    for (row, test), values in known.items():
        low, high = confidence_interval(values)
        lines.append((row, test, float(values.mean()), low, high, len(values)))
    return pd.DataFrame(lines, columns=["row", "test", "hits", "low", "high", "n"])


def _claims(known: Mapping[tuple[str, str], NDArray[np.float64]]) -> tuple[Claim, ...]:
    none, typos, synonyms, extra, feedback = ROWS
    last = max((row for row, _ in known if row in ROWS), key=ROWS.index, default=none)

    def lifts(statement: str, row: str, base: str, test: str, bound: float) -> Claim:
        """What is said of a difference; it has to be sure, and as large as the bound."""
        pair = known.get((row, test)), known.get((base, test))
        if pair[0] is None or pair[1] is None:
            return Claim(statement, bound=bound)
        found = replace(paired_randomization(pair[0], pair[1]), unit="text")
        quantity = f"hits on {test}, {pair[0].mean():.3f} − {pair[1].mean():.3f}"
        return replace(Claim.ahead(statement, found, quantity), bound=bound)

    return (
        _share("Typos hit from row (1) on.", known.get((typos, TYPOS)), 0.95),
        lifts("Synonyms lift Composition.", synonyms, typos, COMPOSITION, 0.15),
        lifts("Extra words lift Extra words.", extra, synonyms, EXTRA, 0.25),
        lifts("Feedback corrects what it speaks of.", feedback, extra, CORRECTED, 0.5),
        _unharmed("Feedback costs nothing elsewhere.", known, feedback, extra),
        *(
            lifts(
                f"With all augmentations, ahead of the n-gram matcher on {test}.",
                last, BASELINE, test, np.nextafter(0.0, 1.0),
            )
            for test in (COMPOSITION, ANNOTATIONS)
        ),
    )  # fmt: skip


def _share(statement: str, values: NDArray[np.float64] | None, bound: float) -> Claim:
    if values is None:
        return Claim(statement, bound=bound)
    low, high = confidence_interval(values)
    share = float(values.mean())
    told = f"{share:.3f} of {len(values):,} texts [{low:.3f}, {high:.3f}] (needed {bound:.2f})"
    return Claim(statement, share, bound, low=low, high=high, ours=told)


def _unharmed(
    statement: str,
    known: Mapping[tuple[str, str], NDArray[np.float64]],
    row: str,
    base: str,
    margin: float = 0.02,
) -> Claim:
    """Whether no test lost more than the margin."""
    lost = {
        test: float(known[row, test].mean() - known[base, test].mean())
        for test in (TYPOS, COMPOSITION, EXTRA, ANNOTATIONS)
        if (row, test) in known and (base, test) in known
    }
    if len(lost) < len((TYPOS, COMPOSITION, EXTRA, ANNOTATIONS)):
        return Claim(statement, bound=-margin)
    worst = min(lost, key=lambda test: lost[test])
    return Claim(statement, lost[worst], -margin, f"largest loss, hits on {worst}")
