"""Table 3 and figures 2 and 3 of Neculoiu et al. (2016): what augmentation teaches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from simviz.data import augment
from simviz.data.pairs import GROUP_SEPARATOR, Items, PairSet
from simviz.data.pairs_from_tables import Grouped, grouped, read_taxonomy, taxonomy_pairs
from simviz.evaluation import evaluate
from simviz.evaluation.significance import Comparison, paired_randomization
from simviz.exceptions import DatasetError
from simviz.experiments._claims import Judge
from simviz.experiments._experiment import Experiment, RunResult, Size
from simviz.experiments._findings import Cell, Series
from simviz.experiments._parts import Parts, WithoutItself
from simviz.experiments._progress import Progress
from simviz.methods import get_method
from simviz.methods._blstm_training import negative_loss
from simviz.pipeline import PairPipeline, default_pipeline
from simviz.relevance import Relevance

#: Hits on each text, by test and row.
Hits = Mapping[str, Mapping[str, Sequence[float]]]

BASELINE = "n-gram"
ROWS = ("(0) none", "(1) typos", "(2) + synonyms", "(3) + extra words", "(4) + feedback")
TYPOS, COMPOSITION, EXTRA, ANNOTATIONS = "Typos", "Composition", "Extra words", "Annotations"
TESTS = (TYPOS, COMPOSITION, EXTRA, ANNOTATIONS)
#: The row with all augmentations that the data allow, and what each step adds to hits.
_LAST, _RISE = "the last row", f"rise of {ANNOTATIONS}"
_STEPS = {
    "extra words": (ROWS[3], ROWS[2]), "typos": (ROWS[1], ROWS[0]),
    "synonyms": (ROWS[2], ROWS[1]), "feedback": (ROWS[4], ROWS[3]),
}  # fmt: skip
#: Inputs that row (3) got wrong, and row (4) was told the groups of.
CORRECTED = "Corrected (seen in training)"
#: Share of its own training inputs that a network has to find before its claims are decided:
#: validation stands still at a random start that was never left, too.
LEARNED = 0.5
#: Texts of each kind to watch at most; a pass over more would take as long as learning.
_WATCHED = 60
_SYNONYMS: Mapping[Size, int] = {"demo": 300, "full": 1_000}
_SHARE = 0.2  # of the relevant pairs, with extra words
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

    @property
    def ceiling(self) -> float:
        """Share of rows of the taxonomy that looking titles up can get right."""
        # A title in several groups is looked up as one of them, and wrong for the others.
        return len(self.titles) / sum(map(len, self.titles.values()))


def demo_material(every: int = 1) -> Material:
    """The demo "job_titles": every n-th of its groups, with the texts of these groups."""
    from simviz.datasets import job_titles as demo

    titles = demo.read_titles()
    groups = set(sorted({group for of in titles.values() for group in of})[::every])

    def of_these(texts: Grouped) -> Grouped:
        return {text: of for text, of in texts.items() if groups.issuperset(of)}

    inputs = (grouped(demo.read_inputs(part).items()) for part in ("pool", "validation", "test"))
    words = demo.read_synonyms(), demo.read_extra_words()
    return Material(of_these(titles), "job_titles", *words, *map(of_these, inputs))


def read_material(
    path: Path, n_groups: int = _GROUPS, synonyms: Sequence[tuple[str, str]] = (), seed: int = 0
) -> Material:
    """Read some groups of a taxonomy, without the titles that stand in several."""
    members: dict[str, list[str]] = {}
    for title, (group, *others) in read_taxonomy(path).items():
        if not others:
            members.setdefault(group, []).append(title)
    known = sorted(group for group, titles in members.items() if len(titles) > 1)
    if n_groups > len(known):
        raise DatasetError(
            f"{path.name} has {len(known)} groups of two titles or more, not {n_groups}."
        )
    drawn = np.random.default_rng(seed).choice(len(known), n_groups, replace=False)
    chosen = [known[i] for i in np.sort(drawn)]
    titles = {title: (group,) for group in chosen for title in members[group][:_TITLES]}
    return Material(titles, path.parent.name, synonyms)


def typos_test(titles: Grouped, rate: float = 0.05, seed: int = 0) -> Grouped:
    """Every title with some characters replaced or left out."""
    rng = np.random.default_rng(seed)
    letters = augment.alphabet(titles)
    tests = {}
    for title, groups in titles.items():
        typed = augment.corrupt(title, rng, rate / 2, rate / 2, letters)
        if typed.strip() and typed.casefold() not in titles:
            tests[typed] = groups
    return tests


def composition_test(
    titles: Grouped,
    synonyms: Sequence[tuple[str, str]] = (),
    *,
    most: int | None = None,
    share: float = 0.25,
    seed: int = 0,
) -> tuple[Grouped, Grouped]:
    """Titles with a word exchanged for a synonym: those to train on, and those for the test."""
    made: dict[str, tuple[str, ...]] = {}
    pairs = taxonomy_pairs(titles)
    for step in (
        augment.ListedSynonyms(synonyms, most, seed),
        augment.InducedSynonyms(most, seed),
    ):
        x = step.transform(pairs).x
        made |= _grouped(x.take(range(len(titles), len(x))))
    drawn = np.random.default_rng(seed).permutation(len(made))
    held = set(drawn[: round(share * len(made))].tolist())
    test = {text: of for i, (text, of) in enumerate(made.items()) if i in held}
    return {text: of for text, of in made.items() if text not in test}, test


def extra_words_test(titles: Grouped, inputs: Iterable[str]) -> Grouped:
    """Real inputs that hold a title and more, where an n-gram matcher finds that title."""
    names = list(titles)
    return {text: titles[names[j]] for text, j in augment.mine(list(inputs), names)}


@dataclass(frozen=True, slots=True)
class Row:
    """How many texts a row was trained on, in how many passes, and what it knows of them."""

    texts: int
    passes: int | None = None
    #: Share of its training inputs whose nearest title, itself left out, is right.
    recall: float = math.nan
    #: Whether validation had not risen any more for as many passes as it was waited for.
    plateau: bool = False

    @property
    def learned(self) -> bool:
        """Whether it was trained to its end; not where what it knows was not measured."""
        return self.plateau and self.recall >= LEARNED


@dataclass(frozen=True, slots=True, eq=False)
class Table3:
    """Hits of every row on every test, and how each row was trained."""

    hits: Hits
    rows: Mapping[str, Row]


def table(
    material: Material,
    params: Mapping[str, Any],
    *,
    name: str = "the network",
    most_synonyms: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Table3:
    """Train and test the rows of the table, whose networks are kept."""
    # No text of a test, and none that is watched to stop early, is ever trained on. The paper
    # tests typos on every title; titles that no typo hit are left out here, for they are known
    # from training.
    # Neculoiu, P., Versteegh, M., & Rotaru, M. (2016). "Learning Text Similarity with Siamese
    # Recurrent Networks". Proceedings of the 1st Workshop on Representation Learning for NLP,
    # 148-157. Section 5, table 3.
    course = _Course(material, most_synonyms, seed)
    base = taxonomy_pairs(material.titles)
    matcher = default_pipeline("ngram_matcher", base).fit(base)
    rows = {BASELINE: Row(len(base.x))}
    results = {test: {BASELINE: values} for test, values in course.hits(matcher).items()}

    for row, part in (progress or Progress()).over(course.possible):
        label = f"Training {name} {row}"
        part(label)
        train = augment.augment(base, course.steps(row), course.kept_out)
        network = default_pipeline(
            "siamese_blstm", train, shared=True, random_state=seed, **params
        )
        part.fitted(network.set_callbacks(part.listen(label)), train, course.watched)
        part(label, 1.0)  # ends here where it was stopped
        model = network.model_
        plateau = model.n_iter_ - model.best_iter_ >= model.patience
        rows[row] = Row(len(train.x), model.n_iter_, training_recall(network, train), plateau)
        for test, values in course.hits(network).items():
            results.setdefault(test, {})[row] = values
        if row == ROWS[3]:
            course.tell(network)
    return Table3(results, rows)


def training_recall(pipeline: PairPipeline, train: PairSet) -> float:
    """Share of training inputs whose nearest title, itself left out, is of one of their groups."""
    # Inputs without any other title of their groups are left out: there is nothing to learn.
    positives = train.relevance.positives
    itself = positives.multiply(sp.eye_array(*positives.shape, format="csr"))
    others = sp.csr_array(positives - itself)
    others.eliminate_zeros()
    if not others.nnz:
        return math.nan
    judged, scorer = Relevance(others, unjudged="negative"), WithoutItself(pipeline)
    result = evaluate(scorer, train.x, train.y, judged, ["top-1"], directions=["x2y"])
    return result.value("top-1")


def hits(pipeline: PairPipeline, titles: Grouped, texts: Grouped) -> list[float]:
    """Whether the nearest title of each text stands in one of its groups."""
    pairs = taxonomy_pairs(titles, texts)
    result = evaluate(pipeline, pairs, metrics=["top-1"], directions=["x2y"])
    return [float(hit) for hit in result.per_query("top-1")]


class _Course:
    """Tests, and what is learned in which row."""

    def __init__(self, material: Material, most: int | None, seed: int) -> None:
        self.material, self.seed = material, seed
        titles = material.titles
        learned, composed = composition_test(titles, material.synonyms, most=most, seed=seed)
        tests = {TYPOS: typos_test(titles, seed=seed), COMPOSITION: composed}
        if material.annotated:
            tests[EXTRA] = extra_words_test(titles, material.annotated)
            tests[ANNOTATIONS] = material.annotated
        self.tests = {name: texts for name, texts in tests.items() if texts}
        self.possible = ROWS if material.pool else ROWS[:4] if material.words else ROWS[:3]
        # What is watched is drawn from what the table trains on in its last rows, and
        # then no longer trained on; that it is the same for all rows keeps them comparable.
        rng = np.random.default_rng(seed + 1)
        watched = {
            **_some(learned, rng, len(learned) // 5),
            **_some(typos_test(titles, 0.15, seed + 1), rng),
            **_some(material.watched, rng),
        }
        near = {group for groups in watched.values() for group in groups}
        pool = {t: of for t, of in titles.items() if near.intersection(of)}
        self.watched: PairSet = taxonomy_pairs(pool, watched)
        self.synonyms = [
            (text, group, 1) for text, of in learned.items() if text not in watched for group in of
        ]
        self.kept_out = [*watched, *(text for texts in self.tests.values() for text in texts)]
        self.verdicts: list[tuple[str, str, float]] = []

    def hits(self, model: PairPipeline) -> dict[str, list[float]]:
        """Hits on each test."""
        titles = self.material.titles
        return {test: hits(model, titles, texts) for test, texts in self.tests.items()}

    def steps(self, row: str) -> list[augment.Augmenter]:
        """Augmentations of a row; typos come last, for all texts."""
        material = self.material
        since: list[tuple[int, augment.Augmenter]] = [
            (2, augment.Feedback(self.synonyms, weight=1.0)),
            (3, augment.MinedWords(list(material.pool))),
            (3, augment.SampledWords(material.words, _SHARE, seed=self.seed)),
            (4, augment.Feedback(self.verdicts)),
            (1, augment.Typos(seed=self.seed + 2)),
        ]
        return [step for stage, step in since if stage <= ROWS.index(row)]

    def tell(self, model: PairPipeline) -> None:
        """Have row (4) learn from verdicts on a model's answers to inputs it has not learned."""
        titles, pool = self.material.titles, self.material.pool
        mined = extra_words_test(titles, pool)
        unseen = {text: of for text, of in pool.items() if text not in mined}
        if not unseen:
            return
        pairs = taxonomy_pairs(titles, unseen)
        best = model.similarity(pairs.x, pairs.y).argmax(axis=1)
        answers, corrected = list(titles.values()), {}
        for (text, of), j in zip(unseen.items(), best, strict=True):
            if not set(answers[j]) & set(of):
                corrected[text] = of
                self.verdicts += [(text, group, -1) for group in answers[j]]
            self.verdicts += [(text, group, 1) for group in of]
        if corrected:  # whether it remembers them
            self.tests[CORRECTED] = corrected


