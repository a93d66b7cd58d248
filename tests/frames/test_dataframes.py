"""Data frames of pandas, polars, pyarrow and others: types, missing values, times, categories, names of columns."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

from condrank import RelationGraph, TableRanker
from condrank.frames.columns import missing
from condrank.tables import Table, read_table
from forms import EDGES, LIBRARIES, MIXED, NODES, make_frame

DAY, NOON = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)
each_library = pytest.mark.parametrize("library", LIBRARIES)


def column_of(library, values, type_name=None):
    """A frame with a column x of some values, of a type that pyarrow names."""
    if type_name is None:
        return make_frame(library, {"x": values})
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": pa.array(values, pa.type_for_alias(type_name))})
    if library == "pyarrow":
        return table
    return pytest.importorskip("polars").from_arrow(table) if library == "polars" else table.to_pandas()


def values_of(frame):
    return read_table(frame, "nodes").values["x"]


@each_library
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float32", "float64", "bool"])
def test_numbers_keep_their_type(library, dtype):
    values = np.array([1, 0, 1], dtype=dtype)
    read = values_of(make_frame(library, {"x": values}))
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, values)


@each_library
def test_whole_numbers_beyond_floating_point_are_exact(library):
    assert values_of(make_frame(library, {"x": [2**60 + 1, 2]})).tolist() == [2**60 + 1, 2]


@each_library
@pytest.mark.parametrize(
    ("values", "type_name"),
    [
        ([1, None, 3], "int64"),
        ([1, None, 3], "int8"),
        ([1.5, None, 3.0], "float64"),
        ([True, None, False], "bool"),
        (["a", None, "b"], "string"),
        ([DAY, None, DAY], "date32"),
        ([NOON, None, NOON], "timestamp[us]"),
        ([NOON, None, NOON], "timestamp[ns]"),
        ([datetime.timedelta(1), None, datetime.timedelta(2)], "duration[us]"),
        ([Decimal("1.5"), None, Decimal(2)], None),
    ],
)
def test_missing_values_are_found_in_columns_of_every_type(library, values, type_name):
    frame = column_of(library, values, type_name)
    assert missing(values_of(frame)).tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r"nodes, position 1: column 'x' has no value; fill it in, or leave .* drop="):
        Table.read(frame, what="nodes")


@pytest.mark.parametrize("name", ["Int64", "Float64", "boolean", "int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]"])
def test_nullable_types_of_pandas_are_numbers(name):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    full, gap = pd.DataFrame({"x": pd.array([1, 0], name)}), pd.DataFrame({"x": pd.array([1, None], name)})
    assert Table.read(full).kinds == {"x": "numeric"}
    assert Table.read(full).columns["x"].tolist() == [1.0, 0.0]
    assert missing(values_of(gap)).tolist() == [False, True]


@each_library
def test_categories_are_read_as_their_values(library):
    frame = make_frame(library, {"x": ["b", "a", "b"]})
    if library == "pandas":
        frame = frame.astype({"x": "category"})
    elif library == "polars":
        frame = frame.cast(pytest.importorskip("polars").Categorical)
    else:
        frame = make_frame(library, {"x": frame["x"].dictionary_encode()})
    table = Table.read(frame)
    assert table.kinds == {"x": "categorical"}
    assert table.columns["x"].tolist() == ["b", "a", "b"]


@each_library
def test_missing_categories_are_not_replaced_by_other_categories(library):
    values = ["a", None, "b"]
    if library == "pandas":
        frame = pytest.importorskip("pandas").DataFrame({"x": pytest.importorskip("pandas").Categorical(values)})
    elif library == "polars":
        frame = make_frame(library, {"x": values}).cast(pytest.importorskip("polars").Categorical)
    else:
        frame = make_frame(library, {"x": pytest.importorskip("pyarrow").array(values).dictionary_encode()})
    assert values_of(frame).tolist() == values


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_categories_that_are_numbers_are_numeric(library):
    if library == "pandas":
        frame = pytest.importorskip("pandas").DataFrame({"x": [3, 1]}).astype("category")
    else:
        frame = make_frame(library, {"x": pytest.importorskip("pyarrow").array([3, 1]).dictionary_encode()})
    assert Table.read(frame).kinds == {"x": "numeric"}
    assert values_of(frame).tolist() == [3, 1]


@each_library
@pytest.mark.parametrize("type_name", ["date32", "timestamp[s]", "timestamp[us]", "timestamp[ns]"])
def test_dates_and_times_are_dates(library, type_name):
    given = [DAY, datetime.date(2025, 2, 3)] if type_name == "date32" else [NOON, datetime.datetime(2025, 2, 3)]
    table = Table.read(column_of(library, given, type_name))
    assert table.kinds == {"x": "date"}
    np.testing.assert_array_equal(table.columns["x"], np.array(given, dtype="M8[us]"))


@each_library
@pytest.mark.parametrize("zone", ["UTC", "Europe/Brussels", "America/New_York", "+02:00"])
def test_times_with_a_zone_are_read_in_utc(library, zone):
    if library == "polars" and zone[0] == "+":
        pytest.skip("polars has no such zones")
    pd = pytest.importorskip("pandas")
    local = pd.Series(pd.to_datetime(["2024-01-01 12:00:00.000001", "2024-07-01 12:00:00.000000"]))
    frame = pd.DataFrame({"x": local.dt.tz_localize(zone)})
    if library == "pyarrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    elif library == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    hours = {"UTC": (0, 0), "Europe/Brussels": (1, 2), "America/New_York": (-5, -4), "+02:00": (2, 2)}[zone]
    expected = local.to_numpy() - np.array(hours, dtype="m8[h]")
    table = Table.read(frame)
    assert table.kinds == {"x": "date"}
    np.testing.assert_array_equal(table.columns["x"], expected.astype("M8[us]"))


def test_zones_and_periods_of_pandas_frames_become_dates():
    pd = pytest.importorskip("pandas")
    times = pd.Series(pd.to_datetime(["2024-01-01 12:00", "2024-07-01 12:00"])).dt.tz_localize("Europe/Brussels")
    table = Table.read(pd.DataFrame({"at": times, "month": pd.PeriodIndex(["2024-01", "2024-02"], freq="M")}))
    assert table.kinds == {"at": "date", "month": "date"}
    np.testing.assert_array_equal(table.columns["at"], np.array(["2024-01-01T11:00", "2024-07-01T10:00"], "M8[us]"))
    np.testing.assert_array_equal(table.columns["month"], np.array(["2024-01-01", "2024-02-01"], "M8[us]"))
    with pytest.raises(ValueError, match=r"position 1: column 'at' has no value; fill it in, or leave .* drop="):
        Table.read(pd.DataFrame({"at": [times[0], pd.NaT]}))


def test_zones_of_polars_frames_become_dates():
    pl = pytest.importorskip("polars")
    times = pl.Series("at", ["2024-01-01 12:00"]).str.to_datetime().dt.replace_time_zone("Europe/Brussels")
    np.testing.assert_array_equal(
        Table.read(pl.DataFrame([times])).columns["at"], np.array(["2024-01-01T11"], "M8[us]")
    )


@each_library
def test_durations_are_days(library):
    frame = column_of(library, [datetime.timedelta(1), datetime.timedelta(hours=12)], "duration[us]")
    assert Table.read(frame).kinds == {"x": "numeric"}
    assert values_of(frame).tolist() == [1.0, 0.5]


@each_library
def test_decimals_are_numbers(library):
    assert values_of(make_frame(library, {"x": [Decimal("1.5"), Decimal(2)]})).tolist() == [1.5, 2.0]


def test_numbers_of_128_bits_are_read():
    pl = pytest.importorskip("polars")
    assert values_of(pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Int128)})).tolist() == [1, 2]


@each_library
def test_nested_columns_are_refused(library):
    message = "column 'x' must have numbers, strings or dates of one type, got .*1.* of type list; correct it, or give"
    with pytest.raises(ValueError, match=message if library == "pandas" else "column 'x' has type List"):
        Table.read(make_frame(library, {"x": [[1], [2]]}))
    if library != "pandas":
        with pytest.raises(ValueError, match="nodes: column 'x' has type Binary; numbers, strings and dates can be"):
            values_of(make_frame(library, {"x": [b"a", b"b"]}))


def test_two_columns_of_the_same_name_are_refused():
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    for frame in (
        pd.DataFrame([[1, 2, 3]], columns=["x", "y", "x"]),
        pa.table([[1], [2], [3]], names=["x", "y", "x"]),
    ):
        with pytest.raises(ValueError, match="nodes: two columns are named 'x'"):
            read_table(frame, "nodes")
    with pytest.raises(ValueError, match="nodes: two columns are named '1'"):
        read_table(pd.DataFrame([[1, 2]], columns=[1, "1"]), "nodes")


def test_names_of_columns_become_strings_and_an_index_is_not_read():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.eye(2), index=["a", "b"])
    assert read_table(frame).names == ["0", "1"]
    nested = pd.DataFrame(np.eye(2), columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    assert read_table(nested).names == ["('a', 'b')", "('a', 'c')"]


@each_library
def test_a_frame_without_rows_is_refused(library):
    with pytest.raises(ValueError, match="nodes is empty: it must have at least one column and one row"):
        read_table(make_frame(library, {"x": np.zeros(0)}), "nodes")
    with pytest.raises(ValueError, match="nodes is empty: it must have at least one column and one row"):
        read_table(make_frame(library, {}), "nodes")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_is_not_a_table(library):
    series = pytest.importorskip(library).Series([1, 2])
    with pytest.raises(ValueError, match=r"nodes must be a file, a data frame \(pandas, .*, got Series"):
        read_table(series, "nodes")


def test_frames_of_other_libraries_are_read():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(MIXED), npartitions=2)
    assert Table.read(frame) == Table.read(MIXED)


@each_library
def test_read_only_columns_are_enough_for_a_ranker(library):
    nodes = make_frame(library, {name: np.array(values) for name, values in NODES.items()})
    columns = read_table(nodes)
    for values in columns.values.values():
        values.flags.writeable = False
    before = {name: values.copy() for name, values in columns.values.items()}
    ranker = TableRanker().fit(columns, make_frame(library, EDGES))
    assert ranker.rank("ann", top=2).ids.shape == (1, 2)
    graph = RelationGraph.from_frame(columns, make_frame(library, EDGES))
    assert graph.nodes.base.tolist() == [list(row) for row in zip(NODES["age"], NODES["height"], strict=True)]
    for name, values in columns.values.items():
        np.testing.assert_array_equal(values, before[name])
