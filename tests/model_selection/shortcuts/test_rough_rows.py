"""Left-out rows in single precision: losses as in double precision, and never those of rounding noise."""

import numpy as np
import pytest

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.metrics import rank_loss
from condrank.model_selection.shortcuts import LeaveEdgeOut, LeaveQueryOut, rough_rows
from condrank.model_selection.shortcuts.rough_rows import RoughRows, roughly

SIGN = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}
everything = [(relation, loss) for relation in SIGN for loss in ("regression", "ranking")]


def left_out(relation, loss, *, n=60, kernel="rbf", gamma=0.3, X=None, Y=None, prior=0.0, **params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) if X is None else X
    if Y is None:
        Y = np.sin(X @ rng.normal(size=(3, len(X)))) + 0.3 * rng.normal(size=(len(X), len(X)))
        Y = Y + SIGN[relation] * Y.T
    graph = RelationGraph(X, Y, probabilities=False)
    ranker = ConditionalRanker(relation, loss, 1.0, kernel=kernel, gamma=gamma, **params).fit(graph)
    return LeaveQueryOut(ranker.fitted_.system, graph.relation, prior), Y


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize(("relation", "loss"), everything)
def test_losses_are_those_of_double_precision(relation, loss, prior):
    if prior and relation == "reciprocal":
        pytest.skip("the prior is symmetric")
    exact, Y = left_out(relation, loss, prior=prior)
    rough = RoughRows(exact)
    for alpha in np.logspace(-3, 4, 8):
        found, expected = rough.settled(alpha), exact.settled(alpha)
        assert rank_loss(Y, found) == pytest.approx(rank_loss(Y, expected), abs=1e-3)
    assert rough.settled(1.0).dtype == np.float32


@pytest.mark.parametrize(("relation", "loss"), everything)
def test_some_rows_in_double_precision_are_rows_of_all(relation, loss):
    exact, _ = left_out(relation, loss, prior=0.5 if relation != "reciprocal" else 0.0)
    rows = np.array([3, 4, 40])
    for alpha in (0.01, 1e4):
        for name in ("scores", "settled"):
            found, every = (getattr(one, name)(alpha) for one in (exact.taking(rows), exact))
            np.testing.assert_allclose(found, every[rows], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("relation", "loss"), everything)
def test_a_model_that_knows_nothing_does_not_look_good(relation, loss):
    """All nodes are far from each other: scores of a row that is left out are below single precision, or nothing."""
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(40, 40))
    exact, Y = left_out(relation, loss, X=30.0 * rng.normal(size=(40, 3)), Y=Y + SIGN[relation] * Y.T, gamma=1.0)
    for alpha in (1e-3, 1.0, 1e3):
        found = rank_loss(Y, RoughRows(exact).settled(alpha))
        assert found == pytest.approx(rank_loss(Y, exact.settled(alpha)), abs=1e-3)
        if relation == "ordinary":
            assert found == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("distance", [7.0, 1000.0])
