"""How sure a ranker is: standard deviations of scores, probabilities of orders, and draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from condrank.base.checks import check_count
from condrank.fitting.fitted import FittedRanker
from condrank.nodes import Nodes
from condrank.rankers.aligned import finite_pairs
from condrank.rankers.base import Ranker, fitted_of, read_pair, read_side
from condrank.rankers.checks import LEARN
from condrank.rankers.ranking import Ranking, candidate_scores
from condrank.rankers.restrictions import Restriction
from condrank.uncertainty import Posterior
from condrank.uncertainty.functionals import Functionals
from condrank.uncertainty.tops import top_probabilities


@dataclass(frozen=True)
class RankerPosterior:
    """How sure the scores of a ranker are: the posterior of the Gaussian process whose mean its fit is.

    It assumes that the model is right: that relation and kernel suit the data, and that the labels have independent
    noise of one size (times 1/weight). `docs/uncertainty.md` has the mathematics.
    """

    ranker: Any
    posterior: Posterior

    @property
    def noise_std(self) -> float | None:
        """Estimated standard deviation σ of the noise of a label of weight one; None for the logistic loss."""
        return self.posterior.noise_std

    @property
    def scale(self) -> float:
        """σ/√λ, the standard deviation, before any label is seen, of a score with edge kernel k̄(p, p) = 1."""
        return self.posterior.scale

    @property
    def way(self) -> str:
        """How variances are computed: by formula, by a factorisation, by adjoint solves; for many pairs by draws."""
        return self.posterior.way

    def variance(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Variances of the scores of all pairs, (n_queries, n_objects), given as for `ConditionalRanker.predict`."""
        return self.posterior.variances(*read_pair(self.ranker, queries, objects))

    def covariance(self, queries: Any, objects: Any) -> np.ndarray:
        """Covariances (n_pairs, n_pairs) of the scores of aligned pairs, ``objects[i]`` for ``queries[i]``."""
        return self.posterior.pair_covariances(*read_aligned(self.ranker, queries, objects))

    def pair_variance(self, queries: Any, objects: Any) -> np.ndarray:
        """Variances (n_pairs,) of the scores of aligned pairs."""
        return self.posterior.pair_variances(*read_aligned(self.ranker, queries, objects))

    def difference_variance(self, queries: Any, first: Any, second: Any) -> np.ndarray:
        """Variances (n,) of the score of ``first[i]`` minus that of ``second[i]``, for ``queries[i]``."""
        given = read_aligned(self.ranker, queries, first, second)
        return self.posterior.difference_variances(*given)


def posterior_of(fitted: Any) -> Posterior:
    """The posterior of a fitted state; a ValueError if it has none."""
    found = getattr(fitted, "posterior", None)
    if found is None:
        raise ValueError(
            f"standard deviations need a ConditionalRanker; baselines have none, nor has two-step ridge; {LEARN}"
        )
    return found


def read_aligned(ranker: Any, queries: Any, *objects: Any) -> list[Nodes]:
    """Conditioning nodes and objects of equal length."""
    names = ("queries", "objects") if len(objects) == 1 else ("queries", "first", "second")
    nodes = [read_side(ranker, queries, "queries"), *(read_side(ranker, one, "objects") for one in objects)]
    for name, one in zip(names, nodes, strict=True):
        if len(one) != len(nodes[0]):
            raise ValueError(f"{name} must be as many as queries, {len(nodes[0])}, got {len(one)}")
    return nodes


