"""Graphs in Dask collections: nodes in blocks, edges in partitions, sums on the cluster, r×r solves on the client.

`condrank.RelationGraph` takes Dask arrays and dataframes wherever it takes NumPy's and pandas', and the estimators then
run here. Without a ``dask.distributed`` client, Dask's own scheduler (threads) runs the same tasks on one machine.

Importing this package does not import Dask; its modules do.
"""

from __future__ import annotations

from condrank.distributed.cost import Estimate, Rates, estimate

__all__ = ["Estimate", "Rates", "estimate"]
