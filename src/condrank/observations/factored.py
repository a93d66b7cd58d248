"""A complete relation in factors, Y = A S Bᵀ: classes, taxonomies, low rank. Y itself is never computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.dense import dense
from condrank.base.measured import BLOCK_ENTRIES
from condrank.observations.complete import EveryPair
from condrank.persistence.arrays import Arrays, Held


class Factored(EveryPair):
    """The complete relation Y = A S Bᵀ.

    Parameters
    ----------
    A, B : ndarray or scipy sparse array of shapes (n, k) and (m, l)
        Factors of the starting and of the ending nodes: for classes, one column per class with a 1 for each member.
    S : ndarray of shape (k, l)
        Values of the relation between factors, for example between classes.
    names : list, optional
        Names of the factors, if A and B have the same ones: names of classes or, in a taxonomy, tuples of names from
        the root down. They match the factors of nodes that are added later.
    rest : float, optional
        Value between one of these classes and any other class; None means not known.
    levels : tuple of float, optional
        For a taxonomy, the values for 0, 1, … shared levels.
    """

    def __init__(
        self,
        A: Any,
        S: np.ndarray,
        B: Any,
        names: list[Any] | None = None,
        rest: float | None = None,
        levels: tuple[float, ...] | None = None,
    ):
        self.A, self.S, self.B = A, S, B
        self.names, self.rest, self.levels = names, rest, levels

    @classmethod
    def from_classes(
        cls, labels: np.ndarray, similarity: np.ndarray | None, dtype: np.dtype, classes: np.ndarray | None = None
    ) -> Factored:
        """The relation S[class of v, class of v']. S is the identity by default.

        ``classes`` names the rows and columns of S. By default they are the classes of ``labels`` in sorted order.
        """
        present, members = _distinct(labels)
        if classes is None:
            classes = present
        else:
            members = _places(present, classes)[members]
        rest = 0.0 if similarity is None else None
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
        A = class_members(members, len(classes), dtype)
        return cls(A, S, A, classes.tolist(), rest)

    @classmethod
    def from_taxonomy(cls, paths: np.ndarray, similarity: np.ndarray | None, dtype: np.dtype) -> Factored:
        """The relation that depends on how many leading levels two nodes share in a tree.

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
        # On each level a class is a distinct prefix. Each shared prefix adds the step from one value to the next.
        n = len(paths)
        prefix = np.zeros(n, dtype=np.intp)
        blocks, steps, names = [class_members(prefix, 1, dtype)], [values[:1]], [()]
        for level in range(levels):
            _, name = _distinct(paths[:, level])
            key = prefix * (name.max(initial=0) + 1) + name
            _, example, prefix = np.unique(key, return_index=True, return_inverse=True)
            n_classes = len(example)
            names += [tuple(path) for path in paths[example, : level + 1].tolist()]
            blocks.append(class_members(prefix.ravel(), n_classes, dtype))
            steps.append(np.full(n_classes, values[level + 1] - values[level], dtype=dtype))
        if values[0] == 0:
            blocks, steps, names = blocks[1:], steps[1:], names[1:]
        A = sparse.csr_array(sparse.hstack(blocks, format="csr"))
        return cls(A, np.diag(np.concatenate(steps)), A, names, 0.0, tuple(values.tolist()))

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The factors, without their names: these serve only to add nodes."""
        arrays.matrix("factors", self.A)
        arrays.put("between", self.S)
        if self.B is not self.A:
            arrays.matrix("object_factors", self.B)
        return {"two_factors": self.B is not self.A}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held) -> Factored:
        """Stored factors."""
        A = held.matrix("factors")
        B = held.matrix("object_factors") if given["two_factors"] else A
        return cls(A, held.floats("between", A.shape[1], B.shape[1]), B)

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
        """Bytes of memory held."""
        held = {id(M): M for M in (self.A, self.B)}
        return self.S.nbytes + sum((M.data if sparse.issparse(M) else M).nbytes for M in held.values())

    def reduce(self, Z: Any, Z_objects: Any) -> np.ndarray:
        """ZᵀYZ' = (AᵀZ)ᵀ S (BᵀZ'). O(nr + kr²) for classes; no n×m array."""
        left = _sums(self.A, Z)
        return reduce_factors(left, self.S, left if self.B is self.A and Z_objects is Z else _sums(self.B, Z_objects))

    def reduced(self, rows: Any, cols: Any) -> np.ndarray:
        """ΦᵀYΦ' for the bases Φ and Φ' of two coordinates, from their sums over the factors."""
        left = rows.factor_sums(self.A)
        return reduce_factors(left, self.S, left if self.B is self.A and cols is rows else cols.factor_sums(self.B))

    def reduced_sums(self, rows: Any) -> np.ndarray:
        """ΦᵀY1 for the basis Φ of coordinates."""
        left = rows.factor_sums(self.A)
        return left.T @ (self.S.astype(np.float64) @ self._counts()).astype(left.dtype, copy=False)

    def row_sums(self) -> np.ndarray:
        """Y1 = A S (Bᵀ1), in double precision. O(nk) or the number of stored entries of A."""
        return np.asarray(self.A @ (self.S.astype(np.float64) @ self._counts()))

    def squares(self) -> tuple[float, float]:
        """Σ y² of all labels, tr(Sᵀ(AᵀA)S(BᵀB)), and of the sums of the rows, in double precision.

        O(n + k²) for classes, O(nk² + k³) for other factors.
        """
        S, sums = self.S.astype(np.float64), self.row_sums()
        of_rows = float(sums @ sums)
        if _one_hot(self.A) and _one_hot(self.B):
            members = np.asarray(self.A.sum(axis=0, dtype=np.float64)).ravel()
            return float(members @ ((S * S) @ self._counts())), of_rows
        AA = dense(self.A.T @ self.A).astype(np.float64)
        BB = AA if self.B is self.A else dense(self.B.T @ self.B).astype(np.float64)
        return float(np.sum((S @ BB @ S.T) * AA)), of_rows

    def _counts(self) -> np.ndarray:
        """Bᵀ1, the number of objects of each class, in double precision."""
        return np.asarray(self.B.sum(axis=0, dtype=np.float64)).ravel()

    def factors_of(self, one_domain: bool) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Factors of the conditioning nodes and of the objects. For a single domain the first tuple has both."""
        if not one_domain:
            return (self.A,), (self.B,)
        return ((self.A,) if self.B is self.A else (self.A, self.B)), ()

    def take(self, rows: np.ndarray | slice, cols: np.ndarray | slice) -> Factored:
        """The relation among some starting and some ending nodes: the same S, and some rows of A and B."""
        A = self.A[rows]
        same = self.B is self.A and rows is cols
        return Factored(A, self.S, A if same else self.B[cols], self.names, self.rest, self.levels)

    def transpose(self) -> Factored:
        """Every edge reversed: B Sᵀ Aᵀ."""
        return Factored(self.B, self.S.T, self.A, self.names, self.rest, self.levels)

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Labels of a block of rows."""
        left = self.A[rows] @ self.S
        return np.asarray((self.B @ left.T).T)

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest disagreement between classes, O(k²). For other factors the root mean square, O(nk² + k³)."""
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
                    gap[np.diag(members[members > 0] == 1)] = 0  # a class of one node has only a loop
                return float(gap.max(initial=0.0))
        AA, BB, BA = (dense(M).astype(np.float64) for M in (self.A.T @ self.A, self.B.T @ self.B, self.B.T @ self.A))
        S = self.S.astype(np.float64)
        square = np.sum((S @ BB @ S.T) * AA)
        cross = np.sum((S @ BA @ S) * BA.T)
        total = self.row_sums().sum() * (1 - sign)
        energy = 2 * square - 2 * sign * cross - 2 * shift * total + shift**2 * self.n_edges
        # The difference of two equal energies is rounding noise, not a disagreement.
        noise = 1e-12 * max(square, 1e-300)
        return float(np.sqrt(energy / max(self.n_edges, 1))) if energy > noise else 0.0

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label. For factors that are not classes, only a block of rows is searched."""
        if self.n_edges == 0:
            return 0.0, 0.0
        if _one_hot(self.A) and _one_hot(self.B):
            S = self._present()
            return float(S.min()), float(S.max())
        some = self.to_dense(slice(0, max(1, BLOCK_ENTRIES // max(1, self.shape[1]))))
        return float(some.min()), float(some.max())

    def _present(self) -> np.ndarray:
        """S between the factors that some node has. After `take` some classes may have no member."""
        return self.S[np.ix_(_used(self.A), _used(self.B))]


def reduce_factors(left: np.ndarray, S: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(AᵀZ)ᵀ S (BᵀZ') from the sums AᵀZ (k, r) and BᵀZ' (l, s) or (l,), in the precision of the first."""
    return left.T @ (S.astype(left.dtype, copy=False) @ right)


