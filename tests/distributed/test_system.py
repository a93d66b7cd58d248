"""Graphs in Dask give the rankers that graphs in memory give."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da
import dask.dataframe as dd
import pandas as pd

from condrank import ConditionalRanker, RelationGraph
from reference_distributed import MODELS, D, N, check_equal, columns_in_dask, in_dask, pair_of_graphs, table


@pytest.mark.parametrize(("relation", "loss"), MODELS)
@pytest.mark.parametrize("form", ["complete", "classes", "edges"])
def test_a_graph_in_dask_gives_the_ranker_of_the_graph_in_memory(form, relation, loss):
    ranker = check_equal(*pair_of_graphs(form), relation=relation, loss=loss)
    assert ranker.solver_ == ("primal" if form == "edges" else "closed_form")


@pytest.mark.parametrize("form", ["complete", "classes", "edges"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"rank_by": "incoming"},
        {"kernel": "cosine", "constant": True},
        {"prior": "similarity", "prior_weight": 0.5},
        {"relation": "symmetric", "feature_weights": [1, 2, 0, 1, 3]},
        {"kernel": "rbf", "n_components": 8, "random_state": 0},
        {"loss": "regression", "fit_intercept": True},
        {"loss": "regression", "fit_intercept": True, "relation": "symmetric", "rank_by": "incoming"},
        {"loss": "regression", "fit_intercept": True, "prior": "similarity", "prior_weight": 0.5},
        {"kernel": "rbf", "n_components": 8, "approximation": "fourier", "random_state": 0, "relation": "symmetric"},
    ],
)
def test_options_give_the_same_in_dask_as_in_memory(form, parameters):
    check_equal(*pair_of_graphs(form), **parameters)


@pytest.mark.parametrize("form", ["complete", "edges"])
def test_single_precision_stays_single(form):
    for parameters in ({}, {"loss": "regression", "fit_intercept": True}):
        ranker = check_equal(*pair_of_graphs(form, dtype=np.float32), tol=1e-3, **parameters)
        assert ranker.coef_.dtype == np.float32


def test_two_domains_give_the_same_in_dask_as_in_memory():
    X, columns = table()
    objects = np.random.default_rng(4).standard_normal((N, 3))
    local = RelationGraph.from_edges(X, *columns, objects=objects)
    distributed = RelationGraph.from_edges(in_dask(X), *columns, objects=objects)
    one, other = (ConditionalRanker(tol=1e-11).fit(graph).predict(X[:4], objects[:5]) for graph in (local, distributed))
    np.testing.assert_allclose(other, one, atol=1e-8)


def test_singular_features_give_the_same_in_dask_as_in_memory():
    X, columns = table()
    X = np.hstack([X, X[:, :2]])
    one = ConditionalRanker(tol=1e-11).fit(RelationGraph.from_edges(X, *columns)).predict(X[:4])
    graph = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
    np.testing.assert_allclose(ConditionalRanker(tol=1e-11).fit(graph).predict(X[:4]), one, atol=1e-8)


def test_taxonomies_and_factors_give_the_same_in_dask_as_in_memory():
    X, _ = table()
    rng = np.random.default_rng(2)
    paths, A, S = rng.integers(0, 3, (N, 2)), rng.standard_normal((N, 3)), rng.standard_normal((3, 3))
    check_equal(*(RelationGraph.from_classes(nodes, paths) for nodes in (X, in_dask(X))))
    check_equal(*(RelationGraph.from_factors(nodes, A, S) for nodes in (X, in_dask(X))), relation="symmetric")


def test_frames_with_ids_give_the_same_in_dask_as_in_memory():
    X, (sources, targets, values, weights) = table()
    ids = np.array([f"node {i}" for i in range(N)])
    nodes = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=3)
    edges = pd.DataFrame({"from": ids[sources], "to": ids[targets], "value": values, "weight": weights})
    edges = dd.from_pandas(edges, npartitions=4)
    graph = RelationGraph.from_edges(nodes, edges["from"], edges["to"], edges["value"], edges["weight"], ids=ids)
    assert graph.n_features_in_ == D
    check_equal(RelationGraph.from_edges(X, sources, targets, values, weights), graph)


def test_dask_on_one_side_is_enough():
    X, columns = table()
    Y = np.random.default_rng(3).standard_normal((N, N))
    check_equal(RelationGraph(X, Y), RelationGraph(X, da.from_array(Y, chunks=30)))
    check_equal(RelationGraph(X, Y), RelationGraph(in_dask(X), Y))
    sources, *others = columns
    check_equal(
        RelationGraph.from_edges(X, *columns), RelationGraph.from_edges(X, da.from_array(sources, 100), *others)
    )


def test_early_stopping_may_validate_on_a_graph_in_memory():
    local, distributed = pair_of_graphs("edges")
    validation = pair_of_graphs("complete", seed=5)[0]
    rankers = [
        ConditionalRanker(solver="early_stopping", alpha=0.0, max_iter=5).fit(graph, validation=validation)
        for graph in (local, distributed)
    ]
    np.testing.assert_allclose(rankers[1].history_, rankers[0].history_, atol=1e-12)


def test_paths_and_warm_starts_go_on_from_the_solution():
    _, graph = pair_of_graphs("edges")
    ranker = ConditionalRanker(tol=1e-11, warm_start=True).fit(graph)
    again = next(ranker.path([0.1]))
    np.testing.assert_allclose(again.coef_, ConditionalRanker(alpha=0.1, tol=1e-11).fit(graph).coef_, atol=1e-9)
    assert ranker.fit(graph).n_iter_ == 0


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf", "n_components": 6, "random_state": 0}])
def test_a_ranker_is_saved_with_its_nodes(tmp_path, parameters):
    X, _ = table()
    _, graph = pair_of_graphs("edges")
    ranker = ConditionalRanker(**parameters).fit(graph)
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X[:3], X[:6]), ranker.predict(X[:3], X[:6]))
    np.testing.assert_allclose(loaded.predict(X[:3]), ranker.predict(X[:3]), atol=1e-12)
    assert ranker.rank(X[:3], top=4).indices.shape == (3, 4)


def test_a_warm_start_refuses_other_nodes():
    _, graph = pair_of_graphs("edges")
    ranker = ConditionalRanker(warm_start=True).fit(graph)
    _, other = pair_of_graphs("edges", seed=8)
    with pytest.raises(ValueError, match="nodes of the last fit"):
        ranker.fit(other)
