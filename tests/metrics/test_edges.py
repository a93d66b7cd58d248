"""Counts over observed edges equal those over the matrix with holes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from condrank.metrics import pair_counts, rank_loss
from condrank.metrics.edges import EdgePairs, packed_rows
from condrank.observations import Edges


@st.composite
def sparse_rows(draw):
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 30))
    labels = draw(arrays.arrays(np.float64, (n, m), elements=st.integers(-2, 2).map(float)))
    scores = draw(arrays.arrays(np.float64, (n, m), elements=st.integers(-3, 3).map(float)))
    holes = draw(arrays.arrays(np.bool_, (n, m)))
    return np.where(holes, np.nan, labels), scores


@settings(max_examples=150, deadline=None)
@given(sparse_rows())
def test_pairs_of_edges_are_counted_as_those_of_a_matrix_with_holes(case):
    truth, scores = case
    wrong, comparable = pair_counts(truth, scores)
    edges = Edges.from_holes(truth)
    pairs = EdgePairs(edges.indptr, edges.values)
    np.testing.assert_array_equal(pairs.comparable, comparable)
    np.testing.assert_array_equal(pairs.wrong(scores[edges.sources, edges.indices]), wrong)


def test_rows_of_very_different_lengths_are_packed_with_little_padding():
    rng = np.random.default_rng(0)
    lengths = np.concatenate([rng.integers(0, 5, 2000), rng.integers(50, 400, 50), [5000]])
    indptr = np.append(0, np.cumsum(lengths))
    parts = list(packed_rows(indptr))
    seen = np.concatenate([part.edges[part.edges >= 0] for part in parts])
    np.testing.assert_array_equal(np.sort(seen), np.arange(indptr[-1]))
    assert sum(part.edges.size for part in parts) < 1.3 * indptr[-1] + 5 * 2000
    rows = np.concatenate([part.rows for part in parts])
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(lengths))


def test_many_edges_are_counted_by_the_compiled_loops_alike():
    rng = np.random.default_rng(1)
    truth = np.where(rng.random((1500, 1500)) < 0.5, rng.normal(size=(1500, 1500)).round(2), np.nan)
    scores = rng.normal(size=(1500, 1500)).round(1)
    edges = Edges.from_holes(truth)
    pairs = EdgePairs(edges.indptr, edges.values)
    wrong = pairs.wrong(scores[edges.sources, edges.indices])
    assert wrong.sum() / pairs.comparable.sum() == rank_loss(truth, scores)


def test_scores_that_are_not_finite_are_refused():
    pairs = EdgePairs(np.array([0, 2]), np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="must be finite"):
        pairs.wrong(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="must be finite"):
        EdgePairs(np.array([0, 2]), np.array([1.0, np.inf]))
