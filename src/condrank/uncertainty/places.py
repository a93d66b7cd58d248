"""Nodes to score with the coordinates and kernel values that a posterior needs of them.

The coordinates of an exact kernel have k(v, v') = z(v)ᵀz(v') if one of the two nodes is a training node. Between new
nodes something is left, k(v, v') - z(v)ᵀz(v'): no label says anything about it, so it keeps the variance of the prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.nodes import ApproximateKernel, Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.values import KernelValues
from condrank.products.compared import compared_values

# What is left of k(v, v) outside the coordinates counts as rounding below this many rounding errors of it.
ROUNDED_EPS = 1000
# Aligned nodes of a kernel that needs all pairs of them are taken this many at a time.
ALIGNED_BLOCK = 256


@dataclass(frozen=True)
class Space:
    """The coordinates of one side of a model, and what a posterior counts in them.

    Attributes
    ----------
    coordinates : Coordinates or KernelValues
        As in the model.
    counted : bool
        Whether a posterior of weights counts zᵀz'; False for a posterior over edges, which counts nothing.
    within : bool
        Whether the kernel of the model is zᵀz' also for new nodes: an approximation, or a clipped kernel.
    compared : tuple of int
        The compared features.
    training : ndarray of shape (n, r) or None
        Coordinates of the training nodes, if rows of nodes are kernel values against these.
    prepare : callable or None
        What is done to nodes before the model gets them; None if nothing is.
    """

    coordinates: Any
    counted: bool = True
    within: bool = False
    compared: tuple[int, ...] = ()
    training: np.ndarray | None = None
    prepare: Callable[[Nodes | None], Nodes | None] | None = None

    @classmethod
    def of(cls, coordinates: Any, clip: bool, compared: tuple[int, ...] = (), over_edges: bool = False) -> Space:
        """The space of a model's coordinates; ``over_edges`` for a posterior that takes kernel values."""
        values = isinstance(coordinates, KernelValues)
        if values and coordinates.kept is not None:
            raise ValueError("standard deviations of a clipped kernel need coordinates: fit again with solver='auto'")
        within = isinstance(coordinates, ApproximateKernel) or (clip and not values)
        training = None
        if over_edges and not values:
            training = coordinates.training().astype(np.float64, copy=False)
        return cls(coordinates, not over_edges, within, compared, training)

    def place(self, nodes: Nodes | None) -> Placed:
        """Nodes in this space; None means the training nodes."""
        nodes = nodes if self.prepare is None else self.prepare(nodes)
        coordinates = self.coordinates
        known = nodes is None or nodes is coordinates.nodes
        Z = coordinates.training() if known else coordinates.transform(nodes)
        Z = np.asarray(Z, np.float64)
        given = coordinates.nodes if nodes is None else nodes
        x = compared_values(given, self.compared) if self.compared else None
        return Placed(self, given, Z, _known_nodes(coordinates, given, known), x)

    def constant(self) -> Placed:
        """The constant of the kernel alone: a node without features."""
        Z = np.asarray(self.coordinates.constant(), np.float64)[None]
        return Placed(self, None, Z, np.zeros(1, dtype=bool), None)


