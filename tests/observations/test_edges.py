"""Edges come back from their state as they were."""

import numpy as np
import pytest

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