def _some(
    texts: Grouped, rng: np.random.Generator, most: int = _WATCHED
) -> dict[str, Sequence[str]]:
    names = list(texts)
    chosen = rng.permutation(len(names))[: min(most, _WATCHED)]
    return {names[i]: texts[names[i]] for i in sorted(chosen.tolist())}


def claimed(trained: Table3) -> tuple[dict[str, dict[str, Any]], Judge]:
    """What the claims on a network are about, text by text, and how they are decided."""
    last = max((row for row in trained.rows if row in ROWS), key=ROWS.index, default=ROWS[0])
    known: dict[str, dict[str, Any]] = {
        test: {**rows, **({_LAST: rows[last]} if last in rows else {})}
        for test, rows in trained.hits.items()
    }
    # What a step gains, text by text; the step with extra words against each of the others.
    annotated = known.get(ANNOTATIONS, {})
    known[_RISE] = {
        step: np.subtract(annotated[a], annotated[b])
        for step, (a, b) in _STEPS.items()
        if {a, b} <= annotated.keys()
    }

    def undecided(one: str, other: str, on: str) -> str:
        there = {_LAST: (last,), **_STEPS}
        rows = [row for name in (one, other) for row in there.get(name, (name,))]
        return _unlearned(trained.rows, rows)

    def quantity(one: str, other: str, on: str) -> str:
        return on.replace("rise of", "rise of hits on") if on == _RISE else f"hits on {on}"

    return known, Judge(quantity=quantity, test=_by_text, undecided=undecided)


