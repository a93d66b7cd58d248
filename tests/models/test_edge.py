"""Models of pairwise edge kernels: which nodes they know."""

import pickle

import numpy as np
import pytest

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph, TableRanker

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
