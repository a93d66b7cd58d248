"""Whether data is in Dask collections, without importing Dask."""

from __future__ import annotations

from typing import Any


def is_dask(data: Any) -> bool:
    """Whether data is a Dask array, dataframe or series. Looks at the name of its type, so Dask is not imported."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr")
