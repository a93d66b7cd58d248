"""Node features of a Parquet file as an array on disk, and the names that lead to it."""

import numpy as np
import pytest

import condrank
from condrank import ConditionalRanker, RelationGraph
from condrank.tables import map_parquet


def parquet_file(path, **columns):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path, row_group_size=300)


def test_the_function_is_found_under_every_name_it_had():
    from condrank import parquet

    assert parquet is condrank.parquet
    assert parquet.map_parquet is map_parquet
    assert "map_parquet" in condrank.tables.__all__


@pytest.mark.parametrize("kept", [False, True])
def test_parquet_becomes_an_array_on_disk(tmp_path, kept):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(1000), rng.integers(0, 9, 1000)
    parquet_file(tmp_path / "nodes.parquet", a=a, b=b, name=[f"node {i}" for i in range(1000)])
    out = tmp_path / "nodes.npy" if kept else None
    array = map_parquet(tmp_path / "nodes.parquet", ["b", "a"], out=out, batch=128)
    np.testing.assert_array_equal(array, np.column_stack([b, a]).astype(np.float32))
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable
    assert sorted(file.name for file in tmp_path.iterdir()) == ["nodes.npy", "nodes.parquet"][not kept :]
    ConditionalRanker(n_components=20, random_state=0).fit(RelationGraph.from_classes(array, b % 3))


def test_parquet_without_numeric_features_is_refused(tmp_path):
    path = tmp_path / "nodes.parquet"
    parquet_file(path, a=[1.0, None], name=["x", "y"])
    with pytest.raises(ValueError, match="column 'name' must be numeric, got string"):
        map_parquet(path)
    with pytest.raises(ValueError, match=r"columns must be some of \['a', 'name'\], got \['c'\]"):
        map_parquet(path, ["a", "c"])
    with pytest.raises(ValueError, match="column 'a' must have a value in every row, got 1 nulls"):
        map_parquet(path, ["a"], out=tmp_path / "out.npy")
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int64"):
        map_parquet(path, ["a"], dtype=np.int64)
    assert [file.name for file in tmp_path.iterdir()] == ["nodes.parquet"]


def test_a_parquet_file_without_rows_is_refused(tmp_path):
    parquet_file(tmp_path / "nodes.parquet", a=np.zeros(0))
    with pytest.raises(ValueError, match=r"nodes.parquet has no rows"):
        map_parquet(tmp_path / "nodes.parquet")
