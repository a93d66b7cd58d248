"""New nodes of a request as a ranker takes them, side by side with known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.frames.columns import read_table
from condrank.frames.ids import read_ids
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.service.columns import check_columns
from condrank.service.refusals import Refusal
from condrank.tables.known import KnownNodes
from condrank.tables.known_views import KnownViews


def read_new(one: dict[str, Any], side: KnownNodes, where: str) -> tuple[Nodes, np.ndarray | None]:
    """One new node and its id, if it has one. A node that does not fit the model is refused.

    One at a time: how values are read must not depend on the other nodes of the request.
    """
    check_columns(one, side, where)
    try:
        nodes, ids = _of_views(one, side, where) if isinstance(side, KnownViews) else side.read([one], where)
    except ValueError as error:
        raise Refusal(422, f"{str(error).replace(', position 0', ''):.300}") from None
    except OverflowError as error:  # a time zone can move a date beyond the year 9999
        raise Refusal(422, f"{where} has a date that does not exist: {error}") from None
    expected = [part.shape[1] for part in _parts(side.nodes.base)]
    found = [part.shape[1] for part in _parts(nodes.base)]
    if found != expected and not _has_matrices(side):
        raise Refusal(422, f"{where} must have {sum(expected)} features, got {sum(found)}")
    return nodes, ids


def _of_views(one: dict[str, Any], side: KnownViews, where: str) -> tuple[Nodes, np.ndarray | None]:
    rows = {}
    for view, record in one["views"].items():
        own = side.views[view].id_name or "id"
        rows[view] = [{name: value for name, value in record.items() if name != own}]
    nodes, _ = side.read(rows, where)
    return nodes, read_ids(read_table([{"id": one["id"]}], where), "id") if "id" in one else None


def known_rows(side: KnownNodes, place: int) -> Any:
    """The data of a known node as those of a new one: of kernel matrices, its values against the training nodes."""
    nodes = side.nodes.take(np.array([place]))
    if not isinstance(side, KnownViews):
        return nodes.kernel_with(side.nodes) if side.is_kernel else nodes.rows
    return Views(
        {
            view: nodes.view(view).kernel_with(side.nodes.view(view)) if known.is_kernel else nodes.view(view).rows
            for view, known in side.views.items()
        }
    )


def stack(parts: list[Any], side: KnownNodes, places: np.ndarray) -> Nodes:
    """Nodes of some rows. Those at a known place have the id of this place, by which the model recognises them."""
    if isinstance(parts[0], Views):
        base: Any = Views({view: _stacked([part.parts[view] for part in parts]) for view in parts[0].parts})
    else:
        base = _stacked(parts)
    ids = None
    if side.nodes.ids is not None:
        ids = np.empty(len(parts), dtype=object)
        for row, place in enumerate(places.tolist()):
            ids[row] = side.names.ids[place] if place >= 0 else f"\0 new {row}"
    return Nodes(base, None, ids, against_training=True)


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if any(map(sparse.issparse, parts)) else np.vstack(parts)


def _parts(base: Any) -> list[Any]:
    return list(base.parts.values()) if isinstance(base, Views) else [base]


def _has_matrices(side: KnownNodes) -> bool:
    views = side.views.values() if isinstance(side, KnownViews) else [side]
    return any(one.is_kernel for one in views)
