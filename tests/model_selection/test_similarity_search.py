"""The search finds what is there, refuses what is not, and says so."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.kernels.widths import median_width
from condrank.model_selection import SettingSplit, cross_validate, similarity_search
from condrank.model_selection.judging import Candidate, Judge, prepare
from condrank.model_selection.similarity_search import SimilaritySearch
from reference_search import SMALL, faster_wins, ranker


def smooth_relation(n=60, seed=0, noise=1.0):
    """Drawn from the isotropic model itself: neither comparisons nor weights have anything to add."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    root = np.linalg.cholesky(rbf_kernel(X, gamma=0.25) + 1e-9 * np.eye(n))
    Y = root @ rng.normal(size=(n, n)) @ root.T + noise * rng.normal(size=(n, n))
    return RelationGraph(X, Y - Y.T)


def test_the_search_finds_the_compared_feature():
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
def test_comparisons_and_weights_are_not_taken_where_there_is_nothing_to_find(seed):
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
    whole = Judge(search._holdouts(searched, 2, 0.25))
    assert search._checked([simple, best], whole, Judge([(searched, reserved)])).ranker.compared == [1]
    turned = RelationGraph(reserved.nodes.rows, -reserved.to_dense())
    assert search._checked([simple, best], whole, Judge([(searched, turned)])).ranker.compared is None


def test_the_search_is_deterministic_and_reports_every_step():
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preprocessing": ("log",)}, "preprocessing must be one of"),
        ({"kernels": ()}, "kernels must be a sequence"),
        ({"preprocessing": "raw"}, "preprocessing must be a sequence"),
        ({"max_compared": -1}, "max_compared"),
        ({"max_compared": 1.0}, "max_compared"),
        ({"n_steps": 0.0}, "n_steps"),
        ({"n_splits": 0}, "n_splits"),
        ({"n_splits": True}, "n_splits"),
        ({"max_nodes": 2}, "max_nodes must be a whole number of at least 3"),
        ({"margin": -1.0}, "margin"),
        ({"tol": None}, "tol"),
        ({"kernels": ("rbf", "gauss")}, "kernel must be a callable or one of"),
        ({"kernels": ("rbf", "precomputed")}, "precomputed"),
        ({"ranker": "ranker"}, "must be a ConditionalRanker"),
        ({"ranker": ConditionalRanker}, "must be a ConditionalRanker"),
        ({"ranker": make_pipeline(ConditionalRanker())}, "must be a ConditionalRanker"),
        ({"ranker": ConditionalRankerCV()}, "must be a ConditionalRanker"),
        ({"ranker": ranker(solver="early_stopping")}, "solver of the ranker must be one of"),
        ({"ranker": ranker(solver="dual")}, "solver of the ranker must be one of"),
        ({"ranker": ranker(alpha=-1.0)}, "alpha"),
    ],
)
def test_wrong_options_are_refused_before_any_fit(monkeypatch, options, message):
    monkeypatch.setattr(Judge, "judge", None)
    with pytest.raises(ValueError, match=message):
        SimilaritySearch(**{"ranker": ranker()} | options).fit(faster_wins(20))


def test_nodes_with_nothing_to_rank_are_refused(monkeypatch):
    monkeypatch.setattr(Judge, "judge", None)
    X = np.random.default_rng(0).normal(size=(20, 2))
    for rank_by in ("outgoing", "incoming"):
        given = ConditionalRanker("ordinary", rank_by=rank_by)
        with pytest.raises(ValueError, match="nothing to rank"):
            SimilaritySearch(given, random_state=0).fit(X, np.ones((20, 20)))
    # Rows are constant, columns are not.
    Y = np.repeat(np.arange(20.0)[:, None], 20, axis=1)
    with pytest.raises(ValueError, match="nothing to rank"):
        SimilaritySearch(ConditionalRanker("ordinary"), random_state=0).fit(X, Y)
    with pytest.raises(TypeError):  # gets as far as to judge
        SimilaritySearch(ConditionalRanker("ordinary", rank_by="incoming"), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="at least 7 nodes"):
        SimilaritySearch(ranker()).fit(faster_wins(6))


def test_seven_nodes_are_enough():
    search = SimilaritySearch(ranker(), **SMALL | {"n_steps": 2, "max_nodes": 3}).fit(smooth_relation(7))
    assert search.predict(search.best_ranker_.fitted_.objects.rows).shape == (7, 7)


def test_holdouts_without_anything_to_rank_do_not_count():
    graph = faster_wins(30, share=1.0)
    train, test = graph[np.arange(20)], graph[np.arange(20, 30)]
    empty = RelationGraph(test.nodes.rows, np.zeros((10, 10)))
    one, both = Judge([(train, test)]), Judge([(train, empty), (train, test)])
    for n_splits in (1, None):
        losses = [judge.judge(Candidate("raw", ranker()), [1.0], n_splits).loss for judge in (one, both)]
        assert losses[0] == losses[1]