def _by_text(a: Sequence[float], b: Sequence[float]) -> Comparison:
    return replace(paired_randomization(a, b), unit="text")


def _unlearned(trained: Mapping[str, Row], rows: Iterable[str]) -> str:
    """Which of some rows were not trained to their end, in words; empty where all were."""
    unfinished = []
    for row in dict.fromkeys(rows):
        how = trained.get(row)
        if row in ROWS and how is not None and not how.learned:
            right = "not measured" if math.isnan(how.recall) else f"{how.recall:.3f}"
            still = "" if how.plateau else ", still rising"
            unfinished.append(f"row {row}: {right} after {how.passes} passes{still}")
    needed = f"validation at a plateau, and {LEARNED:g} of the inputs of training right"
    return f"Not trained to its end ({needed}): {'; '.join(unfinished)}." if unfinished else ""


def group_sizes(material: Material, most_synonyms: int | None, seed: int) -> list[Series]:
    """How many groups have so many titles, before and after synonyms are added."""
    titles = material.titles
    added, _ = composition_test(
        titles, material.synonyms, most=most_synonyms, share=0.0, seed=seed
    )
    series = []
    for label, known in (("titles", titles), ("with synonyms", {**titles, **added})):
        sizes = Counter(Counter(group for of in known.values() for group in of).values())
        x, y = zip(*sorted(sizes.items()), strict=True)
        series.append(Series(label, tuple(map(float, x)), tuple(map(float, y))))
    return series


