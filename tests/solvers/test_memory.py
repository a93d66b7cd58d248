"""Memory that a plan predicts against what a fit takes, and the refusal of a fit that would not fit."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph
from condrank.base.memory import readable
from condrank.fitting.reading import read_settings
from condrank.nodes.spectrum import KernelSample
from condrank.problem.problem import Problem
from condrank.problem.side import product_features

# Peaks below this are made of caches and blocks of fixed size, which do not matter.
MATTERS = 4 * 2**20
N = 400


def features(n, d=20, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def labels(n, m, relation="ordinary"):
    Y = np.random.default_rng(1).standard_normal((n, m))
    if relation == "ordinary":
        return Y
    return Y + Y.T if relation == "symmetric" else np.sign(Y - Y.T) if relation == "logistic" else Y - Y.T


def complete(n=N, relation="ordinary", d=20, dtype=np.float64):
    return RelationGraph(features(n, d, dtype), labels(n, n, relation).astype(dtype))


def holes(share, n=N, relation="ordinary", d=20, dtype=np.float64, m=None):
    Y = labels(n, m or n, relation).astype(dtype)
    sources, targets = np.nonzero(np.random.default_rng(2).random(Y.shape) < share)
    objects = {} if m is None else {"objects": features(m, d, dtype, seed=3)}
    return RelationGraph.from_edges(features(n, d, dtype), sources, targets, Y[sources, targets], **objects)


def factored(n, d, dtype=np.float64):
    return RelationGraph.from_classes(features(n, d, dtype), np.arange(n) % 10)


def sparse_features(n, d):
    X = sparse.random_array((n, d), density=0.05, rng=np.random.default_rng(0), format="csr")
    return RelationGraph(X, labels(n, n))


def known_zeros(n):
    Y = sparse.random_array((n, n), density=0.02, rng=np.random.default_rng(0), format="csr")
    return RelationGraph(features(n), Y, unstored="zero")


def precomputed(n):
    X = features(n)
    return RelationGraph(X @ X.T / 20 + np.eye(n), labels(n, n))


RBF = {"kernel": "rbf"}
INTERCEPT = {"loss": "regression", "fit_intercept": True}
CASES = {
    "closed": (lambda: complete(700), RBF),
    "closed, symmetric": (lambda: complete(700, "symmetric"), {**RBF, "relation": "symmetric"}),
    "closed, reciprocal regression": (
        lambda: complete(700, "reciprocal"),
        {**RBF, "relation": "reciprocal", "loss": "regression"},
    ),
    "closed, float32": (lambda: complete(1100, dtype=np.float32), {**RBF, "gamma": 0.1}),
    "closed, precomputed": (lambda: precomputed(700), {"kernel": "precomputed"}),
    "closed, low rank": (lambda: complete(1000, d=3), {"kernel": "poly", "degree": 2}),
    "closed, known zeros": (lambda: known_zeros(700), RBF),
    "closed, features": (lambda: complete(1200, d=300), {}),
    "closed, constant": (lambda: complete(1200, d=300), {"constant": True}),
    "closed, cosine": (lambda: complete(1200, d=300), {"kernel": "cosine"}),
    "closed, sparse features": (lambda: sparse_features(1200, 400), {}),
    "closed, factored": (lambda: factored(4000, 500), {"relation": "symmetric"}),
    "closed, Nyström": (lambda: factored(4000, 20), {**RBF, "n_components": 400}),
    "closed, Fourier in float32": (
        lambda: factored(4000, 20, np.float32),
        {**RBF, "n_components": 400, "approximation": "fourier"},
    ),
    "primal, dense": (lambda: holes(0.5), {**RBF, "solver": "primal"}),
    "primal, reciprocal": (
        lambda: holes(0.5, relation="reciprocal"),
        {**RBF, "solver": "primal", "relation": "reciprocal"},
    ),
    "primal, sampled": (lambda: holes(0.03), {**RBF, "solver": "primal"}),
    "primal, float32": (lambda: holes(0.5, 600, dtype=np.float32), {**RBF, "solver": "primal"}),
    "primal, features": (lambda: holes(0.3, 800, d=150), {"solver": "primal"}),
    "primal, two domains": (lambda: holes(0.3, 600, m=300), {**RBF, "solver": "primal"}),
    "primal, complete": (complete, {**RBF, "solver": "primal"}),
    "compared": (
        lambda: holes(0.3, 300, "reciprocal"),
        {**RBF, "relation": "reciprocal", "compared": [0, 1], "max_iter": 5},
    ),
    "newton": (
        lambda: holes(0.05, relation="logistic"),
        {**RBF, "relation": "reciprocal", "loss": "logistic", "solver": "primal", "max_iter": 2},
    ),
    "dual newton": (
        lambda: holes(0.2, 700, "logistic"),
        {**RBF, "gamma": 1.0, "relation": "reciprocal", "loss": "logistic", "solver": "dual", "max_iter": 2},
    ),
    "dual": (lambda: holes(0.3, 700), {**RBF, "gamma": 1.0, "solver": "dual", "max_iter": 5}),
    "dual, symmetric": (
        lambda: holes(0.3, 600, "symmetric"),
        {**RBF, "gamma": 1.0, "solver": "dual", "relation": "symmetric", "max_iter": 5},
    ),
    "dual, preconditioned": (
        lambda: holes(0.03, 700, d=5),
        {**RBF, "gamma": 0.2, "solver": "dual", "max_iter": 5},
    ),
    "dual, poly2D": (lambda: holes(0.3), {**RBF, "pairwise_kernel": "poly2D", "max_iter": 5}),
    "dual, ranking": (
        lambda: holes(0.3, relation="reciprocal"),
        {**RBF, "pairwise_kernel": "ranking", "max_iter": 5},
    ),
    "early stopping": (
        lambda: complete(500),
        {**RBF, "solver": "early_stopping", "max_iter": 5, "random_state": 0},
    ),
    "early stopping, BiCGSTAB": (
        lambda: holes(0.3),
        {**RBF, "solver": "early_stopping", "method": "bicgstab", "max_iter": 5, "random_state": 0},
    ),
    "closed, intercept": (lambda: complete(700), {**RBF, **INTERCEPT}),
    "closed, intercept, features": (lambda: complete(1200, d=250), INTERCEPT),
    "primal, intercept": (lambda: holes(0.5), {**RBF, **INTERCEPT, "solver": "primal"}),
    "primal, intercept, sampled": (lambda: holes(0.03), {**RBF, **INTERCEPT, "solver": "primal"}),
    "dual, intercept": (lambda: holes(0.3, 700), {**RBF, **INTERCEPT, "gamma": 1.0, "solver": "dual", "max_iter": 5}),
    "early stopping, intercept": (
        lambda: holes(0.3),
        {**RBF, **INTERCEPT, "solver": "early_stopping", "max_iter": 5, "random_state": 0},
    ),
    "explicit, features": (lambda: holes(0.5, 150, d=30), {"solver": "explicit"}),
    "explicit, edges": (lambda: holes(0.05, 150), {**RBF, "solver": "explicit"}),
}


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What a first fit imports and compiles is not its memory."""
    for dtype in (np.float64, np.float32):
        ConditionalRanker(solver="primal", alpha=1e3, **RBF).fit(holes(0.12, 550, dtype=dtype))
    ConditionalRanker(n_components=5, **RBF).fit(factored(50, 3))


