"""Candidates of a search, judged on the same held-out nodes: losses, and paired differences with standard errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from condrank.exceptions import RelationWarning
from condrank.graph import RelationGraph
from condrank.metrics import pair_counts
from condrank.model_selection.relevance import changed
from condrank.node_transformer import NodeTransformer
from condrank.nodes import Nodes

PREPROCESSING = ("raw", "standard", "quantile")
# Most quantiles that features are mapped by.
N_QUANTILES = 1000

Graphs = tuple[RelationGraph, RelationGraph]


@dataclass(frozen=True)
class Candidate:
    """A ranker, not fitted, on features that were prepared in one of the ways of `PREPROCESSING`."""

    preprocessing: str
    ranker: Any

    def with_params(self, **params: Any) -> Candidate:
        """The same with some of the ranker's parameters changed."""
        return Candidate(self.preprocessing, changed(self.ranker, **params))


@dataclass(frozen=True)
class Judged:
    """A candidate with its wrongly ordered and comparable pairs of objects, for each held-out conditioning node."""

    candidate: Candidate
    wrong: np.ndarray
    comparable: np.ndarray

    @property
    def loss(self) -> float:
        """Rank loss, pooled."""
        return float(self.wrong.sum() / max(1.0, self.comparable.sum()))

    def against(self, other: Judged) -> tuple[float, float]:
        """Difference of the two losses and its standard error, by paired differences of the conditioning nodes."""
        change, total = self.wrong - other.wrong, max(1.0, self.comparable.sum())
        difference = float(change.sum() / total)
        spread = change - difference * self.comparable
        return difference, float(np.sqrt(spread @ spread) / total)


@dataclass(frozen=True)
class Step:
    """A step of the search: the best of what was tried, and whether it was kept.

    Attributes
    ----------
    name : str
        What was searched; "check …" for the final one on reserved nodes.
    params : dict
        Parameters of the best candidate that differ from those before it.
    loss : float
        Its held-out rank loss.
    difference, standard_error : float
        Against the candidate before: of the loss, paired by conditioning node.
    accepted : bool
        Whether it was kept.
    """

    name: str
    params: dict[str, Any]
    loss: float
    difference: float
    standard_error: float
    accepted: bool


class Judge:
    """Training graphs and graphs of held-out nodes, prepared once for each way of preprocessing.

    Parameters
    ----------
    splits : iterable of (training graph, test graph)
        The holdouts.
    dtype : dtype, optional
        Floating type to compute in; by default that of the nodes.
    """

    def __init__(self, splits: Iterable[Graphs], dtype: Any = None):
        self.splits = [(_astype(train, dtype), _astype(test, dtype)) for train, test in splits]
        self._prepared: dict[str, list[Graphs]] = {}

    def prepared(self, preprocessing: str) -> list[Graphs]:
        """The splits with features transformed as the training nodes of each say."""
        if preprocessing not in self._prepared:
            self._prepared[preprocessing] = [prepare(preprocessing, *pair)[1:] for pair in self.splits]
        return self._prepared[preprocessing]

    def judge(self, candidate: Candidate, alphas: Sequence[float], n_splits: int | None = None) -> Judged:
        """The candidate with the λ of the lowest loss, over the first ``n_splits`` holdouts (all by default)."""
        alphas = sorted(alphas, reverse=True)
        counts: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in alphas]
        with warnings.catch_warnings():
            # Tried λ need not converge, and what the relation is like was said before.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RelationWarning)
            for train, test in self.prepared(candidate.preprocessing)[:n_splits]:
                first = changed(candidate.ranker, alpha=alphas[0]).fit(train)
                truth = first._conditioned(test).to_dense()
                for number, ranker in enumerate([first, *first.path(alphas[1:])]):
                    counts[number].append(pair_counts(truth, ranker.predict(test)))
        judged = [
            Judged(candidate.with_params(alpha=alpha), *(np.concatenate(part) for part in zip(*of_alpha, strict=True)))
            for alpha, of_alpha in zip(alphas, counts, strict=True)
        ]
        return min(judged, key=lambda one: one.loss)


def _astype(graph: RelationGraph, dtype: Any) -> RelationGraph:
    if dtype is None or graph.nodes.dtype == dtype:
        return graph
    nodes = Nodes(graph.nodes.rows.astype(dtype), None, graph.nodes.ids)
    return graph._part(nodes, nodes, graph.relation)


def prepare(preprocessing: str, train: RelationGraph, *others: RelationGraph) -> tuple[Any, ...]:
    """A transformer fitted on the training nodes (None for raw features), and the graphs as it gives them."""
    if preprocessing == "raw":
        return None, train, *others
    if preprocessing == "standard":
        transformer = NodeTransformer(StandardScaler())
    else:
        transformer = NodeTransformer(QuantileTransformer(n_quantiles=min(N_QUANTILES, len(train))))
    transformer.fit(train)
    return transformer, *(transformer.transform(graph) for graph in (train, *others))
