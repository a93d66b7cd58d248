"""Tables read from files and from data frames."""

import numpy as np
import pytest

from condrank.tables import Table, read_table


def test_space_around_cells_is_no_part_of_them(tmp_path):
    (tmp_path / "nodes.csv").write_text('id, hand, x\nann , "left", 1\nbob, right , 2\n')
    columns = read_table(tmp_path / "nodes.csv")
    assert {name: values.tolist() for name, values in columns.values.items()} == {
        "id": ["ann", "bob"],
        "hand": ["left", "right"],
        "x": ["1", "2"],
    }


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
