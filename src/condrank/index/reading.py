"""Objects as a caller gives them to an index, read as nodes that its model can score."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.rankers.base import read_pair, read_side


def object_nodes(ranker: Any, objects: Any) -> Nodes | None:
    """Objects as nodes; None means the training objects."""
    if objects is None:
        return None
    if isinstance(objects, RelationGraph):
        return read_pair(ranker, objects, None)[1]
    return objects if isinstance(objects, Nodes) else read_side(ranker, objects, "objects")


def named(nodes: Nodes, ids: Any) -> Nodes:
    """New objects with their ids, by which known nodes are recognised; labels of a frame come first."""
    if ids is None or nodes.ids is not None or nodes.index is not None or np.shape(ids) != (len(nodes),):
        return nodes
    return Nodes(nodes.base, nodes.index, np.asarray(ids), nodes.is_kernel, nodes.columns, True)


def check_scored(scorer: Any, nodes: Nodes | None) -> None:
    """Refuse objects that the model cannot score, such as new ones for a kernel that only knows training nodes."""
    if nodes is not None:
        next(iter(scorer.blocks(None, nodes.block(slice(1)))))
