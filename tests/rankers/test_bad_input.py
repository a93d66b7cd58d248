"""What bad input gets: an error that names the argument, what was expected and what came."""

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph

N = 6
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.random.default_rng(1).normal(size=(N, N))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))


def with_entry(M, row, col, value):
    M = M.copy()
    M[row, col] = value
    return M


def refused(message, make, *args, **kwargs):
    with pytest.raises(ValueError, match=message):
        make(*args, **kwargs)


# Nodes


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite(value):
    bad = with_entry(X, 4, 1, value)
    message = r"X must be finite: 1 entries are NaN or infinite, the first in row 4, column 1"
    refused(message, RelationGraph, bad, Y)
    refused(message, RelationGraph, sparse.csr_array(bad), Y)
    refused(message, RelationGraph, bad.astype(np.float32), Y)
    refused(message, ConditionalRanker().fit, bad, Y)
    refused(message, RelationGraph.from_edges, bad, [0], [1], [1.0])
    refused(message, RelationGraph.from_classes, bad, np.arange(N))
    refused("objects must be finite", RelationGraph, X, Y, objects=bad)
    for kernel in ("linear", "rbf"):
        ranker = ConditionalRanker(kernel=kernel).fit(X, Y)
        refused("queries must be finite.*row 4, column 1", ranker.predict, bad)
        refused("objects must be finite", ranker.predict, X, bad)
        refused("queries must be finite", ranker.predict_edges, bad, X)
        refused("objects must be finite", ranker.rank, X, bad)


def test_finite_features_whose_sum_overflows_are_finite():
    huge = np.full((3, 2), 1e308)
    assert RelationGraph(huge, np.eye(3)).n_nodes == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X[:, 0], r"X must be two-dimensional \(nodes × features\), got 1 dimension.*reshape it to \(1, n_features\)"),
        (X[None], r"X must be two-dimensional \(nodes × features\), got 3 dimension"),
        (3.0, "X must be two-dimensional .* got 0 dimension"),
        (np.array([["a", "b"]] * N), "X must be numeric, got dtype <U1; encode text and categories first"),
        (X.astype(complex), "X must be numeric, got dtype complex128"),
        (X.astype(object), "X must be numeric, got dtype object"),
        (np.empty((0, 3)), r"X must have at least one row and one column, got shape \(0, 3\)"),
        (np.empty((N, 0)), r"X must have at least one row and one column, got shape \(6, 0\)"),
        (sparse.csr_array((N, 0)), r"at least one row and one column, got shape \(6, 0\)"),
    ],
)
def test_features_of_a_wrong_form(given, message):
    refused(message, RelationGraph, given, Y)


def test_features_that_overflow_in_the_kernel():
    with np.errstate(over="ignore"):
        refused("kernel values of the nodes overflow; scale", ConditionalRanker().fit, 1e200 * X, Y)
        refused("kernel values of the nodes overflow; scale", ConditionalRanker(kernel="poly").fit, 1e120 * X, Y)


def test_features_that_are_all_zero():
    refused("all features of the nodes are zero", ConditionalRanker().fit, np.zeros((N, 2)), Y)
    refused("the linear kernel of the nodes has no positive eigenvalue", ConditionalRanker().fit, np.zeros((N, 9)), Y)
    ConditionalRanker(constant=True).fit(np.zeros((N, 2)), Y)  # the constant coordinate is left


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_new_nodes_with_other_features(kernel):
    ranker = ConditionalRanker(kernel=kernel).fit(X, Y)
    message = "the given nodes must have 3 features, as the training nodes have, got 2"
    refused(message, ranker.predict, X[:, :2])
    refused(message, ranker.predict, X, X[:, :2])
    refused(message, ranker.rank, X[:, :2])
    refused(message, ranker.predict_edges, X, X[:, :2])
    refused(message, ranker.score, X[:, :2], Y)
    refused("queries must be two-dimensional .* reshape it", ranker.predict, X[0])
    refused("queries must have at least one row", ranker.predict, X[:0])
    refused("objects must have at least one row", ranker.predict, X, X[:0])
    refused("queries must have at least one row", ranker.rank, X[:0])


def test_a_graph_where_an_array_of_nodes_is_expected():
    graph, ranker = RelationGraph(X, Y), ConditionalRanker().fit(X, Y)
    refused("a RelationGraph stands where nodes are expected", ranker.predict, X, graph)
    refused("a RelationGraph stands where nodes are expected", ranker.predict_edges, graph, graph)
    refused("a RelationGraph stands where nodes are expected", RelationGraph, graph, Y)
    refused("objects must be left out when queries is a RelationGraph", ranker.predict, graph, X)
    refused("Y must be left out when X is a RelationGraph", ConditionalRanker().fit, graph, Y)
    refused("Y must be left out when X is a RelationGraph", ranker.score, graph, Y)
    refused("Y is missing: pass the relation values", ConditionalRanker().fit, X)


