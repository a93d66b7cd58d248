"""Warm starts: a fit goes on from the solution before, on the same nodes only."""

import numpy as np
import pytest
from scipy import sparse

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph
from reference import error
from reference_incomplete import NEW, X, fit, holes, models

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("make", [sparse.csr_array, lambda x: x.round().astype(int), lambda x: x.tolist()])
def test_a_warm_start_takes_equal_nodes_of_any_form(make):
    holes = np.where(RNG.random((12, 12)) < 0.6, TWELVE_LABELS, np.nan)
    nodes = make(TWELVE_NODES)
    ranker = ConditionalRanker(warm_start=True, solver="primal").fit(nodes, holes)
    assert ranker.fit(make(TWELVE_NODES), holes).n_iter_ <= 1


def test_early_stopping_twice_holds_out_other_nodes():
    ranker = ConditionalRanker(solver="early_stopping", warm_start=True, validation_fraction=0.3, max_iter=5)
    assert ranker.fit(TWELVE_NODES, TWELVE_LABELS).fit(TWELVE_NODES, TWELVE_LABELS).n_iter_ >= 1


@models
def test_a_warm_start_after_edges_were_added_takes_fewer_iterations(relation, loss):
    rng = np.random.default_rng(12)
    n = 40
    nodes, labels = rng.normal(size=(n, 3)), rng.normal(size=(n, n))
    few = np.where(rng.random((n, n)) < 0.5, labels, np.nan)
    more = few.copy()
    more[rng.integers(0, n, 10), rng.integers(0, n, 10)] = 1.0
    params = {"warm_start": True, "tol": 1e-9}
    ranker = fit(RelationGraph(nodes, few), relation, loss, 0.01, **params)
    warm = ranker.fit(RelationGraph(nodes, more))
    cold = fit(RelationGraph(nodes, more), relation, loss, 0.01, tol=1e-9)
    assert warm is ranker
    assert error(warm.predict(nodes), cold.predict(nodes)) < 1e-6
    assert error(warm.predict(nodes), fit(RelationGraph(nodes, few), relation, loss, 0.01).predict(nodes)) > 1e-4
    assert 1 <= warm.n_iter_ < cold.n_iter_
    assert warm.fit(nodes, more).n_iter_ == 0  # nothing new to learn


def test_without_warm_start_every_fit_is_cold():
    ranker = fit(RelationGraph(X, holes(0.5)))
    first = ranker.n_iter_
    assert first > 0
    assert ranker.fit(X, holes(0.5)).n_iter_ == first
    assert ranker.set_params(warm_start=True).fit(X, holes(0.5)).n_iter_ == 0


def test_a_warm_start_refuses_other_nodes():
    labels = holes(0.5)
    for nodes, part in ((X + 1, labels), (X[:8], labels[:8, :8]), (NEW, labels[:3, :3])):
        ranker = fit(RelationGraph(X, labels), warm_start=True)
        expected = ranker.predict(X)
        with pytest.raises(ValueError, match=r"warm_start=True needs the nodes of the last fit"):
            ranker.fit(nodes, part)
        np.testing.assert_array_equal(ranker.predict(X), expected)  # the last fit stays
    graph = RelationGraph(X, labels)
    ranker = fit(graph, warm_start=True)
    with pytest.raises(ValueError, match=r"warm_start=True needs the nodes of the last fit"):
        ranker.fit(graph[:8])


def test_a_warm_start_refuses_another_subgraph():
    graph = RelationGraph(X, holes(0.5))
    ranker = fit(graph[:6], warm_start=True)
    with pytest.raises(ValueError, match=r"warm_start=True needs the nodes of the last fit"):
        ranker.fit(graph[6:])


def test_a_warm_start_with_another_kernel_is_cold():
    graph = RelationGraph(X, holes(0.5))
    ranker = fit(graph, warm_start=True).set_params(kernel="linear").fit(graph)
    assert error(ranker.predict(NEW), fit(graph, kernel="linear").predict(NEW)) < 1e-6
