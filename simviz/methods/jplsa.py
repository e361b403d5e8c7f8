"""Joint probabilistic latent semantic analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from simviz.base import MethodTags
from simviz.methods._topics import TopicModel


@dataclass(eq=False, repr=False)
class JPLSA(TopicModel):
    r"""Joint PLSA: the two items of a pair share their topics.

    Maximises :math:`\sum_i \sum_{l \in \{x, y\}} \sum_w c^l_{iw} \log
    \sum_k \theta_{ik} \phi^l_{kw}` and the logarithms of Dirichlet priors by
    expectation maximisation over the non-zero counts.

    Parameters
    ----------
    n_components : int, default=100
        How many topics K are looked for.
    shared : bool, default=False
        Whether both sides have one vocabulary; then a topic is one
        distribution over it, else one a side.
    alpha : float, default=1.1
        Prior of a pair's topics; 1 is none.
    beta : float, default=1.01
        Prior of a topic's words; 1 is none.
    max_iter, tol : optional
        As of `simviz.methods.plsa.PLSA`.
    init : {"documents", "random", "cl_lsi"}, default="documents"
        Where topics start: at the words of single pairs, mixed with those of
        all; at random distributions; or at clusters in the space of cl_lsi.
    n_init : int, default=1
        Starts. Of several, each makes a tenth of the steps and the best goes on.
    fold_in_iter : int, default=2
        Steps, from equal shares, that find the topics of an unseen item. Few leave
        it some of every topic its words occur in; many end at the likeliest shares.
    measure, random_state : optional
        As of `simviz.methods.plsa.PLSA`.

    Attributes
    ----------
    x_topics_, topic_prior_, n_components_, n_iter_, objective_curve_
        As of `simviz.methods.plsa.PLSA`.
    y_topics_ : ndarray of shape (K, d_y)
        The same for the y side; the same array when shared.
    perplexity_curve_ : list of float
        Of validation pairs, after each step: each item's words foretold from its partner's topics.
        Without validation pairs, of the training words before each step.

    See Also
    --------
    simviz.methods.cplsa.CPLSA : Also makes both items use topics alike.
    simviz.methods.pltm.PLTM : The Bayesian model, with a prior that is learned.

    Notes
    -----
    Each relevant pair is a unit with topics of its own and counts with its grade; an item in
    several pairs has part in each of them. Items without a partner and pairs judged not relevant
    are not looked at. Later each item is folded in alone. An item without any word of the training
    pairs has no topics and scores 0 against everything.

    Platt et al. write both sides into one vocabulary (``shared=True``) and fold in
    with one step; Yih et al. (2011) keep a vocabulary a language and take ten. The
    default of two was chosen on short texts (`benchmarks/README.md`).

    References
    ----------
    Platt, Toutanova & Yih (2010), Translingual document representations from
    discriminative projections. EMNLP, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 2, 0, 0], [2, 4, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> Y = np.array([[5.0, 0], [4, 0], [0, 3], [0, 6]])
    >>> JPLSA(n_components=2).fit(X, Y).similarity(X, Y)[0].round(1)
    array([1. , 1. , 0.2, 0.1])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="JPLSA",
        reference="Platt et al. 2010",
        family="topic",
        input="counts",
        space="either",
    )
    presets: ClassVar = {"paper": {"fold_in_iter": 10}}

    n_components: int = 100
    _: KW_ONLY
    shared: bool = False
    alpha: float = 1.1
    beta: float = 1.01
    max_iter: int = 100
    tol: float = 1e-4
    init: str = "documents"
    n_init: int = 1
    fold_in_iter: int = 2
    measure: str = "js"
    random_state: Any = 0
