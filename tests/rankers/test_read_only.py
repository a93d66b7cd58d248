"""Arrays that must not be written: of pandas 3, or of files mapped into memory. Nothing writes to its input."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, TableRanker, baselines, diagnose, metrics
from condrank.kernels.shorthand import NAMES as KERNELS
from condrank.model_selection import cross_validate
from condrank.products.sampled import SampledProducts

RANDOM = np.random.default_rng(0)
X = np.abs(RANDOM.normal(size=(24, 4)))
DRAWN = RANDOM.normal(size=(24, 24))
LABELS = {"ordinary": DRAWN, "symmetric": DRAWN + DRAWN.T, "reciprocal": np.sign(DRAWN - DRAWN.T)}
SEEN = RANDOM.random((24, 24)) < 0.7
SEEN |= SEEN.T


def locked(values):
    """A copy that refuses to be written, also its parts if it is sparse."""
    found = values.copy()
    for one in (found.data, found.indices, found.indptr) if sparse.issparse(found) else (found,):
        one.setflags(write=False)
    return found


def answers(ranker, nodes, new, labels):
    """Scores and rankings of a ranker, fitted to the nodes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ranker.fit(RelationGraph(nodes, labels))
        scores, ranking = fitted.predict(new, new), fitted.rank(new, top=5)
        index = fitted.index(None if ranker.kernel == "precomputed" else new).top(new, 3)
    return [scores, ranking.scores, ranking.indices, index.scores, index.indices, fitted.predict_edges(new, new)]


def same(ranker, nodes, new, labels):
    wanted = answers(ranker, nodes.copy(), new.copy(), labels.copy())
    found = answers(ranker, locked(nodes), locked(new), locked(labels))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel, dtype):
    nodes, new = (X.astype(dtype), X[:5].astype(dtype))
    if kernel == "precomputed":
        nodes = nodes @ nodes.T
        new = nodes[:5]
    ranker = ConditionalRanker(kernel=kernel, clip=True, gamma=0.1 if kernel == "sigmoid" else None)
    if kernel == "precomputed":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [
                ConditionalRanker(kernel=kernel).fit(RelationGraph(make(nodes), DRAWN)).predict(make(new), make(new))
                for make in (np.copy, locked)
            ]
        np.testing.assert_array_equal(*found)
    else:
        same(ranker, nodes, new, DRAWN)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian"])
def test_every_kernel_of_sparse_features(kernel):
    nodes = sparse.csr_array(np.where(X > 0.4, X, 0.0))
    same(ConditionalRanker(kernel=kernel), nodes, nodes[:5], DRAWN)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "chi2", "n_components": 6},
        {"kernel": "rbf", "n_components": 6, "approximation": "fourier"},
        {"kernel": "rbf", "n_components": 6, "landmarks": "kmeans"},
        {"kernel": "laplacian", "n_components": 6, "landmarks": "pivoted"},
        {"solver": "primal", "kernel": "rbf"},
        {"solver": "dual", "kernel": "chi2"},
        {"solver": "explicit"},
        {"solver": "early_stopping", "kernel": "rbf"},
        {"prior": "similarity", "kernel": "chi2"},
        {"feature_weights": locked(np.arange(4.0)), "kernel": "chi2"},
        {"constant": True, "relation": "reciprocal", "loss": "logistic"},
        {"relation": "reciprocal", "compared": [0, 2], "kernel": "rbf"},
        {"relation": "symmetric", "loss": "regression", "rank_by": "incoming"},
        {"pairwise_kernel": "mlpk", "kernel": "chi2"},
        {"pairwise_kernel": "ranking"},
    ],
    ids=str,
)
@pytest.mark.parametrize("complete", [True, False])
def test_every_way_to_fit(options, complete):
    relation = options.get("relation", "ordinary")
    labels = LABELS[relation] if complete else np.where(SEEN, LABELS[relation], np.nan)
    if options.get("solver") == "explicit" and not complete:
        options = options | {"n_components": 6, "kernel": "rbf"}
    same(ConditionalRanker(random_state=0, **options), X, X[:5], labels)


def test_sparse_labels_and_factors():
    labels = sparse.csr_array(np.where(SEEN, DRAWN, 0.0))
    same(ConditionalRanker(kernel="chi2"), X, X[:5], labels)
    classes = np.arange(24) % 3
    fitted = [
        ConditionalRanker().fit(RelationGraph.from_classes(make(X), make(classes))).predict(make(X))
        for make in (np.copy, locked)
    ]
    np.testing.assert_array_equal(*fitted)


@pytest.mark.parametrize("name", metrics.MEASURES)
def test_every_measure(name):
    truth, scores = (DRAWN > 0).astype(float), LABELS["symmetric"]
    measure = metrics.MEASURES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for average in ("pooled", None):
            try:
                wanted = measure(truth.copy(), scores.copy(), average=average)
            except (TypeError, ValueError):  # an average that this measure does not have
                continue
            np.testing.assert_array_equal(measure(locked(truth), locked(scores), average=average), wanted)


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_compiled_loops(backend):
    if backend == "numba":
        pytest.importorskip("numba")
    sources, targets = np.nonzero(SEEN)
    indptr = np.searchsorted(sources, np.arange(25)).astype(np.int64)
    Z = RANDOM.normal(size=(24, 3))
    W = RANDOM.normal(size=len(targets))
    found = []
    for make in (np.copy, locked):
        products = SampledProducts(make(indptr), make(targets.astype(np.int64)), (24, 24), backend)
        found.append([products.at_edges(make(Z), make(Z)), products.times(make(W), make(Z))])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore")
def test_searches_baselines_and_diagnoses():
    graph = [RelationGraph(make(X), make(LABELS["symmetric"])) for make in (np.copy, locked)]
    for ranker in (
        ConditionalRankerCV(kernel="chi2", alphas=[0.1, 1.0]),
        *(getattr(baselines, name)() for name in baselines.__all__),
    ):
        if "random_state" in ranker.get_params():
            ranker.set_params(random_state=0)
        one, other = (ranker.fit(given).predict(given.nodes.base) for given in graph)
        np.testing.assert_array_equal(one, other)
    one, other = (cross_validate(ConditionalRanker(kernel="chi2"), given, 4, cv=2) for given in graph)
    np.testing.assert_equal(one.scores, other.scores)
    assert str(diagnose(graph[0])) == str(diagnose(graph[1]))


def test_frames_of_pandas():
    pandas = pytest.importorskip("pandas")
    nodes = pandas.DataFrame(locked(X), columns=list("abcd")).assign(id=range(24))
    edges = pandas.DataFrame(
        {"source": np.repeat(range(24), 24), "target": np.tile(range(24), 24), "value": DRAWN.ravel()}
    )
    ranker = TableRanker(ConditionalRanker(kernel="rbf")).fit(nodes, edges)
    assert np.isfinite(ranker.predict(nodes.head())).all()
    frame = pandas.DataFrame(X)
    assert ConditionalRanker(kernel="chi2").fit(frame, DRAWN).rank(frame.head()).indices.shape == (5, 10)
