"""Blocks of rows: large results are made, used and dropped a block at a time."""

from __future__ import annotations

from collections.abc import Iterator

ENTRIES = 2**22  # entries of a block: 32 MiB in double precision
CACHED = 2**17  # entries of a block whose temporaries should stay in the processor's cache: 1 MiB


def row_blocks(n_rows: int, row_size: int, budget: int = ENTRIES) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)``, each of at most ``budget`` entries (and at least one row)."""
    step = max(1, budget // max(1, row_size))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
