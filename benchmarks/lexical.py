"""Methods that learn nothing from pairs beside scikit-learn and bm25s, which see the candidates.

``python benchmarks/lexical.py FOLDER [SET ...]`` prints one row a set; FOLDER holds data sets in
folders of their own, see `_corpora`. Peers are fitted on the training texts and the candidates of
each direction, ours on the training texts alone. ``pip install bm25s`` comes first.

``python benchmarks/lexical.py FOLDER choose [lexical|k1|svd|pamir] [SET ...]`` prints what
defaults were chosen by: every other set of the alphabet, by training pairs held out; and the
test parts of the other sets. "svd" and "pamir" take sets whose sides have words in common.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _corpora import aligned, graded, pool, table
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

import simviz
from simviz.data import Items, PairSet
from simviz.evaluation import evaluate
from simviz.pipeline import default_pipeline, same_vocabulary
from simviz.relevance import Relevance

DEMOS = ("emoji", "job_titles", "pydocs", "pydocs_links")
ALIGNED = ("en_es_docs", "en_es_sentences", "libreoffice_help", "abt_buy", "amazon_google")
GRADED, POOLED = ("mediqa_qa", "nfcorpus"), ("cranfield", "cisi", "med", "npl")
TITLES, SCORED = ("esco_titles", "onet_titles"), ("sts_b_en",)
SETS = DEMOS + ALIGNED + GRADED + POOLED + TITLES + SCORED
TRAIN, POOL = 1_400, 1_000
SEEDS = range(3)
#: What is chosen from: parameters of a method and of its features.
CHOICES: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "lexical": {
        "tf": ("tfidf_cosine", {"features": {"tf": "raw"}}),
        "ln(1 + tf)": ("tfidf_cosine", {"features": {"tf": "log1p"}}),
        "1 + log2 tf": ("tfidf_cosine", {"features": {"tf": "log2"}}),
        "BM25, two documents": ("bm25", {"k1": 1.2}),
        "BM25, query": ("bm25", {"preset": "paper"}),
    },
    "k1": {f"k1 = {k1:g}": ("bm25", {"k1": k1}) for k1 in (1.2, 2.0, 3.0, 4.0)},
    "svd": {
        "two vocabularies": ("heterogeneous_svd", {"shared": False}),
        "one": ("heterogeneous_svd", {"shared": True}),
    },
    "pamir": {
        "two vocabularies": ("pamir", {"shared": False}),
        "one, from 0": ("pamir", {"shared": True, "init": "zero"}),
        "one, from the identity": ("pamir", {"shared": True, "init": "identity"}),
    },
}
Texts = Sequence[str]
Scores = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Given:
    """Similarities that are there already."""

    scores: Scores

    def iter_similarity(  # noqa: D102 -- as `simviz.evaluation.Scorer` has it
        self, x: Any, y: Any, *, block_size: int | None = None
    ) -> Iterator[Scores]:
        step = block_size or len(self.scores)
        for start in range(0, len(self.scores), step):
            yield self.scores[start : start + step]


def parts(folder: Path, name: str) -> tuple[PairSet, PairSet]:
    """Return training pairs and test pairs of a set."""
    if name in DEMOS:
        pairs = simviz.load_demo(name)
        found = simviz.split(pairs)
        return found.train, found.test
    if name in ALIGNED:
        texts = aligned(folder / name)
        return (
            PairSet.from_texts(*(side[:TRAIN] for side in texts["train"])),
            PairSet.from_texts(*(side[:POOL] for side in texts["test"])),
        )
    if name in GRADED:
        found = graded(folder / name, TRAIN, POOL)
        return tuple(  # type: ignore[return-value]
            PairSet(_items(x), _items(y), relevance)
            for x, y, relevance in (found["train"], found["test"])
        )
    if name in POOLED:  # every other query
        x, y, relevance = pool(folder / name)
        pairs = PairSet(_items(x), _items(y), relevance)
        at = np.arange(len(x))
        return pairs.take(at[::2]), pairs.take(at[1::2])
    if name in TITLES:
        return _titles(folder / name)
    rows = table(folder / name / "pairs.tsv.gz")
    return tuple(_judged(rows, part) for part in ("train", "test"))  # type: ignore[return-value]


def _items(texts: Texts) -> Items:
    return Items([str(i) for i in range(len(texts))], list(texts), "text")


def _titles(folder: Path) -> tuple[PairSet, PairSet]:
    """Other titles of a group, and the names of all groups."""
    rows = table(folder / "titles.tsv.gz")
    groups = {group: name for _, group, name, _ in rows}
    place = {group: j for j, group in enumerate(groups)}
    others = [(title, place[group]) for title, group, _, preferred in rows if preferred != "1"]
    order = np.random.default_rng(0).permutation(len(others))
    y = _items(list(groups.values()))

    def part(chosen: Any) -> PairSet:
        drawn = [others[i] for i in chosen]
        relevance = Relevance.from_pairs(
            np.arange(len(drawn)), [j for _, j in drawn], shape=(len(drawn), len(y))
        )
        return PairSet(_items([title for title, _ in drawn]), y, relevance)

    return part(order[:TRAIN]), part(order[TRAIN : TRAIN + POOL])


def _judged(rows: list[list[str]], part: str) -> PairSet:
    """Pairs judged alike (4 or 5) or not; row i of one side belongs to row i of the other."""
    drawn = [row for row in rows if row[0] == part]
    drawn = drawn[:TRAIN] if part == "train" else drawn
    labels = [1.0 if float(score) >= 4 else -1.0 for _, score, _, _ in drawn]
    at = np.arange(len(drawn))
    relevance = Relevance.from_pairs(at, at, labels, shape=(len(drawn), len(drawn)))
    return PairSet(_items([x for *_, x, _ in drawn]), _items([y for *_, y in drawn]), relevance)


def mrr(scorer: Any, test: PairSet, direction: str) -> float:
    """MRR, or AUC over judged pairs where unlisted ones say nothing."""
    metric = "MRR" if test.relevance.unjudged == "negative" else "AUC"
    found = evaluate(
        scorer, test.x, test.y, test.relevance, metrics=[metric], directions=(direction,)
    )
    return found.value(metric, direction) if metric == "MRR" else found.value(metric)


def ours(method: str, train: PairSet, test: PairSet, **options: Any) -> list[float]:
    """Both directions by a default pipeline."""
    pipeline = default_pipeline(method, train, **options).fit(train)
    return [mrr(pipeline, test, direction) for direction in ("x2y", "y2x")]


def peers(
    score: Callable[[Texts, Texts, Texts], Scores], train: PairSet, test: PairSet
) -> list[float]:
    """Both directions by a peer that is fitted on training texts and candidates."""
    learned = [str(text) for side in (train.x, train.y) for text in side.content]
    found = []
    for direction in ("x2y", "y2x"):
        asked, candidates = test.x, test.y
        if direction == "y2x":
            asked, candidates = candidates, asked
        own = [str(text) for text in candidates.content]
        fitted = list(dict.fromkeys([*learned, *own]))
        scores = score(fitted, [str(text) for text in asked.content], own)
        found.append(mrr(Given(scores if direction == "x2y" else scores.T), test, direction))
    return found


def sklearn(**options: Any) -> Callable[[Texts, Texts, Texts], Scores]:
    """Return the cosine of scikit-learn's vectors."""

    def score(fitted: Texts, asked: Texts, candidates: Texts) -> Scores:
        model = TfidfVectorizer(**options).fit(fitted)
        product = model.transform(asked) @ model.transform(candidates).T
        return np.asarray(product.toarray())

    return score