def costs() -> list[Series]:
    """What a pair costs by its cosine, if it belongs together and if it does not."""
    import torch

    E = torch.linspace(-1, 1, 201)
    lines = {
        "belongs together": (1 - E).square() / 4,
        "does not": negative_loss(E, "above", 0.0),
        "does not, as printed": negative_loss(E, "below", 0.0),
    }
    return [Series(n, tuple(E.tolist()), tuple(cost.tolist())) for n, cost in lines.items()]


class SiameseTable(Experiment[Material]):
    """Hits of a network that learns from more and more augmentation."""

    def load(
        self,
        path: str | Path | None = None,
        *,
        size: Size = "demo",
        seed: int = 0,
        n_train: int | None = None,
        **_: Any,
    ) -> Material:
        """Read a taxonomy; of a folder's, `n_train` groups."""
        if path is None:
            return demo_material(_EVERY if size == "demo" else 1)
        file = Path(path) / "titles.tsv.gz"
        if not file.exists():
            raise DatasetError(f"{Path(path).name} has no titles.tsv.gz (title, group_id).")
        return read_material(file, n_train or _GROUPS, demo_material().synonyms, seed)

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs: y are titles with their groups."""
        return pairs.y.kind == pairs.x.kind == "text" and "group" in pairs.y.metadata

    def _adapted(self, parts: Parts) -> Material:
        """A taxonomy of the y side; what else the x side has are texts of its parts."""
        titles = _grouped(parts.train.y)
        texts = (
            {text: of for text, of in _grouped(part.x).items() if any(of) and text not in titles}
            for part in (parts.train, parts.validation, parts.test)
        )
        return Material(titles, parts.name, (), (), *texts)

    def _run(
        self, data: Material, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        tables, claims, notes = [], [], []
        settings = dict(self.grids[size]["siamese_blstm"])
        for preset, part in progress.over(settings.pop("preset", ("none",))):
            params = {name: value for name, (value,) in settings.items()}
            params |= get_method("siamese_blstm").presets.get(preset, {})
            network, most = self.texts[preset], _SYNONYMS[size]
            found = table(data, params, name=network, most_synonyms=most, seed=seed, progress=part)
            tables.append(self.table("main", _rows(found), network=network))
            text = ", ".join(f"{name} {params[name]}" for name in settings)
            notes.append(f"{network}: {text}.")
            claims += [
                replace(claim, statement=f"{network}: {claim.statement}")
                for claim in self.judged(*claimed(found))
            ]
        return RunResult(
            f"{len(data.titles):,} titles",
            tables=tables,
            figures=[
                self.figure("costs", costs()),
                self.figure("sizes", group_sizes(data, _SYNONYMS[size], seed)),
            ],
            claims=claims,
            notes=[*notes, *(text.format(LEARNED, data.ceiling) for text in self.remarks)],
        )


def _rows(found: Table3) -> list[dict[str, Cell]]:
    heads = {
        test: f"{test} (n = {len(next(iter(of.values()))):,})" for test, of in found.hits.items()
    }
    return [
        {
            "row": row,
            "texts": of.texts,
            "passes": of.passes,
            "plateau": "" if of.passes is None else "yes" if of.plateau else "no",
            "training inputs right": of.recall,
            **{
                heads[test]: float(np.mean(values[row])) if row in values else None
                for test, values in found.hits.items()
            },
        }
        for row, of in found.rows.items()
    ]


def _grouped(items: Items) -> dict[str, tuple[str, ...]]:
    cells = zip(items.content, items.metadata["group"], strict=True)
    return grouped((text, group) for text, of in cells for group in of.split(GROUP_SEPARATOR))
