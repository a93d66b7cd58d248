"""Landmarks: which nodes are chosen, and kernels that have none."""

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import read_kernel
from condrank.nodes import Nodes
from condrank.nodes.landmarks import choose_nodes, pivots
from condrank.nodes.nystroem import NystroemFeatures
from condrank.nodes.similarity import NodeSimilarity
from reference_approximate import LABELS, NEW, RNG, X, ranker

FEW = np.random.default_rng(0).normal(size=(30, 4))
FEW_CLASSES = np.arange(30) % 3
from_classes = RelationGraph.from_classes


@pytest.mark.parametrize("landmarks", ["uniform", "pivoted"])
@pytest.mark.parametrize("n_components", [3, "auto"])
def test_landmarks_need_a_kernel_matrix_with_positive_values(landmarks, n_components):
    ranker = ConditionalRanker(kernel="precomputed", n_components=n_components, landmarks=landmarks)
    with pytest.raises(ValueError, match="square kernel matrix as X"):
        ranker.fit(from_classes(FEW, FEW_CLASSES))
    with pytest.raises(ValueError, match="dense kernel matrix as X"):
        ranker.fit(from_classes(sparse.csr_array(FEW @ FEW.T), FEW_CLASSES))
    nothing = ConditionalRanker(kernel="poly", coef0=0, n_components=3, landmarks=landmarks)
    with pytest.raises(ValueError, match=r"kernel (is zero|of the nodes has no positive)"):
        nothing.fit(from_classes(0 * FEW, FEW_CLASSES))


def test_pivots_are_distributed_as_if_drawn_one_by_one():
    nodes = np.concatenate([np.full((30, 1), 0.0), [[5.0]], [[10.0]]])  # thirty of a kind, and two apart
    similarity = NodeSimilarity(read_kernel("rbf", 1.0), Nodes(nodes))
    for seed in range(20):
        chosen = pivots(similarity, 3, np.random.default_rng(seed))
        assert sorted(nodes[chosen, 0]) == [0.0, 5.0, 10.0]
    seconds = [nodes[pivots(similarity, 2, np.random.default_rng(seed)), 0].tolist() for seed in range(100)]
    assert all(first != second for first, second in seconds)


def test_pivots_in_several_blocks_leave_little_of_a_fast_decaying_kernel():
    nodes = Nodes(np.random.default_rng(1).uniform(size=(600, 2)))
    kernel = read_kernel("rbf", 10.0)
    errors = {}
    for landmarks in ("uniform", "pivoted"):
        phi = NystroemFeatures.fit(kernel, nodes, 200, landmarks, 0)(nodes)
        errors[landmarks] = np.trace(kernel(nodes.base) - phi @ phi.T)
    assert 0 <= errors["pivoted"] < 0.3 * errors["uniform"]


def test_the_diagonal_of_any_kernel_is_that_of_its_matrix():
    nodes = Nodes(RNG.standard_normal((70, 3)))
    for kernel in (
        read_kernel("poly"),
        read_kernel("rbf"),
        read_kernel("linear"),
        read_kernel("laplacian", constant=True),
    ):
        np.testing.assert_allclose(NodeSimilarity(kernel, nodes).diagonal(), np.diag(kernel(nodes.base)))


def test_landmarks_follow_the_seed():
    def places(seed, name):
        return choose_nodes(name, read_kernel("rbf"), Nodes(X), 5, np.random.default_rng(seed)).tolist()

    for name in ("uniform", "pivoted"):
        assert places(0, name) == places(0, name)
        assert any(places(0, name) != places(seed, name) for seed in range(1, 5))
    predictions = [ranker(random_state=seed).fit(X, LABELS).predict(NEW) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    assert not np.allclose(predictions[0], predictions[2])


def test_means_of_sparse_features_are_refused():
    with pytest.raises(ValueError, match="landmarks='kmeans' needs dense features, got sparse features"):
        ranker(landmarks="kmeans").fit(sparse.csr_array(X), LABELS)
