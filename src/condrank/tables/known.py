"""Nodes that a ranker of tables knows by id, and new ones read in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.arrays import check_features
from condrank.base.dense import dense
from condrank.base.warn import warn
from condrank.frames.columns import Columns, read_table
from condrank.frames.ids import Ids, as_id_array, listed_ids, read_ids
from condrank.frames.labels import index_ids
from condrank.frames.packing import pack_table, unpack_table
from condrank.frames.table import Table, as_columns
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.nodes.views import Views, check_rows
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.ids import ids_from, ids_to
from condrank.tables.encoder import TableEncoder

# Standard deviations beyond the training numbers from which a new number is reported.
FAR = 3.0


class KnownNodes:
    """Training nodes of one domain: encoded, with their ids and, for display, their columns.

    Parameters
    ----------
    nodes : Nodes
        Encoded; or the kernel matrix.
    encoder : TableEncoder or None
        Their fitted encoder; None if features or a kernel were given.
    table : Table or None
        Their columns.
    id_name : str or None
        Name of the column of ids.
    is_kernel : bool
        Whether the nodes are a kernel matrix.
    """

    def __init__(self, nodes: Nodes, encoder: Any, table: Table | None, id_name: str | None, is_kernel: bool):
        self.nodes, self.encoder, self.table = nodes, encoder, table
        self.id_name, self.is_kernel = id_name, is_kernel

    def to_state(self, arrays: Arrays, n_trained: int, columns: bool) -> dict[str, Any]:
        """Encoder, columns if asked for, and the nodes if the model was trained on fewer of them.

        Early stopping holds some nodes out of training; they are known by id too.
        """
        given: dict[str, Any] = {"id_name": self.id_name, "encoder": None, "columns": None, "nodes": None}
        if self.encoder is not None:
            if not isinstance(self.encoder, TableEncoder):
                raise ValueError(f"a {type(self.encoder).__name__} cannot be saved as an encoder; a TableEncoder can")
            given["encoder"], own = self.encoder.to_state()
            arrays.under("encoder").put_all(own)
        if self.table is not None and columns:
            given["columns"], own = pack_table(self.table)
            arrays.under("columns").put_all(own)
        if n_trained != len(self.nodes):
            if isinstance(self.nodes.base, Views):
                given["nodes"] = self.nodes.to_state(arrays.under("all"))
            else:
                arrays.matrix("nodes", self.nodes.rows)
                given["nodes"] = {"ids": ids_to(self.nodes.ids, arrays.under("ids"))}
        return given

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, trained: Nodes, is_kernel: bool) -> KnownNodes:
        """Known nodes from stored values and arrays, and from the nodes that the model was trained on."""
        id_name, encoder, table, nodes = given["id_name"], None, None, trained
        if id_name is not None and not isinstance(id_name, str):
            raise ValueError(f"the name of the column of ids must be a string, got {id_name!r}")
        if given["nodes"] is not None and isinstance(trained.base, Views):
            nodes = Nodes.from_state(given["nodes"], held.under("all"))
        elif given["nodes"] is not None:
            base = held.matrix("nodes")
            nodes = Nodes(base, None, ids_from(given["nodes"]["ids"], base.shape[0], held.under("ids")))
        if given["encoder"] is not None:
            encoder = TableEncoder.from_state(given["encoder"], held.under("encoder").rest())
            if encoder.n_features_out_ != nodes.base.shape[1]:
                raise ValueError(f"the encoder must give {nodes.base.shape[1]} features, got {encoder.n_features_out_}")
        if given["columns"] is not None:
            table = unpack_table(given["columns"], held.under("columns").rest())
            if len(table) != len(nodes) or (encoder is not None and table.kinds != encoder.kinds_):
                raise ValueError("the columns must be those of the training nodes")
        return cls(nodes, encoder, table, id_name, is_kernel)

    @cached_property
    def names(self) -> Ids:
        """Ids of the nodes; their positions if they have no ids."""
        return Ids(np.arange(len(self.nodes)) if self.nodes.ids is None else self.nodes.ids)

    def row(self, one: Any) -> dict[str, Any]:
        """The columns of one node; empty if they were not kept."""
        (position,) = self.find([one], "node")
        return self.row_at(int(position))

    def row_at(self, position: int) -> dict[str, Any]:
        """The columns of the node at a position; empty if they were not kept."""
        return {} if self.table is None else self.table.row(position)

    def find(self, given: Any, what: str) -> np.ndarray:
        """Positions of nodes by id."""
        return self.names.find(given, lambda row: f"{what}, position {row}")

    def read(self, given: Any, what: str) -> tuple[Nodes, np.ndarray | None]:
        """Nodes to score and their ids: known nodes by id, new ones by their columns."""
        if is_table(given):
            return self._new(given, what)
        if (isinstance(given, np.ndarray) and given.ndim == 2) or sparse.issparse(given):
            return self._features(given, what), None
        positions = self.find(listed_ids(given), what)
        if what == "objects" and len(positions) == 0:
            raise ValueError("objects must not be empty: leave it out to rank all objects of training")
        return self.nodes.take(positions), self.names.ids[positions]

    def _features(self, X: Any, what: str) -> Nodes:
        """Nodes from an array: columns of a table that is all numbers, or features, or kernel values."""
        if self.encoder is not None:
            return Nodes(check_rows(self.encoder.transform(check_features(X, what)), what))
        if self.is_kernel and X.shape[1] != len(self.nodes):
            raise ValueError(
                f"{what} must be rows of {len(self.nodes)} kernel values, one for each training node in their order, "
                f"got {X.shape[1]} columns"
            )
        return Nodes(check_features(X, what), against_training=self.is_kernel)

    def columns(self, given: Any, what: str) -> Columns:
        """Columns of new nodes; in a kernel file their ids may be below a blank corner."""
        if self.is_kernel and isinstance(given, PathLike):
            return read_table(given, what, corner="id")
        return as_columns(given, what)

    def _new(self, given: Any, what: str) -> tuple[Nodes, np.ndarray | None]:
        columns = self.columns(given, what)
        name = self.id_name if self.id_name is not None else "id"
        ids = read_ids(columns, name) if name in columns else index_ids(given)
        if self.encoder is not None:
            kinds = getattr(self.encoder, "kinds_", None) or (self.table.kinds if self.table is not None else None)
            kinds = kinds or {column: "numeric" for column in columns.names if column != name}
            imputes = getattr(self.encoder, "impute", None) is not None
            X = self.encoder.transform(Table.of_kinds(columns, kinds, what=what, allow_missing=imputes))
            X = check_rows(X, what)
            self._warn_if_far(X, columns)
            return Nodes(X, None, ids), ids
        numeric = [column for column in columns.names if column != name]
        if self.is_kernel:
            places = self.names.places(as_id_array(numeric))
            if len(places) != len(self.nodes) or set(places.tolist()) != set(range(len(places))):
                raise ValueError(
                    f"{columns.origin} must have a column of kernel values for each of the {len(self.nodes)} training "
                    f"nodes, named by its id, got {len(numeric)} columns"
                )
            numeric = [numeric[column] for column in np.argsort(places)]
        X = Table.of_kinds(columns, dict.fromkeys(numeric, "numeric"), what=what).to_numpy()
        return Nodes(check_features(X, what), None, ids, against_training=self.is_kernel), ids

    @cached_property
    def _reach(self) -> tuple[list[str], list[int], np.ndarray, np.ndarray]:
        """Columns of standardised numbers, their features, and the smallest and largest values of training."""
        if not isinstance(self.encoder, TableEncoder) or not self.encoder.standardise or not len(self.nodes):
            return [], [], np.empty(0), np.empty(0)
        names = self.encoder.get_feature_names_out().tolist()
        places = [place for place, name in enumerate(names) if name in self.encoder.scale_]
        trained = dense(_first_view(self.nodes.rows)[:, places])
        return [names[place] for place in places], places, trained.min(axis=0), trained.max(axis=0)

    def _warn_if_far(self, X: Any, columns: Columns) -> None:
        """Warn of numbers far beyond those of training, to which a kernel such as rbf finds nothing similar."""
        names, places, low, high = self._reach
        if not places or not X.shape[0]:
            return
        given = dense(_first_view(X)[:, places])
        beyond = np.maximum(given - high, low - given)
        row, column = np.unravel_index(np.argmax(beyond), beyond.shape)
        if beyond[row, column] > FAR:
            far = f"{np.round(beyond[row, column]):.6g} standard deviations beyond all training nodes"
            warn(
                f"{columns.where(int(row))}: {names[column]!r} is {far}; what was learned may not apply to it",
                UserWarning,
            )


def known_side(nodes: Nodes, encoder: Any, raw: Nodes, matrices: frozenset[str | None]) -> KnownNodes:
    """The known nodes of one domain.

    Parameters
    ----------
    nodes : Nodes
        As the ranker takes them.
    encoder : TableEncoder, ViewEncoder or None
        Their encoder.
    raw : Nodes
        As they were given.
    matrices : frozenset
        Views that are kernel matrices.
    """
    if not isinstance(raw.base, Views):
        table = raw.rows if isinstance(raw.base, Table) else None
        return KnownNodes(nodes, encoder, table, None if table is None else table.id_name, None in matrices)
    from condrank.tables.known_views import views_side

    return views_side(nodes, encoder, raw, matrices)


def know(
    graph: RelationGraph, encoded: RelationGraph, encoders: tuple[Any, Any], model: tuple[Any, Any]
) -> tuple[KnownNodes, KnownNodes]:
    """The nodes and the objects of a training graph, which can then be ranked by id.

    Parameters
    ----------
    graph, encoded : RelationGraph
        The graph as it was given, and with its nodes encoded.
    encoders : pair of encoder or None
        Of the nodes and of the objects.
    model : pair of Coordinates or None
        The sides of the model, of the nodes and of the objects. Of kernel matrices only the nodes of the model are
        known: early stopping may hold some out.
    """
    raw, nodes = (graph.nodes, graph.objects), (encoded.nodes, encoded.objects)
    known = []
    for side in range(2 if graph.is_two_domain else 1):
        kernel = getattr(model[side], "kernel", None)
        matrices = frozenset() if kernel is None else kernel.matrices
        chosen = model[side].nodes if matrices else nodes[side]
        known.append(known_side(chosen, encoders[side], raw[side], matrices))
    return known[0], known[-1]


def _first_view(X: Any) -> Any:
    """The features themselves, or the first view, which has the numbers of a table that is split."""
    return next(iter(X.parts.values())) if isinstance(X, Views) else X


def is_table(given: Any) -> bool:
    """Whether new nodes are given, rather than ids of known ones or plain features."""
    if isinstance(given, Table | Columns | Mapping | PathLike):
        return True
    if isinstance(given, list | tuple):
        return len(given) > 0 and all(isinstance(one, Mapping) for one in given)
    return hasattr(given, "columns") and not isinstance(given, np.ndarray)