# Relations


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Y[:, :4], r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(6, 4\)"),
        (Y[:4], r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(4, 6\)"),
        (sparse.csr_array(Y[:4]), r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(4, 6\)"),
        (Y[0], r"Y must be two-dimensional \(nodes × objects\), got 1 dimension"),
        (with_entry(Y, 2, 3, np.inf), "Y must not be infinite: 1 entries are"),
        (sparse.csr_array(with_entry(Y, 2, 3, -np.inf)), "Y must not be infinite: 1 entries are"),
        (sparse.csr_array(with_entry(Y, 2, 3, np.nan)), "a sparse Y must not store NaN: leave entries .* unstored"),
        (Y.astype(str), "Y must be numeric, got dtype <U"),
        (Y.astype(complex), "Y must be numeric, got dtype complex128"),
    ],
)
def test_labels_of_a_wrong_form(given, message):
    refused(message, RelationGraph, X, given)
    refused(message, ConditionalRanker().fit, X, given)


def test_labels_of_two_domains():
    refused(r"Y must have shape \(6, 4\) \(nodes × objects\), got \(6, 6\)", RelationGraph, X, Y, objects=X[:4])


def test_unstored():
    refused("unstored must be 'unobserved' or 'zero', got 'zeros'", RelationGraph, X, Y, unstored="zeros")
    refused("unstored='zero' is for a sparse Y; in a dense Y, NaN is unobserved", RelationGraph, X, Y, unstored="zero")


def test_nothing_observed():
    for graph in (RelationGraph(X, np.full((N, N), np.nan)), RelationGraph.from_edges(X, [], [], [])):
        refused("no observed edge: there is nothing to learn from", ConditionalRanker().fit, graph)
    refused("no observed edge", ConditionalRanker().fit, RelationGraph(X, Y)[[]])


def test_nothing_to_compare():
    ranker = ConditionalRanker().fit(X, Y)
    refused("no conditioning node has two objects with different relation values", ranker.score, X, np.ones((N, N)))


IDS = ["ann", "bob", "cyd", "dan", "eve", "fay"]


@pytest.mark.parametrize(
    ("edges", "extra", "message"),
    [
        (([0, 6], [1, 2], [1, 1]), {}, r"sources must lie within 0\.\.5, got 6 at position 1"),
        (([0, 1], [1, -1], [1, 1]), {}, r"targets must lie within 0\.\.5, got -1 at position 1"),
        (([0.0, 1.0], [1, 2], [1, 1]), {}, r"sources must be whole numbers \(positions of nodes\).*got float64"),
        ((["ann"], ["bob"], [1]), {}, "sources must be whole numbers .* as the nodes have no ids"),
        (
            (["ann", "zoe", "zed"], ["bob"] * 3, [1] * 3),
            {"ids": IDS},
            r"sources has 2 id\(s\) that no node has, the first is 'zoe' at position 1; the nodes' ids are like 'ann'",
        ),
        ((["ann"], [1], [1]), {"ids": IDS}, r"targets has 1 id\(s\) that no node has, the first is 1"),
        (([0, 1], [1], [1, 1]), {}, r"targets must have one entry for each of the 2 sources, got \(1,\)"),
        (([0, 1], [1, 2], [1]), {}, r"values must have one entry for each of the 2 sources, got \(1,\)"),
        (([0, 1], [1, 2], [[1, 1]]), {}, r"values must have one entry for each of the 2 sources, got \(1, 2\)"),
        (([0, 1], [1, 2], [1, 1], [1]), {}, r"weights must have one entry for each of the 2 sources, got \(1,\)"),
        (([[0, 1]], [1, 2], [1, 1]), {}, r"sources must be one-dimensional, got shape \(1, 2\)"),
        (([0, 1], [1, 2], [1, np.nan]), {}, "values must not be NaN: edge 1 is; leave such edges out"),
        (([0, 1], [1, 2], [1, np.inf]), {}, "values must not be infinite"),
        (([0, 1], [1, 2], [1, 1], [1, -2]), {}, r"weights must not be negative or NaN: edge 1 has weight -2"),
        (([0, 1], [1, 2], [1, 1], [1, np.nan]), {}, r"weights must not be negative or NaN: edge 1 has weight nan"),
        (([0, 1], [1, 2], ["a", "b"]), {}, "values must be numeric, got dtype <U1"),
    ],
)
def test_edge_lists(edges, extra, message):
    refused(message, RelationGraph.from_edges, X, *edges, **extra)