def _distinct(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted names of classes, and the number of each node's class. Raises if a class is missing."""
    if labels.dtype.kind in "fcmM":
        missing = np.isnan(labels)
    elif labels.dtype.kind == "O":
        unknown = (one is None or type(one).__name__ == "NAType" or one != one for one in labels.tolist())
        missing = np.fromiter(unknown, bool, len(labels))
    else:
        missing = np.zeros(0, dtype=bool)
    if missing.any():
        place = int(np.argmax(missing))
        raise ValueError(
            f"labels must name a class for each node, but {int(missing.sum())} are missing, the first for node {place} "
            f"({labels.tolist()[place]!r}); leave such nodes out"
        )
    try:
        names, members = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(one).__name__ for one in labels.tolist()})
        raise ValueError(f"labels must be of one type, strings or numbers, got {' and '.join(kinds)}") from None
    return names, members.ravel()


def class_members(member: np.ndarray, n_classes: int, dtype: np.dtype) -> sparse.csr_array:
    """Sparse n×k array with a 1 where a node belongs to a class."""
    n = len(member)
    return sparse.csr_array((np.ones(n, dtype=dtype), member, np.arange(n + 1)), shape=(n, n_classes))


def _places(present: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Position in ``classes`` of each class that is present. Raises if ``classes`` repeats or lacks a name."""
    place = {name: position for position, name in enumerate(classes.tolist())}
    if classes.ndim != 1 or len(place) < len(classes):
        raise ValueError(f"classes must be one-dimensional and unique, got {classes!r:.200}")
    for name in present.tolist():
        if name not in place:
            raise ValueError(f"classes must name every class of the labels, but {name!r} is not among them")
    return np.array([place[name] for name in present.tolist()], dtype=np.intp)


def _sums(A: Any, Z: Any) -> np.ndarray:
    """AᵀZ in Z's precision."""
    A = A if A.dtype == Z.dtype else A.astype(Z.dtype)
    return dense(A.T @ Z)


def _one_hot(A: Any) -> bool:
    return sparse.issparse(A) and bool((np.diff(A.indptr) == 1).all() and (A.data == 1).all())


def _used(A: Any) -> np.ndarray:
    """Columns of a sparse A with a stored entry; all columns of a dense one."""
    return np.unique(A.indices) if sparse.issparse(A) else np.arange(A.shape[1])
