"""Kernel expressions in rankers: files, searches, strengths, approximations, ids, folds, and bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

import reference
from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.base import memory
from condrank.baselines import NearestNeighbours, SimilarityRanker, TwoStepRidge
from condrank.kernels import RBF, Constant, Cosine, Custom, Identity, Laplacian, Linear, Precomputed, Unit
from condrank.model_selection import SettingSplit, cross_validate
from reference_kernels import naive_kernel

RNG = np.random.default_rng(0)
N = 14
NAMES = [f"node-{i}" for i in range(N)]
OF_KERNEL = RNG.normal(size=(N, 5))
VIEWS = {"x": RNG.normal(size=(N, 3)), "y": RNG.normal(size=(N, 2)), "k": OF_KERNEL @ OF_KERNEL.T}
LABELS = RNG.normal(size=(N, N))
GRAPH = RelationGraph(VIEWS, LABELS, ids=NAMES)
KERNEL = RBF("median", view="x") + 0.5 * Unit(Precomputed(view="k")) ** 2 + 0.2 * Identity() + 0.1 * Constant()


@pytest.mark.parametrize("solver", ["closed_form", "primal", "dual", "explicit"])
@pytest.mark.parametrize("kernel", [KERNEL, Linear(view="x") + 2 * Cosine(view="y") + 3 * Constant()], ids=str)
def test_a_model_is_saved_with_its_expression_and_its_views(kernel, solver, tmp_path):
    graph = GRAPH if solver == "closed_form" else GRAPH.part(GRAPH.nodes, GRAPH.nodes, holes().relation)
    ranker = ConditionalRanker(kernel=kernel, solver=solver).fit(graph)
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    assert loaded.kernel == kernel
    np.testing.assert_allclose(loaded.predict(NAMES[:3], NAMES[2:]), ranker.predict(NAMES[:3], NAMES[2:]), atol=1e-10)
    assert loaded.fitted_.settings.kernel == ranker.fitted_.settings.kernel
    loaded.save(tmp_path / "again")
    assert ConditionalRanker.load(tmp_path / "again").kernel == kernel


def holes():
    Y = np.where(np.random.default_rng(3).random((N, N)) < 0.5, LABELS, np.nan)
    return RelationGraph(VIEWS, Y, ids=NAMES)


def test_functions_cannot_be_saved(tmp_path):
    kernel = Custom(lambda X, Y: X @ Y.T, on="matrices", view="x") + Constant()
    ranker = ConditionalRanker(kernel=kernel).fit(GRAPH)
    with pytest.raises(ValueError, match="a function, and loading a model must run no code"):
        ranker.save(tmp_path / "model")


def test_two_kernels_are_saved(tmp_path):
    graph = RelationGraph({"x": VIEWS["x"]}, LABELS[:, :8], objects={"y": VIEWS["y"][:8]}, ids=NAMES)
    ranker = ConditionalRanker(kernel=RBF(view="x"), object_kernel=Linear(view="y") + Identity()).fit(graph)
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    assert loaded.object_kernel == Linear(view="y") + Identity()
    np.testing.assert_allclose(loaded.predict(NAMES[:2]), ranker.predict(NAMES[:2]), atol=1e-10)


def test_searches_of_scikit_learn_reach_nested_parameters():
    grid = {"kernel__k1__gamma": [0.1, "median"], "kernel__k2__weight": [0.0, 2.0]}
    search = GridSearchCV(ConditionalRanker(kernel=KERNEL), grid, cv=3).fit(GRAPH)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.kernel.get_params()["k2__weight"] == search.best_params_["kernel__k2__weight"]
    assert KERNEL.kernels[0].gamma == "median"  # the given one is not changed
    text = ConditionalRanker(kernel=repr(KERNEL)).fit(GRAPH)
    np.testing.assert_array_equal(text.predict(GRAPH), ConditionalRanker(kernel=KERNEL).fit(GRAPH).predict(GRAPH))


@pytest.mark.parametrize("weight", [1.0, 0.25, 100.0])
@pytest.mark.parametrize("kernel", [Linear(view="x"), RBF(0.3, view="x"), RBF(0.3, view="x") + Identity()], ids=str)
@pytest.mark.parametrize("solver", ["closed_form", "primal", "dual"])
def test_strengths_are_the_transitive_part_for_any_weight(kernel, weight, solver):
    games = RelationGraph(VIEWS, LABELS - LABELS.T, ids=NAMES, probabilities=False)
    if solver != "closed_form":
        Y = np.where(np.eye(N, dtype=bool), np.nan, LABELS - LABELS.T)
        games = RelationGraph(VIEWS, Y, ids=NAMES, probabilities=False)
    given = {"loss": "regression", "solver": solver, "tol": 1e-13}
    ranker = ConditionalRanker("reciprocal", kernel=kernel + weight * Constant(), **given).fit(games)
    strengths = ranker.strengths(games)
    # Scores of a model without the constant's part are what remains: A is skew, so 1ᵀA k is minus kᵀA1.
    A = ranker.dual_coef_
    A = A.toarray() if sparse.issparse(A) else A
    K = naive_kernel(kernel, VIEWS, range(N), range(N), range(N))
    rest = K @ A @ K
    expected = rest + strengths[:, None] - strengths[None]
    np.testing.assert_allclose(ranker.predict(games), expected, atol=1e-7)


@pytest.mark.parametrize("landmarks", ["uniform", "pivoted"])
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(0.3, view="x") + 2 * Laplacian(0.1, view="y") + 0.5 * Constant(),
        RBF(0.3, view="x") * Unit(Precomputed(view="k")) + Linear(view="y"),
        Unit(RBF(0.3, view="x") + Linear(view="y")) ** 2,
    ],
    ids=str,
)
def test_sums_are_approximated_from_landmarks(kernel, landmarks, tmp_path):
    train = np.arange(N - 3)
    given = {"kernel": kernel, "landmarks": landmarks, "random_state": 0}
    few = ConditionalRanker(n_components=5, **given).fit(GRAPH[train])
    points = few.fitted_.model.rows.features.landmarks.view("x").rows
    chosen = [int(np.flatnonzero((VIEWS["x"] == point).all(axis=1))[0]) for point in points]
    body = kernel.body
    whole = naive_kernel(body, VIEWS, range(N), chosen, train)
    approximate = whole @ np.linalg.pinv(naive_kernel(body, VIEWS, chosen, chosen, train)) @ whole.T + kernel.constant
    K, K_all = approximate[np.ix_(train, train)], approximate[:, train]
    expected = reference.naive_complete(K, LABELS[: N - 3, : N - 3], 1.0, K_queries=K_all, K_objects=K_all)
    np.testing.assert_allclose(few.predict(GRAPH), expected, atol=1e-7)
    few.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(NAMES[:2]), few.predict(NAMES[:2]), atol=1e-10)


def test_the_identity_of_a_held_out_node_does_not_leak():
    """With identity alone nothing is known of a new node: all objects are tied, for any labels."""
    only = ConditionalRanker(kernel=Identity(), loss="regression")
    result = cross_validate(only, GRAPH, cv=SettingSplit(4, 3, random_state=0))
    assert result.mean() == 0.5
    searched = ConditionalRankerCV([0.1, 1.0], cv=3, kernel=Identity(), loss="regression").fit(GRAPH)
    np.testing.assert_array_equal(searched.cv_losses_, [0.5, 0.5])
    shortcut = ConditionalRankerCV([0.1, 1.0], cv="leave-node-out", kernel=Identity(), loss="regression").fit(GRAPH)
    np.testing.assert_array_equal(shortcut.cv_losses_, [0.5, 0.5])
    known = ConditionalRanker(kernel=Identity(), alpha=0.1).fit(GRAPH)
    assert known.score(GRAPH) == 1.0


def test_unit_of_an_identity_has_no_shortcut():
    ranker = ConditionalRankerCV([1.0], kernel=Unit(RBF(0.3, view="x") + Identity()), cv="leave-node-out").fit(GRAPH)
    expected = ConditionalRanker(kernel=Unit(RBF(0.3, view="x") + Identity()))
    wrong = 0
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        scores = expected.fit(GRAPH[rest]).predict(GRAPH)[i]
        order = np.sign(np.subtract.outer(LABELS[i], LABELS[i]))
        wrong += np.sum(order * np.sign(np.subtract.outer(scores, scores)) < 0) / 2
    assert ranker.cv_losses_[0] == pytest.approx(wrong / (N * N * (N - 1) / 2))


def test_known_nodes_are_recognised_by_id():
    ranker = ConditionalRanker(kernel=Linear(view="x") + Identity(), alpha=0.1).fit(GRAPH)
    expected = ranker.predict(GRAPH)
    np.testing.assert_allclose(ranker.predict(NAMES), expected, atol=1e-10)
    assert ranker.rank(["node-3"], top=N).indices.shape == (1, N)
    shuffled = np.random.default_rng(1).permutation(N)
    again = RelationGraph(
        {name: X[shuffled] + 0 for name, X in VIEWS.items()}, LABELS, ids=[NAMES[i] for i in shuffled]
    )
    np.testing.assert_allclose(ranker.predict(again), expected[np.ix_(shuffled, shuffled)], atol=1e-8)
    strangers = RelationGraph({name: X + 0 for name, X in VIEWS.items()}, LABELS, ids=[f"new-{i}" for i in range(N)])
    alone = naive_kernel(Linear(view="x"), VIEWS, range(N), range(N), range(N))
    np.testing.assert_allclose(ranker.predict(strangers), alone @ ranker.dual_coef_ @ alone, atol=1e-8)
    with pytest.raises(ValueError, match=r"has 1 id.* that no node has, the first is 'nobody'"):
        ranker.rank(["node-1", "nobody"])
    without = ConditionalRanker(kernel=Linear(view="x") + Identity(), alpha=0.1).fit(VIEWS, LABELS)
    np.testing.assert_allclose(without.predict([2, 0]), expected[[2, 0]], atol=1e-10)
    np.testing.assert_allclose(without.predict_edges([2, 0], [1, 1]), expected[[2, 0], [1, 1]], atol=1e-10)
    with pytest.raises(ValueError, match=r"must lie within 0\.\.13"):
        without.predict([99])


def test_baselines_take_expressions():
    kernel = RBF("median", view="x") + Identity()
    similar = SimilarityRanker(kernel=kernel).fit(GRAPH)
    expected = naive_kernel(kernel, VIEWS, range(N), range(N), range(N))
    np.testing.assert_allclose(similar.predict(GRAPH), expected, atol=1e-10)
    assert NearestNeighbours(3, kernel=kernel).fit(GRAPH).predict(GRAPH).shape == (N, N)
    assert TwoStepRidge(kernel=kernel).fit(GRAPH).predict(GRAPH).shape == (N, N)


def test_sums_of_linear_views_stay_explicit_features():
    many = {"a": RNG.normal(size=(40, 3)), "b": sparse.csr_array(np.maximum(RNG.normal(size=(40, 4)), 0))}
    Y = RNG.normal(size=(40, 40))
    kernel = Linear(view="a") + 2 * Cosine(view="b") + 3 * Constant()
    ranker = ConditionalRanker(kernel=kernel, alpha=0.5).fit(many, Y)
    assert ranker.plan_.coordinates == "explicit features"
    assert ranker.coef_.shape == (8, 8)
    dense = many | {"b": many["b"].toarray()}
    twin = ConditionalRanker(kernel=kernel, alpha=0.5, solver="explicit").fit(dense, Y)
    np.testing.assert_allclose(ranker.predict(many), twin.predict(dense), atol=1e-7)
    classes = RelationGraph.from_classes(many, np.arange(40) % 4)
    parts = ConditionalRanker(kernel=kernel).partial_fit(classes[:25])
    parts.partial_fit(RelationGraph.from_classes({k: v[25:] for k, v in many.items()}, np.arange(25, 40) % 4))
    whole = ConditionalRanker(kernel=kernel).fit(classes)
    np.testing.assert_allclose(parts.predict(many, many), whole.predict(many, many), atol=1e-7)


def test_float32_views_stay_float32():
    single = {name: X.astype(np.float32) for name, X in VIEWS.items()}
    kernel = RBF("median", view="x") + 0.5 * Precomputed(view="k") + Identity() + Constant()
    for params in ({}, {"solver": "dual"}, {"n_components": 6, "kernel": RBF(view="x") + Linear(view="y")}):
        ranker = ConditionalRanker(**{"kernel": kernel} | params).fit(single, LABELS.astype(np.float32))
        assert ranker.predict(single).dtype == np.float32


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        (RBF(), {}, "several views, so every kernel needs"),
        (RBF(view="z"), {}, r"view 'z', which the nodes do not have; they have \['x', 'y', 'k'\]"),
        (RBF(view="k") + Precomputed(view="k"), {}, "takes the same nodes as a kernel matrix and as features"),
        (Precomputed(view="x"), {}, r"square kernel matrix as X, got shape \(14, 3\)"),
        (Precomputed(view="k") ** 0.5, {}, "has negative values.*use a whole exponent"),
        ((Precomputed(view="k") * Linear(view="x")) ** 0.5, {}, "use a whole exponent"),
        (Identity(), {"n_components": 3}, "gives every node a coordinate of its own"),
        (RBF(view="x") + Linear(view="y"), {"n_components": 3, "landmarks": "kmeans"}, "features of one view"),
        (RBF(view="x") + Linear(view="y"), {"n_components": 3, "approximation": "fourier"}, "use 'nystroem'"),
        (Linear(view="x", feature_weights=(1.0,)), {}, "feature_weights must be 3 numbers"),
        (RBF(view="x"), {"object_kernel": RBF(view="x")}, "graph has one domain"),
        ("RBF(view='x') +", {}, "cannot be read"),
    ],
)
def test_bad_kernels_are_refused(kernel, params, message):
    with pytest.raises(ValueError, match=message):
        ConditionalRanker(kernel=kernel, **params).fit(GRAPH)


def test_a_power_that_makes_an_indefinite_kernel_is_refused():
    K = np.exp(-(np.abs(np.subtract.outer(range(6), range(6))) ** 2) / 4.0) * 0.9 + 0.1
    K[0, 1] = K[1, 0] = 0.05
    with pytest.raises(ValueError, match=r"Precomputed\(\) \*\* 0.5 kernel matrix is not positive semi-definite"):
        ConditionalRanker(kernel=Precomputed() ** 0.5).fit(np.abs(K), np.eye(6))


def test_views_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="'x' has 14, 'y' has 5 rows"):
        RelationGraph({"x": VIEWS["x"], "y": VIEWS["y"][:5]}, LABELS)
    with pytest.raises(ValueError, match="at least one view"):
        RelationGraph({}, LABELS)
    with pytest.raises(ValueError, match="view 'x' of X must be finite"):
        RelationGraph({"x": np.full((N, 2), np.nan)}, LABELS)
    with pytest.raises(ValueError, match="names of the views"):
        RelationGraph({3: VIEWS["x"]}, LABELS)
    ranker = ConditionalRanker(kernel=RBF(view="x") + Linear(view="y")).fit(GRAPH)
    with pytest.raises(ValueError, match="view 'y', which the nodes do not have"):
        ranker.predict({"x": VIEWS["x"]})
    with pytest.raises(ValueError, match="nodes have no views"):
        ranker.predict(VIEWS["x"])
    with pytest.raises(ValueError, match="must have 3 features"):
        ranker.predict({"x": VIEWS["y"], "y": VIEWS["y"]})
    unit = ConditionalRanker(kernel=Unit(Precomputed(view="k"))).fit(GRAPH)
    with pytest.raises(ValueError, match=r"Unit needs k\(v, v\) of the given nodes"):
        unit.predict({"k": VIEWS["k"][:2]})


def test_identity_on_a_large_factored_graph_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    X = np.broadcast_to(np.float32(1.0), (300_000, 2))
    graph = RelationGraph.from_classes(X, np.arange(300_000) % 5)
    with pytest.raises(ValueError, match=r"Identity\(\) gives every node a coordinate of its own: leave it out"):
        ConditionalRanker(kernel=Linear() + Identity()).fit(graph)
