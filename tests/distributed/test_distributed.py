"""Graphs in Dask give the rankers that graphs in memory give: on threads, on worker processes, after a loss."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask.sizeof import sizeof

from condrank import ConditionalRanker, RelationGraph
from condrank.distributed import Rates, estimate
from condrank.distributed.cost import MOST_PARTITIONS, PER_THREAD, count_partitions, partition_bytes
from condrank.distributed.edges import DistributedEdges
from condrank.distributed.partition import EdgePartition
from condrank.exceptions import RelationWarning
from distributed import Client, LocalCluster

N, D, N_EDGES = 70, 5, 900
MODELS = [
    (relation, loss) for relation in ("ordinary", "symmetric", "reciprocal") for loss in ("ranking", "regression")
]


def table(seed=0, dtype=np.float64, n=N):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, D)) + 0.5).astype(dtype)
    sources = rng.integers(0, n, N_EDGES) * rng.integers(0, 2, N_EDGES)  # node 0 has half of the edges
    targets = rng.integers(0, n - 3, N_EDGES)
    weights = rng.integers(0, 4, N_EDGES).astype(dtype)  # repeated pairs, and some that are not observed
    return X, (sources, targets, rng.standard_normal(N_EDGES).astype(dtype), weights)


def in_dask(X, chunks=(17, 2)):
    return da.from_array(X, chunks=chunks)


def columns_in_dask(columns, chunks=200):
    return [da.from_array(column, chunks=chunks) for column in columns]


def pair_of_graphs(form, seed=0, dtype=np.float64):
    X, columns = table(seed, dtype)
    rng = np.random.default_rng(seed + 1)
    if form == "edges":
        return RelationGraph.from_edges(X, *columns), RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
    if form == "classes":
        labels, S = rng.integers(0, 4, N), rng.standard_normal((4, 4))
        return RelationGraph.from_classes(X, labels, S), RelationGraph.from_classes(in_dask(X), labels, S)
    Y = rng.standard_normal((N, N)).astype(dtype)
    return RelationGraph(X, Y), RelationGraph(in_dask(X), da.from_array(Y, chunks=(20, 33)))


def check_equal(local, distributed, tol=1e-7, **parameters):
    ranker = ConditionalRanker(**{"alpha": 0.3, "tol": 1e-11, **parameters})
    queries = np.random.default_rng(9).standard_normal((6, D)).astype(local.nodes.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # the parts of a relation that is none are compared too
        one = ranker.fit(local).predict(queries)
        other = ranker.fit(distributed).predict(queries)
    assert np.abs(one - other).max() <= tol * np.abs(one).max()
    return ranker


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


# Without a client: Dask's own threads


@pytest.mark.parametrize(("relation", "loss"), MODELS)
@pytest.mark.parametrize("form", ["complete", "classes", "edges"])
def test_equal_to_local(form, relation, loss):
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
        {"kernel": "rbf", "n_components": 8, "approximation": "fourier", "random_state": 0, "relation": "symmetric"},
    ],
)
def test_options_are_the_same(form, parameters):
    check_equal(*pair_of_graphs(form), **parameters)


@pytest.mark.parametrize("form", ["complete", "edges"])
def test_single_precision(form):
    ranker = check_equal(*pair_of_graphs(form, dtype=np.float32), tol=1e-3)
    assert ranker.coef_.dtype == np.float32


def test_two_domains():
    X, columns = table()
    objects = np.random.default_rng(4).standard_normal((N, 3))
    local = RelationGraph.from_edges(X, *columns, objects=objects)
    distributed = RelationGraph.from_edges(in_dask(X), *columns, objects=objects)
    one, other = (ConditionalRanker(tol=1e-11).fit(graph).predict(X[:4], objects[:5]) for graph in (local, distributed))
    np.testing.assert_allclose(other, one, atol=1e-8)


def test_singular_features():
    X, columns = table()
    X = np.hstack([X, X[:, :2]])
    one = ConditionalRanker(tol=1e-11).fit(RelationGraph.from_edges(X, *columns)).predict(X[:4])
    graph = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
    np.testing.assert_allclose(ConditionalRanker(tol=1e-11).fit(graph).predict(X[:4]), one, atol=1e-8)


def test_taxonomy_and_factors():
    X, _ = table()
    rng = np.random.default_rng(2)
    paths, A, S = rng.integers(0, 3, (N, 2)), rng.standard_normal((N, 3)), rng.standard_normal((3, 3))
    check_equal(*(RelationGraph.from_classes(nodes, paths) for nodes in (X, in_dask(X))))
    check_equal(*(RelationGraph.from_factors(nodes, A, S) for nodes in (X, in_dask(X))), relation="symmetric")


def test_frames_with_ids():
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


def test_early_stopping_on_a_graph_in_memory():
    local, distributed = pair_of_graphs("edges")
    validation = pair_of_graphs("complete", seed=5)[0]
    rankers = [
        ConditionalRanker(solver="early_stopping", alpha=0.0, max_iter=5).fit(graph, validation=validation)
        for graph in (local, distributed)
    ]
    np.testing.assert_allclose(rankers[1].history_, rankers[0].history_, atol=1e-12)


def test_path_and_warm_start():
    _, graph = pair_of_graphs("edges")
    ranker = ConditionalRanker(tol=1e-11, warm_start=True).fit(graph)
    again = next(ranker.path([0.1]))
    np.testing.assert_allclose(again.coef_, ConditionalRanker(alpha=0.1, tol=1e-11).fit(graph).coef_, atol=1e-9)
    assert ranker.fit(graph).n_iter_ == 0


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf", "n_components": 6, "random_state": 0}])
def test_saved_with_its_nodes(tmp_path, parameters):
    X, _ = table()
    _, graph = pair_of_graphs("edges")
    ranker = ConditionalRanker(**parameters).fit(graph)
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X[:3], X[:6]), ranker.predict(X[:3], X[:6]))
    np.testing.assert_allclose(loaded.predict(X[:3]), ranker.predict(X[:3]), atol=1e-12)
    assert ranker.rank(X[:3], top=4).indices.shape == (3, 4)


def test_other_nodes_are_not_warm():
    _, graph = pair_of_graphs("edges")
    ranker = ConditionalRanker(warm_start=True).fit(graph)
    _, other = pair_of_graphs("edges", seed=8)
    with pytest.raises(ValueError, match="nodes of the last fit"):
        ranker.fit(other)


# What is known of a relation


def test_facts_are_those_of_the_edges():
    local, distributed = pair_of_graphs("edges")
    one, other = local.relation, distributed.relation
    assert isinstance(other, DistributedEdges)
    assert other.shape == one.shape
    assert (other.n_edges, other.n_pairs, other.count_loops()) == (one.n_edges, one.n_pairs, one.count_loops())
    assert other.extremes() == pytest.approx(one.extremes())
    for mine, theirs in zip(other.degrees(), one.degrees(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert distributed.density == pytest.approx(local.density)


def test_turned_round_and_back():
    local, distributed = (graph.relation for graph in pair_of_graphs("edges"))
    turned = distributed.transpose()
    assert turned.transpose() is distributed
    assert turned.n_edges == local.n_edges
    for mine, theirs in zip(turned.degrees(), local.transpose().degrees(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert turned.disagreement(1) == distributed.disagreement(1)


@pytest.mark.parametrize("form", ["complete", "edges"])
@pytest.mark.parametrize("sign", [1, -1])
def test_disagreement(form, sign):
    local, distributed = (graph.relation for graph in pair_of_graphs(form))
    assert distributed.two_way == local.two_way
    for loops in (True, False):
        expected = local.disagreement(sign, 0.5, loops)
        assert distributed.disagreement(sign, 0.5, loops) == pytest.approx(expected)


def test_probabilities_are_found():
    X, _ = table()
    P = np.random.default_rng(0).uniform(size=(N, N))
    P = np.triu(P, 1) + np.tril(1 - P.T, -1) + 0.5 * np.eye(N)
    sources, targets = np.nonzero(~np.eye(N, dtype=bool))
    columns = sources, targets, P[sources, targets]
    complete = RelationGraph(in_dask(X), da.from_array(P, chunks=23))
    edges = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns, 1000))
    assert complete.centre == edges.centre == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error", RelationWarning)
        ConditionalRanker(relation="reciprocal").fit(edges)


def test_warns_of_disagreement():
    _, graph = pair_of_graphs("edges")
    with pytest.warns(RelationWarning, match="symmetric part"):
        ConditionalRanker(relation="symmetric").fit(graph)


def test_partitions_hold_every_edge_once_and_about_equally_many():
    rng = np.random.default_rng(0)
    n, n_edges = 5000, 40_000
    columns = rng.integers(0, n, n_edges), rng.integers(0, n, n_edges), rng.standard_normal(n_edges)
    graph = RelationGraph.from_edges(in_dask(rng.standard_normal((n, 2)), (700, 2)), *columns_in_dask(columns, 9000))
    partitions = da.compute(*graph.relation.partitions)
    sizes = [one.edges.n_edges for one in partitions]
    assert sum(sizes) == n_edges
    assert max(sizes) < 1.2 * n_edges / len(sizes)
    rows = np.concatenate([one.rows for one in partitions])
    np.testing.assert_array_equal(rows, np.unique(columns[0]))


@pytest.mark.parametrize("n", [50, 10**9])
def test_merging_edges_renumbers_their_nodes(n):
    rng = np.random.default_rng(0)
    sources, targets = rng.integers(5, n, 30), rng.integers(0, n, 30)
    pieces = [(sources[:20], targets[:20], np.arange(20.0), None), (sources[20:], targets[20:], np.arange(10.0), None)]
    merged = EdgePartition.merged(pieces)
    np.testing.assert_array_equal(merged.rows, np.unique(sources))
    np.testing.assert_array_equal(merged.cols, np.unique(targets))
    pairs = set(
        zip(merged.rows[merged.edges.sources].tolist(), merged.cols[merged.edges.indices].tolist(), strict=True)
    )
    assert pairs == set(zip(sources.tolist(), targets.tolist(), strict=True))


def test_sorted_edges_are_not_sent_everywhere():
    rng = np.random.default_rng(0)
    sources = np.sort(rng.integers(0, 300, 4000))
    columns = sources, rng.integers(0, 300, 4000), rng.standard_normal(4000)
    graph = RelationGraph.from_edges(in_dask(rng.standard_normal((300, 2)), (60, 2)), *columns_in_dask(columns, 400))
    pieces = graph.relation.pieces()
    assert sum(map(len, pieces)) <= 10 + len(pieces)


# Bad input


def test_features_that_are_not_finite_are_placed():
    X, columns = table()
    X[40, 3] = np.nan
    graph = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
    with pytest.raises(ValueError, match=r"1 entries of block 2 \(from row 34 on\).*row 40, column 3"):
        ConditionalRanker().fit(graph)


def test_labels_that_are_not_finite_are_placed():
    X, _ = table()
    Y = np.zeros((N, N))
    Y[30, 65] = np.nan
    graph = RelationGraph(in_dask(X), da.from_array(Y, chunks=(20, 33)))
    with pytest.raises(ValueError, match=r"tile \(1, 1\) has 1 NaN.*from_edges"):
        ConditionalRanker(loss="regression").fit(graph)
    with pytest.raises(ValueError, match=r"NaN"):
        ConditionalRanker(relation="symmetric").fit(graph)


@pytest.mark.parametrize(
    ("column", "place", "value", "message"),
    [
        (0, 450, N, "part 2 of the edges: sources must lie within"),
        (1, 10, -1, "part 0 of the edges: targets must lie within"),
        (2, 899, np.nan, "part 4 of the edges: values must not be NaN"),
        (3, 200, -1.0, "part 1 of the edges: weights must not be negative"),
    ],
)
def test_edges_are_checked_at_once(column, place, value, message):
    X, columns = table()
    columns[column][place] = value
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))


def test_no_edges_are_nothing_to_learn_from():
    X, columns = table()
    graph = RelationGraph.from_edges(in_dask(X), *(da.from_array(column[:0]) for column in columns), probabilities=True)
    assert graph.density == 0.0
    with pytest.raises(ValueError, match="no observed edge"):
        ConditionalRanker().fit(graph)


def test_columns_of_other_lengths_are_refused():
    X, (sources, targets, values, _) = table()
    with pytest.raises(ValueError, match="values must have one entry for each of the 900 sources"):
        RelationGraph.from_edges(in_dask(X), *columns_in_dask((sources, targets, values[:-1])))


@pytest.mark.parametrize(
    ("form", "parameters", "message"),
    [
        ("edges", {"kernel": "rbf"}, "n_components"),
        ("edges", {"kernel": "rbf", "n_components": "auto"}, "must be a number"),
        ("edges", {"relation": "reciprocal", "loss": "logistic"}, "logistic"),
        ("edges", {"relation": "reciprocal", "compared": [0]}, "compared"),
        ("edges", {"pairwise_kernel": "linear"}, "pairwise_kernel"),
        ("edges", {"solver": "dual"}, "solver must be one of"),
        ("classes", {"solver": "primal"}, "solver must be one of"),
    ],
)
def test_what_needs_one_machine_is_refused(form, parameters, message):
    _, graph = pair_of_graphs(form)
    with pytest.raises(ValueError, match=message):
        ConditionalRanker(**parameters).plan(graph)


def test_wrong_node_data_is_refused():
    X, columns = table()
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        RelationGraph.from_edges(in_dask(X[:, 0], (17,)), *columns)
    with pytest.raises(ValueError, match="Y must have shape"):
        RelationGraph(in_dask(X), da.zeros((N, N + 1), chunks=30))
    with pytest.raises(ValueError, match="X must be numeric"):
        RelationGraph.from_edges(da.from_array(np.full((N, 2), "a"), chunks=20), *columns)
    with pytest.raises(ValueError, match="no subgraphs"):
        RelationGraph.from_edges(in_dask(X), *columns)[:10]


# On worker processes


@pytest.mark.parametrize(
    ("form", "relation", "loss"),
    [
        ("complete", "reciprocal", "ranking"),
        ("classes", "symmetric", "ranking"),
        ("edges", "ordinary", "ranking"),
        ("edges", "symmetric", "regression"),
    ],
)
def test_equal_on_worker_processes(client, form, relation, loss):
    with client.as_current():
        check_equal(*pair_of_graphs(form), relation=relation, loss=loss)


def test_partitions_are_spread(client):
    with client.as_current():
        _, graph = pair_of_graphs("edges")
        _ = graph.relation.facts
        held = client.has_what()
        counts = [sum("merged" in str(key) for key in keys) for keys in held.values()]
    assert len(counts) == 2
    assert abs(counts[0] - counts[1]) <= 1


class Killer:
    """Kills one of the worker processes after the third iteration of a fit."""

    def __init__(self, client):
        self.client, self.n_iter, self.killed = client, 0, None

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X=None):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "iteration":
            self.n_iter += 1
            if self.n_iter == 3:
                self.killed = next(iter(self.client.run(os.getpid).values()))
                os.kill(self.killed, signal.SIGKILL)
        return False


def test_fit_survives_the_loss_of_a_worker(client):
    X, columns = table(seed=3)
    killer = Killer(client)
    with client.as_current():
        graph = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
        ranker = ConditionalRanker(alpha=0.01, tol=1e-11).set_callbacks(killer).fit(graph)
        alive = set(client.run(os.getpid).values())
    assert killer.killed not in alive
    assert ranker.n_iter_ > 3
    expected = ConditionalRanker(alpha=0.01, tol=1e-11).fit(RelationGraph.from_edges(X, *columns)).predict(X[:5])
    np.testing.assert_allclose(ranker.predict(X[:5]), expected, atol=1e-7 * np.abs(expected).max())


# Costs


def test_plan_tells_what_the_workers_hold():
    _, graph = pair_of_graphs("edges")
    plan = ConditionalRanker().plan(graph)
    assert plan.solver == "primal"
    assert "partitions, about" in plan.reason
    # The scheduler has to know as well, or it sends partitions about.
    held = sum(map(sizeof, da.compute(*ConditionalRanker().fit(graph).fitted_.system.partitions)))
    expected = partition_bytes(N, D, graph.n_edges, len(graph.relation.partitions), 8)
    assert expected / 3 < held < 3 * expected


RATES = Rates(sums=1e-9, partition=1e-7, gather=1e-9, product=1e-9, task=1e-3)


def test_estimate_grows_as_the_work_does():
    small = estimate(1e6, 32, 1e8, 10, RATES)
    large = estimate(1e6, 32, 1e8, 20, RATES)
    assert small.seconds > large.seconds
    assert small.worker_memory > large.worker_memory
    assert estimate(1e6, 32, 1e9, 10, RATES).iteration > 5 * small.iteration
    assert "iteration" in str(small)


@pytest.mark.parametrize("n_threads", [1, 2, 7, 800, 5000])
def test_every_thread_gets_as_many_partitions(n_threads):
    few, many = count_partitions(10, n_threads), count_partitions(10**12, n_threads)
    assert few % n_threads == many % n_threads == 0
    assert n_threads <= few <= many <= max(MOST_PARTITIONS, n_threads)
    assert few == n_threads * PER_THREAD or n_threads > MOST_PARTITIONS // PER_THREAD
