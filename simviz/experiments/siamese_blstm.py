"""Table 3 of Neculoiu et al. (2016): what each augmentation teaches a Siamese network."""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.augment import (
    Augmenter,
    Feedback,
    InducedSynonyms,
    ListedSynonyms,
    MinedWords,
    SampledWords,
    Typos,
    alphabet,
    augment,
    corrupt,
    mine,
)
from simviz.data.pairs import GROUP_SEPARATOR, PairSet
from simviz.data.readers import taxonomy_pairs
from simviz.evaluation.scoring import evaluate
from simviz.evaluation.significance import confidence_interval, paired_randomization
from simviz.exceptions import DatasetError
from simviz.experiments._experiment import BLSTM, Experiment, RunResult, Size
from simviz.experiments._findings import Cell, Claim, Table
from simviz.experiments._progress import Progress
from simviz.pipeline import PairPipeline, default_pipeline

Grouped = Mapping[str, Sequence[str]]
#: Hits on each text, by row and test.
Hits = Mapping[tuple[str, str], NDArray[np.float64]]

BASELINE = "n-gram"
ROWS = ("(0) none", "(1) typos", "(2) + synonyms", "(3) + extra words", "(4) + feedback")
TYPOS, COMPOSITION, EXTRA, ANNOTATIONS = "Typos", "Composition", "Extra words", "Annotations"
TESTS = (TYPOS, COMPOSITION, EXTRA, ANNOTATIONS)
#: Inputs that a model got wrong before it was told.
CORRECTED = "Corrected"
#: Texts of each kind to watch at most; a pass over more would take as long as learning.
_WATCHED = 60
#: Settings of the network by size.
_SETTINGS: Mapping[Size, Mapping[str, Any]] = {
    "demo": {"hidden_units": 48, "max_iter": 12, "patience": 4},
    "full": {"hidden_units": 64, "max_iter": 40, "patience": 8},
}
_SYNONYMS: Mapping[Size, int] = {"demo": 300, "full": 1_000}
_EVERY = 3  # n-th group of the demo
_GROUPS, _TITLES = 500, 6  # of a folder's taxonomy


@dataclass(frozen=True, slots=True)
class Material:
    """A taxonomy and what is known about how people write its titles."""

    titles: Grouped
    name: str
    synonyms: Sequence[tuple[str, str]] = ()
    words: Sequence[str] = ()
    pool: Grouped = field(default_factory=dict)
    watched: Grouped = field(default_factory=dict)
    annotated: Grouped = field(default_factory=dict)
    n_rows: int = 0

    @property
    def ceiling(self) -> float:
        """Share of rows of the taxonomy that looking titles up can get right."""
        # A title in several groups is looked up as one of them, and wrong for the others.
        return len(self.titles) / (self.n_rows or sum(map(len, self.titles.values())))


def demo_material() -> Material:
    """The demo "job_titles"."""
    from simviz.datasets.job_titles import (
        read_extra_words,
        read_inputs,
        read_synonyms,
        read_titles,
    )

    pool, watched, annotated = (
        {text: (group,) for text, group in read_inputs(part).items()}
        for part in ("pool", "validation", "test")
    )
    words = read_synonyms(), read_extra_words()
    return Material(read_titles(), "job_titles", *words, pool, watched, annotated)


def part_of_demo(every: int) -> Material:
    """Every n-th group of the demo "job_titles", with the texts of these groups."""
    whole = demo_material()
    groups = set(sorted({group for of in whole.titles.values() for group in of})[::every])

    def of_these(texts: Grouped) -> Grouped:
        return {text: of for text, of in texts.items() if groups.issuperset(of)}

    parts = ("titles", "pool", "watched", "annotated")
    kept: dict[str, Any] = {name: of_these(getattr(whole, name)) for name in parts}
    return replace(whole, **kept)


def read_material(
    path: str | Path,
    *,
    n_groups: int | None = None,
    most_titles: int | None = None,
    unambiguous: bool = False,
    synonyms: Sequence[tuple[str, str]] = (),
    seed: int = 0,
) -> Material:
    """Read a taxonomy, or a part of it."""
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or not {"title", "group_id"} <= rows[0].keys():
        raise DatasetError(f"{path.name} needs the columns title and group_id.")
    groups_of: dict[str, dict[str, None]] = {}
    for row in rows:
        groups_of.setdefault(row["title"].lower(), {})[row["group_id"]] = None
    members: dict[str, list[str]] = {}
    for title, of in groups_of.items():
        if not (unambiguous and len(of) > 1):
            for group in of:
                members.setdefault(group, []).append(title)
    chosen = sorted(group for group, titles in members.items() if len(titles) > 1)
    if n_groups is not None:
        if n_groups > len(chosen):
            raise DatasetError(
                f"{path.name} has {len(chosen)} groups of two titles or more, not {n_groups}."
            )
        drawn = np.random.default_rng(seed).choice(len(chosen), n_groups, replace=False)
        chosen = [chosen[i] for i in np.sort(drawn)]
    titles: dict[str, tuple[str, ...]] = {}
    for group in chosen:
        for title in members[group][:most_titles]:
            titles[title] = (*titles.get(title, ()), group)
    whole = n_groups is None and most_titles is None and not unambiguous
    return Material(titles, path.parent.name, synonyms, n_rows=len(rows) if whole else 0)


