"""Matrices with holes, sparse arrays and lists of edges give the same value of every measure, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn import metrics as sklearn_metrics
from sklearn.exceptions import UndefinedMetricWarning

import reference_metrics as naive
from condrank import metrics
from condrank.metrics.given import read_given

nan = float("nan")
GAMES = ("log_loss", "brier_score", "accuracy")
OPTIONS = [
    (name, options)
    for name in sorted(set(metrics.MEASURES) - {"pooled_concordance_index"})
    for options in (
        [{"scale": scale} for scale in ("log-odds", "probability", "outcome")]
        if name in GAMES
        else [{"k": 3}, {"k": 40}]
        if name.endswith("_at_k")
        else [{}, {"k": 4, "gain": "exponential"}]
        if name == "ndcg"
        else [{}]
    )
]


@st.composite
def relations(draw):
    """Labels with holes and scores, many or few of them tied, with digits that rounding can lose."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.random((n, m)) if draw(st.booleans()) else rng.integers(0, 3, (n, m)) / 2
    scores = rng.normal(size=(n, m)) if draw(st.booleans()) else rng.integers(-2, 3, (n, m)) / 3
    holes = draw(arrays.arrays(np.bool_, (n, m)))
    kind = draw(st.sampled_from([np.float64, np.float32]))
    return np.where(holes, nan, labels).astype(kind), scores


def as_edges(truth, scores):
    rows, cols = np.nonzero(~np.isnan(truth))
    return rows, truth[rows, cols], scores[rows, cols]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "options"), OPTIONS)
