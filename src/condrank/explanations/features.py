"""Contributions of features: with a linear kernel a score is a sum over products of features of both nodes.

zᵀWz' = Σ_jk φ_j M_jk φ'_k, where φ are the features and M is W in them. Half of each product belongs to the feature of
the conditioning node and half to that of the object: it takes both. That is also the Shapley value of a product of two.
A product with the constant of a kernel belongs to the other feature alone, as the constant is the same for all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condrank.base.dense import dense
from condrank.explanations.asked import Asked
from condrank.explanations.parts import Part, compared_parts, parts_of, parts_of_objects
from condrank.explanations.terms import Terms
from condrank.models import ComparedModel, EdgeModel
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.products.kronecker import KroneckerEdges

REFUSED = 'ask by="labels", by="nodes" or by="parts" instead, or fit with kernel="linear"'


@dataclass(frozen=True)
class Columns:
    """The columns that features of nodes were made of.

    Attributes
    ----------
    of_feature : callable
        Takes the name of a view (None without views) and the number of its features; gives the column of each.
    values : sequence of dict
        Values of the columns of each node, as a person knows them; empty if they are not known.
    """

    of_feature: Callable[[str | None, int], Sequence[str]]
    values: Sequence[dict[str, Any]] = field(default=())

    @classmethod
    def plain(cls, *given: Nodes) -> Columns:
        """The features themselves: their names as a frame has them, or their numbers."""

        def names(view: str | None, n: int) -> Sequence[str]:
            known = given[0].view(view).columns.get(None)
            start = "" if view is None else f"{view} "
            return [f"{start}feature {j}" for j in range(n)] if known is None else [f"{start}{one}" for one in known]

        values = [dict[str, Any]() for _ in given]
        for nodes, found in zip(given, values, strict=True):
            for view in nodes.base.parts if isinstance(nodes.base, Views) else (None,):
                row = dense(nodes.view(view).rows)[0]
                used = np.flatnonzero(row)
                named = names(view, len(row))
                found |= {named[j]: float(row[j]) for j in used.tolist()}
        return cls(names, values)


def terms_of_features(asked: Asked, rest: dict[str, float], sides: tuple[Columns, Columns]) -> Terms:
    """Contributions of the columns of the conditioning node and of the object. Raises if there is no such sum."""
    model = asked.model
    if isinstance(model, EdgeModel) and not isinstance(model.kernel, KroneckerEdges):
        raise ValueError(f"scores with pairwise_kernel={model.kernel.name!r} are no sum over features; {REFUSED}")
    queries, objects = parts_of(model.rows, asked.query), parts_of_objects(asked)
    _check(queries, objects)
    W = model.dual() if isinstance(model, EdgeModel) else model.W
    W = W[0] if isinstance(model, ComparedModel) else W
    (z, z0), (others, others0) = (
        _halved(parts, side) for parts, side in ((queries, _first), (objects, asked.difference))
    )
    rows = _side(queries, np.asarray(W @ others).ravel(), _first, sides[0])
    found = [("query", *row) for row in rows]
    found += [("object", *row) for row in _side(objects, np.asarray(W.T @ z).ravel(), asked.difference, sides[1])]
    constant = float(z0 @ (W @ others0))
    if constant:
        found.append(("both", "constant", constant))
    if isinstance(model, ComparedModel):
        names = sides[0].of_feature(None, asked.query.view(None).base.shape[1])
        found += [("both", f"who has more {names[f]}", value) for f, value in compared_parts(asked)]
    return _as_terms(found, rest, (sides[0].values, sides[1].values))


def _first(values: Any) -> Any:
    return values[0]


def _halved(parts: list[Part], difference: Callable[[Any], Any]) -> tuple[np.ndarray, np.ndarray]:
    """Half of the coordinates of one side plus those of its whole constant, and those of the constant."""
    constant = np.zeros_like(difference(parts[0].coordinates))
    body = constant.copy()
    for part in parts:
        total = constant if part.kernel.is_constant else body
        total += difference(part.coordinates)
    return body / 2 + constant, constant


def _check(queries: list[Part], objects: list[Part]) -> None:
    for part in (*queries, *objects):
        if part.features is None and part.kernel.feature_views:
            raise ValueError(
                f"the kernel {part.kernel.label} is not linear in the features, so scores are no sum over them; "
                f"{REFUSED}"
            )


def _side(
    parts: list[Part], u: np.ndarray, difference: Callable[[Any], Any], columns: Columns
) -> list[tuple[str, float]]:
    """φ_j g_j for the features of one side, summed over the features of each column; the halves are in u."""
    found: dict[str, float] = {}
    for part in parts:
        if part.kernel.is_constant:
            continue
        if part.pull is None or part.features is None:
            found[part.name] = found.get(part.name, 0.0) + float(difference(part.coordinates @ u))
            continue
        g = part.pull(u)
        view = getattr(part.kernel, "view", None)
        names = columns.of_feature(view, part.features.shape[1])
        for j, value in zip(*_products(part.features, g, difference), strict=True):
            found[names[j]] = found.get(names[j], 0.0) + value
    return list(found.items())


def _products(features: Any, g: np.ndarray, difference: Callable[[Any], Any]) -> tuple[list[int], list[float]]:
    """Features and their φ_j g_j. Of sparse features only those that some node has."""
    if hasattr(features, "tocsr"):
        used = np.unique(features.tocsr().indices)
        values = difference(dense(features[:, used]) * g[used])
        return used.tolist(), np.asarray(values, dtype=np.float64).tolist()
    return list(range(features.shape[1])), np.asarray(difference(np.asarray(features) * g), dtype=np.float64).tolist()


def _as_terms(
    found: list[tuple[str, str, float]], rest: dict[str, float], values: tuple[Sequence[Any], Sequence[Any]]
) -> Terms:
    contributions = np.array([row[2] for row in found], dtype=np.float64)
    columns: dict[str, list[Any]] = {"side": [row[0] for row in found], "feature": [row[1] for row in found]}
    known = {"query": values[0][:1], "object": values[1][:1]}
    if any(known.values()):
        columns["value"] = [next((one.get(row[1]) for one in known.get(row[0], ())), None) for row in found]
        if len(values[1]) > 1:
            columns["other_value"] = [values[1][1].get(row[1]) if row[0] == "object" else None for row in found]
    arrays = {name: np.array([*column, None], dtype=object)[:-1] for name, column in columns.items()}
    return Terms("features", contributions, rest, lambda at: {name: one[at] for name, one in arrays.items()})
