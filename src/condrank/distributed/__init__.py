"""Graphs in Dask collections: nodes in blocks, edges in partitions, sums on the cluster, r×r solves on the client.

`condrank.RelationGraph` accepts Dask arrays and dataframes instead of NumPy arrays and pandas frames. Fits then use
this package. Without a ``dask.distributed`` client, Dask's own scheduler (threads) runs the same tasks on one machine.

Importing this package does not import Dask; importing its modules does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from condrank.distributed.cost import Estimate, Rates, estimate

if TYPE_CHECKING:
    from condrank.solvers.distributed_rates import measure_rates

__all__ = ["Estimate", "Rates", "estimate", "measure_rates"]


def __getattr__(name: str) -> Any:
    if name == "measure_rates":  # it runs whole fits, so it lives with the solvers
        return import_module("condrank.solvers.distributed_rates").measure_rates
    raise AttributeError(f"module 'condrank.distributed' has no attribute {name!r}")
