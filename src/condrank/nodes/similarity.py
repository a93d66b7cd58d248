"""The node kernel between training nodes and any other nodes: computed from features, or read from a given matrix."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks, squares_below
from condrank.base.dask import is_dask
from condrank.base.measured import COPIED_FEATURES_ENTRIES
from condrank.frames.ids import Ids
from condrank.kernels.combining import combine, combine_diagonal
from condrank.kernels.expression import Kernel
from condrank.kernels.leaves import Custom
from condrank.kernels.widths import SAMPLED_ROWS
from condrank.nodes.aligned import Pairs, kernel_at
from condrank.nodes.given import GivenKernel
from condrank.nodes.store import Nodes, SameBase, recognise, same_values
from condrank.nodes.views import Views
from condrank.persistence.arrays import Held


class NodeSimilarity:
    """Kernel values k(v, v') between training nodes and any other nodes.

    Parameters
    ----------
    kernel : Kernel
        The node kernel, with all widths known.
    nodes : Nodes of length n
        Training nodes: features, a kernel matrix (kernel "precomputed"), or views of both kinds.
    """

    def __init__(self, kernel: Kernel, nodes: Nodes):
        self.kernel, self.nodes, self.n_nodes = kernel, nodes, len(nodes)
        check_kernel(kernel, nodes)
        self._given = {view: GivenKernel(nodes.view(view)) for view in kernel.matrices}
        self._same = SameBase(nodes.base)

    def training_kernel(self) -> np.ndarray:
        """The kernel matrix of the training nodes as a new array. Raises if it is not symmetric. O(n²d)."""
        K = self._values(self.nodes, self.nodes)
        if any(leaf.is_precomputed or isinstance(leaf, Custom) for leaf in self.kernel.leaves()):
            check_symmetric(K, self.kernel)
        return K

    def similarity(self, nodes: Nodes | None, others: Nodes | None) -> np.ndarray:
        """The kernel between nodes and others; None means the training nodes."""
        return self._values(self.nodes if nodes is None else nodes, self.nodes if others is None else others)

    def similarity_at(self, nodes: Nodes, others: Nodes, pairs: Pairs) -> np.ndarray | None:
        """The kernel at pairs of positions, (n_pairs,), in O(n_pairs d); None if it needs all pairs."""
        for view in self.kernel.feature_views:
            for given in (nodes, others):
                check_columns(given.view(view), self.nodes.view(view))
        return kernel_at(self.kernel, nodes, others, pairs)

    def diagonal(self, known: bool = True) -> np.ndarray:
        """k(v, v) of the training nodes (n,), in double precision; as if they were not ``known``, without identity."""

        def of_leaf(leaf: Any, _: int) -> np.ndarray:
            return np.zeros(self.n_nodes) if leaf.is_identity and not known else self._diagonal_of(leaf, self.nodes)

        return combine_diagonal(self.kernel, of_leaf, 0)

    def own_values(self, nodes: Nodes) -> np.ndarray:
        """k(v, v) of any nodes (m,), in double precision. O(md)."""
        return combine_diagonal(self.kernel, lambda leaf, _: self._diagonal_of(leaf, nodes), 0)

    def part(self, kernel: Kernel, nodes: Nodes, others: Nodes) -> np.ndarray:
        """Values of a part of the kernel, such as a summand, between nodes and others."""
        return self._values(nodes, others, kernel)

    def _values(self, nodes: Nodes, others: Nodes, kernel: Kernel | None = None) -> np.ndarray:
        sides = nodes, others
        return combine(
            self.kernel if kernel is None else kernel,
            lambda leaf: self._values_of(leaf, nodes, others),
            lambda leaf, side: self._diagonal_of(leaf, sides[side]),
        )

    def _values_of(self, leaf: Any, nodes: Nodes, others: Nodes) -> np.ndarray:
        """Values of a leaf of the kernel."""
        shape, dtype = (len(nodes), len(others)), np.result_type(nodes.dtype, others.dtype)
        if leaf.is_constant:
            return np.ones(shape, dtype=dtype)
        if leaf.is_identity:
            return self._same_nodes(nodes, others, np.zeros(shape, dtype=dtype))
        first = nodes.view(leaf.view)
        second = first if others is nodes else others.view(leaf.view)
        if leaf.is_precomputed:
            return self._given[leaf.view].values(first, second)
        for given in (first, second):
            check_columns(given, self.nodes.view(leaf.view))
        K = _evaluate(leaf, first, second)
        if isinstance(leaf, Custom) and leaf.on == "rows" and first is second:
            # scikit-learn mirrors one triangle, so only the other order of arguments shows an asymmetric kernel.
            K[:, :1] = leaf.on_rows(first.rows, first.block(slice(1)).rows)
        return K

    def _diagonal_of(self, leaf: Any, nodes: Nodes) -> np.ndarray:
        """k(v, v) of a leaf of the kernel."""
        if leaf.is_constant:
            return np.ones(len(nodes))
        if leaf.is_identity:
            return (self.places(nodes) >= 0).astype(np.float64)
        if leaf.is_precomputed:
            return self._given[leaf.view].diagonal(nodes.view(leaf.view))
        view = nodes.view(leaf.view)
        parts = [leaf.diagonal(view.block(rows).rows) for rows in _copied_blocks(view)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _same_nodes(self, nodes: Nodes, others: Nodes, K: np.ndarray) -> np.ndarray:
        """K with ones where both nodes are the same training node."""
        column = np.full(self.n_nodes, -1)
        places = self.places(others)
        known = np.flatnonzero(places >= 0)
        column[places[known]] = known
        rows = self.places(nodes)
        if len(known) > len(np.unique(places[known])):  # an object may be asked for more than once
            K[(rows[:, None] == places) & (rows >= 0)[:, None]] = 1
            return K
        found = np.where(rows >= 0, column[rows], -1)
        here = np.flatnonzero(found >= 0)
        K[here, found[here]] = 1
        return K

    def given_data(self, nodes: Nodes) -> Any:
        """The data of other nodes as a new fit could be asked for them: of a kernel matrix, values against training."""
        matrices, parts = frozenset(self._given), {}
        for name in nodes.view_names:
            view = nodes.view(name)
            if nodes.is_matrix(name, matrices):
                parts[name] = self._given[name if name in matrices else None].against_training(view)
            else:
                parts[name] = view.rows
        return Views(parts) if isinstance(nodes.base, Views) else parts[None]

    def places(self, nodes: Nodes) -> np.ndarray:
        """Positions of nodes among the training nodes, by their place in the graph or by id; -1 for new nodes."""
        if nodes is self.nodes:
            return np.arange(self.n_nodes)
        return recognise(nodes, self.nodes, self._same, self._names)

    @cached_property
    def _names(self) -> Ids | None:
        return None if self.nodes.ids is None else Ids(self.nodes.ids)

    def is_training(self, nodes: Nodes) -> bool:
        """Whether these are the training nodes themselves, in their order."""
        # A precomputed base that is given as an array means values against the training nodes, which are the same.
        if nodes is self.nodes:
            return True
        if not np.array_equal(nodes.positions, self.nodes.positions) or not same_values(nodes.base, self.nodes.base):
            return False
        one, other = nodes.ids, self.nodes.ids
        return one is None or other is None or np.array_equal(one, other)


def _evaluate(kernel: Any, nodes: Nodes, others: Nodes) -> np.ndarray:
    """A kernel on features. Features of a scattered subset are copied one block at a time, never all at once."""
    blocks = [_copied_blocks(given) for given in (nodes, others)]
    if len(blocks[0]) == len(blocks[1]) == 1:
        return kernel.on_rows(nodes.rows, None if nodes is others else others.rows)
    K = np.empty((len(nodes), len(others)), dtype=nodes.dtype)
    for rows in blocks[0]:
        X = nodes.block(rows).rows
        for cols in blocks[1]:
            if nodes is others and cols.start > rows.start:
                break
            same = nodes is others and rows == cols
            K[rows, cols] = kernel.on_rows(X, None if same else others.block(cols).rows)
            if nodes is others and not same:
                K[cols, rows] = K[rows, cols].T
    return K


def training_nodes_from(given: dict[str, Any], held: Held) -> Nodes:
    """Stored training nodes, for coordinates that need them. Raises if there are none."""
    nodes = Nodes.from_state(given, held)
    if len(nodes) == 0:
        raise ValueError(f"coordinates of {held.name} need training nodes, but there are none")
    return nodes


def check_kernel(kernel: Kernel, nodes: Nodes) -> None:
    """Raise if the nodes lack a view of the kernel, or if a view would be used as what it is not."""
    for view in kernel.matrices | kernel.feature_views:
        nodes.view(view)
    both = kernel.matrices & kernel.feature_views
    if both:
        raise ValueError(
            f"the kernel {kernel.label} takes the same nodes as a kernel matrix and as features; give the nodes named "
            "views, {'one': K, 'other': X}, and each kernel its view="
        )
    for view in kernel.feature_views:
        if nodes.view(view).is_kernel:
            # The columns of a kernel matrix contain information about held-out nodes.
            which = "the nodes of this graph are" if view is None else f"the view {view!r} is"
            raise ValueError(
                f"{which} a kernel matrix, not features for kernel={kernel.label!r}: use kernel='precomputed'"
            )


def check_symmetric(K: np.ndarray, kernel: Kernel) -> None:
    """Raise if a kernel matrix is not square, finite and symmetric up to rounding."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"the {kernel.label} kernel must give a square matrix on the training nodes, got {K.shape}")
    scale = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
    if not np.isfinite(scale):
        raise ValueError(f"the {kernel.label} kernel has values that are NaN or infinite")
    # In squares, so that K and its transpose are both read from the processor's cache.
    worst = max(
        (float(np.abs(K[r, c] - K[c, r].T).max()) for r, c in zip(*squares_below(len(K)), strict=True)), default=0.0
    )
    if worst > 100 * np.finfo(K.dtype).eps * scale:
        raise ValueError(
            f"the {kernel.label} kernel matrix is not symmetric: K and its transpose differ by up to {worst:.3g} "
            f"(largest entry {scale:.3g}); symmetrise it with (K + K.T) / 2"
        )


def _copied_blocks(nodes: Nodes) -> list[slice]:
    """Blocks of nodes whose features are copied at a time; a single block if the copy is small or not needed."""
    if nodes.is_view or sparse.issparse(nodes.base):
        return [slice(0, len(nodes))]
    return list(row_blocks(len(nodes), nodes.base.shape[1], budget=COPIED_FEATURES_ENTRIES)) or [slice(0, 0)]


def fit_widths(kernel: Kernel, nodes: Nodes) -> Kernel:
    """The kernel with every ``gamma="median"`` replaced by the width for these training nodes."""

    def fitted(leaf: Any) -> Kernel:
        if not leaf.depends_on_training or not leaf.takes_features:
            return leaf
        view, n = nodes.view(leaf.view), len(nodes)
        if n > SAMPLED_ROWS:
            view = view.take(np.sort(np.random.default_rng(0).permutation(n)[:SAMPLED_ROWS]))
        return leaf.fitted(view.rows.compute() if is_dask(view.base) else view.rows)

    return kernel.mapped(fitted)


def check_columns(nodes: Nodes, training: Nodes) -> None:
    """Raise if nodes do not have the features of the training nodes, both of one view."""
    expected, given = training.base.shape[1], nodes.base.shape[1]
    if given != expected:
        raise ValueError(f"the given nodes must have {expected} features, as the training nodes have, got {given}")
