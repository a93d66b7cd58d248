"""The search finds what is there, refuses what is not, and says so."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, RelationGraph
from condrank.model_selection import relevance
from condrank.model_selection.judging import Candidate, Judge, Judged
from condrank.model_selection.similarity_search import SimilaritySearch

SMALL = {"preprocessing": ("raw",), "kernels": ("rbf",), "n_splits": 2, "n_steps": 4, "random_state": 0}


def faster_wins(n=120, seed=0, share=0.6):
    """Who has more of feature 1 wins against another kind (feature 0), and loses against its own."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    kind = X[:, 0] > 0.5
    Y = np.sign(X[:, [1]] - X[:, 1]) * np.where(kind[:, None] == kind, -1, 1)
    hidden = np.triu(rng.random(Y.shape) > share, 1)
    Y[hidden | hidden.T] = np.nan
    return RelationGraph(X, Y)


def smooth_relation(n=60, seed=0, noise=1.0):
    """Drawn from the isotropic model itself: neither comparisons nor weights have anything to add."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    root = np.linalg.cholesky(rbf_kernel(X, gamma=0.25) + 1e-9 * np.eye(n))
    Y = root @ rng.normal(size=(n, n)) @ root.T + noise * rng.normal(size=(n, n))
    return RelationGraph(X, Y - Y.T)


def ranker(**params):
    return ConditionalRanker("reciprocal", "regression", kernel="rbf", **params)


def test_finds_the_compared_feature():
    search = SimilaritySearch(ranker(), **SMALL | {"max_compared": 1, "n_steps": 0}).fit(faster_wins())
    assert search.best_params_["compared"] == [1]
    assert list(search.best_ranker_.compared) == [1]
    fresh = faster_wins(seed=7)
    assert search.score(fresh) > 0.85
    assert search.predict(fresh).shape == (120, 120)
    assert search.rank(fresh.nodes.rows, top=3).indices.shape == (120, 3)
    assert [step.name for step in search.history_].count("check") == sum(
        step.accepted for step in search.history_ if step.name != "check"
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_refuses_comparisons_and_weights_where_there_is_nothing_to_find(seed):
    search = SimilaritySearch(ranker(), **SMALL | {"n_steps": 8}).fit(smooth_relation(seed=seed))
    assert "compared" not in search.best_params_
    assert "feature_weights" not in search.best_params_
    refused = {step.name for step in search.history_ if not step.accepted}
    assert refused & {"compared", "weights", "check"}


def test_the_check_on_reserved_nodes_can_undo_every_step():
    search = SimilaritySearch(ranker(), **SMALL | {"max_compared": 1, "n_steps": 0}).fit(faster_wins())
    simple, best = Candidate("raw", search.ranker), Candidate("raw", search.best_ranker_)
    search._random = np.random.RandomState(0)
    searched, reserved = faster_wins(), faster_wins(seed=3)
    assert search._checked([simple, best], searched, reserved).ranker.compared == [1]
    turned = RelationGraph(reserved.nodes.rows, -reserved.to_dense())
    assert search._checked([simple, best], searched, turned).ranker.compared is None


def test_is_deterministic_and_tells_of_every_step():
    seen = []
    search = SimilaritySearch(ranker(), **SMALL | {"callback": seen.append, "max_compared": 1})
    first = search.fit(faster_wins(50)).history_
    assert seen == first or [step.loss for step in seen] == [step.loss for step in first]
    again = clone(search).fit(faster_wins(50)).history_
    assert [(step.name, step.loss) for step in again] == [(step.name, step.loss) for step in first]
    assert first[0].name == "simple"
    assert all(step.standard_error >= 0 for step in first)


@pytest.mark.parametrize("relation", ["symmetric", "ordinary"])
def test_other_relations_get_kernels_and_priors(relation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    label = (X[:, 0] > 0).astype(float)
    graph = RelationGraph(X, (label[:, None] == label).astype(float))
    options = SMALL | {"preprocessing": ("standard", "quantile"), "kernels": ("rbf", "linear"), "n_steps": 2}
    search = SimilaritySearch(ConditionalRanker(relation, kernel="rbf"), **options).fit(graph)
    names = [step.name for step in search.history_]
    assert "prior" in names
    assert "compared" not in names
    assert search.transformer_ is not None
    assert search.score(X, graph.to_dense()) > 0.9
    assert search.predict(X[:2], X[:3]).shape == (2, 3)


def test_preparation_follows_the_training_nodes_only():
    graph = faster_wins(30)
    train, test = graph[np.arange(20)], graph[np.arange(20, 30)]
    judge = Judge([(train, test)])
    (prepared,) = judge.prepared("standard")
    np.testing.assert_allclose(prepared[0].nodes.rows.mean(axis=0), 0, atol=1e-12)
    assert np.abs(prepared[1].nodes.rows.mean(axis=0)).max() > 1e-3
    judged = judge.judge(Candidate("standard", ranker()), [10.0, 0.1])
    one = ranker(alpha=judged.candidate.ranker.alpha).fit(prepared[0])
    assert judged.loss == pytest.approx(1 - one.score(prepared[1]))


def test_standard_error_of_paired_differences():
    rng = np.random.default_rng(0)
    pairs = np.full(400, 20.0)
    differences = []
    for _ in range(200):
        wrong = rng.binomial(20, 0.3, size=400).astype(float)
        other = np.clip(wrong + rng.integers(-1, 2, size=400), 0, 20)
        difference, error = Judged(None, other, pairs).against(Judged(None, wrong, pairs))
        differences.append(difference)
    assert error == pytest.approx(np.std(differences), rel=0.25)


@pytest.mark.parametrize(
    ("relation", "loss", "kernel"),
    [
        ("reciprocal", "regression", "laplacian"),
        ("reciprocal", "ranking", "rbf"),
        ("symmetric", "ranking", "laplacian"),
        ("symmetric", "regression", "rbf"),
        ("ordinary", "ranking", "rbf"),
        ("ordinary", "regression", "laplacian"),
    ],
)
def test_slope_is_that_of_finite_differences(monkeypatch, relation, loss, kernel):
    monkeypatch.setattr(relevance, "TOLERANCES", (1e-11, 1e-11))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 3))
    Y = np.sign(X[:, [0]] - X[:, 0]) * (1 + X[:, [1]] * X[:, 1]) + rng.normal(size=(16, 16))
    Y = {"reciprocal": Y - Y.T, "symmetric": Y + Y.T, "ordinary": Y}[relation]
    hidden = np.triu(rng.random(Y.shape) > 0.7, 1)
    Y[hidden | hidden.T] = np.nan
    graph = RelationGraph(X, Y)
    train, test = graph[np.arange(9)], graph[np.arange(9, 16)]
    compared = [0, 1] if relation == "reciprocal" else None
    one = ConditionalRanker(relation, loss, kernel=kernel, gamma=0.4, compared=compared, constant=True)
    theta = np.log([1.0, 0.5, 2.0, 0.7])
    scale = _scores(relevance._at(one, theta).set_params(tol=1e-12), train, test).std()

    def fixed_width(truth, scores, smooth=relevance.smooth_rank_loss):
        # The width follows the scores but counts as constant in the slope.
        monkeypatch.setattr(relevance, "SMOOTHING", 0.25 * scale / scores[~np.isnan(truth)].std())
        return smooth(truth, scores)

    monkeypatch.setattr(relevance, "smooth_rank_loss", fixed_width)
    _, slope = relevance.held_out_slope(relevance._at(one, theta), train, test)
    direction = np.array([1.0, -0.5, 0.3, 0.8])
    ahead, behind = (
        relevance.held_out_slope(relevance._at(one, theta + step * direction), train, test)[0] for step in (1e-4, -1e-4)
    )
    assert slope @ direction == pytest.approx((ahead - behind) / 2e-4, abs=1e-6)


def _scores(one, train, test):
    return one.fit(train).predict(test)


def test_weights_go_to_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    strength = np.sin(2 * X[:, 0])
    graph = RelationGraph(X, strength[:, None] - strength)
    order = [rng.permutation(80) for _ in range(25)]
    splits = [(graph[np.sort(one[:50])], graph[np.sort(one[50:])]) for one in order]
    learned = relevance.learn_weights(ranker(gamma=0.3, alpha=1.0, constant=True), splits)
    assert learned.feature_weights[0] > 2 * learned.feature_weights[1:].max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preprocessing": ("log",)}, "preprocessing must be one of"),
        ({"kernels": ()}, "kernels must be a sequence"),
        ({"preprocessing": "raw"}, "preprocessing must be a sequence"),
        ({"max_compared": -1}, "max_compared"),
        ({"n_splits": 0}, "n_splits"),
        ({"margin": -1.0}, "margin"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        SimilaritySearch(ranker(), **options).fit(faster_wins(20))


def test_refuses_what_has_no_features():
    graph = faster_wins(20)
    with pytest.raises(ValueError, match="precomputed"):
        SimilaritySearch(ConditionalRanker(kernel="precomputed")).fit(np.eye(20), graph.to_dense())
    with pytest.raises(ValueError, match="two domains"):
        SimilaritySearch(ConditionalRanker()).fit(
            RelationGraph(graph.nodes.rows, graph.to_dense(), objects=graph.nodes.rows.copy())
        )
