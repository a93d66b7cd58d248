"""Saved rankers rank as before; what cannot be saved is refused with advice."""

import datetime

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.datasets import make_rock_paper_scissors
from saved_rankers import NEW, OBJECTS, RANKERS, N, X, Y, assert_same, fitted, new_nodes


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RANKERS)
def test_a_loaded_ranker_ranks_as_before(name, tmp_path):
    _, features, labels = RANKERS[name]
    ranker, new = fitted(name), new_nodes(features)
    ranker.save(tmp_path / "model")
    for mmap in (False, True):
        loaded = ConditionalRanker.load(tmp_path / "model", mmap=mmap)
        assert_same(loaded.predict(new), ranker.predict(new))
        assert_same(loaded.predict(new, new), ranker.predict(new, new))
        np.testing.assert_array_equal(loaded.rank(new, top=3).indices, ranker.rank(new, top=3).indices)
        assert_same(loaded.dual_coef_, ranker.dual_coef_)
        if name.startswith("logistic"):
            assert_same(loaded.predict_proba(new, new), ranker.predict_proba(new, new))
            assert_same(loaded.strengths(new), ranker.strengths(new))
    assert str(loaded.plan_) == str(ranker.plan_)
    for attribute in ("alpha_", "n_iter_", "solver_", "n_features_in_"):
        assert getattr(loaded, attribute) == getattr(ranker, attribute)
    assert {k: v for k, v in loaded.get_params().items() if k != "feature_weights"} == {
        k: v for k, v in ranker.get_params().items() if k != "feature_weights"
    }
    with pytest.raises(ValueError, match="path"):
        loaded.path([1.0])
    loaded.fit(RelationGraph(features, labels, probabilities=False))  # and learns again


def test_rankers_of_precomputed_kernels_and_of_two_domains_rank_as_before(tmp_path):
    K = X @ X.T + np.eye(N)
    ranker = ConditionalRanker(kernel="precomputed").fit(K, Y)
    ranker.save(tmp_path / "one")
    rows = NEW @ X.T
    assert_same(ConditionalRanker.load(tmp_path / "one").predict(rows), ranker.predict(rows))
    half = RelationGraph(K, Y)[: N // 2]
    ranker = ConditionalRanker(kernel="precomputed").fit(half)
    ranker.save(tmp_path / "half")
    loaded = ConditionalRanker.load(tmp_path / "half")
    assert_same(loaded.predict(rows[:, : N // 2]), ranker.predict(rows[:, : N // 2]))
    graph = RelationGraph(X, Y[:, :7], objects=OBJECTS, object_ids=list("abcdefg"))
    ranker = ConditionalRanker(kernel="rbf").fit(graph)
    ranker.save(tmp_path / "two")
    loaded = ConditionalRanker.load(tmp_path / "two")
    assert_same(loaded.predict(NEW), ranker.predict(NEW))
    assert str(loaded.rank(NEW, top=2)) == str(ranker.rank(NEW, top=2))


def test_landmarks_of_a_precomputed_kernel_are_found_again_among_scattered_training_nodes(tmp_path):
    chosen = [3, 1, 7, 5, 11, 13, 17, 2]
    graph = RelationGraph(X @ X.T + np.eye(N), Y)[chosen]
    ranker = ConditionalRanker(kernel="precomputed", n_components=4, random_state=0).fit(graph)
    ranker.save(tmp_path / "model")
    rows = (NEW @ X.T)[:, chosen]
    assert_same(ConditionalRanker.load(tmp_path / "model").predict(rows), ranker.predict(rows))


@pytest.mark.filterwarnings("ignore:the best λ")
def test_a_search_saves_the_ranker_that_was_chosen(tmp_path):
    search = ConditionalRankerCV([0.1, 1.0, 10.0], 3, [0.1, 0.5], kernel="rbf", random_state=0)
    search.fit(X, Y)
    search.save(tmp_path / "model")
    loaded = ConditionalRankerCV.load(tmp_path / "model")
    assert type(loaded) is ConditionalRanker
    assert (loaded.alpha, loaded.gamma) == (search.alpha_, search.gamma_)
    assert_same(loaded.predict(NEW), search.predict(NEW))


def test_a_ranker_of_a_path_is_saved_with_its_own_alpha(tmp_path):
    other = next(ConditionalRanker(kernel="rbf").fit(X, Y).path([7.0]))
    other.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    assert loaded.alpha == loaded.alpha_ == 7.0
    assert_same(loaded.predict(NEW), other.predict(NEW))


def test_a_loaded_precomputed_ranker_knows_no_other_nodes_of_its_graph(tmp_path):
    graph = RelationGraph(X @ X.T + np.eye(N), Y + Y.T)
    ranker = ConditionalRanker("symmetric", kernel="precomputed", prior="similarity").fit(graph[: N // 2])
    ranker.predict(graph[N // 2 :])
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"must have 10 columns.*got 20 .a ranker that was loaded from a file"):
        loaded.predict(graph[N // 2 :])
    rows = NEW @ X[: N // 2].T
    with pytest.raises(ValueError, match=r"only their values.*loaded from a file does not know the subgraphs"):
        loaded.predict(rows, rows + 1)
    assert_same(loaded.predict(rows), ranker.predict(rows))


def test_a_loaded_ranker_scores_games_as_before(tmp_path):
    train, test = make_rock_paper_scissors(10, n_players=30, n_games=300, random_state=0)
    ranker = ConditionalRanker("reciprocal", kernel="rbf").fit(train)
    ranker.save(tmp_path / "model")
    assert ConditionalRanker.load(tmp_path / "model").score(test) == pytest.approx(ranker.score(test))


def test_functions_generators_and_strange_ids_are_refused(tmp_path):
    ranker = ConditionalRanker(kernel=lambda x, y: float(x @ y)).fit(X, Y)
    with pytest.raises(ValueError, match="parameter kernel cannot be saved: it is a function"):
        ranker.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="parameter random_state cannot be saved: it is a RandomState"):
        ConditionalRanker(random_state=np.random.RandomState(0)).fit(X, Y).save(tmp_path / "model")
    tuples = np.empty(N, dtype=object)
    tuples[:] = [(i, i) for i in range(N)]
    with pytest.raises(ValueError, match="ids must be strings"):
        ConditionalRanker().fit(RelationGraph(X, Y, ids=tuples)).save(tmp_path / "m")


def test_ids_and_generators_that_cannot_be_saved_are_refused_with_advice(tmp_path):
    labels = np.arange(N) % 3
    dates = np.array([datetime.date(2020, 1, 1 + day) for day in range(N)], dtype=object)
    with pytest.raises(ValueError, match=r"numpy\.datetime64"):
        ConditionalRanker().fit(RelationGraph.from_classes(X, labels, ids=dates)).save(tmp_path / "ranker")
    graph = RelationGraph.from_classes(X, labels)
    with pytest.raises(ValueError, match=r"random_state cannot be saved.*seed"):
        ConditionalRanker(random_state=np.random.RandomState(0)).fit(graph).save(tmp_path / "ranker")


def test_a_ranker_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        ConditionalRanker().save(tmp_path / "model")


def test_parameters_changed_since_the_fit_are_not_saved(tmp_path):
    ranker = ConditionalRanker(kernel="rbf").fit(X, Y).set_params(rank_by="incoming")
    with pytest.raises(ValueError, match=r"parameters were changed since the fit.*rank_by of the fit is 'outgoing'"):
        ranker.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    ranker.set_params(rank_by="outgoing", max_iter=3).save(tmp_path / "model")  # says nothing of predictions
    assert ConditionalRanker.load(tmp_path / "model").max_iter == 3
