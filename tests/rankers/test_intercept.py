"""The intercept of regression, in every way that a ranker is fitted, kept and asked."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import reference
from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, TableRanker
from condrank.model_selection import left_out_scores
from condrank.persistence.arrays import Held
from condrank.products.edge_kernels import EDGE_KERNELS, edge_kernel
from reference import error

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

N, ALPHA, SHIFT = 14, 0.3, 7.25
RNG = np.random.default_rng(0)
X, NEW, OBJECTS = RNG.normal(size=(N, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(9, 3))
Y = RNG.normal(size=(N, N)) + 2
HOLES = np.where(RNG.random((N, N)) < 0.6, Y, np.nan)
EVERY_WAY = {
    "closed form": (Y, {}),
    "closed form, explicit features": (Y, {"kernel": "linear"}),
    "closed form, landmarks": (Y, {"n_components": 6, "random_state": 0}),
    "closed form, known zeros": (sparse.csr_array(np.where(Y > 2, Y, 0.0)), {}),
    "primal, all values": (HOLES, {"solver": "primal"}),
    "primal, observed values": (
        np.where(np.isnan(HOLES) | (RNG.random((N, N)) < 0.7), np.nan, Y),
        {"solver": "primal"},
    ),
    "dual": (HOLES, {"solver": "dual"}),
    "explicit, by features": (HOLES, {"solver": "explicit", "kernel": "linear"}),
    "explicit, by edges": (HOLES, {"solver": "explicit"}),
    "early stopping, complete": (Y, {"solver": "early_stopping"}),
    "early stopping, holes": (HOLES, {"solver": "early_stopping", "method": "bicgstab"}),
}
relations = pytest.mark.parametrize("relation", ["ordinary", "symmetric"])
every_way = pytest.mark.parametrize("way", EVERY_WAY)


def graph_of(labels, shift=0.0, dtype=np.float64):
    if sparse.issparse(labels) and not shift:
        return RelationGraph(X.astype(dtype), labels.astype(dtype), unstored="zero")
    labels = labels_of(labels)
    return RelationGraph(X.astype(dtype), (labels + shift).astype(dtype))


def ranker_of(relation="ordinary", **params):
    params = {"kernel": "rbf", "gamma": 0.3, "tol": 1e-12, "max_iter": 3000, "fit_intercept": True, **params}
    if params.get("solver") == "early_stopping":
        params = {"random_state": 0, "n_iter_no_change": 3000, "validation_fraction": 0.2, **params}
    return ConditionalRanker(relation, "regression", ALPHA, **params)


def labels_of(labels):
    return labels.toarray() if sparse.issparse(labels) else labels


@every_way
@relations
def test_a_constant_added_to_all_labels_moves_only_the_intercept(way, relation):
    labels, params = EVERY_WAY[way]
    first, second = (ranker_of(relation, **params).fit(graph_of(labels, shift)) for shift in (0.0, SHIFT))
    assert isinstance(first.intercept_, float)
    assert second.intercept_ - first.intercept_ == pytest.approx(SHIFT, abs=1e-7)
    difference = second.coef_ - first.coef_
    assert abs(difference).max() <= 1e-7 * abs(first.coef_).max()
    np.testing.assert_allclose(second.predict(NEW), first.predict(NEW) + SHIFT, atol=1e-6)


@every_way
@relations
def test_residuals_sum_to_zero(way, relation):
    """The intercept is the best one for the weights, also if an iteration stopped early."""
    labels, params = EVERY_WAY[way]
    ranker = ranker_of(relation, **params)
    if "early_stopping" in params.values():
        ranker.set_params(max_iter=3)
        given = graph_of(labels)
        order = np.random.RandomState(0).permutation(N)
        kept = np.sort(order[round(0.2 * N) :])  # what is not held out
        labels = labels[np.ix_(kept, kept)]
        scores = ranker.fit(given).predict(X[kept], X[kept])
    else:
        scores = ranker.fit(graph_of(labels)).predict(X, X)
    left = labels_of(labels) - scores
    assert abs(np.nansum(left)) <= 1e-7 * np.nansum(np.abs(left))


@relations
@pytest.mark.parametrize("solver", ["primal", "dual", "explicit"])
def test_the_intercept_is_that_of_the_bordered_system(relation, solver):
    sources, targets = RNG.integers(0, N, (2, 80))
    values, weights = RNG.normal(size=80) + 1, RNG.choice([0.0, 0.5, 2.0], 80)
    K = reference.kernel_values("rbf", X, X, gamma=0.3)
    train = reference.edge_kernel(
        K[np.ix_(sources, sources)],
        K[np.ix_(targets, targets)],
        K[np.ix_(sources, targets)],
        K[np.ix_(targets, sources)],
        relation,
    )
    constant = reference.bordered_solution(train, values, weights, ALPHA)[1]
    graph = RelationGraph.from_edges(X, sources, targets, values, weights)
    assert ranker_of(relation, solver=solver).fit(graph).intercept_ == pytest.approx(constant, rel=1e-8)


@pytest.mark.parametrize("kernel", EDGE_KERNELS)
def test_pairwise_kernels_have_an_intercept(kernel):
    ranker = ranker_of(pairwise_kernel=kernel).fit(graph_of(HOLES))
    edges = ranker.fitted_.model.kernel.edges
    bound = edge_kernel(kernel, reference.kernel_values("rbf", X, X, gamma=0.3), None, edges)
    train = np.column_stack([bound.product(one) for one in np.eye(edges.n_pairs)])
    a, constant = reference.bordered_solution(train, edges.values, edges.weights, ALPHA)
    assert ranker.intercept_ == pytest.approx(constant, rel=1e-7)
    found = ranker.predict(X)[edges.sources, edges.indices]
    np.testing.assert_allclose(found, train @ a + constant, atol=1e-6)


@pytest.mark.parametrize(
    ("relation", "params"),
    [
        ("ordinary", {"loss": "ranking"}),
        ("symmetric", {"loss": "ranking"}),
        ("reciprocal", {"loss": "ranking"}),
        ("reciprocal", {"loss": "regression"}),
        ("reciprocal", {"loss": "regression", "compared": [0]}),
        ("reciprocal", {"loss": "logistic"}),
    ],
)
@pytest.mark.parametrize("chances", [False, True])
def test_it_has_no_effect_where_a_constant_is_fixed_or_does_not_matter(relation, params, chances):
    difference = Y - Y.T if relation != "symmetric" else Y + Y.T
    labels = 1 / (1 + np.exp(-difference)) if chances else np.sign(difference)
    fits = [
        ConditionalRanker(relation, kernel="rbf", fit_intercept=given, **params).fit(X, labels)
        for given in (False, True)
    ]
    assert [ranker.intercept_ for ranker in fits] == [0.0, 0.0]
    np.testing.assert_array_equal(fits[1].predict(NEW), fits[0].predict(NEW))


def test_every_pair_alike_is_the_constant_alone():
    ranker = ranker_of().fit(X, np.full((N, N), 3.0))
    assert ranker.intercept_ == pytest.approx(3.0)
    np.testing.assert_allclose(ranker.predict(NEW), 3.0, atol=1e-10)


@pytest.mark.parametrize("way", ["closed form", "primal, all values", "dual"])
def test_a_path_has_the_intercept_of_each_fit(way):
    labels, params = EVERY_WAY[way]
    alphas = [10.0, 0.5, 0.01]
    for found, alpha in zip(ranker_of(**params).fit(graph_of(labels)).path(alphas), alphas, strict=True):
        expected = ranker_of(**params).set_params(alpha=alpha).fit(graph_of(labels))
        assert found.intercept_ == pytest.approx(expected.intercept_, rel=1e-6)
        np.testing.assert_allclose(found.predict(NEW), expected.predict(NEW), atol=1e-6)


@pytest.mark.parametrize("way", ["primal, all values", "dual"])
def test_a_warm_start_gives_the_same(way):
    params = EVERY_WAY[way][1]
    ranker = ranker_of(**params, warm_start=True).fit(graph_of(HOLES))
    more = np.where(np.isnan(HOLES) & (np.arange(N) % 2 == 0), Y, HOLES)
    expected = ranker_of(**params).fit(graph_of(more))
    assert ranker.fit(graph_of(more)).intercept_ == pytest.approx(expected.intercept_, rel=1e-6)


@pytest.mark.parametrize("params", [{}, {"prior": "similarity", "prior_weight": 0.5}, {"rank_by": "incoming"}])
@relations
def test_blocks_of_nodes_give_the_fit_to_all(relation, params):
    labels = np.array(list("abcaabbccaabcb"))
    whole = ranker_of(relation, **params, kernel="linear").fit(RelationGraph.from_classes(X, labels))
    ranker = ranker_of(relation, **params, kernel="linear")
    for block in (slice(0, 5), slice(5, 9), slice(9, N)):
        ranker.partial_fit(RelationGraph.from_classes(X[block], labels[block]))
    assert ranker.intercept_ == pytest.approx(whole.intercept_, rel=1e-9)
    np.testing.assert_allclose(ranker.predict(NEW, X), whole.predict(NEW, X), atol=1e-10)
    dense = ranker_of(relation, **params, kernel="linear").fit(X, np.equal.outer(labels, labels).astype(float))
    assert whole.intercept_ == pytest.approx(dense.intercept_, rel=1e-9)


@every_way
@relations
def test_single_precision_stays_single_and_near_double(way, relation):
    labels, params = EVERY_WAY[way]
    params = params | {"max_iter": 5} if "early_stopping" in params.values() else params
    single, double = (ranker_of(relation, **params).fit(graph_of(labels, 0.0, dtype)) for dtype in ("f", "d"))
    assert single.predict(NEW.astype("f")).dtype == np.float32
    assert single.intercept_ == pytest.approx(double.intercept_, abs=5e-3)
    if "landmarks" not in way:
        assert error(single.predict(NEW.astype("f")), double.predict(NEW)) < 5e-3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_clipped_kernel_has_the_mean_of_the_whole_prior(kernel):
    K = X @ np.diag([1.0, 1.0, -0.2]) @ X.T + (0.1 if kernel == "rbf" else 0.0)
    sigma, Q = np.linalg.eigh(K)
    clipped = (Q * sigma.clip(0)) @ Q.T
    options = {"kernel": "precomputed", "prior": "similarity", "prior_weight": 0.4, "clip": True}
    expected = reference.naive_observed(clipped, Y - 0.4 * K, ALPHA, loss="regression", fit_intercept=True) + 0.4 * K
    for solver in ("closed_form", "primal"):
        found = ranker_of(solver=solver, **options).fit(K, Y).predict(K)
        np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("way", ["closed form", "primal, all values", "dual"])
def test_a_saved_ranker_keeps_its_intercept(way, tmp_path):
    labels, params = EVERY_WAY[way]
    ranker = ranker_of(**params).fit(graph_of(labels))
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    assert loaded.intercept_ == ranker.intercept_ != 0.0
    assert loaded.fit_intercept is True
    np.testing.assert_allclose(loaded.predict(NEW), ranker.predict(NEW), atol=1e-12)
    with pytest.raises(ValueError, match=r"parameters were changed since the fit.*fit_intercept"):
        ranker.set_params(fit_intercept=False).save(tmp_path / "changed")


def test_a_file_that_denies_its_intercept_is_refused():
    manifest, arrays = ranker_of().fit(X, Y).to_state()
    del manifest["params"]["fit_intercept"]
    with pytest.raises(ValueError, match="fit_intercept of the fit is True"):
        ConditionalRanker.from_state(manifest, Held(arrays, False))


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_every_answer_has_the_intercept(rank_by):
    graph = RelationGraph(X, HOLES[:, :9], objects=OBJECTS)
    ranker = ranker_of(kernel="linear", rank_by=rank_by).fit(graph)
    queries, objects = (X, OBJECTS) if rank_by == "outgoing" else (OBJECTS, X)
    scores = ranker.predict(queries, objects)
    model = ranker.fitted_.model
    plain = model.rows.training() @ model.W @ model.cols.training().T
    np.testing.assert_allclose(scores, plain + ranker.intercept_, atol=1e-10)
    np.testing.assert_allclose(ranker.predict_edges(queries[:5], objects[:5]), scores[range(5), range(5)])
    np.testing.assert_allclose(ranker.rank(queries, objects, top=3).scores, -np.sort(-scores, axis=1)[:, :3])
    index = ranker.index(objects)
    np.testing.assert_allclose(index.top(queries, 3).scores, -np.sort(-scores, axis=1)[:, :3])


@pytest.mark.parametrize("cv", ["leave-query-out", "leave-node-out", "leave-edge-out"])
@relations
def test_left_out_scores_are_those_of_a_refit(cv, relation):
    found = left_out_scores(ranker_of(relation), RelationGraph(X, Y), cv)
    i, j = 3, 8
    left = Y.copy()
    if cv == "leave-edge-out":
        left[i, j] = np.nan
        left[j, i] = np.nan if relation == "symmetric" else left[j, i]
    else:
        left[i] = np.nan
        left[:, i] = np.nan if cv == "leave-node-out" else left[:, i]
    refitted = ranker_of(relation, solver="primal").fit(X, left)
    np.testing.assert_allclose(found[i, j], refitted.predict(X)[i, j], rtol=1e-7)


def test_a_search_fits_an_intercept():
    search = ConditionalRankerCV([0.1, 1.0, 10.0], loss="regression", kernel="rbf", fit_intercept=True).fit(X, Y)
    plain = ConditionalRanker(loss="regression", alpha=search.alpha_, kernel="rbf", fit_intercept=True).fit(X, Y)
    assert search.intercept_ == plain.intercept_
    np.testing.assert_array_equal(search.predict(NEW), plain.predict(NEW))
    assert clone(search).fit_intercept is True


def test_a_ranker_of_tables_passes_it_on(tmp_path):
    nodes = {"id": list("abcdef"), "size": [1.0, 2.0, 3.0, 5.0, 8.0, 13.0]}
    edges = {"source": list("abcdea"), "target": list("bcdefc"), "value": [4.0, 5.5, 6.0, 4.5, 7.0, 5.0]}
    ranker = TableRanker(ConditionalRanker(loss="regression", fit_intercept=True)).fit(nodes, edges)
    assert ranker.ranker_.intercept_ > 1
    ranker.save(tmp_path / "model")
    assert TableRanker.load(tmp_path / "model").ranker_.intercept_ == ranker.ranker_.intercept_