class Uncertain(Ranker):
    """A ranker that knows how sure its scores are. Nothing is computed before it is asked for."""

    fitted_: FittedRanker

    @property
    def posterior_(self) -> RankerPosterior:
        """How sure the scores are: noise and scale, variances and covariances, and the way they are computed."""
        self._state("model")
        return RankerPosterior(self, posterior_of(fitted_of(self)))

    def predict(self, queries: Any, objects: Any = None, return_std: bool = False) -> Any:
        """Scores of objects for conditioning nodes. A higher score is a better rank.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features), dict, sequence of ids, or RelationGraph
            Conditioning nodes, known or new, by their features; for ``kernel="precomputed"`` by kernel values against
            the training nodes; a dict of both for nodes with views. Known nodes can be given by their ids (positions if
            they have none). A graph means all pairs of its nodes.
        objects : array-like of shape (n_objects, n_features), dict, or sequence of ids, optional
            Objects to score, known or new; by default the training nodes.
        return_std : bool
            Also return how sure the scores are.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_objects)
        std : ndarray of shape (n_queries, n_objects)
            Only with ``return_std``: standard deviations of the scores, if the model is right. `posterior_` says how
            they were computed. For the logistic loss they are those of the log-odds.
        """
        scores = super().predict(queries, objects)
        if not return_std:
            return scores
        return scores, np.sqrt(self.posterior_.variance(queries, objects))

    def rank(
        self,
        queries: Any,
        objects: Any = None,
        top: int = 10,
        *,
        exclude: Any = None,
        candidates: Any = None,
        order: str = "best",
        return_std: bool = False,
    ) -> Ranking:
        """The ``top`` objects for each conditioning node, best first. Scores are computed in blocks and not kept.

        Parameters
        ----------
        queries, objects
            As in `predict`.
        top : int
            Length of a ranking. If there are fewer objects, all are ranked.
        exclude, candidates : sequence, or sequence of n_queries sequences, optional
            Objects to leave out, and the only objects to rank, for all conditioning nodes or for each: by id, or by
            position if the objects have no ids. Excluding an unknown id is no error. If a conditioning node has fewer
            objects than another, its last places have index -1, score -∞ and id None. ``exclude="known"`` leaves out
            what a node has an edge with in the training graph; for a new node nothing is known.
        order : {"best", "worst"}
            Whether the best objects come first, or the worst.
        return_std : bool
            Whether the ranking also has ``std``, standard deviations of the scores, and ``top_probability``, the
            probability that an object is the best of all that could be ranked, by 1,000 draws with a fixed seed (256
            if each takes an iteration: `posterior_`).
        """
        limits = {"exclude": exclude, "candidates": candidates, "order": order}
        ranking = super().rank(queries, objects, top, **limits)
        if not return_std:
            return ranking
        first, second = read_pair(self, queries, objects)
        names = fitted_of(self).objects if second is None else second
        restriction, each = self._restricted(exclude, candidates, first, names)
        return with_std(fitted_of(self), ranking, first, second, order, restriction, each)

    def probability_above(self, queries: Any, first: Any, second: Any) -> np.ndarray:
        """Probability (n,) that ``first[i]`` has a higher score than ``second[i]`` for ``queries[i]``.

        Φ(d/s) for the difference d of the two scores and its standard deviation s; ½ for an object and itself. It is
        about the scores: a single label adds its own noise.
        """
        return probability_above(fitted_of(self), *read_aligned(self, queries, first, second))

    def sample(self, queries: Any, objects: Any = None, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Scores drawn from the posterior, (n_samples, n_queries, n_objects): all pairs of a draw together.

        Parameters
        ----------
        queries, objects
            As in `predict`.
        n_samples : int
            Number of draws.
        random_state : int, RandomState instance or None
            Seed.
        """
        return sample(fitted_of(self), *read_pair(self, queries, objects), n_samples, random_state)


def probability_above(fitted: Any, queries: Nodes, first: Nodes, second: Nodes) -> np.ndarray:
    """`ConditionalRanker.probability_above` for nodes that are already checked."""
    if not len(queries):
        return np.empty(0)
    gap = (finite_pairs(fitted.model, queries, one).astype(np.float64) for one in (first, second))
    difference = next(gap) - next(gap)
    std = np.sqrt(posterior_of(fitted).difference_variances(queries, first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        return ndtr(np.where(difference == 0, 0.0, difference / std))


def sample(fitted: Any, first: Nodes, second: Nodes | None, n_samples: int, random_state: Any) -> np.ndarray:
    """`ConditionalRanker.sample` for nodes that are already checked."""
    n_samples = check_count("n_samples", n_samples)
    rng = np.random.default_rng(random_state if isinstance(random_state, int | None) else random_state.randint(2**31))
    posterior = posterior_of(fitted)
    u, v = posterior.place(first, second)
    scores = np.empty((len(u), len(v)))
    for block, part in fitted.model.blocks(first, second):
        scores[block] = part
    out = np.empty((n_samples, *scores.shape))
    for place, drawn in enumerate(posterior.draws(u, v, n_samples, rng)):
        np.add(scores, drawn, out=out[place])
    return out


def with_std(
    fitted: Any,
    ranking: Ranking,
    first: Nodes,
    second: Nodes | None,
    order: str,
    restriction: Restriction | None,
    each: list[np.ndarray] | None,
) -> Ranking:
    """A ranking with standard deviations and probabilities to be the best of all candidates."""
    posterior = posterior_of(fitted)
    u, v = posterior.place(first, second)
    shape = ranking.indices.shape
    std, top = np.full(shape, np.nan), np.zeros(shape)
    rows, places = np.nonzero(ranking.indices >= 0)
    columns = ranking.indices[rows, places]
    std[rows, places] = np.sqrt(
        posterior.quadratic(Functionals.pairs(posterior.relation, u.take(rows), v.take(columns)))
    )
    for block, scores, held in candidate_scores(fitted.model, first, second, order, restriction, each):
        found = top_probabilities(posterior, u.take(block), v if held is None else v.take(held), scores)
        if held is not None:
            whole = np.zeros((len(found), len(v)))
            whole[:, held] = found
            found = whole
        here = ranking.indices[block]
        top[block] = np.where(here >= 0, np.take_along_axis(found, np.maximum(here, 0), axis=1), 0.0)
    return replace(ranking, std=std, top_probability=top)
