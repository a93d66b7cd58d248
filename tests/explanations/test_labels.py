"""Contributions of labels and nodes against the whole edge kernel: every relation, loss and form of graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import refused
from condrank import ConditionalRanker, RelationGraph
from condrank.datasets import make_classes
from reference import error, loss_options, naive_scores
from reference_explanations import naive_labels, naive_nodes

N, D = 9, 4
RNG = np.random.default_rng(3)
X, NEW = RNG.normal(size=(N, D)), RNG.normal(size=(3, D))
RELATIONS = ("ordinary", "symmetric", "reciprocal")
LOSSES = ("regression", "ranking", "intercept")
FORMS = ("complete", "holes", "weights")
SOLVERS = {"complete": ["auto", "primal", "dual", "explicit"], "holes": ["primal", "dual", "explicit"]}
SOLVERS["weights"] = SOLVERS["holes"]


def rbf(first, second):
    return np.exp(-((first[:, None] - second[None]) ** 2).sum(axis=-1) / D)


def labels_of(relation, rng, n=N):
    Y = rng.normal(size=(n, n))
    return {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": Y - Y.T}[relation]


def edges_of(form, relation, rng):
    """Ends, labels and weights: all pairs, some of them with loops and one repeated, or weighted ones."""
    Y = labels_of(relation, rng)
    known = np.ones((N, N), bool) if form == "complete" else rng.random((N, N)) < 0.5
    sources, targets = np.nonzero(known)
    weights = rng.uniform(0.3, 3.0, len(sources)) if form == "weights" else np.ones(len(sources))
    return sources, targets, Y[sources, targets], weights


def fit(form, edges, relation, loss, **params):
    sources, targets, values, weights = edges
    if form == "complete":
        Y = np.empty((N, N))
        Y[sources, targets] = values
        graph = RelationGraph(X, Y, probabilities=False)
    else:
        graph = RelationGraph.from_edges(X, sources, targets, values, weights=weights, probabilities=False)
    return ConditionalRanker(relation, alpha=0.3, kernel="rbf", **loss_options(loss, relation), **params).fit(graph)


def check(ranker, edges, relation, loss, tolerance, prior_weight=0.0):
    """Labels, nodes and sums for a new node and for a training node, of a difference and of one score."""
    sources, targets, values, weights = edges
    K = rbf(X, X)
    loss = "regression" if (loss, relation) == ("intercept", "reciprocal") else loss
    options = {"relation": relation, "loss": loss, "weights": weights, "prior_weight": prior_weight}
    for query, one, other in ((NEW[0], NEW[1], 2), (4, NEW[2], None), (4, 5, 4)):
        explained = ranker.explain(query, one, other)
        k, *ends = (K[v] if np.ndim(v) == 0 else rbf(v[None], X)[0] for v in (query, one, other) if v is not None)
        found = [naive_labels(K, sources, targets, values, 0.3, k, g, **options) for g in ends]
        expected, influence = (np.subtract(*two) if other is not None else two[0] for two in zip(*found, strict=True))
        frame = explained.to_frame("labels").sort_values(["query", "object"])
        assert (frame["query"] == sources).all()
        assert (frame["object"] == targets).all()
        assert error(frame["contribution"].to_numpy(), expected) <= tolerance
        assert error(frame["influence"].to_numpy(), influence) <= tolerance
        np.testing.assert_allclose(frame["label"], values)
        np.testing.assert_allclose(
            frame["contribution"], frame["influence"] * (frame["label"] - frame["baseline"]), rtol=1e-12, atol=1e-15
        )
        nodes = explained.to_frame("nodes").sort_values("node")
        sums = naive_nodes(expected, sources, targets, N)[nodes["node"]]
        assert error(nodes["contribution"].to_numpy(), sums) <= 10 * tolerance
        scale = np.abs(expected).sum() + sum(map(abs, explained.rest.values()))
        for terms in (explained.labels, explained.nodes):
            assert abs(terms.total - explained.total) <= tolerance * scale


@pytest.mark.parametrize(
    ("relation", "prior"),
    [*((one, None) for one in RELATIONS), ("ordinary", "similarity"), ("symmetric", "similarity")],
)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", FORMS)
def test_labels_and_nodes_add_up_to_the_score(relation, loss, form, prior):
    edges = edges_of(form, relation, np.random.default_rng(0))
    for solver in SOLVERS[form]:
        ranker = fit(form, edges, relation, loss, prior=prior, prior_weight=0.7, solver=solver)
        direct = ranker.solver_ in ("closed_form", "explicit")
        check(ranker, edges, relation, loss, 1e-8 if direct else 1e-5, 0.7 if prior else 0.0)


@given(st.integers(0, 10**6), st.sampled_from(RELATIONS), st.sampled_from(LOSSES), st.floats(-6, 4))
@settings(max_examples=40, deadline=None)
def test_influence_is_the_change_of_a_score_with_a_label(seed, relation, loss, log_alpha):
    rng = np.random.default_rng(seed)
    n, alpha = int(rng.integers(2, 7)), 10.0**log_alpha
    nodes, Y = rng.normal(size=(n, 2)), labels_of(relation, rng, n)
    K = rbf(nodes, nodes)
    intercept = {"fit_intercept": loss == "intercept" and relation != "reciprocal"}
    name = "regression" if loss == "intercept" else loss
    params = {"alpha": alpha, "kernel": "rbf", "gamma": 1 / D, "loss": name, **intercept}
    graph = RelationGraph(nodes, Y, probabilities=False)
    explained = ConditionalRanker(relation, **params).fit(graph).explain(0, 1)
    assert abs(explained.labels.total - explained.total) <= 1e-8 * np.abs(explained.labels.contributions).sum() + 1e-12
    sources, targets = (grid.ravel() for grid in np.indices((n, n)))
    options = {"relation": relation, "loss": name, **intercept}
    e = int(rng.integers(n * n))
    step = np.zeros(n * n)
    step[e] = 1.0
    moved = naive_scores(K, sources, targets, step, alpha, **options)[0, 1]
    row = next(one for one in explained.labels.rows() if (one["query"], one["object"]) == (sources[e], targets[e]))
    if not intercept["fit_intercept"]:  # the intercept is in the rest, and moves with the label too
        assert abs(row["influence"] - moved) <= 1e-8 * max(1.0, abs(moved))


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_two_domains_split_labels_between_queries_and_objects(rank_by):
    objects = RNG.normal(size=(6, 2))
    Y = RNG.normal(size=(N, 6))
    Y[2, 3] = Y[4, 1] = np.nan
    graph = RelationGraph(X, Y, objects=objects, ids=list("abcdefghi"), object_ids=[f"o{j}" for j in range(6)])
    ranker = ConditionalRanker(kernel="rbf", rank_by=rank_by).fit(graph)
    asked = ("c", "o1", "o5") if rank_by == "outgoing" else ("o1", "c", "d")
    explained = ranker.explain(*asked)
    frame, nodes = explained.to_frame("labels"), explained.to_frame("nodes")
    assert len(frame) == N * 6 - 2
    for side in ("query", "object"):
        sums = frame.groupby(side)["contribution"].sum() / 2
        found = nodes[nodes["side"] == side].set_index("node")["contribution"]
        np.testing.assert_allclose(found[sums.index], sums, atol=1e-12)
    assert explained.nodes.total == pytest.approx(explained.total, abs=1e-7)
    assert set(frame["object"]) == set(graph.object_ids if rank_by == "outgoing" else graph.ids)


@pytest.mark.parametrize(
    ("solver", "params"),
    [
        ("primal", {}),
        ("primal", {"compared": [1]}),
        ("primal", {"constant": True}),
        ("dual", {}),
        ("dual", {"constant": 2}),
    ],
)
def test_logistic_scores_are_sums_over_games(solver, params):
    games = np.sign(labels_of("reciprocal", np.random.default_rng(5)))
    games[0, 3:] = np.nan
    ranker = ConditionalRanker("reciprocal", "logistic", kernel="rbf", solver=solver, tol=1e-10, **params)
    explained = ranker.fit(RelationGraph(X, games, probabilities=False)).explain(3, NEW[0], 5)
    assert explained.labels.total == pytest.approx(explained.total, abs=1e-7)
    assert explained.nodes.total == pytest.approx(explained.total, abs=1e-7)
    row = explained.labels.rows(1)[0]
    assert row["contribution"] == pytest.approx((row["label"] - row["baseline"]) * row["influence"], abs=1e-7)
    assert 0 < row["baseline"] < 1


@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_compared_features_add_up(loss):
    Y = labels_of("reciprocal", np.random.default_rng(1))
    Y[0, 1] = Y[1, 0] = np.nan
    ranker = ConditionalRanker("reciprocal", loss, kernel="rbf", compared=[0, 2], tol=1e-10).fit(X, Y)
    for asked in ((NEW[0], NEW[1], 3), (2, 1, None)):
        explained = ranker.explain(*asked)
        assert explained.labels.total == pytest.approx(explained.total, abs=1e-7)
    moved = Y.copy()
    moved[2, 7] += 1.0
    row = next(one for one in explained.labels.rows() if (one["query"], one["object"]) == (2, 7))
    after = ConditionalRanker("reciprocal", loss, kernel="rbf", compared=[0, 2], tol=1e-10).fit(X, moved)
    assert row["influence"] == pytest.approx(after.predict([2], [1])[0, 0] - explained.score, abs=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly2D", "cartesian", "ranking", "mlpk"])
def test_influence_with_pairwise_kernels_is_the_change_of_a_score(kernel):
    Y = np.where(np.random.default_rng(0).random((N, N)) < 0.6, labels_of("ordinary", RNG), np.nan)
    Y[2, 7] = 0.5
    params = {"loss": "regression", "kernel": "rbf", "pairwise_kernel": kernel, "tol": 1e-11}
    explained = ConditionalRanker(**params).fit(X, Y).explain(3, 5, 1)
    assert explained.labels.total == pytest.approx(explained.total, abs=1e-8)
    moved = Y.copy()
    moved[2, 7] += 1.0
    row = next(one for one in explained.labels.rows() if (one["query"], one["object"]) == (2, 7))
    after = ConditionalRanker(**params).fit(X, moved).explain(3, 5, 1)
    assert row["influence"] == pytest.approx(after.total - explained.total, abs=1e-7)


def test_classes_and_probabilities_add_up():
    graph = make_classes(20, 3, 3, random_state=0)
    explained = ConditionalRanker(kernel="rbf").fit(graph).explain(0, 1, 2)
    assert explained.labels.total == pytest.approx(explained.total, abs=1e-12)
    share = 1 / (1 + np.exp(-labels_of("reciprocal", RNG)))
    ranker = ConditionalRanker("reciprocal", "regression", kernel="rbf").fit(X, share)
    explained = ranker.explain(0, 1)
    assert explained.rest == {"centre": 0.5}
    assert explained.labels.total == pytest.approx(ranker.predict([0], [1])[0, 0], abs=1e-12)
    assert explained.labels.rows(1)[0]["baseline"] == 0.5
    assert ranker.explain(0, 1, 2).rest == {}


def test_what_has_no_sum_over_labels_is_refused_with_advice():
    early = ConditionalRanker(solver="early_stopping", alpha=0.0, random_state=0, max_iter=5)
    early.fit(X, labels_of("ordinary", RNG))
    refused('by="features" or by="parts"', lambda: early.explain(0, 1).labels)
    assert early.explain(0, 1).by == "features"
    part = ConditionalRanker().partial_fit(make_classes(20, 3, 3, random_state=0))
    refused("partial_fit does not keep", lambda: part.explain(np.ones(3), np.zeros(3)).nodes)
    refused("must be one node, got 2", early.explain, X[:2], 1)
    refused("by must be one of", early.explain(0, 1).to_frame, "rows")


def test_a_loaded_ranker_explains_with_its_labels(tmp_path):
    Y = np.where(np.random.default_rng(0).random((N, N)) < 0.6, labels_of("ordinary", RNG), np.nan)
    for labels, solver in ((labels_of("ordinary", RNG), "auto"), (Y, "primal"), (Y, "dual")):
        ranker = ConditionalRanker(kernel="rbf", solver=solver).fit(X, labels)
        before = ranker.explain(3, 5, 2)
        ranker.save(tmp_path / "model", training=True)
        after = ConditionalRanker.load(tmp_path / "model").explain(3, 5, 2)
        assert error(after.labels.contributions, before.labels.contributions) <= 1e-6
        ranker.save(tmp_path / "model")
        loaded = ConditionalRanker.load(tmp_path / "model").explain(3, 5, 2)
        assert loaded.parts.total == pytest.approx(before.total)
        if solver == "dual":
            assert error(loaded.labels.contributions, before.labels.contributions) <= 1e-6
        else:
            refused(r"save\(path, training=True\)", lambda loaded=loaded: loaded.labels)
    games = ConditionalRanker("reciprocal", "logistic", kernel="rbf", solver="dual").fit(X, np.sign(Y - Y.T))
    games.save(tmp_path / "games")
    found = ConditionalRanker.load(tmp_path / "games").explain(3, 5, 2)
    assert found.labels.total == pytest.approx(found.total)
