"""Polylingual topic model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from simviz.base import MethodTags
from simviz.methods._topics import Array, TopicModel
from simviz.params import interval, options

if TYPE_CHECKING:
    from simviz.methods._em import EM, Side


@dataclass(eq=False, repr=False)
class PLTM(TopicModel):
    r"""Polylingual topics: LDA for pairs, by point estimates or sampling.

    A pair draws its topics :math:`\theta \sim` Dirichlet(:math:`\alpha_1 \ldots
    \alpha_K`) and each side its words from distributions :math:`\phi^l_k \sim`
    Dirichlet(β) of its own. Estimated with :math:`\theta \propto N_{ik} +
    \alpha_k` and :math:`\phi^l \propto N^l_{wk} + \beta`, by expectation
    maximisation or by sampling.

    Parameters
    ----------
    n_components : int, default=100
        How many topics K are looked for.
    shared : bool, default=False
        Whether both sides have one vocabulary; then a topic is one
        distribution over it, else one a side.
    alpha : float, default=0.1
        Prior of each topic of a pair; where it is learned, the first one.
    beta : float, default=0.01
        Prior of a topic's words.
    learn_alpha : bool, default=False
        Whether each topic gets the prior under which the counts are likeliest.
        On development parts that mostly found fewer mates.
    inference : {"em", "gibbs"}, default="em"
        Expectation maximisation, or collapsed Gibbs sampling of every token, on
        one core, for ``max_iter`` sweeps; that wants several hundred.
    max_iter : int, default=100
        Steps of expectation and maximisation at most.
    tol : float, default=1e-4
        Ends when a step gains less than this share of the objective, after ten
        steps at the earliest.
    init : {"documents", "random", "cl_lsi"}, default="documents"
        Where topics start: at the words of single pairs, mixed with those of
        all; at random distributions; or at clusters in the space of cl_lsi.
    n_init : int, default=1
        Starts. Of several, each makes a tenth of the steps and the best goes on.
    fold_in_iter : int, default=2
        Steps, from equal shares, that find the topics of an unseen item. Few leave
        it some of every topic its words occur in; many end at the likeliest shares.
    measure : {"js", "hellinger", "cosine"}, default="js"
        How shares of topics are compared: 1 − JS / ln 2 with the Jensen–Shannon
        divergence, Σ √(p q), or the cosine.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts and of what is sampled.

    Attributes
    ----------
    x_topics_ : ndarray of shape (K, d_x)
        Distribution of each topic over the features of the x side; 0 for those
        that training never met.
    y_topics_ : ndarray of shape (K, d_y)
        The same for the y side; the same array when shared.
    topic_prior_ : ndarray of shape (K,)
        What is added to the expected counts of an item's topics.
    n_components_ : int
        Topics K.
    n_iter_ : int
        Steps done.
    objective_curve_ : list of float
        The objective before each step.
    perplexity_curve_ : list of float
        Of validation pairs, after each step: each item's words foretold from its
        partner's topics. Without validation pairs, of the training words before
        each step.

    See Also
    --------
    simviz.methods.jplsa.JPLSA : The same estimate, its priors those of a mode.
    simviz.methods.lda.LDA : For single items.

    Notes
    -----
    Each relevant pair is a unit with topics of its own and counts with its grade;
    an item in several pairs has part in each of them. Items without a partner and
    pairs judged not relevant are not looked at. Later each item is folded in
    alone. An item without any word of the training pairs has no topics and scores
    0 against everything.

    With equal α it is JPLSA with α + 1 and β + 1, as the defaults have it: the one
    adds what the other's mode takes away. Priors are learned by Minka's fixed
    point, from the tenth step on (every tenth sweep of the first half). Sampled
    topics are averaged over the sweeps of the second half.

    References
    ----------
    Mimno, Wallach, Naradowsky, Smith & McCallum (2009), Polylingual topic models.
    EMNLP.

    Minka (2000), Estimating a Dirichlet distribution.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 2, 0, 0], [2, 4, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> Y = np.array([[5.0, 0], [4, 0], [0, 3], [0, 6]])
    >>> PLTM(n_components=2).fit(X, Y).similarity(X, Y)[0].round(1)
    array([1. , 1. , 0.2, 0.1])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="PLTM",
        reference="Mimno et al. 2009",
        year=2009,
        family="topic",
        input="counts",
        space="either",
        uses="paired",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [interval(Integral, 1, None)],
        "shared": ["boolean"],
        "alpha": [interval(Real, 0, None, closed="neither")],
        "beta": [interval(Real, 0, None, closed="neither")],
        "learn_alpha": ["boolean"],
        "inference": [options("em", "gibbs")],
        "max_iter": [interval(Integral, 1, None)],
        "tol": [interval(Real, 0, None)],
        "init": [options("documents", "random", "cl_lsi")],
        "n_init": [interval(Integral, 1, None)],
        "fold_in_iter": [interval(Integral, 1, None)],
        "measure": [options("js", "hellinger", "cosine")],
        "random_state": ["random_state"],
    }

    n_components: int = 100
    _: KW_ONLY
    shared: bool = False
    alpha: float = 0.1
    beta: float = 0.01
    learn_alpha: bool = False
    inference: str = "em"
    max_iter: int = 100
    tol: float = 1e-4
    init: str = "documents"
    n_init: int = 1
    fold_in_iter: int = 2
    measure: str = "js"
    random_state: Any = 0

    def _learner(self, sides: list[Side], weights: Array, notify: Callable[[], bool]) -> EM:
        from simviz.methods._em import EM, LearnedPriorEM
        from simviz.methods._gibbs import Gibbs

        a = np.full(self.n_components, float(self.alpha))
        given = sides, weights, a, float(self.beta), self.shared, notify
        if self.inference == "gibbs":
            rng = check_random_state(self.random_state)
            return Gibbs(*given, n_sweeps=self.max_iter, learn=self.learn_alpha, rng=rng)
        return (LearnedPriorEM if self.learn_alpha else EM)(*given)