def typos_test(titles: Grouped, rate: float = 0.05, seed: int = 0) -> Grouped:
    """Every title with some characters replaced or left out."""
    rng = np.random.default_rng(seed)
    letters = alphabet(titles)
    found = {}
    for title, groups in titles.items():
        typed = corrupt(title, rng, rate / 2, rate / 2, letters)
        if typed.strip() and typed.casefold() not in titles:
            found[typed] = groups
    return found


def composition_test(
    titles: Grouped,
    synonyms: Sequence[tuple[str, str]] = (),
    *,
    most: int | None = None,
    share: float = 0.25,
    seed: int = 0,
) -> tuple[Grouped, Grouped]:
    """Titles with words exchanged for synonyms: those to train on, and those for the test."""
    # Those for the test differ from a title in two places. One exchange leaves so much of a
    # title that it is mostly found by what is left.
    once = _made(titles, titles, synonyms, most, seed)
    twice = _made(titles, once, synonyms, most, seed) if once else {}
    drawn = np.random.default_rng(seed).permutation(len(twice))
    held = set(drawn[: round(share * len(twice))].tolist())
    test = {text: of for i, (text, of) in enumerate(twice.items()) if i in held}
    return once | {text: of for text, of in twice.items() if text not in test}, test


def _made(
    titles: Grouped,
    texts: Grouped,
    synonyms: Sequence[tuple[str, str]],
    most: int | None,
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """What exchanging words once makes of texts."""
    pairs = taxonomy_pairs(titles, texts)
    made: dict[str, tuple[str, ...]] = {}
    for step in (ListedSynonyms(synonyms, most, seed), InducedSynonyms(most, seed)):
        x = step.transform(pairs).x
        for i in range(len(texts), len(x)):
            made[x.content[i]] = tuple(x.metadata["group"][i].split(GROUP_SEPARATOR))
    return made


def extra_words_test(titles: Grouped, inputs: Iterable[str]) -> Grouped:
    """Real inputs that hold a title and more, where an n-gram matcher finds that title."""
    names = list(titles)
    return {text: titles[names[j]] for text, j in mine(list(inputs), names)}


@dataclass(frozen=True, slots=True, eq=False)
class Table3:
    """Hits of every row on every test, and how many texts and seconds each row was trained."""

    hits: Hits
    sizes: Mapping[str, int]
    seconds: Mapping[str, float]

    @property
    def rows(self) -> list[str]:
        """Rows as in the paper."""
        return list(dict.fromkeys(row for row, _ in self.hits))

    @property
    def tests(self) -> dict[str, int]:
        """Tests as in the paper, and how many texts each has."""
        return {test: len(values) for (_, test), values in self.hits.items()}


def table(
    material: Material,
    params: Mapping[str, Any] | None = None,
    *,
    rows: Sequence[str] | None = None,
    most_synonyms: int | None = None,
    share_of_words: float = 0.2,
    seed: int = 0,
    progress: Progress | None = None,
) -> Table3:
    """Train and test the rows of the table."""
    # No text of a test, and none that is watched to stop early, is ever trained on. The paper
    # tests typos on every title; titles that no typo hit are left out here, for they are known
    # from training.
    # Neculoiu, P., Versteegh, M., & Rotaru, M. (2016). "Learning Text Similarity with Siamese
    # Recurrent Networks". Proceedings of the 1st Workshop on Representation Learning for NLP,
    # 148-157. Section 5, table 3.
    course = _Course(material, most_synonyms, share_of_words, seed)
    wanted = [row for row in (rows or ROWS) if row in course.possible]
    base = taxonomy_pairs(material.titles)
    matcher = default_pipeline("ngram_matcher", base).fit(base)
    sizes, seconds = {BASELINE: len(base.x)}, {}
    fitted = {BASELINE: matcher}
    for row, part in (progress or Progress()).over(wanted):
        part(f"Training {row}")
        if row == ROWS[4]:
            teacher = fitted.get(ROWS[3]) or fitted.get(wanted[max(0, wanted.index(row) - 1)])
            if teacher is None or teacher is matcher:
                continue
            course.ask(teacher)
        train = augment(base, course.steps(row), course.kept_out)
        begin = time.perf_counter()
        network = default_pipeline(
            "siamese_blstm", train, **{"shared": True, "random_state": seed, **(params or {})}
        )
        network.set_callbacks(part.listen(f"Training {row}"))
        fitted[row] = network.fit(train, course.watched)
        part(f"Testing {row}", 1.0)
        seconds[row], sizes[row] = time.perf_counter() - begin, len(train.x)
    tests = course.tests | ({CORRECTED: course.corrected} if course.corrected else {})
    found = {
        (row, test): hits(model, material.titles, texts)
        for row, model in fitted.items()
        for test, texts in tests.items()
    }
    return Table3(found, sizes, seconds)


def hits(pipeline: PairPipeline, titles: Grouped, texts: Grouped) -> NDArray[np.float64]:
    """Whether the nearest title of each text stands in one of its groups."""
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


def claims(known: Hits) -> list[Claim]:
    """What the paper concludes; a difference has to be sure, and as large as the bound."""
    none, typos, synonyms, extra, feedback = ROWS
    last = max((row for row, _ in known if row in ROWS), key=ROWS.index, default=none)
    ahead = "With all augmentations, ahead of the n-gram matcher on {}."
    differences = (
        ("Synonyms lift Composition.", synonyms, typos, COMPOSITION, 0.15),
        ("Extra words lift Extra words.", extra, synonyms, EXTRA, 0.25),
        ("Feedback corrects what it speaks of.", feedback, extra, CORRECTED, 0.5),
        (ahead.format(COMPOSITION), last, BASELINE, COMPOSITION, np.nextafter(0.0, 1.0)),
        (ahead.format(ANNOTATIONS), last, BASELINE, ANNOTATIONS, np.nextafter(0.0, 1.0)),
    )
    found = []
    for statement, row, base, test, bound in differences:
        claim = Claim(statement)
        if (row, test) in known and (base, test) in known:
            a, b = known[row, test], known[base, test]
            compared = replace(paired_randomization(a, b), unit="text")
            quantity = f"hits on {test}, {a.mean():.3f} − {b.mean():.3f}"
            claim = Claim.ahead(statement, compared, quantity)
        found.append(replace(claim, bound=bound))
    share = _share("Typos hit from row (1) on.", known.get((typos, TYPOS)), 0.95)
    unharmed = _unharmed("Feedback costs nothing elsewhere.", known, feedback, extra)
    return [share, *found[:3], unharmed, *found[3:]]


def _share(statement: str, values: NDArray[np.float64] | None, bound: float) -> Claim:
    if values is None:
        return Claim(statement, bound=bound)
    low, high = confidence_interval(values)
    share = float(values.mean())
    numbers = f"{share:.3f} of {len(values):,} texts [{low:.3f}, {high:.3f}] (needed {bound:.2f})"
    return Claim(statement, share, bound, low=low, high=high, ours=numbers)


def _unharmed(statement: str, known: Hits, row: str, base: str, margin: float = 0.02) -> Claim:
    """Whether no test lost more than the margin."""
    if not all((one, test) in known for one in (row, base) for test in TESTS):
        return Claim(statement, bound=-margin)
    lost = {test: float(known[row, test].mean() - known[base, test].mean()) for test in TESTS}
    worst = min(lost, key=lambda test: lost[test])
    return Claim(statement, lost[worst], -margin, f"largest loss, hits on {worst}")


class SiameseTable(Experiment[Material]):
    """Hits of a network that learns from more and more augmentation."""

    title = "What each augmentation teaches a network that reads titles"
    paper = BLSTM
    shown_as = "Table 3"
    sentence = (
        "Does a network find the right title despite typos, synonyms and extra words, if it was "
        "shown such texts?"
    )
    needs = "titles in groups"
    demo = "job_titles"
    sets = ("esco_titles", "onet_titles")
    methods = ("ngram_matcher", "siamese_blstm")
    minutes = 4.0

    def load(
        self,
        path: str | Path | None = None,
        *,
        size: Size = "demo",
        seed: int = 0,
        n_train: int | None = None,
        **how: Any,
    ) -> Material:
        """Read a taxonomy."""
        if path is None:
            return part_of_demo(_EVERY) if size == "demo" else demo_material()
        file = Path(path) / "titles.tsv.gz"
        if not file.exists():
            raise DatasetError(f"{Path(path).name} has no titles.tsv.gz (title, group_id).")
        return read_material(
            file,
            n_groups=n_train or (_GROUPS if size == "demo" else None),
            most_titles=_TITLES if size == "demo" else None,
            unambiguous=size == "demo",
            synonyms=demo_material().synonyms,
            seed=seed,
        )

    def refusal(self, pairs: PairSet) -> str:
        """Why it cannot be run on these pairs."""
        return "It needs a taxonomy, which pairs do not tell. Run it from the command line."

    def _run(
        self, data: Material, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        """Train and test the rows of the table."""
        found = table(
            data, _SETTINGS[size], most_synonyms=_SYNONYMS[size], seed=seed, progress=progress
        )
        tests = found.tests
        columns = ("row", "texts", *(f"{test} (n = {n:,})" for test, n in tests.items()))
        rows: list[tuple[Cell, ...]] = [
            (row, found.sizes[row], *(float(found.hits[row, test].mean()) for test in tests))
            for row in found.rows
        ]
        settings = ", ".join(f"{name} {value}" for name, value in _SETTINGS[size].items())
        return RunResult(
            f"{len(data.titles):,} titles",
            tables=[
                Table(
                    "Table 3: share of texts whose nearest title stands in the right group",
                    columns,
                    tuple(rows),
                    "The paper's titles are not public; its numbers are of other tests.",
                )
            ],
            claims=claims(found.hits),
            notes=[
                f"Network: {settings}.",
                f"Looking titles up in the taxonomy can reach {data.ceiling:.3f}.",
            ],
        )