@dataclass(frozen=True)
class Placed:
    """Nodes with coordinates Z (n, r); ``nodes`` is None for the constant alone. ``x`` are their compared features."""

    space: Space
    nodes: Nodes | None
    Z: np.ndarray
    known: np.ndarray
    x: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.Z)

    @property
    def rows(self) -> np.ndarray:
        """What the posterior takes: coordinates, or kernel values against the training nodes."""
        return self.Z if self.space.training is None else self.Z @ self.space.training.T

    def take(self, places: Any) -> Placed:
        """Some of the nodes, in an order, perhaps repeated."""
        places = np.arange(len(self))[places] if isinstance(places, slice) else np.asarray(places, dtype=np.intp)
        x = None if self.x is None else self.x[:, places]
        if self.nodes is None:
            return Placed(self.space, None, self.Z[places], self.known[places], x)
        return Placed(self.space, self.nodes.take(places), self.Z[places], self.known[places], x)

    def kernel(self, other: Placed) -> np.ndarray:
        """The kernel of the model between nodes, (n, n')."""
        if self.space.within:
            return self.Z @ other.Z.T
        if self.nodes is None or other.nodes is None:
            return np.full((len(self), len(other)), float(self.space.coordinates.kernel.constant))
        return np.asarray(self.space.coordinates.similarity(self.nodes, other.nodes), np.float64)

    def inner(self, other: Placed) -> np.ndarray | float:
        """The part of the kernel that the posterior of the weights counts."""
        return self.Z @ other.Z.T if self.space.counted else 0.0

    def rest(self, other: Placed) -> np.ndarray | float:
        """The part of the kernel that no label says anything about, (n, n'); 0.0 if there is none."""
        if self.space.counted and (self.space.within or self.known.all() or other.known.all()):
            return 0.0
        rest = self.kernel(other) - self.inner(other)
        if self.space.counted:
            rest[self.known] = 0.0
            rest[:, other.known] = 0.0
        return rest

    def kernel_along(self, other: Placed) -> np.ndarray:
        """The kernel of the model between aligned nodes, (n,). O(nd), or all pairs of a block if it needs them."""
        if self.space.within:
            return np.einsum("ij,ij->i", self.Z, other.Z)
        if self.nodes is None or other.nodes is None:
            return np.full(len(self), float(self.space.coordinates.kernel.constant))
        if other.nodes is self.nodes:
            return self.own()
        return self._values_along(other.nodes)

    def _values_along(self, others: Nodes) -> np.ndarray:
        """Kernel values of the nodes and of others, aligned, (n,)."""
        assert self.nodes is not None
        coordinates, parts = self.space.coordinates, []
        for block in row_blocks(len(self), 1, budget=ALIGNED_BLOCK):
            first, second = self.nodes.block(block), others.block(block)
            place = np.arange(len(first))
            values = coordinates.similarity_at(first, second, (place, place))
            parts.append(np.diagonal(coordinates.similarity(first, second)) if values is None else values)
        return np.concatenate(parts).astype(np.float64) if parts else np.empty(0)

    def inner_along(self, other: Placed) -> np.ndarray | float:
        """`inner` of aligned nodes, (n,)."""
        return np.einsum("ij,ij->i", self.Z, other.Z) if self.space.counted else 0.0

    def rest_along(self, other: Placed) -> np.ndarray | float:
        """`rest` of aligned nodes, (n,); 0.0 if there is none."""
        if self.space.counted and (self.space.within or self.known.all() or other.known.all()):
            return 0.0
        rest = self.kernel_along(other) - self.inner_along(other)
        if self.space.counted:
            rest[self.known | other.known] = 0.0
        return rest

    def own(self) -> np.ndarray:
        """k(v, v), (n,)."""
        if self.space.within:
            return np.einsum("ij,ij->i", self.Z, self.Z)
        coordinates = self.space.coordinates
        if self.nodes is None:
            return np.full(len(self), float(coordinates.kernel.constant))
        if isinstance(coordinates, NodeSimilarity):
            return coordinates.own_values(self.nodes)
        return self._values_along(self.nodes)

    def own_rest(self) -> np.ndarray:
        """The part of k(v, v) that no label says anything about, (n,), not negative."""
        if self.space.counted and (self.space.within or self.known.all()):
            return np.zeros(len(self))
        own = self.own()
        if not self.space.counted:
            return own
        rest = own - np.einsum("ij,ij->i", self.Z, self.Z)
        eps = np.finfo(self.space.coordinates.nodes.dtype).eps
        return np.where(self.known | (rest < ROUNDED_EPS * eps * own), 0.0, rest)


def _known_nodes(coordinates: Any, nodes: Nodes, known: bool) -> np.ndarray:
    """Which nodes are training nodes."""
    if known:
        return np.ones(len(nodes), dtype=bool)
    if isinstance(coordinates, NodeSimilarity):
        return coordinates.places(nodes) >= 0
    return np.zeros(len(nodes), dtype=bool)


class Way(NamedTuple):
    """Kernel values, their counted part and the rest: between all nodes of two, or between aligned ones."""

    kernel: Callable[[Placed, Placed], Any] = Placed.kernel
    inner: Callable[[Placed, Placed], Any] = Placed.inner
    rest: Callable[[Placed, Placed], Any] = Placed.rest


ALL, ALONG = Way(), Way(Placed.kernel_along, Placed.inner_along, Placed.rest_along)


def rest_between(
    sign: int, first: tuple[Placed, Placed], second: tuple[Placed, Placed], way: Way = ALL
) -> np.ndarray | float:
    """k̄(p, p') minus what the posterior of the weights counts, for pairs p = (u, v) and p' = (u', v').

    Of shape (n, n'), or (n,) along aligned pairs. Ordinary: k(u, u') g(v, v') - i(u, u') i(v, v') = o(u, u') g(v, v')
    + i(u, u') o(v, v') with k = i + o, which does not cancel. Symmetric and reciprocal relations add the same for
    (u, v') and (v, u').
    """
    (u, v), (u_other, v_other) = first, second
    total = _product(way, u, u_other, v, v_other)
    if sign:
        total = 0.5 * (total + sign * _product(way, u, v_other, v, u_other))
    return total


def _product(way: Way, a: Placed, a_other: Placed, b: Placed, b_other: Placed) -> np.ndarray | float:
    one, two = way.rest(a, a_other), way.rest(b, b_other)
    total: Any = 0.0
    if isinstance(one, np.ndarray):
        total = one * way.kernel(b, b_other)
    if isinstance(two, np.ndarray):
        total = total + way.inner(a, a_other) * two
    return total


def own_rest(sign: int, u: Placed, v: Placed) -> np.ndarray | float:
    """The same for every pair of a node of u and one of v with itself: (n_u, n_v), or 0.0 if there is none."""
    one, two = u.own_rest(), v.own_rest()
    total: Any = 0.0
    if one.any() or two.any():
        inner = np.einsum("ij,ij->i", u.Z, u.Z) if u.space.counted else np.zeros(len(u))
        total = np.multiply.outer(one, v.own()) + np.multiply.outer(inner, two)
    if not sign:
        return total
    cross = u.rest(v)
    if isinstance(cross, np.ndarray):
        total = total + sign * (cross * (u.kernel(v) + u.inner(v)))
    return 0.5 * total if isinstance(total, np.ndarray) else total
