"""Kinds of columns: what counts as a number, a date, a word and a gap."""

import numpy as np
import pytest

from condrank.tables import Table, TableEncoder, read_kernel


def test_numbers_are_those_of_people_not_of_python(tmp_path):
    assert Table.read({"code": ["1_8", "2_9", "1_8"]}).kinds == {"code": "categorical"}
    with pytest.raises(ValueError, match="position 1: column 'x' must be a number, got '1_8'"):
        Table.read({"x": ["3", "1_8"]}, numeric=["x"])
    (tmp_path / "K.csv").write_text("1,0_1\n0_1,1\n")
    with pytest.raises(ValueError, match="row 1, column 2: expected a number, got '0_1'"):
        read_kernel(tmp_path / "K.csv")


def test_dates_may_have_times_and_zones_and_mistakes_among_them_are_refused():
    given = [
        "2024-01-01T12:00Z",
        "2024-01-01 12:00:00+02:00",
        "2024-01-01T12:00:00.5-0130",
        "2024-01-01",
        "2024-01-02T10:00",
    ]
    table = Table.read({"at": given})
    assert table.kinds == {"at": "date"}
    expected = ["2024-01-01T12:00", "2024-01-01T10:00", "2024-01-01T13:30:00.5", "2024-01-01", "2024-01-02T10:00"]
    np.testing.assert_array_equal(table.columns["at"], np.array(expected, dtype="M8[us]"))
    days = [f"2024-01-{day:02}" for day in range(1, 20)]
    with pytest.raises(ValueError, match="position 19: column 'at' has '1/2/2024' among dates; correct it"):
        Table.read({"at": [*days, "1/2/2024"]})
    with pytest.raises(ValueError, match="position 2: column 'at' has no value; fill it in"):
        Table.read({"at": [*days[:2], "n/a"]})


def test_hints_for_an_empty_cell_work():
    with pytest.raises(ValueError, match=r"column 'hand' has no value; fill it in, or leave the column out by drop=$"):
        Table.read({"hand": ["left", None, "right"]})
    assert Table.read({"hand": ["left", None], "x": [1, 2]}, drop=["hand"]).kinds == {"x": "numeric"}
    encoder = TableEncoder().fit({"hand": ["left", "right"]})
    with pytest.raises(ValueError, match=r"column 'hand' has no value; fill it in$"):
        encoder.transform({"hand": [None]})
