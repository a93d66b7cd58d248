"""Linear functionals of a model: scores of pairs and differences of scores, as sums of products of two rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.objective.relations import RECIPROCAL, SYMMETRIC, Relation
from condrank.uncertainty.places import ALL, ALONG, Placed, rest_between


@dataclass(frozen=True)
class Functionals:
    """P functionals of a model, each a sum of scores of pairs (u, v) times a number, the same for all P.

    Attributes
    ----------
    relation : Relation
        The relation of the model.
    terms : tuple of (float, Placed, Placed)
        A factor, the conditioning nodes u and the objects v, each of length P.
    """

    relation: Relation
    terms: tuple[tuple[float, Placed, Placed], ...]

    @classmethod
    def pairs(cls, relation: Relation, first: Placed, second: Placed) -> Functionals:
        """The scores of aligned pairs."""
        return cls(relation, ((1.0, first, second),))

    @classmethod
    def differences(cls, relation: Relation, query: Placed, first: Placed, second: Placed) -> Functionals:
        """Scores of ``first`` minus scores of ``second``, for the same conditioning nodes."""
        return cls(relation, ((1.0, query, first), (-1.0, query, second)))

    def __len__(self) -> int:
        return len(self.terms[0][1])

    @property
    def constants(self) -> float:
        """The sum of the factors: how often a constant of all scores is in a functional."""
        return sum(factor for factor, _, _ in self.terms)

    def block(self, places: slice) -> Functionals:
        """Some of the functionals."""
        taken: dict[int, Placed] = {}  # nodes of several terms stay the same

        def take(nodes: Placed) -> Placed:
            return taken.setdefault(id(nodes), nodes.take(places)) if id(nodes) not in taken else taken[id(nodes)]

        return Functionals(self.relation, tuple((c, take(u), take(v)) for c, u, v in self.terms))

    def products(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Rows (P, r) and (P, r') with values Σ leftᵀ W right, and signs (n_compared, P) if features are compared.

        Without compared features one product is enough if all terms have the same conditioning nodes.
        """
        if self.terms[0][1].x is None and all(u is self.terms[0][1] for _, u, _ in self.terms):
            right = sum(factor * v.rows for factor, _, v in self.terms)
            return [(self.terms[0][1].rows, np.asarray(right), None)]
        found = []
        for factor, u, v in self.terms:
            signs = None if u.x is None or v.x is None else np.sign(u.x - v.x)
            found.append((u.rows, factor * v.rows, signs))
        return found

    def values(self, W: np.ndarray) -> np.ndarray:
        """The functionals of weights W (r, r'), or (1 + n_compared, r, r) with compared features: (P,)."""
        total = np.zeros(len(self))
        for left, right, signs in self.products():
            for number, block in enumerate(W if W.ndim == 3 else W[None]):
                part = np.einsum("ij,ij->i", left @ block, right)
                total += part if number == 0 or signs is None else signs[number - 1] * part
        return total

    def weights(self, place: int, products: list[Any], blocks: int) -> np.ndarray:
        """φ of one functional as weights: Π[left rightᵀ], with one block for each compared feature."""
        out: Any = 0.0
        for left, right, signs in products:
            M = np.multiply.outer(left[place], right[place])
            if blocks == 1:
                out = out + self.relation.project(M)
                continue
            parts = [RECIPROCAL.project(M.copy())]
            parts += [sign[place] * SYMMETRIC.project(M.copy()) for sign in signs]
            out = out + np.stack(parts)
        return out

    def rest(self) -> np.ndarray | float:
        """Prior covariances (P, P) of the part that no label says anything about, in units of σ²/λ; 0.0 if none."""
        return self._rest(aligned=False)

    def own_rest(self) -> np.ndarray | float:
        """The diagonal (P,) of `rest`, without the other entries; 0.0 if there is none. O(P(d + r))."""
        return self._rest(aligned=True)

    def _rest(self, aligned: bool) -> np.ndarray | float:
        total: Any = 0.0
        way = ALONG if aligned else ALL
        for place, (c, u, v) in enumerate(self.terms):
            for other, (c_other, u_other, v_other) in enumerate(self.terms):
                if aligned and other < place:
                    continue  # the same as the other way round
                twice = 2 if aligned and other > place else 1
                pairs = (u, v), (u_other, v_other)
                part = rest_between(self.relation.sign, *pairs, way)
                if u.x is not None and v.x is not None and u_other.x is not None and v_other.x is not None:
                    even = rest_between(1, *pairs, way)
                    one, two = np.sign(u.x - v.x), np.sign(u_other.x - v_other.x)
                    part = part + even * (np.einsum("ji,ji->i", one, two) if aligned else one.T @ two)
                total = total + twice * c * c_other * part
        return total
