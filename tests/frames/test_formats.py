"""Tables read from CSV, JSON lines and Parquet files and from standard input."""

from __future__ import annotations

import io
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank.frames import formats
from condrank.tables import read_table


def test_space_around_cells_is_removed(tmp_path):
    (tmp_path / "nodes.csv").write_text('id, hand, x\nann , "left", 1\nbob, right , 2\n')
    columns = read_table(tmp_path / "nodes.csv")
    assert {name: values.tolist() for name, values in columns.values.items()} == {
        "id": ["ann", "bob"],
        "hand": ["left", "right"],
        "x": ["1", "2"],
    }


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "id,x\n", "is empty"),
        ("t.csv", "id,x\na,1\nb\n", "row 3: expected 2 fields as in the first row, got 1"),
        ("t.csv", "id,x\n\na,1\n", "row 2: expected 2 fields"),
        ("t.csv", "id,id\na,1\n", "two columns are named 'id'"),
        ("t.csv", ",x\na,1\n", "column 1 has no name"),
        ("t.csv", 'id,x\n"a,1\n', "is not a CSV file"),
        ("t.csv", b"id,x\n\xff\xfe,1\n", "is not text in UTF-8"),
        ("t.csv", "id,x\na," + "b" * 200_000 + "\n", "longer texts can be read from JSON lines"),
        ("t.jsonl", '{"id": 1}\n[2]\n', "row 2: expected a JSON object"),
        ("t.jsonl", '{"id": 1, "x": [2]}\n', "row 1: 'x' must be one value"),
        ("t.parquet", b"PAR1nonsense", "cannot be read as Parquet"),
        ("t.xlsx", "x", "must be a .csv, .tsv, .jsonl or .parquet file"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused_with_its_name(tmp_path, name, content, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message) as error:
        read_table(path)
    assert name in str(error.value)


def test_standard_input_is_read_as_csv_or_json_lines(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("id;x\na;1\n\n"))
    assert read_table("-").values["x"].tolist() == ["1"]
    monkeypatch.setattr("sys.stdin", io.StringIO('{"id": "a", "x": 1}\n'))
    assert read_table("-").values["x"].tolist() == [1]


CELLS = st.text(st.sampled_from("ab1.-_ \t\"'é\x1c\xa0\0\r"), max_size=3)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=2, max_size=6), st.sampled_from([",", ";", "\t"]))
@settings(max_examples=300, deadline=None)
def test_files_that_are_split_have_the_cells_that_the_csv_module_reads(rows, delimiter):
    text = "\n".join(delimiter.join(row) for row in rows) + "\n"
    with mock.patch("condrank.frames.formats.SPLIT_FROM", 0):
        found = formats._split_columns(text, delimiter)
    if found is not None:
        header, columns = found
        expected = formats.read_rows(text, "a file", delimiter)
        assert [header, *map(list, zip(*columns, strict=True))] == expected


def test_a_plain_file_is_split():
    text = "id,x\n" + "".join(f"p{i},{i}.5\n" for i in range(6))
    with mock.patch("condrank.frames.formats.SPLIT_FROM", 0):
        header, columns = formats._split_columns(text, ",")
    assert header == ["id", "x"]
    assert columns == [[f"p{i}" for i in range(6)], [f"{i}.5" for i in range(6)]]
    assert formats._split_columns(text, ",") is None  # small files are read by the module
