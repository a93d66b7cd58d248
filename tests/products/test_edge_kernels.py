"""Pairwise edge kernels against their matrix, built entry by entry, and the sampled products behind them."""

from __future__ import annotations

import numpy as np
import pytest

from condrank.objective.relations import RELATIONS
from condrank.observations.edges import Edges
from condrank.products import cost, sampled
from condrank.products.edge_kernels import EDGE_KERNELS, edge_kernel
from condrank.products.kronecker import KroneckerEdges

BACKENDS = ["numba", "numpy"]
ONE_DOMAIN = {"symmetric", "reciprocal", "ranking", "mlpk"}
NAMES = [*RELATIONS, *EDGE_KERNELS]


def entry(name, k, g, first, second):
    """The kernel of two edges as its definition has it; k and g are functions of two nodes."""
    (a, b), (c, d) = first, second
    if name == "ordinary":
        return k(a, c) * g(b, d)
    if name in ("symmetric", "reciprocal"):
        sign = 1 if name == "symmetric" else -1
        return (k(a, c) * k(b, d) + sign * k(a, d) * k(b, c)) / 2
    if name == "linear":
        return k(a, c) + g(b, d)
    if name == "poly2D":
        return (k(a, c) + g(b, d)) ** 2
    if name == "cartesian":
        return k(a, c) * (b == d) + (a == c) * g(b, d)
    difference = k(a, c) - k(a, d) - k(b, c) + k(b, d)
    return difference if name == "ranking" else difference**2


def edge_matrix(name, K, G, pairs, others):
    return np.array([[entry(name, lambda u, v: K[u, v], lambda u, v: G[u, v], p, o) for o in others] for p in pairs])


def node_kernel(rng, n, gamma=0.4):
    X = rng.normal(size=(n, 2))
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=-1))


def some_edges(rng, n, m, n_edges=40, idle=2, dtype=np.float64):
    """Loops, both directions, repeated edges; the last ``idle`` starting nodes have no edge."""
    sources, targets = rng.integers(0, n - idle, n_edges), rng.integers(0, m, n_edges)
    sources[:3] = targets[:3] = np.arange(3)
    sources[3:6], targets[3:6] = targets[6:9] % (n - idle), sources[6:9] % m
    weights = rng.uniform(0.5, 2, n_edges).astype(dtype)
    return Edges(sources, targets, rng.normal(size=n_edges).astype(dtype), weights, (n, m))


