"""Weights of kernels by evidence and by held-out loss."""

import numpy as np
import pytest
from scipy import optimize

from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import RBF, Constant, Identity, Linear, Precomputed
from condrank.model_selection import learn_kernel_weights
from condrank.model_selection.evidence import Evidence
from condrank.objective.relations import RELATIONS

RNG = np.random.default_rng(0)


def kernel(n):
    A = RNG.normal(size=(n, 3))
    return A @ A.T + 0.1 * np.eye(n)


def basis(relation, n, m):
    """Orthonormal basis of the labels that a relation has, as columns of length nm."""
    if not relation.sign:
        return np.eye(n * m)
    columns = []
    for i in range(n):
        for j in range(i + (relation.sign < 0), n):
            E = np.zeros((n, n))
            E[i, j] += 1
            E[j, i] += relation.sign
            columns.append(E.ravel() / np.linalg.norm(E))
    return np.array(columns).T


def naive_evidence(relation, Y, rows, cols, w, v, alpha):
    """Negative log likelihood per label, its scale at the maximum, from the whole covariance of all labels."""
    B = basis(relation, *Y.shape)
    K, G = (sum(a * k for a, k in zip(*both, strict=True)) for both in ((w, rows), (v, cols)))
    covariance = B.T @ np.kron(K, G) @ B + alpha * np.eye(B.shape[1])
    y = B.T @ Y.ravel()
    n = len(y)
    return (n * np.log(y @ np.linalg.solve(covariance, y) / n) + np.linalg.slogdet(covariance)[1]) / (2 * n)


@pytest.mark.parametrize("relation", RELATIONS.values(), ids=list(RELATIONS))
def test_evidence_is_the_likelihood_of_all_labels(relation):
    Y, rows, theta = RNG.normal(size=(6, 6)), [kernel(6) for _ in range(3)], RNG.normal(size=4)
    evidence = Evidence(relation, Y, rows, rows)
    weights = np.exp(theta)
    expected = naive_evidence(relation, Y, rows, rows, weights[:3], weights[:3], weights[3])
    assert evidence(theta)[0] == pytest.approx(expected, rel=1e-10)
    slope = optimize.approx_fprime(theta, lambda at: evidence(at)[0], 1e-7)
    np.testing.assert_allclose(evidence(theta)[1], slope, atol=1e-5)


def test_evidence_of_two_domains():
    Y, rows, cols, theta = RNG.normal(size=(5, 4)), [kernel(5), kernel(5)], [kernel(4)], RNG.normal(size=4)
    evidence, weights = Evidence(RELATIONS["ordinary"], Y, rows, cols), np.exp(theta)
    expected = naive_evidence(RELATIONS["ordinary"], Y, rows, cols, weights[:2], weights[2:3], weights[3])
    assert evidence(theta)[0] == pytest.approx(expected, rel=1e-10)
    slope = optimize.approx_fprime(theta, lambda at: evidence(at)[0], 1e-7)
    np.testing.assert_allclose(evidence(theta)[1], slope, atol=1e-5)


def three_views(n=60, seed=0):
    rng = np.random.default_rng(seed)
    views = {name: rng.normal(size=(n, 2)) for name in ("useful", "noise", "more")}
    x = views["useful"]
    return views, np.sin(x[:, :1] + x[:, 1]) + 0.05 * rng.normal(size=(n, n))


KERNELS = [RBF("median", view="useful"), RBF("median", view="noise"), 5 * RBF("median", view="more"), Constant()]


@pytest.mark.parametrize("method", ["evidence", "holdout"])
def test_the_useful_view_gets_the_weight_and_helps_new_nodes(method):
    views, Y = three_views()
    if method == "holdout":
        Y[np.random.default_rng(1).random(Y.shape) < 0.5] = np.nan
    graph = RelationGraph(views, Y)
    train, test = graph[:40], graph[40:]
    found = learn_kernel_weights(train, KERNELS)
    assert found.method == method
    assert found.weights[0] >= (20 if method == "evidence" else 10) * max(found.weights[1], 5 * found.weights[2])
    learned = ConditionalRanker(kernel=found.kernel, alpha=found.alpha).fit(train).score(test)
    plain = ConditionalRanker(kernel=KERNELS[0] + KERNELS[1] + KERNELS[2], alpha=found.alpha).fit(train).score(test)
    assert learned > plain
    if method == "evidence":
        better = learn_kernel_weights(train, KERNELS[:1])
        worse = learn_kernel_weights(train, KERNELS[1:2])
        assert better.value < worse.value


def test_scales_of_kernels_do_not_matter():
    views, Y = three_views()
    graph = RelationGraph(views, Y)
    one = learn_kernel_weights(graph, KERNELS[:2])
    other = learn_kernel_weights(graph, [100 * KERNELS[0], KERNELS[1]])
    assert other.weights[0] == pytest.approx(one.weights[0] / 100, rel=1e-3)
    assert one.alpha == pytest.approx(other.alpha, rel=1e-3)


def test_two_domains_are_weighed_apart():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30, 2))
    noise = rng.normal(size=(2, 30, 2))
    Y = np.sin(x[:, :1] + y[:, 0]) + 0.05 * rng.normal(size=(30, 30))
    graph = RelationGraph({"x": x, "n": noise[0]}, Y, objects={"y": y, "n": noise[1]})
    found = learn_kernel_weights(
        graph, [RBF("median", view="x"), RBF("median", view="n")], [RBF("median", view="n"), RBF("median", view="y")]
    )
    assert found.weights[0] > 10 * found.weights[1]
    assert found.object_weights[1] > 10 * found.object_weights[0]
    ConditionalRanker(kernel=found.kernel, object_kernel=found.object_kernel, alpha=found.alpha).fit(graph)


def test_evidence_of_a_sample_of_the_nodes():
    views, Y = three_views(80)
    found = learn_kernel_weights(RelationGraph(views, Y), KERNELS, max_nodes=40)
    assert found.weights[0] > 20 * found.weights[1]
    again = learn_kernel_weights(RelationGraph(views, Y), KERNELS, max_nodes=40)
    np.testing.assert_array_equal(found.weights, again.weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernels": []}, "at least one kernel"),
        ({"kernels": [RBF(view="none")]}, "which the nodes do not have"),
        ({"method": "guess"}, "method must be one of"),
        ({"object_kernels": [Linear()]}, "graph has one domain"),
        ({"kernels": [Precomputed(view="noise")]}, "square kernel matrix"),
        ({"max_nodes": 0}, "max_nodes must be"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    views, Y = three_views(12)
    given = {"kernels": KERNELS} | change
    with pytest.raises(ValueError, match=message):
        learn_kernel_weights(RelationGraph(views, Y), **given)


def test_evidence_needs_a_complete_graph_and_labels_that_differ():
    views, Y = three_views(12)
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match="needs a complete graph"):
        learn_kernel_weights(RelationGraph(views, Y), KERNELS, method="evidence")
    with pytest.raises(ValueError, match="all labels are equal"):
        learn_kernel_weights(RelationGraph(views, np.ones((12, 12))), [*KERNELS, Identity()])
