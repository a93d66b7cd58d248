"""The sizes of a problem: sides, pairs and precision. Every cost is estimated from them."""

from __future__ import annotations

from dataclasses import dataclass

from condrank.base.measured import DROWNED_ALPHA_EPS
from condrank.problem.side import Side

SINGLE_EPS = 2.0**-23


def single_precision_pays(alpha: float, largest: float) -> bool:
    """Whether λ is still visible in single precision beside the largest eigenvalue."""
    return alpha > DROWNED_ALPHA_EPS * SINGLE_EPS * largest


@dataclass(frozen=True)
class Sizes:
    """The sizes that the costs of a fit depend on.

    Attributes
    ----------
    rows, cols : Side
        Coordinates of the conditioning nodes and of the objects; one instance for both in a single domain.
    n_pairs : int
        Number of distinct observed pairs that are not held out.
    itemsize : int
        Bytes of a number.
    held_out : float
        Share of the conditioning nodes that are held out of the graph.
    """

    rows: Side
    cols: Side
    n_pairs: int
    itemsize: int
    held_out: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers n of conditioning nodes and m of objects."""
        return self.rows.n, self.cols.n

    @property
    def two_domains(self) -> bool:
        """The objects have coordinates of their own."""
        return self.cols is not self.rows

    @property
    def both(self) -> tuple[Side, ...]:
        """The sides that have coordinates of their own."""
        return (self.rows, self.cols) if self.two_domains else (self.rows,)

    @property
    def exact(self) -> bool:
        """The coordinates of the conditioning nodes are those of a kernel matrix."""
        return self.rows.exact

    @property
    def flops(self) -> float:
        """Floating-point operations to compute the coordinates."""
        return sum(side.flops for side in self.both)

    @property
    def n_coordinates(self) -> int:
        """Upper bound of the number of coordinates."""
        return max(self.rows.most, self.cols.most)

    @property
    def described(self) -> str:
        """The kinds of coordinates, for messages."""
        return " and ".join(dict.fromkeys(side.described for side in self.both))

    @property
    def square(self) -> int:
        """Number of entries of W, as estimated from a sample."""
        return self.rows.r * self.cols.r

    @property
    def kept(self) -> int:
        """Bytes of the fitted coordinate maps."""
        return sum(side.kept for side in self.both)

    @property
    def making(self) -> int:
        """Bytes at the peak of fitting the coordinates, one side after the other."""
        return max(self.rows.peak, self.rows.kept + self.cols.peak if self.two_domains else 0)

    @property
    def training(self) -> int:
        """Number of entries of the training coordinates Z and Z'."""
        return sum(side.n * side.r for side in self.both)

    def in_single_precision(self, alpha: float) -> bool:
        """Whether iterations run in single precision, because λ is visible beside the largest eigenvalue."""
        n, m = self.shape
        largest = self.rows.largest * self.cols.largest * self.n_pairs / (n * m)
        return self.itemsize == 8 and single_precision_pays(alpha, largest)
