"""Why a ranker gives an object its score, or ranks it above another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from condrank.explanations import Explanation
from condrank.explanations.asked import Asked
from condrank.explanations.features import Columns
from condrank.nodes import Nodes
from condrank.rankers.base import Ranker, fitted_of, read_side
from condrank.rankers.checks import LEARN

# Names of nodes that are given by their features, without ids.
NEW = {"query": "the new node", "object": "the new object", "other": "the other object"}


class Explained(Ranker):
    """A ranker that explains its scores."""

    def explain(self, query: Any, object: Any, other: Any = None) -> Explanation:
        """Why ``object`` has its score for ``query``; or why it is ranked above, or below, ``other``.

        Parameters
        ----------
        query : id, position, or array-like of shape (n_features,) or (1, n_features)
            The conditioning node: a training node by its id (by its position if nodes have no ids), or any node by its
            features, given as for `predict`.
        object, other : id, position, or array-like of shape (n_features,) or (1, n_features)
            The object, and one to compare it with, given in the same ways.

        Returns
        -------
        Explanation
            Exact sums by labels, nodes, features and parts, each computed when it is asked for. Labels and nodes cost
            one solve of the system of the fit, O(n²k) with k < 100 on a complete graph of n nodes.

        Examples
        --------
        >>> import numpy as np
        >>> from condrank import ConditionalRanker, RelationGraph
        >>> strength = np.array([[0.1], [0.9], [0.5]])
        >>> graph = RelationGraph(strength, strength - strength.T, ids=["ann", "bob", "cyd"])
        >>> ranker = ConditionalRanker("reciprocal", "regression", alpha=0.1, constant=True).fit(graph)
        >>> print(ranker.explain("bob", "ann", "cyd").sentence("features", top=1))
        ann is ranked above cyd for bob (by 0.362), mostly because of feature 0, 0.1 against 0.5 (+0.362).
        """
        given = ((query, "queries", "query"), (object, "objects", "object"), (other, "objects", "other"))
        read = [read_one(self, *one) for one in given if one[0] is not None or one[2] != "other"]
        names = [*(name for _, name in read), None][:3]
        return explanation(self, [nodes for nodes, _ in read], names)


def read_one(ranker: Any, given: Any, side: str, name: str) -> tuple[Nodes, Any]:
    """One node and its name: a training node by its id or position, or any node by its features."""
    fitted_of(ranker)
    is_id = np.ndim(given) == 0 and not isinstance(given, Mapping | Nodes) and not sparse.issparse(given)
    if is_id:
        return read_side(ranker, [given], side), given
    if not isinstance(given, Mapping | Nodes) and not sparse.issparse(given) and np.ndim(given) == 1:
        given = np.asarray(given)[None]
    nodes = read_side(ranker, given, side)
    if len(nodes) != 1:
        raise ValueError(f"{name} must be one node, got {len(nodes)}; explain each of them by itself")
    return nodes, NEW[name] if nodes.ids is None else nodes.ids[0]


def explanation(
    ranker: Any, nodes: Sequence[Nodes], names: Sequence[Any], sides: tuple[Columns, Columns] | None = None
) -> Explanation:
    """The explanation of a fitted ranker for nodes that are already read: conditioning node and one or two objects."""
    fitted, found = fitted_of(ranker), getattr(ranker, "best_ranker_", ranker)  # what a search has chosen
    rows, cols = (getattr(fitted.model, side, None) for side in ("rows", "cols"))
    if hasattr(rows, "prepared"):  # the features are prepared before the ranker inside sees them
        assert rows is not None
        assert cols is not None
        sides = sides or (Columns.plain(nodes[0]), Columns.plain(*nodes[1:]))
        nodes = [rows.prepared(nodes[0]), *(cols.prepared(one) for one in nodes[1:])]
        fitted = fitted_of(found.ranker_)
    if not hasattr(fitted, "settings"):
        raise ValueError(
            f"explain needs a ConditionalRanker, got {type(found).__name__}, whose scores are no such sums; {LEARN}"
        )
    query, one, other = names
    return Explanation(Asked(fitted, nodes[0], tuple(nodes[1:])), (query, one, other), sides)
