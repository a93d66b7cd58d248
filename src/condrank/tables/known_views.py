"""Known nodes that have several views: a table, an array or a kernel matrix each, all of the same nodes."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from condrank.frames.columns import Columns
from condrank.frames.table import Table
from condrank.nodes import Nodes
from condrank.nodes.reading import Part, join_parts
from condrank.nodes.views import Views
from condrank.persistence.arrays import Arrays, Held
from condrank.tables.known import KnownNodes, is_table
from condrank.tables.view_encoder import ViewEncoder


class KnownViews(KnownNodes):
    """Training nodes of one domain with several views.

    Parameters
    ----------
    nodes : Nodes
        Encoded, with views.
    views : dict of KnownNodes
        The same nodes by view, each with its encoder and columns.
    """

    def __init__(self, nodes: Nodes, views: dict[str, KnownNodes]):
        encoders = {view: one.encoder for view, one in views.items()}
        encoder: Any = None
        if any(one is not None for one in encoders.values()):
            encoder = ViewEncoder(encoders)
            encoder.encoders_ = encoders
        super().__init__(nodes, encoder, None, None, False)
        self.views = views

    def row_at(self, position: int) -> dict[str, Any]:
        """The columns of a node by view; views without columns, or whose columns were not kept, are left out."""
        return {view: one.table.row(position) for view, one in self.views.items() if one.table is not None}

    def read(self, given: Any, what: str) -> tuple[Nodes, np.ndarray | None]:
        """Nodes to score and their ids: known nodes by id, new ones as a dict of tables, one for each view."""
        if isinstance(given, Mapping) and not isinstance(given, Table | Columns):
            return self._new_views(given, what)
        if is_table(given) or getattr(given, "ndim", 1) == 2:
            raise ValueError(f"{what} must be ids of training nodes, or a dict with the views {[*self.views]}")
        return super().read(given, what)

    def columns(self, given: Any, what: str) -> Any:
        """What `read` takes for new nodes."""
        return given

    def _new_views(self, given: Mapping[Any, Any], what: str) -> tuple[Nodes, np.ndarray | None]:
        lacking = [view for view in self.views if view not in given]
        if lacking:
            raise ValueError(f"{what} lack the view {lacking[0]!r}: give all views of training, {[*self.views]}")
        unknown = [view for view in given if view not in self.views]
        if unknown:
            raise ValueError(f"{what} have the view {unknown[0]!r}, which training did not have: {[*self.views]}")
        parts = {}
        for view, known in self.views.items():
            values = Path(given[view]) if isinstance(given[view], str | PathLike) else given[view]
            if not is_table(values) and getattr(values, "ndim", 0) != 2:
                raise ValueError(f"view {view!r} of {what} must be a table or an array, got {type(values).__name__}")
            nodes, ids = known.read(values, f"view {view!r} of {what}")
            parts[view] = Part(nodes.rows, ids)
        joined, ids = join_parts(parts, what)
        rows = {view: values for view, (values, _) in joined.items()}
        if len({one.shape[0] for one in rows.values()}) > 1:
            listed = ", ".join(f"{view!r} has {one.shape[0]}" for view, one in rows.items())
            raise ValueError(f"the views of {what} must have one row for each node, but {listed} rows")
        return Nodes(Views(rows), None, ids, against_training=True), ids

    def to_state(self, arrays: Arrays, n_trained: int, columns: bool) -> dict[str, Any]:
        """As for `KnownNodes`, for each view."""
        given: dict[str, Any] = {"views": [], "nodes": None}
        for number, (view, one) in enumerate(self.views.items()):
            under = arrays.under(f"view{number}")
            given["views"].append([view, one.to_state(under, len(one.nodes), columns)])
        if n_trained != len(self.nodes):
            given["nodes"] = self.nodes.to_state(arrays.under("all"))
        return given

    @classmethod
    def from_views(
        cls, given: dict[str, Any], held: Held, trained: Nodes, matrices: frozenset[str | None]
    ) -> KnownViews:
        """Known nodes from stored values and arrays, and from the nodes that the model was trained on."""
        nodes = trained if given["nodes"] is None else Nodes.from_state(given["nodes"], held.under("all"))
        if not isinstance(nodes.base, Views) or [view for view, _ in given["views"]] != [*nodes.base.parts]:
            raise ValueError(f"its views must be those of the model, got {[view for view, _ in given['views']]!r:.80}")
        views = {
            view: KnownNodes.from_state(
                one, held.under(f"view{number}"), nodes.view(view), nodes.is_matrix(view, matrices)
            )
            for number, (view, one) in enumerate(given["views"])
        }
        return cls(nodes, views)


def views_side(nodes: Nodes, encoder: Any, raw: Nodes, matrices: frozenset[str | None]) -> KnownViews:
    """The known nodes of one domain with views; parameters as for `condrank.tables.known.known_side`."""
    assert isinstance(nodes.base, Views)
    views = {}
    for view in nodes.base.parts:
        part = raw.base.parts[view] if isinstance(raw.base, Views) else None
        table = raw.view(view).rows if isinstance(part, Table) and len(raw) == len(nodes) else None
        own = None if encoder is None else encoder.encoders_[view]
        id_name = part.id_name if isinstance(part, Table) else None
        views[view] = KnownNodes(nodes.view(view), own, table, id_name, nodes.is_matrix(view, matrices))
    return KnownViews(nodes, views)