@settings(max_examples=40, deadline=None)
@given(case=relations())
def test_sparse_arrays_and_edges_are_measured_as_matrices_to_the_last_digit(name, options, case):
    truth, scores = case
    measure, (rows, y, h) = metrics.MEASURES[name], as_edges(truth, scores)
    pattern = rows, np.nonzero(~np.isnan(truth))[1]
    stored = [sparse.csr_array((values, pattern), shape=truth.shape) for values in (y, h)]
    dense = measure(truth, scores, average=None, **options)
    np.testing.assert_array_equal(measure(*stored, average=None, **options), dense)
    np.testing.assert_array_equal(measure(*stored, **options), measure(truth, scores, **options))
    if len(y):
        with_edges = np.unique(rows)
        np.testing.assert_array_equal(measure(y, h, average=None, groups=rows, **options), dense[with_edges])
        names = np.array([f"query {row}" for row in range(len(truth))])
        np.testing.assert_array_equal(measure(y, h, groups=names[rows], **options), measure(truth, scores, **options))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(case=relations(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_edges_does_not_matter(case, seed):
    rows, y, h = as_edges(*case)
    order = np.random.default_rng(seed).permutation(len(rows))
    for name in sorted(metrics.OF_ORDER):
        one = metrics.MEASURES[name](y[order], h[order], groups=rows[order])
        np.testing.assert_array_equal(one, metrics.MEASURES[name](y, h, groups=rows))
    for name in ("mean_squared_error", "rm_squared", *GAMES):
        one = metrics.MEASURES[name](y[order], h[order], groups=rows[order])
        np.testing.assert_allclose(one, metrics.MEASURES[name](y, h, groups=rows), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(case=relations())
def test_pooled_concordance_compares_all_pairs_of_edges(case):
    truth, scores = case
    rows, y, h = as_edges(truth, scores)
    want = naive.pooled_concordance_index(truth, scores)
    np.testing.assert_allclose(metrics.pooled_concordance_index(truth, scores), want, rtol=1e-12)
    pattern = rows, np.nonzero(~np.isnan(truth))[1]
    stored = [sparse.coo_array((values, pattern), shape=truth.shape) for values in (y, h)]
    np.testing.assert_array_equal(metrics.pooled_concordance_index(*stored), metrics.pooled_concordance_index(y, h))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["mean_squared_error", "rm_squared"])
@settings(max_examples=60, deadline=None)
@given(case=relations())
def test_measures_of_values_agree_with_their_naive_twins(name, case):
    truth, scores = case
    twin, measure = getattr(naive, name), metrics.MEASURES[name]
    by_query = [twin(y, h) for y, h in zip(truth.astype(float), scores, strict=True)]
    np.testing.assert_allclose(measure(truth, scores, average=None), by_query, rtol=1e-6, atol=1e-9)
    pooled = twin(np.ravel(truth).astype(float), np.ravel(scores))
    np.testing.assert_allclose(measure(truth, scores), pooled, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scale", ["log-odds", "probability", "outcome"])
@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=40, deadline=None)
@given(case=relations())
def test_measures_of_games_agree_with_their_naive_twins(name, scale, case):
    truth, scores = case
    outcomes = np.round(2 * truth.astype(np.float64)) - 1
    outcomes[0, 0] = -1.0  # so that the scale from -1 to 1 can be seen
    twin, measure = getattr(naive, name), metrics.MEASURES[name]
    by_query = [twin(y, h, scale) for y, h in zip(outcomes, scores, strict=True)]
    np.testing.assert_allclose(measure(outcomes, scores, average=None, scale=scale), by_query, rtol=1e-9, atol=1e-12)
    pooled = twin(np.ravel(outcomes), np.ravel(scores), scale)
    np.testing.assert_allclose(measure(outcomes, scores, scale=scale), pooled, rtol=1e-9, atol=1e-12)
    if scale != "outcome":
        shares = (1 + outcomes) / 2
        np.testing.assert_allclose(measure(shares, scores, scale=scale), pooled, rtol=1e-9, atol=1e-12)


def test_measures_agree_with_scikit_learn(rng):
    y, h = rng.random(50), rng.random(50)
    assert metrics.mean_squared_error(y, h) == pytest.approx(sklearn_metrics.mean_squared_error(y, h))
    won = rng.integers(0, 2, 50)
    assert metrics.log_loss(won, h, scale="probability") == pytest.approx(sklearn_metrics.log_loss(won, h))
    assert metrics.brier_score(won, h, scale="probability") == pytest.approx(sklearn_metrics.brier_score_loss(won, h))
    right = sklearn_metrics.accuracy_score(won, h > 0.5)
    assert metrics.accuracy(won, h, scale="probability") == pytest.approx(right)
    odds = np.log(h / (1 - h))
    assert metrics.log_loss(won, odds) == pytest.approx(metrics.log_loss(won, h, scale="probability"))


def test_certain_predictions_of_what_did_not_happen_cost_much_but_not_infinitely():
    assert 30 < metrics.log_loss([1.0, 0.0], [0.0, 1.0], scale="probability") < 40
    assert metrics.log_loss([1.0], [-1e9]) == 1e9


def test_a_repeated_edge_counts_each_time():
    loss = metrics.rank_loss([1, 1, 2], [3, 3, 2], groups=[0, 0, 0])
    assert loss == 1.0
    assert metrics.pair_counts([1, 1, 2], [3, 3, 2], groups=[7, 7, 7])[1].tolist() == [2]


@pytest.mark.filterwarnings("ignore:every observed relevance")
def test_edges_of_many_queries_never_become_a_matrix():
    n = 200_000  # a matrix of all pairs would have 4·10¹⁰ entries
    rng = np.random.default_rng(0)
    rows, cols = np.repeat(np.arange(n), 3), rng.integers(0, n, 3 * n)
    pattern = sparse.csr_array((np.ones(3 * n), (rows, cols)), shape=(n, n))
    y, h = pattern.copy(), pattern.copy()
    y.data, h.data = rng.random(y.nnz), rng.random(y.nnz)
    for name, measure in metrics.MEASURES.items():
        options = {"scale": "probability"} if name in GAMES else {"relevant": 0.5} if name == "auc" else {}
        assert np.isfinite(measure(y, h, **options))


def test_stored_zeros_are_observed():
    y = sparse.csr_array(([0.0, 1.0, 0.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 3))
    h = sparse.csr_array(([0.0, 0.0, 0.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 3))
    assert metrics.rank_loss(y, h) == 0.5
    assert metrics.rank_loss(y.tocsc(), h.tocoo()) == 0.5


@pytest.mark.parametrize(
    ("Y_true", "Y_score", "groups", "message"),
    [
        (sparse.eye_array(3), sparse.eye_array(2), None, r"shape of Y_true, \(3, 3\), got \(2, 2\)"),
        (sparse.eye_array(2), sparse.csr_array(np.ones((2, 2))), None, "store the same entries as Y_true"),
        (sparse.eye_array(2), sparse.csr_array(np.eye(2)[::-1]), None, "store the same entries as Y_true"),
        (sparse.coo_array(([1.0, 2.0], ([0, 0], [0, 0]))), sparse.eye_array(1), None, "every pair once"),
        (sparse.eye_array(2), sparse.eye_array(2), [0, 1], "groups is for values of edges"),
        ([1.0, 2.0], [1.0, 2.0], [0, 1, 2], r"groups must have shape \(n_edges,\) as Y_true, got \(3,\)"),
        (np.eye(2), np.eye(2), [0, 1], r"Y_true must have shape \(n_edges,\)"),
        ([1.0, np.inf], [1.0, 2.0], [0, 0], "Y_true must be finite"),
        ([1.0, 2.0], [1.0, nan], [0, 0], "Y_score must be finite"),
        ([2**60, 2**60 + 1], [1.0, 2.0], [0, 0], r"at most 2\*\*53"),
    ],
)
def test_forms_that_do_not_fit_are_refused(Y_true, Y_score, groups, message):
    with pytest.raises(ValueError, match=message):
        metrics.rank_loss(Y_true, Y_score, groups=groups)


def test_games_need_outcomes_and_a_known_scale():
    with pytest.raises(ValueError, match="outcomes from 0 to 1, or from -1 to 1, for log_loss, got 0 to 3"):
        metrics.log_loss([1, 3], [1.0, 2.0])
    with pytest.raises(ValueError, match="scale must be one of"):
        metrics.accuracy([1, 0], [1.0, 2.0], scale="elo")
    with pytest.warns(UndefinedMetricWarning, match="accuracy is not defined"):
        assert np.isnan(metrics.accuracy([0.5, 0.5], [1.0, 2.0]))


def test_no_edges_at_all_are_no_query():
    given_edges = read_given(np.empty(0), np.empty(0), np.empty(0))
    assert given_edges.n_queries == 0
    assert metrics.rank_loss([], [], average=None, groups=[]).shape == (0,)
