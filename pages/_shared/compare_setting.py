"""By which test runs are told apart, and against which one the table compares."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from pages._shared.compare_choice import Choice
from pages._shared.compare_evaluated import judged
from pages._shared.compare_link import put_in_link

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.evaluation.groups import Correction

#: Tests by what the link calls them: on the control, in a column's heading, and in full.
TESTS = {
    "randomization": "Paired randomisation",
    "t": "Paired t",
    "bootstrap": "Paired bootstrap",
    "wilcoxon": "Wilcoxon signed-rank",
    "published": "As in the papers",
}
#: The same where judged pairs are tested.
PAIR_TESTS = {
    "bootstrap": "Bootstrap over items",
    "delong": "DeLong",
    "published": "As in the papers",
}
_SHORT = {
    "delong": "DeLong",
    "randomization": "randomisation",
    "t": "paired t",
    "bootstrap": "bootstrap",
    "wilcoxon": "Wilcoxon",
    "unpaired t": "unpaired t",
    "subsets": "t of subsets",
}
_EXPLAINED = {
    "randomization": "Swaps the two runs on queries at random. Assumes next to nothing.",
    "t": "Trusts that the mean difference is about normal.",
    "bootstrap": "Draws the queries again; its interval follows skewed differences.",
    "wilcoxon": "Ranks the differences. It does not test the mean.",
    "published": "The test that published tables of this metric rest on, a better one beside it.",
}
_PAIRS_EXPLAINED = {
    "bootstrap": "Draws items again, each with all of its judged pairs; all runs see the same "
    "draws.",
    "delong": "Takes judged pairs for independent, as they are where no item is in two of them. "
    "A check of the bootstrap.",
    "published": _EXPLAINED["published"],
}
CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "none": "None"}
#: Fewest queries that are divided into 50 subsets, and most scores that are kept to do so.
_FEWEST_QUERIES, _MOST_SCORES = 100, 2_000_000
#: Highest p-value that tells two runs apart.
ALPHA = 0.05


class Setting(NamedTuple):
    """How runs are told apart.

    Parameters
    ----------
    chosen : str
        One of `TESTS`, or of `PAIR_TESTS` where judged pairs are tested.
    test : str
        What it means for the metric: a test that `_found` knows.
    correction : str
        For how many comparisons there are.
    against : Entry
        The run that all others are compared with in the table.
    caution : str
        What is to be said about a test of the papers.
    """

    chosen: str
    test: str
    correction: Correction
    against: Entry
    caution: str = ""

    @property
    def short(self) -> str:
        """The test, as a column's heading names it."""
        return _SHORT[self.test]


def setting(choice: Choice) -> Setting:
    """What was chosen, or the usual; readable before the controls are drawn."""
    from simviz.evaluation.protocols import published_protocol

    by_id = {entry.run.id: entry for entry in choice.entries}
    usual_run = _usual_baseline(choice).run.id
    known = offered(choice)
    key, usual_test = _key(known), next(iter(known))
    usual: dict[str, tuple[Collection[str], str]] = {
        key: (known, usual_test),
        "compare-correction": (CORRECTIONS, "holm"),
        "compare-against": (by_id, usual_run),
    }
    for name, (options, value) in usual.items():
        if st.session_state.get(name) not in options:
            st.session_state[name] = value
    chosen, correction = st.session_state[key], st.session_state["compare-correction"]
    against = by_id[st.session_state["compare-against"]]
    put_in_link(
        test=None if chosen == usual_test else chosen,
        correction=None if correction == "holm" else correction,
        against=None if against.run.id == usual_run else against.run.id,
    )
    if chosen != "published":
        return Setting(chosen, chosen, correction, against)
    protocol = published_protocol(choice.metric)
    on = choice.entries[0].measured
    fits = on.n_x >= _FEWEST_QUERIES and on.n_x * on.n_y <= _MOST_SCORES
    if protocol.test == "subsets" and not fits:
        size = "few" if on.n_x < _FEWEST_QUERIES else "many"
        caution = (
            f"The {choice.part} part has too {size} pairs to divide them into 50 subsets here."
        )
        instead = "bootstrap" if usual_test == "bootstrap" else "t"
        return Setting(chosen, instead, "none", against, caution)
    return Setting(chosen, protocol.test, protocol.correction, against, protocol.caution)


def offered(choice: Choice) -> Mapping[str, str]:
    """The tests that there are for the metric, by what the link calls them; the usual first."""
    from simviz.evaluation.metrics import AUC, parse_metric
    from simviz.evaluation.protocols import published_protocol

    pairs = judged(choice)
    if pairs is None:
        return TESTS
    known = dict(PAIR_TESTS)
    if not isinstance(parse_metric(choice.metric), AUC) or pairs.drawn != ("pairs",):
        del known["delong"]
    if published_protocol(choice.metric).test != "subsets":
        del known["published"]
    return known


def _key(known: Mapping[str, str]) -> str:
    """Names the control: a test of pairs says nothing of one of queries."""
    return "compare-test" if known is TESTS else "compare-pair-test"


def _explained(choice: Choice, known: Mapping[str, str], chosen: str) -> str:
    """What the chosen test does, and why DeLong's is not offered."""
    if known is TESTS:
        return _EXPLAINED[chosen]
    words = _PAIRS_EXPLAINED[chosen]
    pairs = judged(choice)
    if pairs is not None and pairs.drawn != ("pairs",):
        words += " DeLong's test is not offered: items are in several pairs, which it ignores."
    return words


def choose(choice: Choice, now: Setting) -> None:
    """The controls: against which run, by which test."""
    labels = {entry.run.id: entry.label for entry in choice.entries}
    st.selectbox(
        "Δ against",
        list(labels),
        format_func=labels.__getitem__,
        key="compare-against",
        width=220,
        persist_state="session",
    )
    if choice.part == "validation":  # a test belongs to the test part
        return
    known = offered(choice)
    told = known[now.chosen] + ("" if now.correction == "none" else f", {now.correction.title()}")
    with st.popover(told, icon=":material/balance:", type="tertiary"):
        st.selectbox(
            "Which test tells two runs apart",
            list(known),
            format_func=known.__getitem__,
            key=_key(known),
            persist_state="session",
        )
        st.caption(_explained(choice, known, now.chosen))
        st.radio(
            "Corrected for how many pairs of runs there are",
            list(CORRECTIONS),
            format_func=CORRECTIONS.__getitem__,
            key="compare-correction",
            horizontal=True,
            disabled=now.chosen == "published",
            help="Among twenty comparisons of equal runs one shows p below 0.05 by luck. Holm and "
            "Bonferroni keep the risk of any false mark at 5 %; Holm finds more.",
            persist_state="session",
        )


def _usual_baseline(choice: Choice) -> Entry:
    """The best run that goes by words alone; else the last in the table."""
    from simviz.methods import all_methods

    methods = all_methods()
    for entry in choice.entries:
        method = methods.get(entry.run.info.method)
        if method is not None and method.tags.family == "lexical":
            return entry
    return choice.entries[-1]