@pytest.fixture(autouse=True)
def in_sight(monkeypatch):
    """NumPy's LAPACK, for small kernels, takes its memory where tracemalloc does not look."""
    for module in ("nodes.exact", "problem.side"):
        monkeypatch.setattr(f"condrank.{module}.NUMPY_EIGH_MOST_NODES", 0)


def taken(ranker, graph):
    """Bytes at the peak of a fit beyond what was there before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations do not converge
            ranker.fit(graph)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", CASES)
def test_the_plan_predicts_the_memory_of_a_fit(case):
    make, params = CASES[case]
    graph, ranker = make(), ConditionalRanker(**params)
    planned, measured = ranker.plan(graph).memory, taken(ranker, graph)
    assert measured > MATTERS, "the case is too small to tell anything"
    assert 1 / 1.25 < planned / measured < 1.25


def refusal(ranker, graph, available, monkeypatch):
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: available)
    with pytest.raises(ValueError, match="this fit needs about") as refused:
        ranker.fit(graph)
    assert not hasattr(ranker, "plan_")
    return str(refused.value)


def test_a_refusal_names_what_would_fit(monkeypatch):
    graph, ranker = complete(1500), ConditionalRanker(**RBF)
    needed = ranker.plan(graph).memory
    said = refusal(ranker, graph, round(0.7 * needed), monkeypatch)
    single = ConditionalRanker(**RBF).plan(complete(1500, dtype=np.float32)).memory
    assert f"float32 features and labels would take about {readable(single)}" in said
    assert "n_components=500 would take about" in said
    said = refusal(ranker, graph, round(0.1 * needed), monkeypatch)
    assert "float32" not in said
    components = int(said.split("n_components=")[1].split()[0])
    ConditionalRanker(n_components=components, **RBF).fit(graph)  # as advised
    said = refusal(ranker, graph, 100, monkeypatch)
    assert "together with a factored relation (RelationGraph.from_classes)" in said


def test_float32_is_advised_with_what_it_takes(monkeypatch):
    graph, ranker = complete(1600), ConditionalRanker(**RBF)
    needed = ranker.plan(graph).memory
    single = ConditionalRanker(**RBF).plan(complete(1600, dtype=np.float32)).memory
    assert single == pytest.approx(needed / 2, rel=0.1)
    refusal(ranker, graph, needed - 1, monkeypatch)
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: single)
    ConditionalRanker(**RBF).fit(complete(1600, dtype=np.float32))


def test_no_components_are_advised_where_there_can_be_none(monkeypatch):
    graph = holes(0.2)
    said = refusal(ConditionalRanker(pairwise_kernel="linear", **RBF), graph, 10, monkeypatch)
    assert "n_components=" not in said
    needed = ConditionalRanker(solver="dual", **RBF).plan(graph).memory
    said = refusal(ConditionalRanker(solver="dual", **RBF), graph, round(0.9 * needed), monkeypatch)
    assert "n_components=200 would take" in said  # and not in the dual, which has none


def test_the_fit_keeps_to_the_planned_rank(monkeypatch):
    graph = holes(0.03, 700, d=5)
    ranker = ConditionalRanker(kernel="rbf", gamma=0.2, solver="dual", max_iter=3)
    assert ranker.plan(graph).rank > 256
    ranks = []

    def record(self, system, spectrum, t, alpha, init=None):
        ranks.append(t)
        raise KeyboardInterrupt

    monkeypatch.setattr("condrank.solvers.edge_preconditioner.EdgePreconditioner.__init__", record)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(graph)
    assert 0 < ranks[0] <= ranker.plan(graph).rank


def test_a_sample_gives_the_rank_and_the_largest_eigenvalue():
    kernel = ConditionalRanker(kernel="rbf", gamma=0.001)
    nodes = complete(1000, d=2).nodes
    settings = read_settings(kernel, complete(5, d=2))
    sample = KernelSample(settings.kernel, nodes)
    rank = sample.rank(1000, np.dtype("f4"))
    assert rank < 50
    assert sample.largest(1000) == pytest.approx(1000, rel=0.05)
    assert sample.rank(1000, np.dtype("f8")) > rank
    poly = read_settings(ConditionalRanker(kernel="poly", degree=2), complete(5, d=3)).kernel
    assert product_features(poly, complete(5, d=3).nodes) == 10
    both = RelationGraph.from_edges(features(4), [0, 1, 2, 3], [1, 0, 3, 2], np.ones(4))
    one = RelationGraph.from_edges(features(4), [0, 1, 2], [1, 2, 3], np.ones(3))
    shares = [Problem(graph, read_settings(kernel, graph)).both_ways for graph in (both, one)]
    assert shares == [1.0, 0.0]
