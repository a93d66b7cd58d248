"""Nodes from what users pass in: arrays, dicts of views and data frames, whose labels are ids and names of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.arrays import check_features
from condrank.base.checks import check_ids
from condrank.frames.ids import Ids, shown
from condrank.frames.labels import column_labels, is_frame, is_square, order_of, row_labels, square_of
from condrank.frames.table import Table
from condrank.nodes.checking import check_node_data
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views, check_views

SHOWN = 3  # names of columns in an error


@dataclass(frozen=True)
class Part:
    """The data of one view: values, ids of the rows, names of the features, and whether the columns are nodes too."""

    values: Any
    ids: np.ndarray | None = None
    names: list[str] | None = None
    is_square: bool = False

    def in_order(self, order: np.ndarray) -> Any:
        """The values with their rows in another order, and their columns if these are the same nodes."""
        return self.values[np.ix_(order, order)] if self.is_square else self.values[order]


def graph_nodes(X: Any, ids: Any, name: str, ids_name: str) -> Nodes:
    """Checked nodes of a graph. Labels of data frames are their ids, unless ``ids`` are given.

    Frames of several views may have the same labels in any order. An array among them has their order.
    """
    columns: dict[str | None, list[str]] = {}
    if isinstance(X, Mapping):
        joined, found = join_parts({view: _of_training(values) for view, values in X.items()}, name)
        base: Any = check_views({view: values for view, (values, _) in joined.items()}, name)
        columns |= {view: names for view, (_, names) in joined.items() if names}
    else:
        part = _of_training(X)
        base, found = check_node_data(part.values, name), part.ids
        columns |= {None: part.names} if part.names else {}
    chosen, chosen_name = (found, f"the index of {name}") if ids is None else (ids, ids_name)
    named = None if chosen is None else check_ids(chosen, base.shape[0], chosen_name)
    return Nodes(base, None, named, columns=columns)


def _of_training(values: Any) -> Part:
    if not is_frame(values) or isinstance(values, Table | Views):
        return Part(values)
    if is_square(values):
        return Part(square_of(values), row_labels(values), None, True)
    return Part(np.asarray(values), row_labels(values), _texts(column_labels(values)))


def join_parts(
    parts: Mapping[Any, Part], name: str
) -> tuple[dict[Any, tuple[Any, list[str] | None]], np.ndarray | None]:
    """Values and names of all views in the order of the first that has ids, and these ids."""
    first = next((view for view, part in parts.items() if part.ids is not None), None)
    ids = None if first is None else parts[first].ids
    joined = {}
    for view, part in parts.items():
        values = part.values
        if ids is not None and part.ids is not None and view != first:
            what, of = f"the index of view {view!r} of {name}", f"view {first!r}"
            order = order_of(part.ids, ids, what, of)
            values = values if np.array_equal(order, np.arange(len(order))) else part.in_order(order)
        joined[view] = values, part.names
    return joined, ids


def read_nodes(
    given: Any, name: str, training: Nodes | None = None, matrices: frozenset[str | None] = frozenset()
) -> Nodes:
    """Nodes to score, from features, or from a dict of views; data frames are read by their labels.

    Parameters
    ----------
    given : array-like, frame or dict of them
        The nodes. The index of a pandas frame has their ids.
    name : str
        Name of the argument in errors.
    training : Nodes, optional
        Training nodes: columns of a frame may be in another order than theirs.
    matrices : frozenset
        Views that are kernel matrices: the columns of a frame are training nodes, by id.
    """
    if isinstance(given, Mapping):
        if training is not None and isinstance(training.base, Views):
            _check_names(given, training.base, name)
        alone = training is not None and isinstance(training.base, Views) and len(training.base.parts) == 1
        parts = {
            view: _of_query(values, f"view {view!r} of {name}", training, view, matrices, alone)
            for view, values in given.items()
        }
        joined, ids = join_parts(parts, name)
        return Nodes(check_views({view: part[0] for view, part in joined.items()}, name), None, ids, False, None, True)
    if training is not None and isinstance(training.base, Views) and not isinstance(given, Views):
        views = [*training.base.parts]
        if len(views) > 1 or is_frame(given):
            raise ValueError(
                f"{name} must be a dict with the views {views} or ids of training nodes; the given nodes have no views"
            )
    part = _of_query(given, name, training, None, matrices, False)
    return Nodes(check_features(part.values, name), None, part.ids, against_training=part.ids is not None)


def _check_names(given: Mapping[Any, Any], trained: Views, name: str) -> None:
    """Refuse an unknown view. One that is lacking is refused where the kernel uses it."""
    unknown = [view for view in given if view not in trained.parts]
    if unknown:
        raise ValueError(f"{name} have the view {unknown[0]!r}, which training did not have: {[*trained.parts]}")


def _of_query(
    values: Any, what: str, training: Nodes | None, view: Any, matrices: frozenset[str | None], alone: bool
) -> Part:
    if not is_frame(values) or isinstance(values, Table | Views):
        return Part(values)
    ids, names, array = row_labels(values), column_labels(values), np.asarray(values)
    if training is None or names is None:
        return Part(array, ids)
    if view in matrices or (alone and None in matrices):
        return Part(array if training.ids is None else array[:, _of_kernel(names, training.ids, what)], ids)
    known = training.columns.get(view)
    return Part(array if known is None else array[:, _of_features(names, known, what)], ids)


def _of_kernel(names: np.ndarray, trained: np.ndarray, what: str) -> np.ndarray:
    """Columns of the training nodes, in their order; there may be others."""
    order = Ids(names).places(trained)
    if (order < 0).any():
        one = shown(trained, int(np.argmax(order < 0)))
        raise ValueError(
            f"{what} must have a column of kernel values for each training node: {int((order < 0).sum())} of "
            f"{len(trained)} are missing, such as {one!r}"
        )
    return order


def _of_features(names: np.ndarray, known: list[str], what: str) -> list[int]:
    """Columns of the features of training, in their order."""
    there = [str(one) for one in names.tolist()]
    unknown = [one for one in there if one not in set(known)]
    lacking = [one for one in known if one not in set(there)]
    if unknown or lacking or len(there) != len(known):
        said = [f"{word} {some[:SHOWN]}" for word, some in (("unknown", unknown), ("missing", lacking)) if some]
        raise ValueError(f"{what} must have the columns of training, in any order: {', '.join(said) or 'one twice'}")
    place = {one: position for position, one in enumerate(there)}
    return [place[one] for one in known]


def _texts(names: np.ndarray | None) -> list[str] | None:
    """Names of features if they are different texts."""
    if names is None or not all(isinstance(one, str) for one in names.tolist()):
        return None
    found = [str(one) for one in names.tolist()]
    return found if len(set(found)) == len(found) else None


def label_relation(Y: Any, nodes: Nodes, others: Nodes) -> tuple[Any, Nodes, Nodes]:
    """A relation in a pandas frame as an array in the order of the nodes, and the nodes, with its labels as ids.

    Nodes without ids get the labels of the frame, in its order.
    """
    if not is_frame(Y) or not hasattr(Y, "index"):
        return Y, nodes, others
    values, one_domain = np.asarray(Y), others is nodes
    sides = [nodes, others]
    for axis, (labels, what) in enumerate(((row_labels(Y), "the index of Y"), (column_labels(Y), "the columns of Y"))):
        side = sides[axis]
        if labels is None:
            continue
        if side.ids is None:
            ids = check_ids(labels, len(side), what)
            sides[axis] = Nodes(side.base, None, ids, side.is_kernel, side.columns)
            if one_domain:
                sides[1] = sides[axis]
                sides[0] = sides[axis]
            continue
        order = order_of(labels, side.ids, what, "objects" if axis and not one_domain else "X")
        values = values[order] if axis == 0 else values[:, order]
    return values, sides[0], sides[0] if one_domain else sides[1]
