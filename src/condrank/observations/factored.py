"""A relation known for every pair through factors, Y = A S Bᵀ: classes, taxonomies, low rank. Y is never built."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.observations.complete import EveryPair


class Factored(EveryPair):
    """The complete relation Y = A S Bᵀ.

    Parameters
    ----------
    A, B : ndarray or scipy sparse array of shapes (n, k) and (m, l)
        Factors of the starting and of the ending nodes, for example one column per class with a one for its members.
    S : ndarray of shape (k, l)
        Value of the relation between factors, for example between classes.
    """

    def __init__(self, A: Any, S: np.ndarray, B: Any):
        self.A, self.S, self.B = A, S, B

    @classmethod
    def from_classes(cls, labels: np.ndarray, similarity: np.ndarray | None, dtype: np.dtype) -> Factored:
        """Relation S[class of v, class of v'], classes in the order of ``np.unique``; S is the identity by default."""
        classes, members = np.unique(labels, return_inverse=True)
        if similarity is None:
            similarity = np.eye(len(classes), dtype=dtype)
        S = np.asarray(similarity, dtype=dtype)
        if S.shape != (len(classes), len(classes)):
            raise ValueError(
                f"similarity must have one row and one column for each of the {len(classes)} classes, "
                f"got shape {S.shape}"
            )
        if not np.isfinite(S).all():
            raise ValueError("similarity must be finite, got NaN or infinity")
        A = _members(members.ravel(), len(classes), dtype)
        return cls(A, S, A)

    @classmethod
    def from_taxonomy(cls, paths: np.ndarray, similarity: np.ndarray | None, dtype: np.dtype) -> Factored:
        """Relation by the number of leading levels that two nodes share in a tree.

        ``paths`` (n, levels) names each node's class on each level, from the root down. ``similarity`` (levels + 1,)
        gives the relation's value for 0, 1, … shared levels; the number itself by default.
        """
        levels = paths.shape[1]
        if levels == 0:
            raise ValueError(f"labels of a taxonomy must have at least one level, got shape {paths.shape}")
        values = np.arange(levels + 1, dtype=dtype) if similarity is None else np.asarray(similarity, dtype=dtype)
        if values.shape != (levels + 1,):
            raise ValueError(
                f"similarity of a taxonomy of {levels} levels must give {levels + 1} values, for 0 to {levels} "
                f"shared levels, got shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ValueError("similarity must be finite, got NaN or infinity")
        # Level by level, a class is a distinct prefix; sharing one more prefix adds one more step of the value.
        n = len(paths)
        prefix = np.zeros(n, dtype=np.intp)
        blocks, steps = [_members(prefix, 1, dtype)], [values[:1]]
        for level in range(levels):
            _, name = np.unique(paths[:, level], return_inverse=True)
            _, prefix = np.unique(prefix * (name.max(initial=0) + 1) + name.ravel(), return_inverse=True)
            n_classes = int(prefix.max(initial=-1)) + 1
            blocks.append(_members(prefix.ravel(), n_classes, dtype))
            steps.append(np.full(n_classes, values[level + 1] - values[level], dtype=dtype))
        if values[0] == 0:
            blocks, steps = blocks[1:], steps[1:]
        A = sparse.csr_array(sparse.hstack(blocks, format="csr"))
        return cls(A, np.diag(np.concatenate(steps)), A)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of starting and of ending nodes."""
        return self.A.shape[0], self.B.shape[0]

    @property
    def dtype(self) -> np.dtype:
        """Floating type of the labels."""
        return self.S.dtype

    @property
    def nbytes(self) -> int:
        """Memory held."""
        held = {id(M): M for M in (self.A, self.B)}
        return self.S.nbytes + sum((M.data if sparse.issparse(M) else M).nbytes for M in held.values())

    def reduce(self, Z: Any, Z_objects: Any) -> np.ndarray:
        """ZᵀYZ' = (AᵀZ)ᵀ S (BᵀZ'). O(nr + kr²) for classes; never n×m."""
        left = _sums(self.A, Z)
        right = left if self.B is self.A and Z_objects is Z else _sums(self.B, Z_objects)
        return left.T @ (self.S.astype(left.dtype, copy=False) @ right)

    def row_sums(self) -> np.ndarray:
        """Y1 = A S (Bᵀ1), in double precision. O(nk) or the number of stored entries of A."""
        return np.asarray(
            self.A @ (self.S.astype(np.float64) @ np.asarray(self.B.sum(axis=0), dtype=np.float64).ravel())
        )

    def take(self, rows: np.ndarray | slice, cols: np.ndarray | slice) -> Factored:
        """The relation among some starting and some ending nodes: the same S, fewer rows of A and B."""
        A = self.A[rows]
        same = self.B is self.A and rows is cols
        return Factored(A, self.S, A if same else self.B[cols])

    def transpose(self) -> Factored:
        """Every edge turned round: B Sᵀ Aᵀ."""
        return Factored(self.B, self.S.T, self.A)

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Labels of a block of rows."""
        left = self.A[rows] @ self.S
        return np.asarray((self.B @ left.T).T)

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest disagreement between classes, O(k²); for other factors its root mean square, O(nk² + k³)."""
        shift = offset - sign * offset
        if self.B is self.A:
            S = self._present()
            difference = S - sign * S.T
            if shift == 0 and not difference.any():
                return 0.0
            if _one_hot(self.A):
                gap = np.abs(difference - shift)
                if not loops:
                    members = np.asarray(self.A.sum(axis=0)).ravel()
                    gap[np.diag(members[members > 0] == 1)] = 0  # a class of one has nothing but its loop
                return float(gap.max(initial=0.0))
        AA, BB, BA = (_dense64(M) for M in (self.A.T @ self.A, self.B.T @ self.B, self.B.T @ self.A))
        S = self.S.astype(np.float64)
        square = np.sum((S @ BB @ S.T) * AA)
        cross = np.sum((S @ BA @ S) * BA.T)
        total = self.row_sums().sum() * (1 - sign)
        energy = 2 * square - 2 * sign * cross - 2 * shift * total + shift**2 * self.n_edges
        # The difference of two equal energies leaves rounding noise, not a disagreement.
        noise = 1e-12 * max(square, 1e-300)
        return float(np.sqrt(energy / max(self.n_edges, 1))) if energy > noise else 0.0

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label: of S for classes, of a block of rows otherwise."""
        if self.n_edges == 0:
            return 0.0, 0.0
        if _one_hot(self.A) and _one_hot(self.B):
            S = self._present()
            return float(S.min()), float(S.max())
        some = self.to_dense(slice(0, max(1, 2**22 // max(1, self.shape[1]))))
        return float(some.min()), float(some.max())

    def _present(self) -> np.ndarray:
        """S between the factors that some node has: after `take`, some classes may have no member."""
        return self.S[np.ix_(_used(self.A), _used(self.B))]


def _members(member: np.ndarray, n_classes: int, dtype: np.dtype) -> sparse.csr_array:
    """n×k array with a one where a node belongs to a class."""
    n = len(member)
    return sparse.csr_array((np.ones(n, dtype=dtype), member, np.arange(n + 1)), shape=(n, n_classes))


def _sums(A: Any, Z: Any) -> np.ndarray:
    """AᵀZ in Z's precision."""
    A = A if A.dtype == Z.dtype else A.astype(Z.dtype)
    product = A.T @ Z
    return product.toarray() if sparse.issparse(product) else np.asarray(product)


def _dense64(M: Any) -> np.ndarray:
    return np.asarray(M.toarray() if sparse.issparse(M) else M, dtype=np.float64)


def _one_hot(A: Any) -> bool:
    return sparse.issparse(A) and bool((np.diff(A.indptr) == 1).all() and (A.data == 1).all())


def _used(A: Any) -> np.ndarray:
    """Columns of a sparse A with a stored entry; all columns of a dense one."""
    return np.unique(A.indices) if sparse.issparse(A) else np.arange(A.shape[1])
