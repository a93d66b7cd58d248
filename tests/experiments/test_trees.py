"""Trees on features of pairs."""

import numpy as np
import pytest

from condrank import RelationGraph, datasets
from condrank.metrics import rank_loss
from experiment_modules import module


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost"])
@pytest.mark.parametrize("objective", ["lambdarank", "regression"])
def test_trees_learn_a_relation(library, objective):
    trees = module("trees")
    if not trees.is_installed(library):
        pytest.skip(f"{library} is not installed")
    train, test = datasets.make_rock_paper_scissors(100, n_players=40, n_games=600, random_state=0)
    ranker = trees.TreeRanker(library, objective, "reciprocal", n_trees=20, n_leaves=7).fit(train)
    loss = 1 - ranker.score(test)
    assert loss < 0.25
    assert loss == pytest.approx(rank_loss(test.to_dense(), ranker.predict(test)))
    assert ranker.rank(test, top=3).indices.shape == (40, 3)


def test_pair_features_depend_on_the_relation():
    trees = module("trees")
    a, b = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    both = [1, 2, 3, -1]
    assert trees.pair_features("ordinary", a, b, True).tolist() == [both]
    assert trees.pair_features("ordinary", a, b, False).tolist() == [[*both, 3, -2, 2, 3]]
    assert trees.pair_features("reciprocal", a, b, False).tolist() == [[*both, 3, -2, 2, 3, -2, 3]]
    assert trees.pair_features("symmetric", a, b, False)[0, -1] == pytest.approx(1 / 50**0.5)


def test_pairs_are_sampled_with_their_own_values():
    trees = module("trees")
    X = np.arange(40.0)[:, None]
    graph = RelationGraph(X, X - 2 * X.T)
    n_pairs = 0
    for a, b, (rows, columns), values in trees.sample(graph, 250, seed=0):
        np.testing.assert_array_equal(values, a[rows, 0] - 2 * b[columns, 0])
        n_pairs += len(values)
    assert 150 <= n_pairs <= 250
    holes = RelationGraph(X, np.where(X > X.T, X - 2 * X.T, np.nan))
    ((a, b, (rows, columns), values),) = trees.sample(holes, 100, seed=0)
    assert len(values) == 100
    np.testing.assert_array_equal(values, a[rows, 0] - 2 * b[columns, 0])


def test_relevance_levels_keep_the_order():
    trees = module("trees")
    assert trees.relevance_levels(np.array([0.5, -1.0, 3.0, 0.5])).tolist() == [1, 0, 2, 1]
    values = np.random.default_rng(0).normal(size=500)
    levels = trees.relevance_levels(values)
    assert levels.max() < 31
    assert (np.diff(levels[np.argsort(values)]) >= 0).all()


def test_tuning_for_some_time_tries_as_much_as_fits(monkeypatch):
    """With a clock that a fit moves by a second: three holdouts a candidate, and one last fit."""
    trees = module("trees")
    if not trees.is_installed("LightGBM"):
        pytest.skip("LightGBM is not installed")
    train, test = datasets.make_rock_paper_scissors(100, n_players=20, n_games=200, random_state=0)
    now, fitted, fit = [0.0], [], trees.TreeRanker.fit

    def timed(self, X, Y=None):
        now[0] += 1
        fitted.append(self.get_params())
        return fit(self.set_params(n_trees=min(self.n_trees, 30)), X, Y)

    monkeypatch.setattr(trees.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(trees.TreeRanker, "fit", timed)
    for seconds, n_candidates in ((0.1, 1), (11.0, 3)):
        fitted.clear()
        now[0] = 0.0
        ranker = trees.tune_for(seconds, "LightGBM", train, [(train, test)] * 3, "reciprocal")
        assert len(fitted) == 3 * n_candidates + 1
        assert ranker.score(test) > 0.5
    assert fitted[0]["n_leaves"] == 31
    assert len({str(one) for one in fitted}) > 3
