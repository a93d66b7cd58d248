"""Tables in, rankings out: node and edge tables from files and frames, and the ranker that takes them.

    file or frame ──► Columns ──► Table (kinds) ──► TableEncoder ──► features
    edge table    ──► RelationGraph ──► TableRanker: ids in, ids out

Names are imported when they are first used, as in `condrank` itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from condrank.frames.columns import Columns, read_table
    from condrank.frames.kernels import read_kernel
    from condrank.frames.parquet import map_parquet
    from condrank.frames.table import Table
    from condrank.tables.defaults import default_kernel
    from condrank.tables.encoder import TableEncoder
    from condrank.tables.graphs import read_graph
    from condrank.tables.index import TableIndex
    from condrank.tables.ranker import TableRanker
    from condrank.tables.view_encoder import ViewEncoder

_HOME = {
    "Columns": "condrank.frames.columns",
    "Table": "condrank.frames.table",
    "TableEncoder": "condrank.tables.encoder",
    "TableIndex": "condrank.tables.index",
    "TableRanker": "condrank.tables.ranker",
    "ViewEncoder": "condrank.tables.view_encoder",
    "default_kernel": "condrank.tables.defaults",
    "map_parquet": "condrank.frames.parquet",
    "read_graph": "condrank.tables.graphs",
    "read_kernel": "condrank.frames.kernels",
    "read_table": "condrank.frames.columns",
}

__all__ = [
    "Columns",
    "Table",
    "TableEncoder",
    "TableIndex",
    "TableRanker",
    "ViewEncoder",
    "default_kernel",
    "map_parquet",
    "read_graph",
    "read_kernel",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'condrank.tables' has no attribute {name!r}")
