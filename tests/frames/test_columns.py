"""Columns: what is read as a table, and errors with the row."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest

from condrank import RelationGraph
from condrank.tables import TableEncoder, read_graph
from forms import EDGES, NODES, write_csv


def test_missing_values_of_all_columns_are_reported_at_once(tmp_path):
    nodes = NODES | {"age": ["NA", "25", "40", "52"], "height": ["", "1.8", "", "1.9"], "hand": ["l", "r", "NA", "r"]}
    path = write_csv(tmp_path / "nodes.csv", nodes)
    message = (
        r"nodes.csv: 2 columns have missing values, 'age' 1 \(first in row 2\), 'height' 2 \(first in row 2\); "
        r"fill them in, or leave the columns out with drop=\['age', 'height'\], or have .* impute='median'$"
    )
    with pytest.raises(ValueError, match=message):
        read_graph(path, EDGES)
    with pytest.raises(ValueError, match=r"row 2: column 'height' has no value \(2 in all\)"):
        read_graph(path, EDGES, categorical=["age"])  # NA is a category then
    assert read_graph(path, EDGES, drop=["age", "height"]).nodes.base.kinds == {"hand": "categorical"}
    encoder = TableEncoder().fit({"a": [1, 2], "b": [1, 2]})
    with pytest.raises(ValueError, match=r"2 columns have missing values, 'a' 1 .* position 1\), .*; fill them in$"):
        encoder.transform({"a": [1, None], "b": [None, 2]})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (3, "nodes must be a file, a data frame .*, a dict of columns or a list of dicts, got int"),
        ("missing.csv", "missing.csv cannot be read: No such file"),
        ([1, 2], "nodes must be a file, .* got list"),
        ([], "nodes must be a file, .* got list"),
        ({"a": 1}, "nodes: column 'a' must be a list or an array, got int"),
        ({"a": [1], "b": [1, 2]}, "nodes: columns must have the same length, got {'a': 1, 'b': 2}"),
        ({}, "nodes is empty: it must have at least one column and one row"),
        ({"a": [[1], [2]]}, r"nodes, position 0: an id must be a string, a number or a date, got \[1\]"),
        ({"a": np.ones((2, 2))}, r"column 'a' must be one-dimensional, got shape \(2, 2\)"),
    ],
)
def test_what_is_not_a_table_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_frame(wrong, EDGES)


def test_missing_tables_are_reported_by_name():
    with pytest.raises(ValueError, match="edges is missing"):
        RelationGraph.from_frame(NODES)
    with pytest.raises(ValueError, match="nodes is missing"):
        RelationGraph.from_frame(edges=EDGES)


def test_files_dicts_and_records_need_no_frame_library(tmp_path):
    write_csv(tmp_path / "nodes.csv", NODES)
    script = """
        import sys
        import condrank, condrank.cli
        from condrank.tables import read_table
        assert read_table("nodes.csv").names == ["id", "age", "height"]
        assert read_table({"a": [1, 2]}).values["a"].tolist() == [1, 2]
        assert read_table([{"a": 1}, {"a": 2}]).values["a"].tolist() == [1, 2]
        print(sorted({"narwhals", "pandas", "polars", "pyarrow"} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", dedent(script)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
