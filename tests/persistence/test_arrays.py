"""Arrays are written under a prefix and come back checked, each once."""

import numpy as np
import pytest
from scipy import sparse

from condrank.persistence.arrays import Arrays, Held

NUMBERS = np.array([1.0, 2.0])


def test_names_are_put_behind_their_prefixes():
    arrays = Arrays()
    arrays.put("W", NUMBERS)
    side = arrays.under("sums").under("rows")
    side.put("mean", NUMBERS)
    side.put_all({"a": NUMBERS, "b": NUMBERS})
    assert (arrays.name, side.name) == ("", "sums.rows")
    assert list(arrays.named) == ["W", "sums.rows.mean", "sums.rows.a", "sums.rows.b"]


def test_an_array_is_taken_once_from_wherever_it_is_seen():
    held = Held({"rows.mean": NUMBERS, "rowsmore": NUMBERS})
    rows = held.under("rows")
    assert "mean" in rows
    assert "mean" not in held
    assert rows.left() == ["rows.mean"]
    assert rows.take("mean", "f", 2) is NUMBERS
    assert "mean" not in rows
    with pytest.raises(KeyError, match=r"rows\.mean"):
        held.take("rows.mean", "f", 2)
    with pytest.raises(ValueError, match=r"no part of the index uses: \['rowsmore'\]"):
        held.check_all_taken("index")
    held.pop("rowsmore")
    held.check_all_taken("index")


def test_the_rest_under_a_prefix_is_taken_without_it():
    held = Held({"tables.encoder.mean": NUMBERS, "tables.encoder.0.ends": NUMBERS, "W": NUMBERS})
    assert sorted(held.under("tables").under("encoder").rest()) == ["0.ends", "mean"]
    assert held.left() == ["W"]


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (np.array([1, 2]), r"rows\.a must be floating of shape \(2\), got int64 of shape \(2,\)"),
        (np.ones(3), r"rows\.a must be floating of shape \(2\), got float64 of shape \(3,\)"),
        (np.ones((2, 1)), r"rows\.a must be floating of shape \(2\)"),
        (np.array([1.0, np.nan]), r"rows\.a must be finite"),
        (np.array([1.0, 0.0]), r"rows\.a must be greater than zero"),
    ],
)
def test_arrays_of_another_kind_or_shape_are_refused_by_their_whole_name(array, match):
    with pytest.raises(ValueError, match=match):
        Held({"rows.a": array}).under("rows").positive("a", 2)


def test_an_open_length_must_not_be_zero():
    assert Held({"a": np.ones((3, 2))}).floats("a", None, 2).shape == (3, 2)
    with pytest.raises(ValueError, match=r"a must be floating of shape \(any, 2\), got float64 of shape \(0, 2\)"):
        Held({"a": np.ones((0, 2))}).floats("a", None, 2)


def test_places_lie_among_the_nodes():
    assert Held({"a": np.array([0, 4])}).places("a", None, 5).tolist() == [0, 4]
    for wrong in ([0, 5], [-1, 0]):
        with pytest.raises(ValueError, match=r"a must lie within 0\.\.4"):
            Held({"a": np.array(wrong)}).places("a", 2, 5)


def test_with_mmap_values_are_not_looked_at():
    assert np.isnan(Held({"a": np.array([np.nan])}, mmap=True).floats("a", 1)).all()


@pytest.mark.parametrize("M", [np.eye(3), sparse.csr_array(np.eye(3)), sparse.coo_array(np.eye(3)[:, :2])])
def test_matrices_dense_and_sparse_come_back(M):
    arrays = Arrays(name="rows")
    arrays.matrix("nodes", M)
    held = Held(arrays.named).under("rows")
    again = held.matrix("nodes")
    assert sparse.issparse(again) == sparse.issparse(M)
    assert again.shape == M.shape
    assert abs(again - M).sum() == 0
    assert held.left() == []


def test_a_matrix_without_rows_comes_back_only_where_that_is_allowed():
    assert Held({"nodes": np.empty((0, 4))}).matrix("nodes", least_rows=0).shape == (0, 4)
    with pytest.raises(ValueError, match="nodes must be floating"):
        Held({"nodes": np.empty((0, 4))}).matrix("nodes")


def test_sparse_parts_that_do_not_fit_are_refused():
    arrays = Arrays()
    arrays.matrix("nodes", sparse.csr_array(np.eye(3)))
    for part, wrong in {
        "shape": np.array([0, 3]),
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([0, 1, 7]),
        "data": np.array([1.0, np.inf, 1.0]),
    }.items():
        with pytest.raises(ValueError, match=r"nodes|indices"):
            Held(arrays.named | {f"nodes.{part}": wrong}).matrix("nodes")