def test_ids():
    refused(r"ids must name each of the 6 nodes, got shape \(2,\)", RelationGraph, X, Y, ids=["a", "b"])
    twice = ["ann", "bob", "ann", "dan", "eve", "fay"]
    refused("ids must be different from each other, 'ann' at position 2 came before", RelationGraph, X, Y, ids=twice)
    refused("object_ids needs objects", RelationGraph, X, Y, object_ids=IDS)
    refused(r"object_ids must name each of the 4 nodes", RelationGraph, X, Y[:, :4], objects=X[:4], object_ids=IDS)


def test_classes():
    make = RelationGraph.from_classes
    refused(r"labels must have shape \(6,\) for classes or \(6, n_levels\).*, got \(2,\)", make, X, [0, 1])
    refused(r"labels must have shape .* got \(6, 1, 1\)", make, X, np.zeros((N, 1, 1)))
    refused("similarity must have one row and one column for each of the 2 classes", make, X, [0, 1] * 3, np.eye(3))
    refused("similarity must be finite", make, X, [0, 1] * 3, [[1, np.nan], [0, 1]])
    refused(r"taxonomy of 2 levels must give 3 values.*got shape \(2,\)", make, X, np.zeros((N, 2)), [1, 2])
    refused("similarity must be finite", make, X, np.zeros((N, 2)), [0, np.nan, 1])
    refused("taxonomy must have at least one level", make, X, np.zeros((N, 0)))


def test_factors():
    make = RelationGraph.from_factors
    refused(r"S must have shape \(2, 3\) to fit A and B, got \(2, 2\)", make, X, X[:, :2], np.eye(2), X)
    refused("A must have a row for each of the 6 nodes, got 4", make, X, X[:4], np.eye(3))
    refused("A must be finite", make, X, with_entry(X, 0, 0, np.nan), np.eye(3))
    refused("S must be finite", make, X, X, with_entry(np.eye(3), 0, 0, np.inf))


# Kernels


def test_kernel_matrix_that_is_not_symmetric():
    bad = with_entry(K, 1, 2, K[1, 2] + 0.25)
    refused(
        r"the precomputed kernel matrix is not symmetric: K and its transpose differ by up to 0\.25 "
        r"\(largest entry 1\); symmetrise it with \(K \+ K\.T\) / 2",
        ConditionalRanker(kernel="precomputed").fit,
        bad,
        Y,
    )
    ConditionalRanker(kernel="precomputed").fit(with_entry(K, 1, 2, K[1, 2] + 1e-15), Y)


def test_kernel_matrix_that_is_not_positive_semi_definite():
    refused(
        r"the precomputed kernel matrix is not positive semi-definite: \d of 6 eigenvalues are negative, the smallest "
        r"-0\.\d+ against a largest of .*; set clip=True to drop the negative part, or choose another kernel",
        ConditionalRanker(kernel="precomputed").fit,
        K - 0.5 * np.eye(N),
        Y,
    )
    refused("has no positive eigenvalue", ConditionalRanker(kernel="precomputed", clip=True).fit, -np.eye(N), Y)
    refused("sigmoid kernel matrix is not positive", ConditionalRanker(kernel="sigmoid", coef0=-5).fit, 9 * X, Y)


def test_kernel_matrix_of_a_wrong_form():
    ranker = ConditionalRanker(kernel="precomputed")
    refused(r"kernel='precomputed' needs a square kernel matrix as X, got shape \(6, 3\)", ranker.fit, X, Y)
    refused("needs a dense kernel matrix as X, got a sparse one; use X.toarray", ranker.fit, sparse.csr_array(K), Y)
    ranker.fit(K, Y)
    message = "the given nodes must have 6 columns, kernel values against the training nodes, got 4"
    refused(message, ranker.predict, K[:, :4])
    refused(message, ranker.predict, K, K[:, :4])
    refused(message, ranker.predict_edges, K[:, :4], K[:, :4])


def test_similarity_prior_without_the_kernel_between_new_nodes():
    ranker = ConditionalRanker(kernel="precomputed", prior="similarity").fit(K, Y)
    rows = K[:2].copy()
    refused("has only their rows against the training nodes; pass subgraphs", ranker.predict, rows, K[3:].copy())
    refused("has only their rows against the training nodes; pass subgraphs", ranker.predict_edges, rows, rows)


