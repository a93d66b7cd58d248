"""Encoders of several views: one for each table; arrays and kernel matrices stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from condrank.base.arrays import check_features
from condrank.frames.table import Table
from condrank.graph.transformer import check_transformer
from condrank.nodes.views import Views
from condrank.tables.encoder import TableEncoder


class ViewEncoder(TransformerMixin, BaseEstimator):
    """Encode every view that is a table by an encoder of its own, learned from its training rows.

    Parameters
    ----------
    encoder : TableEncoder, "passthrough", another transformer or dict of them by view, optional
        Copied for each table; by default ``TableEncoder()``. "passthrough": numbers as they are.

    Attributes
    ----------
    encoders_ : dict
        The fitted encoder of each view; None for arrays and kernel matrices.
    """

    encoders_: dict[str, Any]

    def __init__(self, encoder: Any = None):
        self.encoder = encoder

    def fit(self, X: Views, y: Any = None) -> ViewEncoder:
        """Fit an encoder to each table; y is ignored."""
        self.encoders_ = {}
        for view, part in X.parts.items():
            given = self.encoder.get(view) if isinstance(self.encoder, Mapping) else self.encoder
            self.encoders_[view] = _fitted(view, part, given) if isinstance(part, Table) else None
        return self

    def transform(self, X: Views) -> Views:
        """The same views as features and kernel matrices."""
        check_is_fitted(self, "encoders_")
        lacking = [view for view in self.encoders_ if view not in X.parts]
        if lacking:
            raise ValueError(f"the nodes lack the view {lacking[0]!r}; the model was trained on {[*self.encoders_]}")
        parts = {}
        for view, encoder in self.encoders_.items():
            part = X.parts[view]
            encoded = part if encoder is None else encoder.transform(part)
            parts[view] = check_features(encoded, f"view {view!r}") if encoder is not None else encoded
        return Views(parts, X.kernels)


def _fitted(view: str, table: Table, given: Any) -> Any:
    if isinstance(given, str):
        if given != "passthrough":
            raise ValueError(f"encoder must be a transformer, 'passthrough' or None, got {given!r}")
        table.refuse_others()
        given = TableEncoder(standardise=False)
    given = TableEncoder() if given is None else given
    check_transformer(f"encoder of view {view!r}", given)
    fresh: Any = clone(given)
    return fresh.fit(table)
