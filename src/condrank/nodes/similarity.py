"""The node kernel between training nodes and any other nodes: computed from features, or read from a given matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.dense import dense
from condrank.base.measured import COPIED_FEATURES_ENTRIES
from condrank.frames.ids import Ids, shown
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.store import Nodes, same_values
from condrank.persistence.arrays import Held

LOADED = " (a ranker that was loaded from a file does not know the subgraphs of its training graph)"


class NodeSimilarity:
    """Kernel values k(v, v') between training nodes and any other nodes.

    Parameters
    ----------
    kernel : NodeKernel
        The node kernel.
    nodes : Nodes of length n
        Training nodes, features or (kernel "precomputed") a kernel matrix.
    """

    def __init__(self, kernel: NodeKernel, nodes: Nodes):
        self.kernel, self.nodes, self.n_nodes = kernel, nodes, len(nodes)
        refuse_kernel_values(kernel, nodes)
        if kernel.is_precomputed:
            base = nodes.base
            if base.shape[0] != base.shape[1]:
                raise ValueError(f"kernel='precomputed' needs a square kernel matrix as X, got shape {base.shape}")
            if not isinstance(base, np.ndarray):
                raise ValueError(
                    "kernel='precomputed' needs a dense kernel matrix as X, got a sparse one; use X.toarray()"
                )

    def training_kernel(self) -> np.ndarray:
        """The kernel matrix of the training nodes as a new array. Raises if it is not symmetric. O(n²d)."""
        if self.kernel.is_precomputed:
            K = self.nodes.kernel_with(self.nodes)
            K += int(self.kernel.constant)
        else:
            K = self._evaluate(self.nodes, self.nodes)
            if callable(self.kernel.name):
                # scikit-learn mirrors one triangle, so only the other order of arguments shows an asymmetric kernel.
                K[:, :1] = self.kernel(self.nodes.rows, self.nodes.block(slice(1)).rows)
        if self.kernel.is_precomputed or callable(self.kernel.name):
            check_symmetric(K, self.kernel)
        return K

    def similarity(self, nodes: Nodes | None, others: Nodes | None) -> np.ndarray:
        """The kernel between nodes and others; None means the training nodes."""
        nodes = self.nodes if nodes is None else nodes
        others = self.nodes if others is None else others
        if not self.kernel.is_precomputed:
            for given in (nodes, others):
                _check_columns(given, self.nodes.base.shape[1], "features, as the training nodes have")
            return self._evaluate(nodes, others)
        return self._look_up(nodes, others) + int(self.kernel.constant)

    def _evaluate(self, nodes: Nodes, others: Nodes) -> np.ndarray:
        """The kernel on features. Features of a scattered subset are copied one block at a time, never all at once."""
        blocks = [_copied_blocks(given) for given in (nodes, others)]
        if len(blocks[0]) == len(blocks[1]) == 1:
            return self.kernel(nodes.rows, None if nodes is others else others.rows)
        K = np.empty((len(nodes), len(others)), dtype=nodes.dtype)
        for rows in blocks[0]:
            X = nodes.block(rows).rows
            for cols in blocks[1]:
                if nodes is others and cols.start > rows.start:
                    break
                same = nodes is others and rows == cols
                K[rows, cols] = self.kernel(X, None if same else others.block(cols).rows)
                if nodes is others and not same:
                    K[cols, rows] = K[rows, cols].T
        return K

    def _look_up(self, nodes: Nodes, others: Nodes) -> np.ndarray:
        """Entries of a precomputed kernel: from the matrix of the training graph, or given rows against its nodes."""
        if self._shares_base(nodes) and self._shares_base(others):
            return nodes.kernel_with(others)
        if others is self.nodes:
            columns = self._columns_by_id(nodes)
            if columns is not None:
                return dense(nodes.rows[:, columns])
            _check_columns(nodes, self.n_nodes, "columns, kernel values against the training nodes", LOADED)
            return dense(nodes.rows)
        if nodes is self.nodes:
            return self._look_up(others, nodes).T
        if nodes.base is others.base and self._columns_by_id(nodes) is not None:
            return nodes.kernel_with(others)
        raise ValueError(
            "the kernel between the given nodes is needed, but kernel='precomputed' has only their values against the "
            f"training nodes; pass subgraphs of one RelationGraph instead (graph[test]){LOADED}"
        )

    def _columns_by_id(self, nodes: Nodes) -> np.ndarray | None:
        """Columns of the training nodes in another kernel matrix with ids, which may be in any order."""
        names, training = nodes.base_ids, self.nodes.ids
        if names is None or training is None or nodes.base.shape[0] != nodes.base.shape[1]:
            return None
        columns = Ids(names).places(training)
        missing = columns < 0
        if missing.all():
            return None  # only new ids: the columns are the training nodes in their order
        if missing.any():
            one = shown(training, int(np.argmax(missing)))
            raise ValueError(
                f"the kernel has no column for {missing.sum()} of the {len(training)} training nodes, such as {one!r}; "
                "kernel='precomputed' needs values against all of them"
            )
        return columns

    def given_kernel(self, nodes: Nodes) -> np.ndarray:
        """Values (m, n) of a precomputed kernel between other nodes and the training nodes, without a constant."""
        return self._look_up(nodes, self.nodes)

    def _shares_base(self, nodes: Nodes) -> bool:
        return same_values(nodes.base, self.nodes.base)

    def places(self, nodes: Nodes) -> np.ndarray:
        """Positions of nodes among the training nodes; -1 for new nodes."""
        return nodes.places_in(self.nodes) if self._shares_base(nodes) else np.full(len(nodes), -1)

    def is_training(self, nodes: Nodes) -> bool:
        """Whether these are the training nodes themselves, in their order."""
        # A precomputed base that is given as an array means values against the training nodes, which are the same.
        return nodes is self.nodes or (
            np.array_equal(nodes.positions, self.nodes.positions) and same_values(nodes.base, self.nodes.base)
        )


def training_nodes_from(given: dict[str, Any], held: Held) -> Nodes:
    """Stored training nodes, for coordinates that need them. Raises if there are none."""
    nodes = Nodes.from_state(given, held)
    if len(nodes) == 0:
        raise ValueError(f"coordinates of {held.name} need training nodes, but there are none")
    return nodes


def refuse_kernel_values(kernel: NodeKernel, nodes: Nodes) -> None:
    """Raise if a kernel matrix would be used as features: its columns contain information about held-out nodes."""
    if nodes.is_kernel and not kernel.is_precomputed:
        raise ValueError(
            f"the nodes of this graph are a kernel matrix, not features for kernel={kernel.label!r}: "
            "use kernel='precomputed'"
        )


def check_symmetric(K: np.ndarray, kernel: NodeKernel) -> None:
    """Raise if a kernel matrix is not square, finite and symmetric up to rounding."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"the {kernel.label} kernel must give a square matrix on the training nodes, got {K.shape}")
    scale = float(np.abs(K).max(initial=0.0))
    if not np.isfinite(scale):
        raise ValueError(f"the {kernel.label} kernel has values that are NaN or infinite")
    worst = float(np.abs(K - K.T).max(initial=0.0))
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


def _check_columns(nodes: Nodes, expected: int, what: str, hint: str = "") -> None:
    if nodes.base.shape[1] != expected:
        raise ValueError(f"the given nodes must have {expected} {what}, got {nodes.base.shape[1]}{hint}")
