"""Observed edges: repeated, weighted and stored ones."""

import numpy as np
import pytest
from scipy import sparse

from condrank.observations import Edges
from condrank.persistence.arrays import Arrays, Held

SOURCES, TARGETS = np.array([2, 0, 2, 2]), np.array([1, 1, 0, 1])


def stored(edges):
    arrays = Arrays()
    return edges.to_state(arrays), arrays.named


def test_distinct_pairs_come_back_with_their_labels_and_weights():
    edges = Edges(SOURCES, TARGETS, np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0, 3.0]), (3, 2))
    given, named = stored(edges)
    assert given == {"shape": [3, 2]}
    again = Edges.from_state(given, Held(named))
    assert again.shape == edges.shape
    np.testing.assert_array_equal(again.to_dense(), edges.to_dense())
    for name in ("sources", "indices", "indptr", "values", "weights"):
        np.testing.assert_array_equal(getattr(again, name), getattr(edges, name))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"sources": np.array([0, 3])}, r"sources must lie within 0\.\.2"),
        ({"targets": np.array([0, -1])}, r"targets must lie within 0\.\.1"),
        ({"targets": np.array([0])}, r"targets must be whole of shape \(2\)"),
        ({"labels": np.array([1.0, np.nan])}, "labels must be finite"),
        ({"label_weights": np.array([1.0, 0.0])}, "label_weights must be greater than zero"),
        ({"sources": np.array([1, 1]), "targets": np.array([0, 0])}, "must be 2 different pairs, got 1"),
    ],
)
def test_stored_edges_that_make_no_sense_are_refused(changes, match):
    given, named = stored(Edges(np.array([0, 2]), np.array([1, 0]), np.array([1.0, 2.0]), None, (3, 2)))
    with pytest.raises(ValueError, match=match):
        Edges.from_state(given, Held(named | changes))


def test_a_stored_shape_is_of_whole_numbers():
    _, named = stored(Edges(np.array([0, 2]), np.array([1, 0]), np.array([1.0, 2.0]), None, (3, 2)))
    with pytest.raises(ValueError, match="number of nodes must be a whole number of at least 1"):
        Edges.from_state({"shape": [3, 0]}, Held(named))


def test_repeated_and_weighted_edges_are_merged():
    sources, targets = np.array([2, 0, 2, 1, 2, 0]), np.array([1, 0, 1, 2, 1, 2])
    values = np.array([1.0, 5.0, 4.0, 7.0, 100.0, 9.0])
    weights = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.5])
    seen = Edges(sources, targets, values, weights, (3, 3))
    assert seen.n_edges == 5  # the edge of weight zero is not observed
    assert seen.n_pairs == 4
    expected = np.full((3, 3), np.nan)
    expected[2, 1], expected[0, 0], expected[1, 2], expected[0, 2] = 13 / 4, 5, 7, 9
    np.testing.assert_allclose(seen.to_dense(), expected)
    np.testing.assert_array_equal(seen.sources, [0, 0, 1, 2])
    np.testing.assert_array_equal(seen.indices, [0, 2, 2, 1])
    np.testing.assert_array_equal(seen.indptr, [0, 2, 3, 4])
    np.testing.assert_array_equal(seen.weights, [2, 0.5, 1, 4])
    np.testing.assert_array_equal(seen.transpose().weights, [2, 4, 0.5, 1])
    np.testing.assert_allclose(seen.transpose().to_dense(), expected.T)
    some = np.array([2, 1])
    part = seen.take(some, some)
    assert part.n_edges == 3
    assert part.n_pairs == 2
    np.testing.assert_array_equal(part.weights, [4, 1])


def test_all_pairs_repeated_or_weighted_are_not_complete():
    i, j = (grid.ravel() for grid in np.meshgrid(range(3), range(3), indexing="ij"))
    values = np.arange(9.0)
    assert Edges(i, j, values, None, (3, 3)).is_complete
    assert not Edges(i[1:], j[1:], values[1:], None, (3, 3)).is_complete
    assert not Edges(i, j, values, np.full(9, 2.0), (3, 3)).is_complete
    twice = Edges(np.tile(i, 2), np.tile(j, 2), np.tile(values, 2), None, (3, 3))
    assert twice.n_pairs == 9
    assert not twice.is_complete
    assert not Edges(np.r_[i[1:], 1], np.r_[j[1:], 1], values, None, (3, 3)).is_complete


def test_there_may_be_no_edges():
    seen = Edges.from_holes(np.full((2, 3), np.nan))
    assert (seen.n_edges, seen.extremes(), seen.disagreement(1)) == (0, (0.0, 0.0), 0.0)
    assert np.isnan(seen.transpose().to_dense()).all()


def test_stored_zeros_are_observed():
    Y = sparse.csr_array((np.array([0.0, 2.0]), np.array([1, 0]), np.array([0, 1, 2])), shape=(2, 2))
    np.testing.assert_array_equal(Edges.from_stored(Y).to_dense(), [[np.nan, 0], [2, np.nan]])
