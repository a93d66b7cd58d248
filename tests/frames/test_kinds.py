"""Kinds of columns: what counts as a number, a date, a category, a text and a missing value."""

from __future__ import annotations

import numpy as np
import pytest

from condrank.tables import Table, TableEncoder, read_kernel
from forms import LIBRARIES, make_frame


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "numeric"),
        ([True, False], "numeric"),
        (["1", "2.5"], "numeric"),
        (["true", "False"], "numeric"),
        (["007", "012"], "categorical"),
        (["a", "b"], "categorical"),
        (["2024-01-01", "2024-02-03 10:00"], "date"),
        (np.array(["2024-01-01"], dtype="M8[D]"), "date"),
        (["this one is rather long, as texts are", "and so is this one, which is longer"], "text"),
        ([f"name{i}" for i in range(30)], "text"),
        (["x", "y"] * 30, "categorical"),
    ],
)
@pytest.mark.parametrize("library", ["dict", *LIBRARIES])
def test_kinds_follow_from_the_values(values, kind, library):
    table = {"c": values}
    assert Table.read(table if library == "dict" else make_frame(library, table)).kinds == {"c": kind}


@pytest.mark.parametrize("library", LIBRARIES)
def test_kinds_can_be_given(library):
    table = Table.read(
        make_frame(library, {"zip": [1000, 2000], "n": ["1", "2"], "t": ["a", "b"], "gone": [None, 1]}),
        categorical=["zip"],
        text=["t"],
        numeric=["n"],
        drop=["gone"],
    )
    assert table.kinds == {"zip": "categorical", "n": "numeric", "t": "text"}
    assert table.columns["zip"].tolist() == ["1000", "2000"]
    floating = make_frame(library, {"zip": [1000.0]})
    assert Table.read(floating, categorical=["zip"]).columns["zip"].tolist() == ["1000"]


def test_a_word_among_numbers_is_a_mistake_and_not_a_category():
    values = [str(i) for i in range(20)] + ["1,5"]
    with pytest.raises(
        ValueError, match=r"position 20: column 'x' has '1,5' among numbers; correct it, or give the kind"
    ):
        Table.read({"x": values})
    assert Table.read({"x": values}, categorical=["x"]).kinds == {"x": "categorical"}


def test_numbers_with_underscores_are_read_as_words(tmp_path):
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


def test_the_advice_for_an_empty_cell_works():
    advice = "fill it in, or leave the column out with drop=, or have missing values filled with impute='median'"
    with pytest.raises(ValueError, match=rf"column 'hand' has no value; {advice}$"):
        Table.read({"hand": ["left", None, "right"]})
    assert Table.read({"hand": ["left", None], "x": [1, 2]}, drop=["hand"]).kinds == {"x": "numeric"}
    encoder = TableEncoder().fit({"hand": ["left", "right"]})
    with pytest.raises(ValueError, match=r"column 'hand' has no value; fill it in$"):
        encoder.transform({"hand": [None]})
