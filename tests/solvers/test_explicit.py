"""The edge-wise solver: product features, sizes that are refused, and its pieces."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import RelationGraph
from condrank.baselines import ExplicitRankRLS
from condrank.objective.losses import get_loss
from condrank.objective.relations import get_relation
from condrank.observations import Edges
from condrank.observations.edges import all_edges
from condrank.solvers.explicit import explicit_bytes, solve_explicit, solve_positive
from condrank.solvers.product_features import product_features, weight_matrix
from reference import edge_kernel
from reference_baselines import RELATIONS

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


@pytest.mark.parametrize("name", RELATIONS)
def test_product_features_have_the_edge_kernel(name):
    rng = np.random.default_rng(5)
    relation = get_relation(name)
    starts, ends = rng.standard_normal((2, 6, 4))
    Phi = product_features(relation, starts, ends)
    K = edge_kernel(starts @ starts.T, ends @ ends.T, starts @ ends.T, ends @ starts.T, name)
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-12)
    weights = rng.standard_normal(Phi.shape[1])
    W = weight_matrix(relation, weights, 4, 4)
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", starts, W, ends), Phi @ weights, atol=1e-12)
    np.testing.assert_allclose(np.sum(W**2), np.sum(weights**2))  # the penalty is the same


def test_the_explicit_solver_refuses_what_is_too_large():
    edges = Edges.from_holes(np.eye(3))
    ordinary = get_relation("ordinary")
    with pytest.raises(ValueError, match=r"GiB.*1,000,000 product features"):
        solve_explicit(
            ordinary, get_loss("ranking"), np.zeros((3, 1000)), np.zeros((3, 1000)), edges, 1.0, features="product"
        )
    assert explicit_bytes(ordinary, 1000, 1000, 9, "product") > 1e12
    assert explicit_bytes(ordinary, 1000, 1000, 9) == explicit_bytes(ordinary, 1000, 1000, 9, "kernel")
    with pytest.raises(ValueError, match="features must be one of"):
        ExplicitRankRLS(features="edges").fit(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="allowed"):
        ExplicitRankRLS(max_bytes=1000).fit(np.eye(3), np.eye(3))


def test_the_pieces_of_the_explicit_solver_equal_dense_ones():
    rng = np.random.default_rng(6)
    A = rng.standard_normal((5, 5))
    G, rhs = A @ A.T, rng.standard_normal(5)
    np.testing.assert_allclose(solve_positive(G.copy(), rhs, 0.1), np.linalg.solve(G + 0.1 * np.eye(5), rhs))
    np.testing.assert_allclose(solve_positive(G.copy(), rhs, 1e-14), np.linalg.solve(G, rhs), rtol=1e-6)
    graph = RelationGraph.from_classes(np.eye(3), [0, 1, 1])
    np.testing.assert_array_equal(all_edges(graph.relation).to_dense(), graph.to_dense())
    np.testing.assert_array_equal(all_edges(graph.relation, 0.5).to_dense(), graph.to_dense() - 0.5)
    # One reciprocal coordinate has no product features: all scores are equal.
    scores = ExplicitRankRLS("reciprocal", "regression").fit([[1.0], [2.0]], [[0, 1], [-1, 0]]).predict([[3.0]])
    np.testing.assert_array_equal(scores, 0)
