"""Data frames as arrays: pandas, polars, pyarrow, Modin, DuckDB and others, all read through narwhals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from condrank.base.checks import check_choice
from condrank.frames.columns import as_objects, refuse_twice

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals import Series

# Libraries of data frames that results can be given in, in the order in which they are looked for.
LIBRARIES: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")


def read_frame(source: Any, what: str) -> dict[Any, np.ndarray] | None:
    """Arrays of a frame's columns by name, in O(cells); None if the source is not a frame.

    Parameters
    ----------
    source : object
        A frame of any library that narwhals knows. A lazy frame is collected. The index of a pandas frame is not read.
    what : str
        Name of the frame in errors.

    Returns
    -------
    dict of ndarray, or None
        Numbers, times in UTC, or objects; a missing value is NaN, not-a-time, None or the library's own mark.
        Arrays may share memory with the frame and may be read-only.
    """
    frame = as_frame(source, lambda names: refuse_twice(names, what))
    return None if frame is None else {column.name: _values(column, what) for column in frame.iter_columns()}


def as_frame(source: Any, refuse: Callable[[list[Any]], None]) -> nw.DataFrame[Any] | None:
    """The frame as narwhals wraps it, collected if it is lazy; None if the source is not a frame.

    Two columns of the same name are an error: ``refuse`` gets all names and raises it.
    """
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(source, pass_through=True)
    except DuplicateError:
        # Only pandas and pyarrow frames can have such columns, and pyarrow's `columns` are not names.
        refuse(list(getattr(source, "column_names", source.columns)))
        raise
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _values(column: Series[Any], what: str) -> np.ndarray:
    import narwhals.stable.v2 as nw

    kind = column.dtype
    if kind.is_nested() or kind == nw.Binary:
        raise ValueError(f"{what}: column {column.name!r} has type {kind}; numbers, strings and dates can be read")
    if kind == nw.Unknown:
        return _values_of_unknown(column)
    # NumPy has no numbers of 128 bits, and pyarrow's to_numpy fills the gaps of a dictionary column with other values.
    gaps = kind in (nw.Categorical, nw.Enum) and column.null_count() > 0
    if gaps or kind in (nw.Int128, nw.UInt128):
        return as_objects(column.to_list())
    return column.to_numpy()


def _values_of_unknown(column: Series[Any]) -> np.ndarray:
    """Values of a type that narwhals does not know: pandas has two kinds of times that are converted all at once."""
    native = column.to_native()
    kind = str(getattr(native, "dtype", ""))
    if kind.startswith("period"):
        return native.dt.to_timestamp().to_numpy()
    if kind.startswith("datetime64"):  # of a time zone that narwhals cannot parse, such as America/New_York
        return native.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    return as_objects(column.to_list())


def make_frame(columns: Mapping[str, np.ndarray], library: str | None = None) -> Any:
    """A data frame with these columns, of a library that is installed.

    Parameters
    ----------
    columns : dict of ndarray
        Columns of the same length.
    library : {"pandas", "polars", "pyarrow"}, optional
        By default the first of them that is installed. An ImportError if it is not.
    """
    import narwhals.stable.v2 as nw

    if library is not None:
        check_choice("library", library, LIBRARIES)
    for name in LIBRARIES:
        if library in (None, name) and find_spec(name) is not None:
            return nw.from_dict(dict(columns), backend=name).to_native()
    wanted = "pandas, polars or pyarrow" if library is None else library
    raise ImportError(f"to_frame needs {wanted}: pip install {library or 'pandas'}, or use to_dict")