def pairs_of(edges):
    return list(zip(edges.sources.tolist(), edges.indices.tolist(), strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("two_domains", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_product_and_prediction_follow_the_definition(name, two_domains, backend):
    if two_domains and name in ONE_DOMAIN:
        pytest.skip("one domain only")
    rng = np.random.default_rng(0)
    n, m, n_all = 9, 7 if two_domains else 9, 13
    K_all, G_all = node_kernel(rng, n_all), node_kernel(rng, n_all)
    if not two_domains:
        G_all = K_all
    K, G = K_all[:n, :n], G_all[:m, :m]
    edges = some_edges(rng, n, m)
    a = rng.normal(size=edges.n_pairs)
    kernel = edge_kernel(name, K, G if two_domains else None, edges, backend)
    assert kernel.name == name
    pairs = pairs_of(edges)
    np.testing.assert_allclose(kernel.product(a), edge_matrix(name, K, G, pairs, pairs) @ a, rtol=1e-10, atol=1e-10)
    grid = [(i, j) for i in range(n) for j in range(m)]
    expected = (edge_matrix(name, K, G, grid, pairs) @ a).reshape(n, m)
    np.testing.assert_allclose(kernel.predict(a), expected, rtol=1e-10, atol=1e-10)
    if name == "cartesian":
        return
    # New queries and new objects, of different numbers: both orders of multiplication.
    for queries, objects in ((range(n, n_all), range(m)), (range(2), range(m - 3, n_all))):
        grid = [(i, j) for i in queries for j in objects]
        expected = (edge_matrix(name, K_all, G_all, grid, pairs) @ a).reshape(len(queries), len(objects))
        scores = kernel.predict(a, K_all[list(queries), :n], G_all[list(objects), :m])
        np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays_single(name):
    rng = np.random.default_rng(1)
    K = node_kernel(rng, 8)
    edges = some_edges(rng, 8, 8, dtype=np.float32)
    a = rng.normal(size=edges.n_pairs)
    expected = edge_kernel(name, K, None, edges).product(a)
    kernel = edge_kernel(name, K.astype(np.float32), None, edges)
    product = kernel.product(a.astype(np.float32))
    assert product.dtype == np.float32
    assert kernel.predict(a.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(product, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(sampled.numba_loops() is None, reason="no numba")
@pytest.mark.parametrize("branch", ["objects", "rows"])
@pytest.mark.parametrize("name", RELATIONS)
def test_a_large_kernel_is_multiplied_in_panels_in_single_precision(name, branch, monkeypatch):
    monkeypatch.setattr(cost, "TIMES_FLOPS_PER_MULTIPLICATION", {"numba": 0, "numpy": 0})
    monkeypatch.setattr(sampled, "PANELS_LEAST_BYTES", 0)
    rng = np.random.default_rng(2)
    edges = some_edges(rng, 9, 9)
    kernel = KroneckerEdges(RELATIONS[name], node_kernel(rng, 9), None, edges, "numba", branch)
    a, single = rng.normal(size=edges.n_pairs), kernel.astype(np.dtype(np.float32))
    assert kernel.sandwich.panels is None
    assert single.sandwich.panels is not None
    product = single.product(a.astype(np.float32))
    assert product.dtype == np.float32
    np.testing.assert_allclose(product, kernel.product(a), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dense", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("branch", ["objects", "rows"])
@pytest.mark.parametrize("name", RELATIONS)
def test_every_branch_gives_the_same(name, branch, dense, backend, monkeypatch):
    # A multiplication that costs nothing is sampled; one that costs much is left to a dense product.
    for table, is_dense in zip(
        (cost.TIMES_FLOPS_PER_MULTIPLICATION, cost.AT_EDGES_FLOPS_PER_MULTIPLICATION), dense, strict=True
    ):
        monkeypatch.setitem(table, backend, 1e6 if is_dense else 1e-6)
    rng = np.random.default_rng(2)
    n, m = 9, 6 if name == "ordinary" else 9
    K = node_kernel(rng, n)
    G = node_kernel(rng, m) if m != n else None
    edges = some_edges(rng, n, m)
    a = rng.normal(size=edges.n_pairs)
    kernel = KroneckerEdges(RELATIONS[name], K, G, edges, backend, branch)
    assert (kernel.sandwich.sparse_first, kernel.sandwich.sparse_second) == (not dense[0], not dense[1])
    pairs = pairs_of(edges)
    expected = edge_matrix(name, K, K if G is None else G, pairs, pairs)
    np.testing.assert_allclose(kernel.product(a), expected @ a, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(), np.diag(expected), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("shape", "rows_first"), [((40, 10), False), ((10, 40), True)])
def test_the_cheaper_branch_is_taken(shape, rows_first):
    rng = np.random.default_rng(3)
    edges = some_edges(rng, *shape, n_edges=20, idle=0)
    kernel = KroneckerEdges(RELATIONS["ordinary"], np.eye(shape[0]), np.eye(shape[1]), edges)
    sandwich = kernel.sandwich
    assert sandwich.cost == min(sandwich.cost_rows, sandwich.cost_objects)
    assert sandwich.rows_first == (sandwich.cost_rows < sandwich.cost_objects)


def test_nodes_without_an_edge_are_left_out():
    rng = np.random.default_rng(4)
    K = node_kernel(rng, 30)
    edges = some_edges(rng, 30, 30, n_edges=20, idle=20)
    assert len(KroneckerEdges(RELATIONS["symmetric"], K, None, edges).sandwich.outer) < 30
    assert KroneckerEdges(RELATIONS["ordinary"], K, None, some_edges(rng, 30, 30, 900)).sandwich.outer is K


def test_the_cartesian_kernel_refuses_new_nodes():
    rng = np.random.default_rng(5)
    kernel = edge_kernel("cartesian", np.eye(5), None, some_edges(rng, 5, 5, 12))
    with pytest.raises(ValueError, match="Cartesian edge kernel cannot predict for nodes other than the training"):
        kernel.predict(np.ones(kernel.edges.n_pairs), np.ones((2, 5)))


@pytest.mark.parametrize("name", sorted(ONE_DOMAIN))
def test_one_domain_kernels_refuse_two(name):
    rng = np.random.default_rng(6)
    with pytest.raises(ValueError, match="one domain"):
        edge_kernel(name, np.eye(5), np.eye(4), some_edges(rng, 5, 4, 12))


def test_an_unknown_kernel_is_refused():
    rng = np.random.default_rng(7)
    with pytest.raises(ValueError, match=r"the edge kernel must be one of .*'mlpk'.*, got 'tensor'"):
        edge_kernel("tensor", np.eye(5), None, some_edges(rng, 5, 5, 12))