def test_callables():
    def order(x, y):
        return float(x[0])

    def broken(x, y):
        return float("nan")

    refused("the order kernel matrix is not symmetric", ConditionalRanker(kernel=order).fit, X, Y)
    refused("the broken kernel gave values that are NaN or infinite", ConditionalRanker(kernel=broken).fit, X, Y)


# Parameters


@pytest.mark.parametrize("alpha", [0, -1.0, np.nan, np.inf, None, "1", True, 1j])
def test_alpha(alpha):
    message = r"alpha must be a finite number greater than 0.*, got "
    refused(message, ConditionalRanker(alpha=alpha).fit, X, Y)
    refused(message, ConditionalRanker(alpha=alpha).plan, X, Y)
    fitted = ConditionalRanker().fit(X, Y)
    refused("alphas must be a finite number greater than 0", lambda: list(fitted.path([1.0, alpha])))


@pytest.mark.parametrize("alphas", [1.0, None, "12"])
def test_path_needs_a_sequence(alphas):
    refused("alphas must be a sequence of numbers, got", ConditionalRanker().fit(X, Y).path, alphas)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"relation": "skew"}, r"relation must be one of \['ordinary', 'reciprocal', 'symmetric'\], got 'skew'"),
        ({"relation": None}, "relation must be one of .* got None"),
        ({"relation": ["ordinary"]}, r"relation must be one of .* got \['ordinary'\]"),
        ({"loss": "hinge"}, r"loss must be one of \[.*'ranking'.*\], got 'hinge'"),
        ({"rank_by": "rows"}, r"rank_by must be one of \['outgoing', 'incoming'\], got 'rows'"),
        ({"prior": "kernel"}, r"prior must be one of \[None, 'similarity'\], got 'kernel'"),
        ({"solver": "magic"}, r"solver must be one of \['auto', 'closed_form'.*\], got 'magic'"),
        ({"kernel": "gauss"}, r"kernel must be a callable or one of \['linear', 'rbf'.*\], got 'gauss'"),
        ({"kernel": None}, "kernel must be a callable or one of .* got None"),
        ({"kernel": "rbf", "gamma": "scale"}, "gamma must be a finite number, got 'scale'"),
        ({"kernel": "rbf", "gamma": [0.1]}, r"gamma must be a finite number, got \[0.1\]"),
        ({"kernel": "poly", "degree": "3"}, "degree must be a finite number, got '3'"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0 must be a finite number, got nan"),
        (
            {"feature_weights": [1.0, [1.0, 2.0], 1.0]},
            r"feature_weights must be a sequence of numbers, got \[1.0, \[1.0, 2.0\], 1.0\]",
        ),
        (
            {"relation": "reciprocal", "compared": [0, [1, 2]]},
            r"compared must be a sequence of numbers, got \[0, \[1, 2\]\]",
        ),
        ({"prior": "similarity", "prior_weight": np.nan}, "prior_weight must be a finite number, got nan"),
        ({"prior": "similarity", "prior_weight": "1"}, "prior_weight must be a finite number, got '1'"),
        (
            {"prior": "similarity", "relation": "reciprocal"},
            "prior='similarity' is symmetric and cannot be the prior of a reciprocal relation",
        ),
    ],
)
def test_parameters(params, message):
    refused(message, ConditionalRanker(**params).fit, X, Y)


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_two_domains_need_the_ordinary_relation(relation):
    graph = RelationGraph(X, Y, objects=X + 1)
    refused(
        rf"relation='{relation}' needs conditioning nodes and objects of one domain, but the graph has two",
        ConditionalRanker(relation).fit,
        graph,
    )
    refused("prior='similarity' needs a single domain", ConditionalRanker(prior="similarity").fit, graph)


@pytest.mark.parametrize("top", [0, -1, 2.5, "3", None])
def test_top(top):
    refused("top must be a whole number of at least 1, got", ConditionalRanker().fit(X, Y).rank, X, top=top)


def test_pairs_that_are_not_aligned():
    ranker = ConditionalRanker().fit(X, Y)
    refused("queries and objects must be aligned, got 6 and 2", ranker.predict_edges, X, X[:2])


def test_a_refused_fit_leaves_the_ranker_as_it_was():
    ranker = ConditionalRanker().fit(X, Y)
    before = ranker.predict(X)
    refused("finite", ranker.fit, with_entry(X, 0, 0, np.nan), Y)
    np.testing.assert_array_equal(ranker.predict(X), before)
