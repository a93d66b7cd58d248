"""Features prepared before the kernel: standardised, mapped to their quantiles, or scaled to unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import QuantileTransformer, StandardScaler, normalize

from condrank.base.checks import check_choice
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.persistence.arrays import Arrays, Held

RAW, STANDARD, QUANTILE, UNIT = WAYS = ("raw", "standard", "quantile", "unit")
# Largest number of quantiles of a feature.
N_QUANTILES = 1000


@dataclass(frozen=True)
class Scaling:
    """How the features of one view are prepared, learned from training nodes.

    Sparse features are standardised without centring, which would fill their zeros, and not mapped to quantiles.

    Attributes
    ----------
    way : {"raw", "standard", "quantile", "unit"}
        What is done to the features.
    learned : dict of ndarray
        ``mean`` and ``scale`` (d,) of "standard"; ``quantiles`` (q, d) of "quantile"; otherwise empty.
    """

    way: str
    learned: dict[str, np.ndarray]

    @classmethod
    def fit(cls, way: str, X: Any) -> Scaling:
        """Learn from features X (n, d). O(nd), and a sort of each feature for quantiles."""
        if way == STANDARD:
            scaler: Any = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
            centred = {} if sparse.issparse(X) else {"mean": scaler.mean_}
            return cls(way, centred | {"scale": scaler.scale_})
        if way == QUANTILE and not sparse.issparse(X):
            transformer: Any = QuantileTransformer(n_quantiles=min(N_QUANTILES, X.shape[0]), random_state=0)
            return cls(way, {"quantiles": transformer.fit(X).quantiles_})
        return cls(way if way == UNIT else RAW, {})

    def apply(self, X: Any) -> Any:
        """Prepared features, in the floating type of X; X itself if nothing is to be done."""
        if self.way == RAW:
            return X
        if self.way == UNIT:
            unit: Any = normalize(X)
            return unit.astype(X.dtype, copy=False)
        if self.way == STANDARD:
            scale = self.learned["scale"].astype(X.dtype)
            if sparse.issparse(X):
                return sparse.csr_array(X @ sparse.diags_array(1 / scale))
            mean = self.learned.get("mean")
            return (X if mean is None else X - mean.astype(X.dtype)) / scale
        quantiles = self.learned["quantiles"]
        transformer: Any = QuantileTransformer(n_quantiles=len(quantiles))
        transformer.n_quantiles_, transformer.n_features_in_ = quantiles.shape
        transformer.quantiles_, transformer.references_ = quantiles, np.linspace(0, 1, len(quantiles))
        return transformer.transform(X).astype(X.dtype, copy=False)

    def to_state(self, arrays: Arrays) -> str:
        """The way; what was learned is added to ``arrays``."""
        arrays.put_all(self.learned)
        return self.way

    @classmethod
    def from_state(cls, way: Any, held: Held, n_features: int) -> Scaling:
        """A stored scaling of so many features, after checks."""
        check_choice("preparation", way, WAYS)
        if way == QUANTILE:
            return cls(way, {"quantiles": held.floats("quantiles", None, n_features)})
        if way != STANDARD:
            return cls(way, {})
        learned = {"scale": held.positive("scale", n_features)}
        return cls(way, learned | ({"mean": held.floats("mean", n_features)} if "mean" in held else {}))


class Preparation:
    """How the nodes of one side are prepared: a scaling for each view of features; kernel matrices stay as they are.

    Parameters
    ----------
    scalings : dict of Scaling
        By view; None is the view of nodes without names.
    base : array or Views
        Data of the training graph. Other nodes of it are seen through one prepared base, so that they are recognised.
    """

    def __init__(self, scalings: dict[str | None, Scaling], base: Any):
        self.scalings = scalings
        self._base, self._prepared = base, self._apply(base)

    @classmethod
    def fit(cls, way: str, nodes: Nodes, matrices: frozenset[str | None] = frozenset()) -> Preparation:
        """Learn from training nodes, and from no other node of their base; ``matrices`` are views that are kernels."""
        check_choice("preparation", way, WAYS)
        scalings = {
            view: Scaling.fit(
                RAW if nodes.view(view).is_kernel or nodes.is_matrix(view, matrices) else way, nodes.view(view).rows
            )
            for view in nodes.view_names
        }
        return cls(scalings, nodes.base)

    def __call__(self, nodes: Nodes) -> Nodes:
        """Prepared nodes with the same ids; nodes of the training graph stay nodes of one base."""
        if nodes.base is self._base:
            return Nodes(self._prepared, nodes.index, nodes.base_ids, nodes.is_kernel, nodes.columns)
        return Nodes(self._apply(nodes.rows), None, nodes.ids, nodes.is_kernel, nodes.columns, nodes.against_training)

    def _apply(self, base: Any) -> Any:
        if not isinstance(base, Views):
            return self.scalings[None].apply(base)
        return Views({name: self.scalings[name].apply(part) for name, part in base.parts.items()}, base.kernels)

    def to_state(self, arrays: Arrays) -> list[Any]:
        """The ways of the views as plain values."""
        return [
            [view, one.to_state(arrays.under(str(number)))] for number, (view, one) in enumerate(self.scalings.items())
        ]

    @classmethod
    def from_state(cls, given: Any, held: Held, nodes: Nodes) -> Preparation:
        """A stored preparation of nodes like these."""
        views = nodes.view_names
        if not isinstance(given, list) or [one[0] for one in given] != views:
            raise ValueError(f"the preparation must be of the views {views}, got {given!r:.60}")
        scalings = {
            view: Scaling.from_state(way, held.under(str(number)), nodes.view(view).base.shape[1])
            for number, (view, way) in enumerate(given)
        }
        return cls(scalings, nodes.base)
