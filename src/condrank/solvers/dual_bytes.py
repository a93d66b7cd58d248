"""Bytes at the peak of iterations over the edges: node kernels, pattern and vectors of pairs, preconditioner."""

from __future__ import annotations

from dataclasses import dataclass

from condrank.base.measured import GATHERED_ENTRIES
from condrank.problem.problem import n_eigenvectors
from condrank.problem.settings import Settings
from condrank.products.cost import dense_products, loops_for
from condrank.products.sampled import panels_pay
from condrank.solvers.edge_preconditioner import block_rows


@dataclass(frozen=True)
class DualTask:
    """The sizes of a dual fit.

    Attributes
    ----------
    shape : (int, int)
        n conditioning nodes and m objects.
    n_pairs : int
        Number E of observed pairs.
    size : int
        Bytes of a number.
    two_domains : bool
        Whether the objects have a kernel of their own.
    both_ways : float
        Share of the pairs that are observed in both directions.
    settings : Settings
        Settings of the fit.
    rank : int
        Number of features of the preconditioner; 0 means no preconditioner.
    single : bool
        Whether iterations run in single precision.
    """

    shape: tuple[int, int]
    n_pairs: int
    size: int
    two_domains: bool
    both_ways: float
    settings: Settings
    rank: int
    single: bool

    @property
    def kernels(self) -> int:
        """Bytes of the node kernels."""
        return self.size * self._kernel_entries

    @property
    def _kernel_entries(self) -> int:
        return self.shape[0] ** 2 + self.shape[1] ** 2 * self.two_domains

    def peak(self, newton: bool) -> int:
        """Bytes at the peak of the fit, with Newton's method or with least squares."""
        E, size, squares = self.n_pairs, self.size, self._kernel_entries
        name = self.settings.pairwise_kernel
        held = self.kernels
        if newton:
            # Both directions of a pair become one game. The games have their own pairs, outcomes and weights.
            E = round(E * (1 - self.both_ways / 2))
            held += (8 + 2 * size) * E
        pattern, making, product = self._pattern(E, newton)
        held += pattern + (size * squares if name == "poly2D" else 0)
        vectors = 3 * size * E  # two copies of the roots of the weights, and labels
        if newton:
            # The kernel in single precision; and W, f, gradients and weights of a step.
            single = (4 * squares + self._panels(E) + 16 * E) * (size == 8)
            inner = 4
            held += single + 8 * size * E
            iterating = vectors // 2 + 6 * inner * E + max(inner * product, 0) + 4 * size * E
            iterating = max(iterating, size * product)
        elif self.single and name is None:
            # In single precision: kernels, the list of pairs, and the arrays of the system over them.
            held += 4 * squares + self._panels(E) + 24 * E
            iterating = vectors + max(9 * size * E + 4 * product + 6 * size * E, 6 * size * E + size * product)
        else:
            iterating = vectors + 7 * size * E + max(size * product + size * E, 4 * size * E)
        held_after = held + iterating
        before = self.kernels + pattern + vectors
        return int(
            max(self.kernels + pattern + making, before + self._spectrum(newton), held_after + self._kept(newton))
        )

    def _pattern(self, E: int, newton: bool) -> tuple[int, int, int]:
        """Bytes of the pattern, bytes to make it, and the number of entries that a product needs."""
        (n, m), name = self.shape, self.settings.pairwise_kernel
        signed = bool(self.settings.relation.sign) if name is None else name == "mlpk"
        if name in ("linear", "ranking"):
            return 0, 0, 2 * E
        if name == "cartesian":
            return 8 * E, 16 * E, 2 * E
        folded = E if newton else round(E * (1 - self.both_ways / 2))
        pairs, entries = (folded, 2 * folded) if signed else (E, E)
        loops = loops_for("auto", pairs, min(n, m))
        full_first, full_second = dense_products((n, m), entries, pairs, loops)
        places = 8 * pairs * full_second + 8 * entries * full_first
        product = 2 * n * m + 2 * E
        if loops == "numpy" and not full_second:
            product = n * m + 2 * E + 2 * min(GATHERED_ENTRIES, pairs * max(n, m))
        if signed:
            # Position and direction of each edge; pairs; and the entries of both directions with their pair and sign.
            return 16 * E + 8 * pairs + 17 * entries + places, 16 * E + 40 * pairs + 24 * entries, product
        return 8 * E + places, 24 * E, product

    def _panels(self, E: int) -> int:
        """Bytes of the kernel in panels, in single precision. Of two kernels, that of the larger side is assumed."""
        n, m = self.shape
        entries = 2 * E if self.settings.relation.sign else E
        loops = loops_for("auto", E, min(n, m))
        if loops == "numpy" or dense_products((n, m), entries, E, loops)[0] or not panels_pay(max(n, m)):
            return 0
        return 4 * max(n, m) ** 2

    def _spectrum(self, newton: bool) -> int:
        """Bytes of the eigenvectors of the node kernels, and of a block of edge features with its Gram matrix."""
        if not self.rank:
            return 0
        k, t = n_eigenvectors(max(self.shape)), self.rank
        # A Newton step is in single precision throughout.
        vectors = (4 if newton else self.size) * max(self.shape) * k
        rows = min(self.n_pairs, block_rows(t))
        features = (4 if newton else 8) * rows * (t + 3 * min(k, t))
        gram = 3 * 8 * t**2
        return max(5 * vectors, (2 if self.two_domains else 1) * vectors + features + gram + 32 * self.n_pairs)

    def _kept(self, newton: bool) -> int:
        """Bytes of the preconditioner that an iteration keeps."""
        if not self.rank:
            return 0
        k = min(n_eigenvectors(max(self.shape)), self.rank)
        return 2 * 8 * self.rank**2 + 3 * (4 if newton else self.size) * max(self.shape) * k
