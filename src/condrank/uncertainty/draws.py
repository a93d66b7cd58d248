"""Draws of scores from the posterior, also for new nodes.

Weights are drawn from their posterior. New nodes have further coordinates, which span what is left of their kernel
outside those of training. No label says anything about the weights of these, so they are drawn from the prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from condrank.nodes.exact import spectrum
from condrank.objective.relations import RELATIONS, Relation
from condrank.uncertainty.edges import EdgePosterior
from condrank.uncertainty.places import Placed


def draw_scores(
    engine: Any, relation: Relation, alpha: float, u: Placed, v: Placed, n: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Scores (n_u, n_v) around their mean, in units of σ, n times."""
    if isinstance(engine, EdgePosterior):
        yield from engine.draw_scores(u, v, n, rng)
        return
    further = _Further(relation, alpha, u, v)
    signs = None if u.x is None or v.x is None else [np.sign(a[:, None] - b) for a, b in zip(u.x, v.x, strict=True)]
    for W, constant in engine.draws(n, rng):
        blocks = W if W.ndim == 3 else W[None]
        scores = (u.Z @ blocks[0]) @ v.Z.T
        scores += further.draw(relation.sign, rng)
        for sign, block in zip(signs or [], blocks[1:], strict=True):
            scores += sign * ((u.Z @ block) @ v.Z.T + further.draw(1, rng))
        yield scores + constant


class _Further:
    """The further coordinates S of nodes u and v, with SSᵀ what is left of their kernel."""

    def __init__(self, relation: Relation, alpha: float, u: Placed, v: Placed):
        self.u, self.v, self.alpha = u, v, alpha
        self.S = self.S_objects = None
        if not relation.sign:
            self.S, self.S_objects = _root(u.rest(u)), _root(v.rest(v))
        elif u is v:
            self.S = self.S_objects = _root(v.rest(v))
        else:
            both = u, v
            parts = [[one.rest(other) for other in both] for one in both]
            if any(isinstance(part, np.ndarray) for row in parts for part in row):
                rows = [[np.broadcast_to(parts[i][j], (len(both[i]), len(both[j]))) for j in (0, 1)] for i in (0, 1)]
                root = _root(np.block(rows))
                self.S, self.S_objects = (None, None) if root is None else (root[: len(u)], root[len(u) :])
        self.sign = relation.sign

    def draw(self, sign: int, rng: np.random.Generator) -> Any:
        """The part of the further coordinates, (n_u, n_v); 0.0 if there are none."""
        u, v, S, S_objects = self.u, self.v, self.S, self.S_objects
        if S is None and S_objects is None:
            return 0.0
        scale = self.alpha**-0.5
        if not self.sign:
            total: Any = 0.0
            if S is not None:
                total = (S @ rng.standard_normal((S.shape[1], v.Z.shape[1]))) @ v.Z.T
                if S_objects is not None:
                    total += (S @ rng.standard_normal((S.shape[1], S_objects.shape[1]))) @ S_objects.T
            if S_objects is not None:
                total = total + (u.Z @ rng.standard_normal((u.Z.shape[1], S_objects.shape[1]))) @ S_objects.T
            return scale * total
        assert S is not None
        assert S_objects is not None
        relation = next(one for one in RELATIONS.values() if one.sign == sign)
        B = rng.standard_normal((S.shape[1], v.Z.shape[1])) * np.sqrt(0.5)
        own = relation.project(rng.standard_normal((S.shape[1], S.shape[1])))
        total = (S @ B) @ v.Z.T + sign * ((u.Z @ B.T) @ S_objects.T) + (S @ own) @ S_objects.T
        return scale * total


def _root(rest: np.ndarray | float) -> np.ndarray | None:
    """S (n, k) with SSᵀ = rest; None if nothing is left."""
    if not isinstance(rest, np.ndarray) or not rest.any():
        return None
    sigma, Q = spectrum((rest + rest.T) / 2)
    kept = sigma > 1e-12 * max(float(sigma[-1]), 0.0)
    return Q[:, kept] * np.sqrt(sigma[kept]) if kept.any() else None
