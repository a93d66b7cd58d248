"""Node features of a Parquet file as an array on disk: written once in batches, then read in blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from condrank.base.checks import check_count
from condrank.base.files import atomic_file

# Rows read at a time.
BATCH = 2**16


def map_parquet(
    path: Any, columns: Sequence[str] | None = None, *, out: Any = None, dtype: Any = np.float32, batch: int = BATCH
) -> np.ndarray:
    """Numeric columns of a Parquet file as a memory-mapped array, for node features larger than memory.

    Parameters
    ----------
    path : path-like
        Parquet file with one row for each node.
    columns : sequence of str, optional
        The features, in this order; by default all columns. They must be numeric.
    out : path-like, optional
        ``.npy`` file to write, which ``numpy.load(out, mmap_mode="r")`` opens again; by default a temporary file that
        is removed together with the array.
    dtype : {float32, float64}
        Floating type of the array.
    batch : int
        Number of rows in memory at a time.

    Returns
    -------
    ndarray of shape (n_nodes, n_features)
        Read-only. Pass it as node features, for example to `RelationGraph.from_classes`; fits with ``n_components`` or
        explicit features read it in blocks.
    """
    try:
        from pyarrow import parquet
        from pyarrow import types as kinds
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'condrank[frames]'") from None
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    check_count("batch", batch)
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = list(schema.names if columns is None else columns)
        missing = [name for name in names if name not in schema.names]
        if missing or not names:
            raise ValueError(f"columns must be some of {schema.names}, got {missing or names}")
        for name in names:
            kind = schema.field(name).type
            if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
                raise ValueError(f"column {name!r} must be numeric, got {kind}; name the numeric ones in columns")
        shape = file.metadata.num_rows, len(names)
        if shape[0] == 0:
            raise ValueError(f"{path} has no rows")
        if out is None:
            with tempfile.TemporaryFile() as room:
                array = np.memmap(room, dtype, "w+", shape=shape)
                _fill(array, file, names, batch)
            array.flags.writeable = False
            return array
        out = Path(out)
        with atomic_file(out) as part:
            array = np.lib.format.open_memmap(part, "w+", dtype, shape)
            _fill(array, file, names, batch)
            array.flush()
    return np.load(out, mmap_mode="r")


def _fill(array: np.ndarray, file: Any, names: list[str], batch: int) -> None:
    start = 0
    for table in file.iter_batches(batch_size=batch, columns=names):
        for place, name in enumerate(names):
            column = table.column(name)
            if column.null_count:
                raise ValueError(f"column {name!r} must have a value in every row, got {column.null_count} nulls")
            array[start : start + len(column), place] = column.to_numpy(zero_copy_only=False)
        start += table.num_rows
