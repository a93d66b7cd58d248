"""Scalers, vectorisers and other scikit-learn transformers for the nodes of a graph, as a step of a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.nodes.views import Views, check_rows

UNCHANGED = "passthrough"


class NodeTransformer(TransformerMixin, BaseEstimator):
    """Fit a transformer on the nodes of a training graph, and return graphs with transformed nodes.

    The relation is shared and ids are kept. The transformer learns only from the nodes of the graph that it is fitted
    on. So in a pipeline nothing about held-out nodes leaks into a fold.

    Parameters
    ----------
    transformer : estimator
        Any scikit-learn transformer of features. For nodes that are texts, a transformer of texts such as
        ``TfidfVectorizer``; for nodes that are a table, a `condrank.tables.TableEncoder`. "passthrough" leaves the
        nodes as they are, for example a kernel matrix beside objects that are a table.
    object_transformer : estimator, "same" or "passthrough", optional
        Transformer for the objects of a second domain. By default a second ``transformer``, fitted on the objects.
        "same" uses the one that was fitted on the conditioning nodes (rows).

    Attributes
    ----------
    transformer_, object_transformer_ : estimator
        Fitted on the nodes, and on the objects. In one domain they are the same.

    Notes
    -----
    Plain arrays (and lists of texts) are transformed as conditioning nodes (rows), so ``pipeline.predict(X_new)``
    scores the training objects. Give new objects together with their queries as a graph. Or transform them first, by
    ``pipeline[:-1].transform(X)``, for ``pipeline[-1].predict`` and ``pipeline[-1].rank``.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from condrank import ConditionalRanker, NodeTransformer, RelationGraph
    >>> texts = ["red apple", "green apple", "red car", "blue car"]
    >>> graph = RelationGraph(texts, [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 1], [0, 0, 1, 2]])
    >>> pipeline = make_pipeline(NodeTransformer(TfidfVectorizer()), ConditionalRanker()).fit(graph)
    >>> pipeline.predict(["yellow apple"]).shape
    (1, 4)
    """

    def __init__(self, transformer: Any, object_transformer: Any = None):
        self.transformer = transformer
        self.object_transformer = object_transformer

    transformer_: Any
    object_transformer_: Any

    def fit(self, X: Any, Y: Any = None) -> NodeTransformer:
        """Fit on the nodes of a graph, or on plain features or texts. Y is ignored."""
        own = self.object_transformer
        if isinstance(own, str) and own not in ("same", UNCHANGED):
            raise ValueError(f"object_transformer must be a transformer, 'same', 'passthrough' or None, got {own!r}")
        if not _is_unchanged(self.transformer):
            check_transformer("transformer", self.transformer)
        if own is not None and not isinstance(own, str):
            check_transformer("object_transformer", own)
        if not isinstance(X, RelationGraph):
            self.transformer_ = self.object_transformer_ = _fit(self.transformer, X)
            return self
        self.transformer_ = _fit(self.transformer, _data(X.nodes))
        self.object_transformer_ = self.transformer_
        if X.is_two_domain and own != "same":
            self.object_transformer_ = _fit(self.transformer if own is None else own, _data(X.objects))
        return self

    def transform(self, X: Any) -> Any:
        """A graph with transformed nodes if X is a graph, otherwise transformed features."""
        check_is_fitted(self, "transformer_")
        if not isinstance(X, RelationGraph):
            return X if self.transformer_ is None else self.transformer_.transform(X)
        nodes = others = _transformed(X.nodes, self.transformer_)
        if X.is_two_domain:
            others = _transformed(X.objects, self.object_transformer_)
        return X.part(nodes, others, X.relation)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags


def check_transformer(name: str, given: Any) -> None:
    """Raise if ``given`` is not a transformer."""
    if isinstance(given, type):
        raise ValueError(f"{name} must be a transformer, got the class {given.__name__}: write {given.__name__}()")
    if not hasattr(given, "fit") or not hasattr(given, "transform"):
        raise ValueError(f"{name} must be a scikit-learn transformer, with fit and transform, got {given!r}")


def _is_unchanged(transformer: Any) -> bool:
    return isinstance(transformer, str) and transformer == UNCHANGED


def _fit(transformer: Any, data: Any) -> Any:
    """A fitted copy; None for "passthrough"."""
    if _is_unchanged(transformer):
        return None
    fresh: Any = clone(transformer)
    return fresh.fit(data)


def _data(nodes: Nodes) -> Any:
    """Rows as a transformer expects them: texts as a one-dimensional array."""
    return nodes.rows[:, 0] if nodes.is_raw and isinstance(nodes.base, np.ndarray) else nodes.rows


def _transformed(nodes: Nodes, transformer: Any) -> Nodes:
    if transformer is None:
        return nodes
    if isinstance(nodes.base, Views):
        # All nodes of the base, so that kernel matrices beside the tables stay whole.
        return Nodes(transformer.transform(nodes.base), nodes.index, nodes.base_ids)
    return Nodes(check_rows(transformer.transform(_data(nodes)), "transformed nodes"), None, nodes.ids)