def bm25s(fitted: Texts, asked: Texts, candidates: Texts) -> Scores:
    """Scores of bm25s with its own words, none of them a stop word."""
    import bm25s as peer

    model = peer.BM25(k1=1.2, b=0.75)
    options = {"stopwords": None, "show_progress": False}
    model.index(peer.tokenize(list(fitted), **options), show_progress=False)
    place = {text: i for i, text in enumerate(fitted)}
    at = [place[text] for text in candidates]
    rows = []
    for tokens in peer.tokenize(list(asked), return_ids=False, **options):
        known = [token for token in tokens if token in model.vocab_dict]
        rows.append(model.get_scores(known)[at] if known else np.zeros(len(at)))
    return np.array(rows)


def held_out(name: str, pairs: PairSet, seed: int) -> tuple[PairSet, PairSet]:
    """Divide training pairs again: what is learned from, and what asks."""
    if name not in (*POOLED, *TITLES, "nfcorpus"):
        found = simviz.split(pairs, seed=seed)
        return found.train, found.test
    order = np.random.default_rng(seed).permutation(len(pairs.x))  # documents are all there
    return pairs.take(np.sort(order[::2])), pairs.take(np.sort(order[1::2]))


def choose(folder: Path, what: str, names: Sequence[str]) -> None:
    """Print a row for each set, then means of both halves."""
    choices = CHOICES[what]
    print("| set | part | " + " | ".join(choices) + " |\n" + "|---" * (len(choices) + 2) + "|")
    means: dict[str, list[Any]] = {}
    for at, name in enumerate(sorted(SETS)):
        if names and name not in names:
            continue
        train, test = parts(folder, name)
        if what in ("svd", "pamir") and not same_vocabulary(train):
            continue
        part = "test" if at % 2 else "held out"
        drawn = [(train, test)] if at % 2 else [held_out(name, train, seed) for seed in SEEDS]
        found = [[ours(m, *two, **given) for m, given in choices.values()] for two in drawn]
        row = np.mean(found, axis=0)
        means.setdefault(part, []).append(row.mean(axis=1))
        cells = " | ".join(f"{a:.3f}/{b:.3f}" for a, b in row)
        print(f"| {name} | {part} | {cells} |", flush=True)
    for part, rows in means.items():
        cells = " | ".join(f"{value:.4f}" for value in np.mean(rows, axis=0))
        print(f"| mean of {len(rows)} | {part} | {cells} |", flush=True)


def main(folder: Path, names: Sequence[str]) -> None:
    """Print a row for each set: x and y items ask."""
    closed: dict[str, Any] = {"features": {"n_unseen": 0, "tf": "raw"}}
    for i, name in enumerate(names):
        train, test = parts(folder, name)
        found = {
            "TF-IDF": ours("tfidf_cosine", train, test),
            "closed, raw counts": ours("tfidf_cosine", train, test, **closed),
            "scikit-learn": peers(sklearn(), train, test),
            "sublinear_tf": peers(sklearn(sublinear_tf=True), train, test),
            "BM25": ours("bm25", train, test),
            "closed, as in the paper": ours("bm25", train, test, preset="paper", **closed),
            "bm25s": peers(bm25s, train, test),
        }
        if not i:
            print("| set | " + " | ".join(found) + " |\n" + "|---" * (len(found) + 1) + "|")
        cells = (f"{a:.3f}/{b:.3f}" for a, b in found.values())
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[2:3] == ["choose"]:
        choose(Path(sys.argv[1]), (sys.argv[3:4] or ["lexical"])[0], sys.argv[4:])
    else:
        main(Path(sys.argv[1]), sys.argv[2:] or SETS)
