"""Tables of edges read by columns are those that the row-wise reader reads, and so are the errors, in every form."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from condrank.frames import edges as edge_tables
from condrank.frames import quick_edges
from condrank.tables import read_graph
from forms import make_frame

TEXT_IDS = ["a", "b", "1", "01", "é", "日本", "x y", "a,b", 'q"q', "-", "None", "1.0"]
NODES = {"id": TEXT_IDS, "x": [float(i) for i in range(len(TEXT_IDS))]}
NUMBERED = {"id": [0, 1, 2, 7, 2**53 + 1, -3], "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
NUMBERS = ["1", "-2.5", "3e2", " 4 ", "0", "1e-300", "007", "123456789012345678901234567890"]
ODD = ["", " ", "nan", "inf", "-inf", "1_0", "true", "two", "1e999", "NA"]
MISSING = {"arrow": [], "polars": ["pyarrow"], "python": ["pyarrow", "polars"]}
KINDS = ["values", "games", "ties", "counts", "weights"]
HEADS = {
    "values": ["source", "target", "value"],
    "games": ["winner", "loser"],
    "ties": ["winner", "loser", "tie"],
    "counts": ["a", "b", "wins_a", "wins_b"],
    "weights": ["source", "target", "value", "weight"],
}


@st.composite
def tables(draw):
    """Rows of strings, most of them plain, for one kind of edges."""
    kind = draw(st.sampled_from(KINDS))
    odd = draw(st.sampled_from([0, 0, 0, 1]))
    ids = st.sampled_from(TEXT_IDS[:3] if draw(st.booleans()) else TEXT_IDS)
    ids = st.one_of(ids, ids.map(lambda one: f" {one} "), st.sampled_from(["", "nobody"])) if odd else ids
    numbers = st.sampled_from(NUMBERS + (ODD if odd else []))
    ties = st.sampled_from(["", "yes", "no", "1", "0", "true", *(["maybe"] if odd else [])])
    row = {
        "values": st.tuples(ids, ids, numbers),
        "games": st.tuples(ids, ids),
        "ties": st.tuples(ids, ids, ties),
        "counts": st.tuples(ids, ids, numbers, numbers),
        "weights": st.tuples(ids, ids, numbers, numbers),
    }[kind]
    return HEADS[kind], draw(st.lists(row, min_size=1, max_size=8))


def outcome(nodes, source, **options):
    """The edges that are read, or the message of the error."""
    try:
        relation = read_graph(nodes, source, **options).relation
    except ValueError as error:
        return str(error)
    return [getattr(relation, name).tolist() for name in ("sources", "indices", "values", "weights")]


def assert_same_both_ways(nodes, source, without=()):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_tables, "read_quickly", lambda given: None)
        want = outcome(nodes, source)
    with pytest.MonkeyPatch.context() as patch:
        for library in without:
            patch.setitem(sys.modules, library, None)
        patch.setattr(quick_edges, "LEAST_BYTES", 0)
        patch.setattr(quick_edges, "LEAST_ROWS", 1)
        patch.setattr(quick_edges, "BATCH", 40)  # several batches
        assert outcome(nodes, source) == want


def test_a_plain_table_is_read_without_looking_at_rows(tmp_path, monkeypatch):
    rows = [("a", "b", "1"), ("1", "01", "2.5")] * 3
    text = "".join(",".join(row) + "\n" for row in [HEADS["values"], *rows])
    (tmp_path / "e.csv").write_text(text)
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(text.encode()))
    records = [{"source": one, "target": other, "value": float(value)} for one, other, value in rows]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    columns = {name: [record[name] for record in records] for name in HEADS["values"]}
    make_frame("polars", columns).write_parquet(tmp_path / "e.parquet")
    sources = [tmp_path / f"e.{ending}" for ending in ("csv", "csv.gz", "jsonl", "parquet")]
    sources += [make_frame(library, columns) for library in ("pandas", "polars", "pyarrow")]
    want = outcome(NODES, sources[0])
    monkeypatch.setattr(edge_tables, "_read_by_rows", None)
    monkeypatch.setattr(quick_edges, "LEAST_BYTES", 0)
    monkeypatch.setattr(quick_edges, "LEAST_ROWS", 1)
    for reader, readable in (("arrow", sources), ("polars", sources[:-1]), ("python", sources[:2])):
        with monkeypatch.context() as patch:
            for library in MISSING[reader]:
                patch.setitem(sys.modules, library, None)
            for source in readable:
                assert outcome(NODES, source) == want


@pytest.mark.parametrize("reader", MISSING)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=tables(),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    delimiter=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    ragged=st.sampled_from([False, False, False, True]),
)
def test_csv_files_are_read_as_row_by_row(reader, table, quoting, delimiter, end, mark, ragged, tmp_path):
    head, rows = table
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerows([head, *rows])
    if ragged:
        writer.writerows([rows[0][:-1], (*rows[0], "more")])
    data = ("\ufeff" if mark else "").encode() + text.getvalue().encode()
    for path, written in ((tmp_path / "e.csv", data), (tmp_path / "e.csv.gz", gzip.compress(data))):
        path.write_bytes(written)
        assert_same_both_ways(NODES, path, MISSING[reader])


IDS = st.sampled_from([0, 1, 2, 7, -3, 2**53 + 1, 1.0, 2**63, True, None, "a", "1", "01", "é", "", "2024-01-01"])
VALUES = st.sampled_from([0, 1, -2.5, 2**60, 1e300, True, None, "3", float("nan"), float("inf")])


@st.composite
def records(draw):
    """Records of JSON lines: mostly of one type."""
    integers = st.sampled_from(NUMBERED["id"])
    strings = st.sampled_from(TEXT_IDS)
    ids = draw(st.sampled_from([integers, strings, strings, IDS]))
    values = draw(st.sampled_from([st.floats(-9, 9), st.integers(-9, 9), VALUES]))
    rows = draw(st.lists(st.tuples(ids, ids, values), min_size=1, max_size=6))
    return [dict(zip(HEADS["values"], row, strict=True)) for row in rows]


@pytest.mark.parametrize("reader", ["arrow", "polars"])
@pytest.mark.parametrize("nodes", [NODES, NUMBERED], ids=["text", "numbers"])
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=records(), blank=st.sampled_from(["", "", "\n", "[]\n", '{"note": "x"}\n']))
def test_json_lines_are_read_as_row_by_row(reader, nodes, rows, blank, tmp_path):
    path = tmp_path / "e.jsonl"
    lines = [json.dumps(row) + "\n" for row in rows]
    path.write_text("".join([*lines[:1], blank, *lines[1:]]))
    assert_same_both_ways(nodes, path, MISSING[reader])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("nodes", [NODES, NUMBERED], ids=["text", "numbers"])
@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["integers", "strings", "strings with gaps"]),
    values=st.sampled_from([st.floats(-9, 9), st.integers(-9, 9), st.booleans(), st.sampled_from([1.0, np.nan])]),
    data=st.data(),
)
def test_frames_are_read_as_row_by_row(library, nodes, kind, values, data):
    ids = {
        "integers": st.sampled_from([*NUMBERED["id"], 99]),
        "strings": st.sampled_from([*TEXT_IDS, "nobody"]),
        "strings with gaps": st.sampled_from(["a", "b", "", None]),
    }[kind]
    rows = data.draw(st.lists(st.tuples(ids, ids, values), min_size=1, max_size=6))
    columns = {name: [row[k] for row in rows] for k, name in enumerate(HEADS["values"])}
    assert_same_both_ways(nodes, make_frame(library, columns))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_of_a_frame_are_read_as_row_by_row(library):
    frame = make_frame(library, {"source": ["a", "b", "a"], "target": ["b", "1", "01"], "value": [1.0, 2.0, 3.0]})
    if library == "pandas":
        frame = frame.astype({"source": "category"})
    else:
        import polars as pl

        frame = frame.with_columns(pl.col("source").cast(pl.Categorical))
    assert_same_both_ways(NODES, frame)


def test_a_file_that_is_no_gzip_is_refused_by_its_name(tmp_path):
    path = tmp_path / "e.csv.gz"
    for data in (b"plain text", gzip.compress(b"source,target,value\n" * 99)[:-9]):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"e\.csv\.gz cannot be read as a gzip file"):
            read_graph(NODES, path)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*NUMBERS, "+5", ".5", "１"]), min_size=1, max_size=12), st.booleans(), st.data())
def test_numbers_of_nodes_are_found_all_at_once_as_cell_by_cell(cells, odd, data):
    if odd:
        cells = [*cells, data.draw(st.sampled_from(ODD))]
    nodes = {"id": [f"n{i}" for i in range(len(cells))], "x": cells}
    edges = {"source": ["n0"], "target": ["n0"], "value": [1.0]}

    def read():
        try:
            table = read_graph(nodes, edges).nodes.base
            return table.kinds, table.columns["x"].tolist()
        except ValueError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("condrank.frames.table.with_numbers", lambda columns, names: columns)
        patch.setattr("condrank.frames.kinds.text_numbers", lambda cells: None)
        want = read()
    assert read() == want
