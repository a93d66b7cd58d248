"""Tables in, rankings out: node and edge tables of files and frames, and the ranker that takes them.

    file or frame ──► Columns ──► Table (kinds) ──► TableEncoder ──► features
    edge table    ──► RelationGraph ──► TableRanker: ids in, ids out

Names are imported when they are first used, as those of `condrank` are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from condrank.tables.columns import Columns, read_table
    from condrank.tables.encoder import TableEncoder
    from condrank.tables.graphs import read_graph
    from condrank.tables.kernels import read_kernel
    from condrank.tables.ranker import TableRanker
    from condrank.tables.table import Table

_HOME = {
    "Columns": "columns",
    "Table": "table",
    "TableEncoder": "encoder",
    "TableRanker": "ranker",
    "read_graph": "graphs",
    "read_kernel": "kernels",
    "read_table": "columns",
}

__all__ = ["Columns", "Table", "TableEncoder", "TableRanker", "read_graph", "read_kernel", "read_table"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"condrank.tables.{_HOME[name]}"), name)
    raise AttributeError(f"module 'condrank.tables' has no attribute {name!r}")
