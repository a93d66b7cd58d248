"""Models of pairwise edge kernels: which nodes they know, and what they score."""

import pickle

import numpy as np
import pytest

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.models.placed import PlacedKernel
from condrank.objective.relations import ORDINARY, RECIPROCAL, SYMMETRIC
from condrank.observations import Edges
from condrank.products.kronecker import KroneckerEdges

RNG = np.random.default_rng(5)


def test_a_pickled_cartesian_model_knows_its_nodes():
    holes = np.where(RNG.random((12, 12)) < 0.3, TWELVE_LABELS, np.nan)
    ranker = ConditionalRanker(kernel="rbf", pairwise_kernel="cartesian").fit(TWELVE_NODES, holes)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(TWELVE_NODES.copy()), ranker.predict(TWELVE_NODES))


@pytest.mark.parametrize("prior", [None, "similarity"])
def test_the_cartesian_kernel_knows_some_of_its_nodes(prior):
    holes = np.where(RNG.random((12, 12)) < 0.5, TWELVE_LABELS, np.nan)
    graph = RelationGraph(TWELVE_NODES, holes, ids=[f"n{i}" for i in range(12)])
    ranker = ConditionalRanker(kernel="rbf", pairwise_kernel="cartesian", prior=prior)
    everything, some = ranker.fit(graph).predict(graph), [7, 2]
    np.testing.assert_array_equal(ranker.predict(graph[some]), everything[np.ix_(some, some)])
    table = TableRanker(ranker).fit(graph)
    np.testing.assert_array_equal(table.predict(["n7", "n2"], ["n1"]), everything[some][:, [1]])
    best = np.argsort(-np.delete(everything[7], 7), kind="stable")[:3]
    assert table.rank("n7", top=3).ids.tolist() == [[f"n{j + (j >= 7)}" for j in best]]
    with pytest.raises(ValueError, match="nodes other than the training nodes"):
        ranker.predict(TWELVE_NODES[:2] + 1)


def some_edges(rng, shape, count):
    first, second = np.divmod(rng.choice(shape[0] * shape[1], count, replace=False), shape[1])
    return Edges(first, second, rng.normal(size=count), np.ones(count), shape)


@pytest.mark.parametrize("relation", [ORDINARY, SYMMETRIC, RECIPROCAL])
@pytest.mark.parametrize("n_known", [12, 700])
@pytest.mark.parametrize("n_asked", [3, 200])
def test_placed_edges_have_the_scores_of_all_pairs(relation, n_known, n_asked):
    rng = np.random.default_rng(n_known + n_asked)
    m = 40 if relation.sign else 30
    K, G = (A @ A.T for A in (rng.normal(size=(40, 5)), rng.normal(size=(m, 4))))
    known, asked = some_edges(rng, (40, m), n_known), some_edges(rng, (15, 20), n_asked)
    kernel = KroneckerEdges(relation, K, None if relation.sign else G, known)
    K_asked, G_asked, a = rng.normal(size=(15, 40)), rng.normal(size=(20, m)), rng.normal(size=n_known)
    placed = PlacedKernel(kernel, K_asked, G_asked, asked, None)
    # Few edges are multiplied as a sparse array, many as a dense one.
    assert placed.full == (n_known == 700)
    everything = K_asked @ kernel.coefficients(a).toarray() @ G_asked.T
    np.testing.assert_allclose(placed.scores(a, 0.0), everything[asked.sources, asked.indices], atol=1e-10)
