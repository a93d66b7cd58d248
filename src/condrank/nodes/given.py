"""Kernel matrices that are given: their values between training nodes and any other nodes."""

from __future__ import annotations

import numpy as np

from condrank.base.dense import dense
from condrank.frames.ids import Ids, shown
from condrank.nodes.store import Nodes, SameBase

LOADED = " (a ranker that was loaded from a file does not know the subgraphs of its training graph)"
# k(v, v) of the training nodes counts as one number if it varies by less than this, relatively.
SAME_LENGTH = 1e-6


class GivenKernel:
    """Values of a precomputed kernel, read from the matrix of a graph or from rows against the training nodes.

    Parameters
    ----------
    nodes : Nodes of length n
        Training nodes; their base is the kernel matrix.
    """

    def __init__(self, nodes: Nodes):
        base = nodes.base
        if base.shape[0] != base.shape[1]:
            raise ValueError(f"kernel='precomputed' needs a square kernel matrix as X, got shape {base.shape}")
        if not isinstance(base, np.ndarray):
            raise ValueError("kernel='precomputed' needs a dense kernel matrix as X, got a sparse one; use X.toarray()")
        self.nodes, self._same = nodes, SameBase(base)

    def values(self, nodes: Nodes, others: Nodes) -> np.ndarray:
        """Values (m, m') between nodes and others. A read-only array is the given matrix itself."""
        if self._same(nodes) and self._same(others):
            return nodes.kernel_with(others)
        places = others.places_in(self.nodes) if self._same(others) else None
        if places is not None and (places >= 0).all():
            columns = self._columns(nodes)
            return dense(nodes.rows[:, places if columns is None else columns[places]])
        if self._same(nodes):
            return self.values(others, nodes).T
        if nodes.base is others.base and self._columns_by_id(nodes) is not None:
            return nodes.kernel_with(others)
        raise ValueError(
            "the kernel between the given nodes is needed, but kernel='precomputed' has only their values against the "
            f"training nodes; pass subgraphs of one RelationGraph instead (graph[test]){LOADED}"
        )

    def diagonal(self, nodes: Nodes) -> np.ndarray:
        """k(v, v) of nodes, in double precision.

        Rows against the training nodes do not have it. They get the value of the training nodes if that is the same for
        all of them, as for kernels of unit length.
        """
        if self._same(nodes) or self._columns_by_id(nodes) is not None:
            return nodes.base[nodes.positions, nodes.positions].astype(np.float64)
        known = self.nodes.base[self.nodes.positions, self.nodes.positions].astype(np.float64)
        if np.ptp(known) > SAME_LENGTH * np.abs(known).max():
            raise ValueError(
                "Unit needs k(v, v) of the given nodes, but rows of a precomputed kernel have only values against the "
                "training nodes; pass subgraphs of one RelationGraph (graph[test]), or scale the matrix to unit length "
                "before the fit"
            )
        return np.full(len(nodes), float(known.mean()))

    def against_training(self, nodes: Nodes) -> np.ndarray:
        """Values (m, n) between other nodes and the training nodes."""
        return self.values(nodes, self.nodes)

    def _columns(self, nodes: Nodes) -> np.ndarray | None:
        """Columns of the training nodes in the rows of others; None if they are all columns in their order."""
        columns = self._columns_by_id(nodes)
        if columns is None and nodes.base.shape[1] != len(self.nodes):
            raise ValueError(
                f"the given nodes must have {len(self.nodes)} columns, kernel values against the training nodes, "
                f"got {nodes.base.shape[1]}{LOADED}"
            )
        return columns

    def _columns_by_id(self, nodes: Nodes) -> np.ndarray | None:
        """Columns of the training nodes in another kernel matrix with ids, which may be in any order."""
        names, training = nodes.base_ids, self.nodes.ids
        if names is None or training is None or nodes.against_training or nodes.base.shape[0] != nodes.base.shape[1]:
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
