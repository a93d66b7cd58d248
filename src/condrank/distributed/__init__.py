"""Graphs in Dask collections: nodes in blocks, edges in partitions, sums on the cluster, r×r solves on the client.

`condrank.RelationGraph` takes Dask arrays and dataframes wherever it takes NumPy's and pandas', and the estimators then
run here. Without a ``dask.distributed`` client, Dask's own scheduler (threads) runs the same tasks on one machine.

Importing this package does not import Dask; its modules do.
"""

from __future__ import annotations

from typing import Any

from condrank.distributed.cost import Estimate, Rates, estimate

__all__ = ["Estimate", "Rates", "estimate"]


def is_dask(data: Any) -> bool:
    """Whether data is a Dask array, dataframe or series; told by its type, so that Dask need not be imported."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr")
