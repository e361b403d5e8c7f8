"""Probabilistic latent semantic analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from simviz.base import MethodTags
from simviz.methods._topics import TopicModel
from simviz.params import options


@dataclass(eq=False, repr=False)
class PLSA(TopicModel):
    r"""Probabilistic latent semantic analysis: topics by likelihood, with priors.

    Explains each item's words by K topics, :math:`p(w|d) = \sum_k \theta_{dk} \phi_{kw}`, and
    maximises :math:`\sum c_{dw} \log p(w|d) + (\alpha - 1) \sum \log \theta + (\beta - 1) \sum
    \log \phi` by expectation maximisation over the non-zero counts.

    Parameters
    ----------
    n_components : int, default=100
        How many topics K are looked for.
    alpha : float, default=1.1
        Prior of an item's topics; 1 is none.
    beta : float, default=1.01
        Prior of a topic's words; 1 is none. With both 1 this is plain PLSA,
        above it is LDA with point estimates.
    max_iter : int, default=100
        Steps of expectation and maximisation at most.
    tol : float, default=1e-4
        Ends when a step gains less than this share of the objective, after ten
        steps at the earliest.
    init : {"documents", "random", "lsa"}, default="documents"
        Where topics start: at the words of single items, mixed with those of
        all; at random distributions; or at clusters in the space of lsa.
    n_init : int, default=1
        Starts. Of several, each makes a tenth of the steps and the best goes on.
    fold_in_iter : int, default=10
        Steps, from equal shares, that find the topics of an unseen item.
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
        The same for the y side, the same array.
    topic_prior_ : ndarray of shape (K,)
        What is added to the expected counts of an item's topics.
    n_components_ : int
        Topics K.
    n_iter_ : int
        Steps done.
    objective_curve_ : list of float
        The objective before each step.
    perplexity_curve_ : list of float
        Of validation items, after each step: half the words of each foretold from the others.
        Without validation items, of the training words before each step.

    See Also
    --------
    simviz.methods.lda.LDA : The same topics, averaged over what is likely.
    simviz.methods.jplsa.JPLSA : Learns from pairs.

    Notes
    -----
    Learns from the items of both sides, each with topics of its own; what belongs together is not
    looked at. An item without any word of the training items has no topics and scores 0 against
    everything. Below 1 a prior would make counts negative, hence the bound.

    References
    ----------
    Hofmann (1999), Probabilistic latent semantic indexing. SIGIR.

    Asuncion, Welling, Smyth & Teh (2009), On smoothing and inference for topic
    models. UAI, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[3.0, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> PLSA(n_components=2).fit(counts).similarity(counts)[0].round(1)
    array([1. , 1. , 0.1, 0.2])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="PLSA",
        reference="Hofmann 1999",
        family="topic",
        input="counts",
        space="one",
        uses="unsupervised",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [options("documents", "random", "lsa")]
    }
    _paired = False

    n_components: int = 100
    _: KW_ONLY
    alpha: float = 1.1
    beta: float = 1.01
    max_iter: int = 100
    tol: float = 1e-4
    init: str = "documents"
    n_init: int = 1
    fold_in_iter: int = 10
    measure: str = "js"
    random_state: Any = 0
