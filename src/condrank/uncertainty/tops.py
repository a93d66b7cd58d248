"""The probability of each object to be the best for a conditioning node, by draws of all scores together."""

from __future__ import annotations

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.uncertainty.complete import CompletePosterior
from condrank.uncertainty.functionals import Functionals
from condrank.uncertainty.places import Placed
from condrank.uncertainty.posterior import N_DRAWS, Posterior

# Draws, if a draw needs no iteration. A probability p is then right up to about √(p(1 - p)/1000), at most 0.016.
TOP_DRAWS = 1000
SEED = 0
# Scores of a draw that are held at a time, and the pairs whose covariance matrix is made instead of drawing weights.
HELD, JOINT_PAIRS = 4_000_000, 4000


def top_probabilities(posterior: Posterior, u: Placed, v: Placed, scores: np.ndarray) -> np.ndarray:
    """Probability (n_u, n_v) that each object has the highest score for each conditioning node.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    u, v : Placed
        Conditioning nodes and objects.
    scores : ndarray of shape (n_u, n_v)
        Their scores; -∞ for objects that are left out.

    Notes
    -----
    By 1,000 draws with a fixed seed: of all scores of one conditioning node from their covariance, or of the weights.
    If each draw is an iteration, 256 draws.
    """
    out = np.zeros(scores.shape)
    if not scores.size:
        return out
    factorised = not posterior.is_iterative
    if isinstance(posterior.engine, CompletePosterior) or (factorised and scores.size <= JOINT_PAIRS):
        for place in range(len(scores)):
            allowed = np.flatnonzero(scores[place] > -np.inf)
            if len(allowed):
                rng = np.random.default_rng(SEED)
                out[place, allowed] = _alone(posterior, u.take([place]), v.take(allowed), scores[place, allowed], rng)
        return out
    n_draws = TOP_DRAWS if factorised else N_DRAWS
    for block in row_blocks(*scores.shape, budget=HELD):
        rng, places = np.random.default_rng(SEED), np.arange(block.stop - block.start)
        for drawn in posterior.draws(u.take(block), v, n_draws, rng):
            drawn += scores[block]
            out[block][places, drawn.argmax(axis=1)] += 1
    out /= n_draws
    out[~(scores > -np.inf).any(axis=1)] = 0.0
    return out


def _alone(
    posterior: Posterior, query: Placed, objects: Placed, scores: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Shares of draws in which each object is the best for one conditioning node."""
    asked = Functionals.pairs(posterior.relation, query.take(np.zeros(len(objects), np.intp)), objects)
    engine, sigma = posterior.engine, float(posterior.evidence.noise_variance) ** 0.5
    if isinstance(engine, CompletePosterior):
        root = engine.query_root(query.rows[0])
        drawn = (rng.standard_normal((TOP_DRAWS, root.shape[1])) @ root.T) @ objects.rows.T
        rest = asked.rest()
        if isinstance(rest, np.ndarray):
            drawn += _draw(rest / posterior.alpha, rng)
        drawn *= sigma
    else:
        drawn = _draw(posterior.gram(asked), rng)
    drawn += scores
    return np.bincount(drawn.argmax(axis=1), minlength=len(scores)) / TOP_DRAWS


def _draw(covariance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws (n_draws, n) with a covariance (n, n), which may be singular."""
    sigma, Q = np.linalg.eigh((covariance + covariance.T) / 2)
    return rng.standard_normal((TOP_DRAWS, len(sigma))) @ (Q * np.sqrt(np.maximum(sigma, 0.0))).T
