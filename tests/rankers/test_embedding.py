"""Inner products of query and object vectors are the scores that predict gives."""

import numpy as np
import pytest
from scipy import sparse

from builders import refused
from condrank import ConditionalRanker, RelationGraph
from reference_index import FITTED, HOLES, OBJECTS, QUERIES, SKEW_HOLES, D, X, Y, fitted

NOT_BILINEAR = ("prior, rbf", "compared", "poly2D", "mlpk")


def assert_scores(ranker, queries, objects=None, tolerance=1e-10):
    expected = ranker.predict(queries, objects)
    found = ranker.query_vectors(queries) @ ranker.object_vectors(objects).T
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    return found


@pytest.mark.parametrize("name", sorted(set(FITTED) - set(NOT_BILINEAR)))
def test_inner_products_are_scores_of_new_and_of_training_objects(name):
    ranker = fitted(name)
    assert_scores(ranker, QUERIES, OBJECTS)
    assert_scores(ranker, QUERIES)


@pytest.mark.parametrize(
    ("name", "what"),
    [("prior, rbf", "n_components"), ("compared", "compared"), ("poly2D", "pairwise"), ("mlpk", "pairwise")],
)
def test_models_that_are_not_bilinear_say_what_to_do(name, what):
    refused(f"not inner products.*{what}.*ranker.index", fitted(name).query_vectors, QUERIES)
    refused(f"not inner products.*{what}.*ranker.index", fitted(name).object_vectors, OBJECTS)


@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
@pytest.mark.parametrize("prior", [None, "similarity"])
def test_approximated_kernels_include_the_prior(approximation, prior):
    options = {"prior": prior, "constant": 0.5, "random_state": 0}
    ranker = ConditionalRanker(kernel="rbf", n_components=7, approximation=approximation, **options).fit(X, Y)
    assert_scores(ranker, QUERIES, OBJECTS)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_two_domains(rank_by, kernel):
    others = np.random.default_rng(1).normal(size=(7, 3))
    ranker = ConditionalRanker(kernel=kernel, rank_by=rank_by, constant=True)
    ranker.fit(RelationGraph(X, Y[:, :7], objects=others))
    sides = (QUERIES, others[:5]) if rank_by == "outgoing" else (others[:5], QUERIES)
    assert_scores(ranker, *sides)


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_incomplete_graphs(solver, rank_by):
    assert_scores(ConditionalRanker(kernel="rbf", solver=solver, rank_by=rank_by).fit(X, HOLES), QUERIES, OBJECTS)
    chances = 1 / (1 + np.exp(-SKEW_HOLES))
    ranker = ConditionalRanker("reciprocal", "regression", kernel="rbf", solver=solver, rank_by=rank_by)
    assert_scores(ranker.fit(RelationGraph(X, chances, probabilities=True)), QUERIES, OBJECTS)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"constant": True, "prior": "similarity"}])
def test_single_precision_stays(params):
    ranker = ConditionalRanker(**params).fit(X.astype(np.float32), Y.astype(np.float32))
    found = assert_scores(ranker, QUERIES.astype(np.float32), OBJECTS.astype(np.float32), 1e-4)
    assert found.dtype == np.float32


@pytest.mark.parametrize("params", [{}, {"constant": True}, {"kernel": "cosine", "prior": "similarity"}])
def test_sparse_features_stay_sparse(params):
    features, queries, objects = (sparse.csr_array(np.abs(one)) for one in (X, QUERIES, OBJECTS))
    ranker = ConditionalRanker(**params).fit(features, Y)
    assert sparse.issparse(ranker.object_vectors(objects))
    assert_scores(ranker, queries, objects)


def test_embeddings_of_a_similarity_prior_are_the_objects_as_they_are():
    ranker = ConditionalRanker("symmetric", prior="similarity").fit(X, Y + Y.T)
    np.testing.assert_array_equal(ranker.object_vectors(OBJECTS), OBJECTS)


def test_the_last_column_changes_no_ranking():
    ranker = ConditionalRanker(constant=True).fit(X, Y)
    Q, V = ranker.query_vectors(QUERIES), ranker.object_vectors(OBJECTS)
    assert V.shape == (len(OBJECTS), D + 1)
    places = np.argsort(-(Q[:, :-1] @ V[:, :-1].T), axis=1)
    np.testing.assert_array_equal(places, ranker.rank(QUERIES, OBJECTS, top=len(OBJECTS)).indices)


def test_what_is_given_is_checked():
    ranker = ConditionalRanker().fit(X, Y)
    refused(f"{D} features", ranker.query_vectors, QUERIES[:, :2])
    refused(f"{D} features", ranker.object_vectors, OBJECTS[:, :2])
    blocks = RelationGraph.from_classes(X, np.arange(len(X)) % 3)
    refused("objects must be given", ConditionalRanker("symmetric").partial_fit(blocks).object_vectors)
