"""Edges that Arrow reads are those that the row-wise reader reads; what is not plain is left to it."""

import numpy as np
import pytest

from condrank.frames import edges as edge_tables
from condrank.frames import quick_edges
from condrank.tables import read_graph

pytest.importorskip("pyarrow")

NODES = {"id": ["a", "b", "c", "7"], "x": [1.0, 2.0, 3.0, 4.0]}
PLAIN = "source,target,value\na,b,1.5\nb, c ,-2\n c,a,3e2\n7,a,0\na,b,2\n"


@pytest.fixture(autouse=True)
def small_files_are_large(monkeypatch):
    monkeypatch.setattr(quick_edges, "LEAST_BYTES", 0)


@pytest.fixture
def written(tmp_path):
    def write(text, name="edges.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def read_by_rows(path, monkeypatch, nodes=NODES, **options):
    with monkeypatch.context() as rows:
        rows.setattr(edge_tables, "read_quickly", lambda source: None)
        return read_graph(nodes, path, **options)


def assert_same(one, other):
    for name in ("sources", "indices", "values", "weights", "indptr"):
        np.testing.assert_array_equal(getattr(one.relation, name), getattr(other.relation, name))


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        (PLAIN, "edges.csv", {}),
        (PLAIN.replace(",", ";"), "edges.csv", {}),
        (PLAIN.replace(",", "\t"), "edges.tsv", {}),
        (PLAIN.replace("\n", "\r\n"), "edges.csv", {}),
        (PLAIN + "\n\n", "edges.csv", {"mirror": "same"}),
        ("\ufeff" + PLAIN, "edges.csv", {"mirror": "opposite"}),
        ("winner,loser,weight\na,b,2\nb,c,0.5\n", "edges.csv", {}),
        ("a,b,wins_a,wins_b\na,b,2,1\nb,c,0,0\n", "edges.csv", {}),
        ('source,target,value\n"a","b",1\nb,"c",2\n', "edges.csv", {}),
        ("winner,loser,tie\na,b,yes\nb,c,\n", "edges.csv", {}),
        ("one,two,y,note\na,b,2,hello there\nb,c,1,\n", "edges.csv", {"source": "one", "target": "two", "value": "y"}),
    ],
)
def test_a_plain_file_is_read_as_row_by_row(text, name, options, written, monkeypatch):
    path = written(text, name)
    assert quick_edges.read_quickly(path) is not None
    with monkeypatch.context() as quick:
        quick.setattr(edge_tables, "_read_by_rows", None)
        found = read_graph(NODES, path, **options)
    assert_same(found, read_by_rows(path, monkeypatch, **options))


def test_ids_of_numbers_are_found_by_their_text(written, monkeypatch):
    nodes, path = {"id": [1, 2, 3], "x": [1.0, 2.0, 3.0]}, written("source,target,value\n1,2,1\n3,1,2\n")
    assert_same(read_graph(nodes, path), read_by_rows(path, monkeypatch, nodes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target,value\na,b,1\nb,nobody,2\n", "row 3, target: no node has the id 'nobody'"),
        ("source,target,value\na,b,1\nb,,2\n", "row 3: column 'target' has no value"),
        ("source,target,value\na,b,1\nb,c,two\n", "row 3: column 'value' must be a number, got 'two'"),
        ("source,target,value\na,b,1\nb,c,inf\n", "row 3: column 'value' must be a finite number"),
        ("source,target,value\na,b,1\nb,c\n", "row 3: expected 3 fields as in the first row, got 2"),
        ("source,target,value\na,b,1\n\nb,c,1\n", "row 3: expected 3 fields as in the first row, got 0"),
        ("winner,loser\na,b\nb,b\n", "row 3: 'b' plays against itself"),
        ("source,target,value,weight\na,b,1,1\nb,c,1,-1\n", "row 3: column 'weight' must not be negative"),
        ("a,b,wins_a,wins_b\na,b,2,1\nb,c,-1,0\n", "row 3: column 'wins_a' must not be negative"),
        ("source,source,value\na,b,1\n", "two columns are named 'source'"),
    ],
)
def test_what_is_wrong_is_reported_with_its_row(text, message, written):
    with pytest.raises(ValueError, match=message):
        read_graph(NODES, written(text))


@pytest.mark.parametrize(
    "text",
    [
        'source,target,value\n "a",b,1\nb,c,2\n',  # a quote behind a space
        'source,target,value\na,b,"1"\n"b",c,2\r\n"a",c,2\r\n',  # quotes and both ends of lines
        "source,target,value\na,b,true\nb,c,false\n",  # words for numbers
    ],
)
def test_what_is_not_plain_is_read_row_by_row(text, written, monkeypatch):
    path = written(text)
    assert_same(read_graph(NODES, path), read_by_rows(path, monkeypatch))


def test_small_files_other_files_and_frames_are_left_to_the_other_readers(written, monkeypatch):
    path = written(PLAIN)
    monkeypatch.setattr(quick_edges, "LEAST_BYTES", 10_000)
    assert quick_edges.read_quickly(path) is None
    monkeypatch.setattr(quick_edges, "LEAST_BYTES", 0)
    assert quick_edges.read_quickly(path.with_name("missing.csv")) is None
    assert quick_edges.read_quickly({"source": ["a"]}) is None
    assert quick_edges.read_quickly(written("{}\n\n{}", "edges.jsonl")) is None
    assert quick_edges.read_quickly(written("{}", "edges.json")) is None
    assert quick_edges.read_quickly(written(PLAIN, encoding="utf-16")) is None
    assert quick_edges.read_quickly(written("no gzip", "edges.csv.gz")) is None
    assert quick_edges.read_quickly(written("no parquet", "edges.parquet")) is None