def test_few_lonely_nodes_are_computed_in_double_precision(distance):
    """Their scores are tiny beside their labels, or nothing, also where those of all checked rows are not."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    lonely = np.setdiff1d(np.arange(60), RoughRows(left_out("ordinary", "regression", X=X)[0]).checked)[:6]
    X[lonely] = distance * np.vstack([np.eye(3), -np.eye(3)])
    exact, Y = left_out("ordinary", "regression", X=X, Y=rng.normal(size=(60, 60)))
    found = RoughRows(exact).settled(1.0)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found[lonely], exact.settled(1.0)[lonely])
    if distance > 100:
        assert rank_loss(Y[lonely], found[lonely]) == pytest.approx(0.5, abs=0.02)


def test_scores_of_many_magnitudes_are_computed_in_double_precision():
    """A row with a few large scores has a large standard deviation, beside which all others would be ties."""
    X = np.random.default_rng(5).normal(size=(80, 2))
    near = np.exp(-4 * ((X[:, None] - X) ** 2).sum(axis=-1))
    exact, _ = left_out("ordinary", "regression", X=X, Y=near, gamma=8.0)
    assert rank_loss(exact.settled(1.0), RoughRows(exact).settled(1.0)) < 1e-3


@pytest.mark.parametrize("relation", list(SIGN))
def test_noise_is_not_learned_with_a_kernel_of_a_wide_spectrum(relation):
    """All in single precision, a polynomial kernel showed a low loss at a small λ on labels of pure noise."""
    Y = np.random.default_rng(6).normal(size=(60, 60))
    exact, Y = left_out(relation, "regression", Y=Y + SIGN[relation] * Y.T, kernel="poly", gamma=None)
    for alpha in (1e-8, 1e-4, 1.0, 1e4, 1e8):
        assert rank_loss(Y, RoughRows(exact).settled(alpha)) == pytest.approx(
            rank_loss(Y, exact.settled(alpha)), abs=1e-3
        )


def test_many_lonely_nodes_make_all_rows_double():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    X[::2] *= 1e3
    exact, _ = left_out("ordinary", "regression", X=X, Y=rng.normal(size=(60, 60)))
    np.testing.assert_array_equal(RoughRows(exact).settled(1.0), exact.settled(1.0))


@pytest.mark.parametrize(("relation", "loss"), everything)
def test_a_row_without_labels_leaves_the_others_in_single_precision(relation, loss):
    _, Y = left_out(relation, loss)
    Y[0], Y[:, 0] = 0, 0
    exact, _ = left_out(relation, loss, Y=Y)
    found = RoughRows(exact).settled(1.0)
    assert found.dtype == np.float32
    assert rank_loss(Y, found) == pytest.approx(rank_loss(Y, exact.settled(1.0)), abs=1e-4)


@pytest.mark.parametrize(("relation", "loss"), everything)
@pytest.mark.parametrize("scale", [1e-11, 1e-7, 1e7, 1e11])
def test_features_and_labels_of_any_scale(relation, loss, scale):
    """More nodes than fit one block, so that our threads meet what single precision cannot hold."""
    rng = np.random.default_rng(7)
    X, Y = rng.normal(size=(400, 3)), rng.normal(size=(400, 400))
    Y = X @ rng.normal(size=(3, 3)) @ X.T + 0.1 * Y
    Y = Y + SIGN[relation] * Y.T
    for a, b in ((scale, 1.0), (1.0, scale**4)):
        exact, _ = left_out(relation, loss, X=a * X, Y=b * Y, kernel="linear", gamma=None)
        for share in (1e-12, 1e-3, 1e12):
            alpha = share * float(exact.basis.sigma[-1]) ** 2
            expected = rank_loss(Y, exact.settled(alpha))
            assert rank_loss(Y, RoughRows(exact).settled(alpha)) == pytest.approx(expected, abs=1e-4)


def test_objects_that_are_alike_are_ties():
    """Two nodes with the same features have the same scores; the digits that differ would be those of their labels."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(30, 3)), 2, axis=0)
    exact, _ = left_out("ordinary", "ranking", X=X, Y=rng.normal(size=(60, 60)))
    found = RoughRows(exact).settled(1.0)
    assert found.dtype == np.float32
    others = ~np.eye(30, dtype=bool).repeat(2, axis=0)  # the twin of the row itself is as it is in double precision
    tied = (found[:, ::2] == found[:, 1::2])[others]
    assert tied.mean() > 0.8


def test_labels_beyond_single_precision_are_computed_in_double():
    exact, Y = left_out("ordinary", "regression")
    for scale in (1e-60, 1e60):
        scaled, _ = left_out("ordinary", "regression", Y=scale * Y)
        assert RoughRows(scaled).settled(1.0).dtype == np.float64
        assert rank_loss(Y, RoughRows(scaled).settled(1.0)) == pytest.approx(rank_loss(Y, exact.settled(1.0)))


def test_what_is_small_or_has_an_intercept_stays_exact(monkeypatch):
    exact, _ = left_out("ordinary", "regression")
    assert roughly(exact) is exact
    monkeypatch.setattr(rough_rows, "ROUGH_LEAST_MULTIPLICATIONS", 1)
    assert isinstance(roughly(exact), RoughRows)
    with_intercept, _ = left_out("ordinary", "regression", fit_intercept=True)
    assert roughly(with_intercept) is with_intercept
    edges = LeaveEdgeOut.__new__(LeaveEdgeOut)
    assert roughly(edges) is edges


@pytest.mark.parametrize("prior", [None, "similarity"])
@pytest.mark.parametrize(("relation", "loss"), everything)
def test_a_search_chooses_the_same(monkeypatch, relation, loss, prior):
    if prior and relation == "reciprocal":
        pytest.skip("the prior is symmetric")
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    Y = np.sin(X @ rng.normal(size=(3, 3)) @ X.T) + 0.3 * rng.normal(size=(60, 60))
    graph = RelationGraph(X, Y + SIGN[relation] * Y.T, probabilities=False)
    found, dtypes, settled = [], [], RoughRows.settled

    def seen(self, alpha):
        scores = settled(self, alpha)
        dtypes.append(scores.dtype)
        return scores

    monkeypatch.setattr(RoughRows, "settled", seen)
    for least in (1, 1 << 60):
        monkeypatch.setattr(rough_rows, "ROUGH_LEAST_MULTIPLICATIONS", least)
        search = ConditionalRankerCV(
            np.logspace(-2, 2, 5), "leave-query-out", relation=relation, loss=loss, kernel="rbf", prior=prior
        )
        found.append(search.fit(graph))
    assert dtypes.count(np.float32) >= 3
    assert found[0].alpha_ == found[1].alpha_
    np.testing.assert_allclose(found[0].cv_losses_, found[1].cv_losses_, atol=1e-3)
