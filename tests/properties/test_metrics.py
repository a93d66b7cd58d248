"""Every measure against its naive twin, on relations with ties, holes, constant rows and single columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import reference_metrics as naive
from condrank import metrics
from condrank.metrics import inversions, pairs
from condrank.metrics.given import Given

BACKENDS = ["numba", "numpy"]


@st.composite
def relations(draw, max_objects=12, min_value=-3, holes=True):
    """Relevances and scores: few or many distinct values, each with or without ties, several dtypes."""
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, max_objects)))
    levels = st.integers(min_value, draw(st.sampled_from([0, 2, 40])))
    y = draw(arrays(np.int64, shape, elements=levels))
    h = draw(arrays(np.int64, shape, elements=st.integers(-2, draw(st.sampled_from([-2, 0, 3, 500])))))
    y_type = draw(st.sampled_from([np.float64, np.float32] if holes else [np.int64, np.int8, np.float64]))
    y, h = y.astype(y_type), h.astype(draw(st.sampled_from([np.float64, np.float32, np.int64])))
    if holes:
        y[draw(arrays(np.bool_, shape))] = np.nan
    return y, h


def per_row(twin, Y, H, **options):
    return np.array([twin(y, h, **options) for y, h in zip(Y, H, strict=True)])


@pytest.mark.parametrize("few_levels", [0, 8])
@pytest.mark.parametrize("backend", BACKENDS)
@given(relation=st.one_of(relations(max_objects=40), relations(max_objects=90, holes=False)))
@settings(max_examples=60, deadline=None)
def test_pairs_are_counted_exactly(backend, few_levels, relation):
    Y, H = relation
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversions, "COUNTED_LEVELS_MOST", few_levels)
        patch.setattr(inversions, "CACHED_ENTRIES", 2 * Y.shape[1])  # several blocks, hence threads
        twice_wrong, comparable = pairs.count_pairs(Given(Y, H), backend=backend)
    expected = per_row(naive.pair_counts, Y, H)
    np.testing.assert_array_equal(twice_wrong, 2 * expected[:, 0])
    np.testing.assert_array_equal(comparable, expected[:, 1])


@pytest.mark.parametrize("name", ["rank_loss", "concordance_index", "auc", "kendall_tau"])
@given(relation=relations())
@settings(max_examples=60, deadline=None)
def test_measures_of_pairs_agree_with_their_naive_twins(name, relation):
    Y, H = relation
    values = metrics.MEASURES[name](Y, H, average=None)
    np.testing.assert_allclose(values, per_row(getattr(naive, name), Y, H), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ndcg", {}),
        ("ndcg", {"k": 2}),
        ("ndcg", {"k": 3, "gain": "exponential"}),
        ("mean_reciprocal_rank", {}),
        ("mean_reciprocal_rank", {"relevant": 1}),
        ("average_precision", {}),
        ("average_precision", {"relevant": 1}),
        ("precision_at_k", {"k": 1}),
        ("precision_at_k", {"k": 3, "relevant": 1}),
        ("precision_at_k", {"k": 10}),
        ("recall_at_k", {"k": 1}),
        ("recall_at_k", {"k": 3, "relevant": 1}),
        ("hit_rate_at_k", {"k": 2}),
        ("hit_rate_at_k", {"k": 3, "relevant": 1}),
    ],
)
@given(relation=st.one_of(relations(max_objects=5, min_value=0), relations(max_objects=5, min_value=0, holes=False)))
@settings(max_examples=40, deadline=None)
def test_measures_of_one_ranking_are_expectations_over_ties(name, options, relation):
    Y, H = relation
    values = metrics.MEASURES[name](Y, H, average=None, **options)
    np.testing.assert_allclose(values, per_row(getattr(naive, name), Y, H, **options), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(metrics.OF_ORDER))
@given(relation=relations(min_value=0), data=st.data())
@settings(max_examples=25, deadline=None)
def test_only_the_order_of_the_scores_counts_and_no_position(name, relation, data):
    Y, H = relation
    measure = metrics.MEASURES[name]
    values = measure(Y, H, average=None)
    np.testing.assert_allclose(measure(Y, np.arctan(H.astype(np.float64) / 7) - 5, average=None), values, rtol=1e-12)
    shuffled = np.array(data.draw(st.permutations(range(Y.shape[1]))), dtype=int)
    np.testing.assert_allclose(measure(Y[:, shuffled], H[:, shuffled], average=None), values, rtol=1e-12)


@given(relation=relations())
@settings(max_examples=60, deadline=None)
def test_negated_scores_or_relevances_give_one_minus_the_loss(relation):
    Y, H = relation
    loss = metrics.rank_loss(Y, H, average=None)
    np.testing.assert_allclose(metrics.rank_loss(Y, -H, average=None), 1 - loss, rtol=1e-12)
    np.testing.assert_allclose(metrics.rank_loss(-Y, H, average=None), 1 - loss, rtol=1e-12)


@given(relation=relations())
@settings(max_examples=40, deadline=None)
def test_unobserved_objects_count_as_absent(relation):
    Y, H = relation
    for y, h in zip(Y, H, strict=True):
        seen = ~np.isnan(y)
        for name in ("rank_loss", "kendall_tau", "mean_reciprocal_rank", "average_precision", "precision_at_k"):
            measure = metrics.MEASURES[name]
            np.testing.assert_allclose(measure(y, h, None), measure(y[seen], h[seen], None), rtol=1e-12)
