"""Which relation and which loss to fit: what `diagnose` recommends, without its other measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_choice, check_count
from condrank.diagnosis.degrees import Rows, describe_rows
from condrank.diagnosis.reading import Labels, read_labels
from condrank.diagnosis.recommendation import Loss, Relation, recommend_loss, recommend_relation
from condrank.diagnosis.relation import RelationParts, Values, are_games, describe_values, relation_parts

AUTO = "auto"
RELATIONS = (AUTO, "ordinary", "symmetric", "reciprocal")
LOSSES = (AUTO, "ranking", "regression", "logistic")
MAX_NODES = 1000


@dataclass(frozen=True)
class Recommendation:
    """A relation and a loss for a graph.

    Attributes
    ----------
    relation, loss : str
        For ``ConditionalRanker(relation=..., loss=...)``.
    chosen : tuple of str
        Which of "relation" and "loss" were chosen by the labels; the others were given.
    reasons : tuple of str
        One for each choice, of one or more sentences. As a string, a recommendation has the first sentence of each.
    """

    relation: str
    loss: str
    chosen: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def short(self) -> str:
        """The choices without their reasons; empty if both were given."""
        choices = " and ".join(f"{name} {getattr(self, name)}" for name in self.chosen)
        return f"{choices}, by the labels" if choices else ""

    def __str__(self) -> str:
        first = " ".join(f"{reason.partition('. ')[0].removesuffix('.')}." for reason in self.reasons)
        return f"{self.short}: {first}" if self.chosen else ""


def recommend(
    graph: Any, relation: str = AUTO, loss: str = AUTO, *, max_nodes: int = MAX_NODES, random_state: Any = 0
) -> Recommendation:
    """Choose a relation and a loss by the labels of a graph. O(n²) for the n ≤ ``max_nodes`` nodes that are measured.

    Parameters
    ----------
    graph : RelationGraph, or array of shape (n, n) or (n, m)
        As for `condrank.diagnosis.diagnose`.
    relation : {"auto", "ordinary", "symmetric", "reciprocal"}
        "auto": choose it. Otherwise it is kept.
    loss : {"auto", "ranking", "regression", "logistic"}
        "auto": choose it. The logistic loss is chosen only with a reciprocal relation.
    max_nodes, random_state
        As for `condrank.diagnosis.diagnose`, which recommends the same.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank.diagnosis import recommend
    >>> found = recommend(np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]))
    >>> found.relation, found.loss
    ('reciprocal', 'logistic')
    """
    check_choice("relation", relation, RELATIONS)
    check_choice("loss", loss, LOSSES)
    if AUTO not in (relation, loss):
        return Recommendation(relation, loss, (), ())
    found = measure(read_labels(graph, check_count("max_nodes", max_nodes), np.random.default_rng(random_state)))
    chosen, reasons = [], []
    if relation == AUTO:
        relation = found.relation
        chosen.append("relation")
        reasons.append(found.relation_reasons[0])
    if loss == AUTO:
        loss, reason = found.loss, next(iter(found.loss_reasons), "There is nothing against it.")
        if loss == "logistic" and relation != "reciprocal":
            loss = "ranking"
            reason = (
                f"The logistic loss, for wins and losses, needs a reciprocal relation, but {relation} is asked for."
            )
        chosen.append("loss")
        reasons.append(reason)
    return Recommendation(relation, loss, tuple(chosen), tuple(reasons))


@dataclass(frozen=True)
class Measured:
    """The measures that relation and loss are recommended by, and the recommendation with its reasons."""

    values: Values
    rows: Rows
    parts: RelationParts | None
    n_one_way: int
    edges_per_row: float
    sampled: bool
    relation: Relation
    relation_reasons: list[str]
    loss: Loss
    loss_reasons: list[str]


def measure(labels: Labels) -> Measured:
    """Measure labels as far as the choice of relation and loss needs it."""
    Y, two_domain = labels.Y, labels.two_domain
    values = describe_values(Y, two_domain=two_domain, n_duplicates=labels.n_duplicates)
    rows = describe_rows(Y)
    parts = None if two_domain else relation_parts(Y)
    n_one_way = 0 if parts is None else _n_pairs(Y) - parts.n_pairs
    relation, reasons = recommend_relation(parts, values, n_one_way)
    sampled = Y.shape != labels.shape
    # A sample of a sparse graph keeps few edges per row, so the number of the whole graph counts.
    edges_per_row = labels.n_edges / labels.shape[0] if sampled else rows.edges_per_row
    games = parts is not None and labels.pairs is not None and are_games(*labels.pairs, parts.scale)
    loss, loss_reasons = recommend_loss(relation, values, rows, edges_per_row, sampled, games)
    return Measured(values, rows, parts, n_one_way, edges_per_row, sampled, relation, reasons, loss, loss_reasons)


def _n_pairs(Y: np.ndarray) -> int:
    """Unordered pairs of different nodes with at least one direction observed."""
    seen = np.isfinite(Y)
    seen = seen | seen.T
    return int(seen.sum() - np.trace(seen)) // 2
