"""The three relations of the paper, as projections Π of the r×r weight matrix W.

ordinary: any W. symmetric: W = Wᵀ, so h(v, v') = h(v', v). reciprocal: W = -Wᵀ, so h(v, v') = -h(v', v).
With the paper's ½ in the symmetric and reciprocal Kronecker kernels, λ means the same in all three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condrank.base.blocks import in_threads, squares_below


@dataclass(frozen=True)
class Relation:
    """A type of relation. ``sign`` is 0 (ordinary), +1 (symmetric) or -1 (reciprocal); ``says`` is its meaning."""

    name: str
    sign: int
    says: str

    def project(self, M: np.ndarray) -> np.ndarray:
        """Π[M]: M itself, (M + Mᵀ)/2 or (M - Mᵀ)/2, written into M. O(r²)."""
        if self.sign:
            # In squares, so that M and its transpose are both read from the processor's cache.
            def project_square(rows: slice, cols: slice) -> None:
                part = M[rows, cols] + self.sign * M[cols, rows].T
                part *= 0.5
                M[rows, cols] = part
                M[cols, rows] = self.sign * part.T

            in_threads(project_square, *squares_below(len(M)))
        return M


ORDINARY = Relation("ordinary", 0, "the two directions of a pair are unrelated")
SYMMETRIC = Relation("symmetric", +1, "the two directions of a pair agree")
RECIPROCAL = Relation("reciprocal", -1, "the two directions of a pair are opposite")
RELATIONS = {relation.name: relation for relation in (ORDINARY, SYMMETRIC, RECIPROCAL)}


def get_relation(name: str) -> Relation:
    """The relation of this name. Raises a ValueError that lists the names."""
    try:
        return RELATIONS[name]
    except (KeyError, TypeError):
        raise ValueError(f"relation must be one of {sorted(RELATIONS)}, got {name!r}") from None
