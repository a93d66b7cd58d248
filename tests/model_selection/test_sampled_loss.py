"""The rank loss from a sample of the conditioning nodes, and its standard error."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from builders import GAMES, PLAYERS, ranker_of_games
from condrank import ConditionalRanker, RelationGraph, sampled_rank_loss
from condrank.tables import read_graph

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) + 1
LABELS = rng.integers(5, size=80)


def test_the_sampled_loss_of_a_ranker_of_tables_is_that_of_its_score():
    ranker = ranker_of_games()
    found = sampled_rank_loss(ranker, read_graph(PLAYERS, GAMES), 100)
    assert found.loss == pytest.approx(1 - ranker.score(PLAYERS, GAMES))


def test_the_sampled_loss_of_what_is_no_ranker_is_refused():
    with pytest.raises(ValueError, match=r"must be a ConditionalRanker.*got PCA.*p\[-1\]"):
        sampled_rank_loss(PCA(), read_graph(PLAYERS, GAMES))


def test_a_sample_of_all_nodes_is_the_score():
    graph = RelationGraph.from_classes(X, LABELS)
    for rank_by in ("outgoing", "incoming"):
        ranker = ConditionalRanker("symmetric", rank_by=rank_by).fit(graph)
        whole = sampled_rank_loss(ranker, graph, 1000)
        assert whole.n_queries == 80
        assert whole.standard_error == 0
        assert whole.loss == pytest.approx(1 - ranker.score(graph), rel=1e-12)


@pytest.mark.parametrize("form", ["classes", "matrix", "zeros", "holes"])
@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
def test_the_standard_error_is_that_of_many_samples(form):
    Y = np.add.outer(LABELS, 2 * LABELS) + rng.normal(size=(80, 80))
    graph = {
        "classes": lambda: RelationGraph.from_classes(X, LABELS, rng.normal(size=(5, 5))),
        "matrix": lambda: RelationGraph(X, Y),
        "zeros": lambda: RelationGraph(X, sparse.csr_array(np.where(Y > 8, Y, 0)), unstored="zero"),
        "holes": lambda: RelationGraph(X, np.where(rng.random(Y.shape) < 0.7, Y, np.nan)),
    }[form]()
    ranker = ConditionalRanker(kernel="rbf").fit(graph)
    exact = 1 - ranker.score(graph)
    samples = [sampled_rank_loss(ranker, graph, 30, random_state=seed) for seed in range(300)]
    losses, errors = np.array([one.loss for one in samples]), np.array([one.standard_error for one in samples])
    assert abs(losses.mean() - exact) < 0.3 * losses.std()
    assert losses.std() == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.2)


def test_wrong_samples_are_refused():
    graph = RelationGraph.from_classes(X, LABELS)
    ranker = ConditionalRanker().fit(graph)
    with pytest.raises(ValueError, match="n_queries"):
        sampled_rank_loss(ranker, graph, 0)
    with pytest.raises(ValueError, match="graph must be a RelationGraph"):
        sampled_rank_loss(ranker, X)
    with pytest.raises(ValueError, match="nothing to rank"):
        sampled_rank_loss(ranker, RelationGraph.from_classes(X, np.zeros(80)))
    assert np.isnan(sampled_rank_loss(ranker, graph, 1).standard_error)
    assert "conditioning nodes" in str(sampled_rank_loss(ranker, graph, 5))