def test_sparse_features_are_prepared_without_a_mean():
    graph = faster_wins(60)
    sparse_graph = RelationGraph(sparse.csr_array(graph.nodes.rows), graph.to_dense())
    options = SMALL | {"preprocessing": ("quantile", "standard"), "max_compared": 1, "kernels": ("rbf", "laplacian")}
    search = SimilaritySearch(ranker(), **options | {"n_steps": 2}).fit(sparse_graph)
    assert search.best_params_["preprocessing"] == "standard"
    assert not search.transformer_.transformer_.with_mean
    np.testing.assert_allclose(search.predict(sparse_graph), search.predict(sparse_graph.nodes.rows), atol=1e-12)
    with pytest.raises(ValueError, match="sparse"):
        SimilaritySearch(ranker(), preprocessing=("quantile",)).fit(sparse_graph)


def test_the_search_offers_what_the_best_ranker_offers():
    graph = faster_wins(40)
    options = SMALL | {"preprocessing": ("standard",), "n_steps": 0, "max_compared": 0}
    given = ConditionalRanker("reciprocal", "logistic", kernel="rbf", rank_by="incoming", compared=np.array([1]))
    search = SimilaritySearch(given, **options)
    assert (search.relation, search.rank_by) == ("reciprocal", "incoming")
    with pytest.raises(NotFittedError):
        search.predict_proba(graph)
    assert not hasattr(SimilaritySearch(ranker()), "predict_proba")
    X = graph.nodes.rows.astype(np.float32)
    search.fit(X, graph.to_dense())
    scaled = search.transformer_.transform(X)
    np.testing.assert_array_equal(search.predict_proba(X, X), search.best_ranker_.predict_proba(scaled, scaled))
    np.testing.assert_array_equal(
        search.predict_edges(X[:5], X[5:10]), search.best_ranker_.predict_edges(scaled[:5], scaled[5:10])
    )
    np.testing.assert_array_equal(search.predict_edges(X, X), search.predict_edges(X.astype(float), X.astype(float)))
    # Scaling in another floating type would part equal values again.
    np.testing.assert_array_equal(search.predict(X.astype(float)), search.predict(X))


def test_cross_validation_sees_relation_and_side():
    X = np.random.default_rng(0).normal(size=(30, 2))
    Y = X[:, [0]] + 2 * X[:, 1]
    options = SMALL | {"preprocessing": ("standard",), "n_steps": 0}
    given = SimilaritySearch(ConditionalRanker("ordinary", kernel="rbf", rank_by="incoming"), **options)
    result = cross_validate(given, RelationGraph(X, Y), cv=SettingSplit(2, 2, rank_by="incoming", random_state=0))
    assert result.queries["query"].size == 30
    assert result.scores["rank_loss"].max() < 0.2
    with pytest.raises(ValueError, match="the ranker 'incoming'"):
        cross_validate(given, RelationGraph(X, Y), cv=SettingSplit(2, 2))


def test_widths_come_from_a_random_sample_and_quantiles_are_the_same_again(monkeypatch):
    monkeypatch.setattr(similarity_search, "SAMPLE", 40)
    graph = smooth_relation(200)
    graph = graph[np.argsort((graph.nodes.rows**2).sum(axis=1))]  # the first 40 are close to each other
    search = SimilaritySearch(ranker(), **SMALL)
    gammas = []
    for _ in range(2):
        search._random = np.random.RandomState(0)
        gammas.append([one.ranker.gamma for one in search._of_kernel(Candidate("raw", ranker()), "rbf", graph)])
    assert gammas[0] == gammas[1]
    median = median_width("rbf", graph.nodes.rows)
    assert 1 / gammas[0][similarity_search.WIDTHS.index(1.0)] == pytest.approx(median, rel=0.2)
    assert median_width("rbf", graph.nodes.rows[:40]) < 0.8 * median
    assert prepare("quantile", graph)[0].transformer_.random_state is not None


def test_nodes_without_features_are_refused():
    graph = faster_wins(20)
    with pytest.raises(ValueError, match="precomputed"):
        SimilaritySearch(ConditionalRanker(kernel="precomputed")).fit(np.eye(20), graph.to_dense())
    with pytest.raises(ValueError, match="two domains"):
        SimilaritySearch(ConditionalRanker()).fit(
            RelationGraph(graph.nodes.rows, graph.to_dense(), objects=graph.nodes.rows.copy())
        )
