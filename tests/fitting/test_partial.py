"""Nodes added block by block against one fit to all of them."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.exceptions import RelationWarning
from condrank.nodes import Nodes

rng = np.random.default_rng(0)
N, D = 60, 5
X = rng.normal(size=(N, D)) + 0.5
LABELS = np.array(["cat", "dog", "eel", "fox"])[np.minimum(np.arange(N) // 12, 3)]  # classes come one after the other
CLASSES = ["fox", "eel", "dog", "cat"]
S = rng.normal(size=(4, 4))
PATHS = np.column_stack([np.arange(N) // 30, np.arange(N) // 10])
A, B = rng.normal(size=(N, 3)), rng.normal(size=(N, 2))
T = rng.normal(size=(3, 2))
NEW = rng.normal(size=(7, D))
BLOCKS = [slice(0, 5), slice(5, 31), slice(31, 32), slice(32, 60)]

GRAPHS = {
    "classes": lambda rows, X: RelationGraph.from_classes(X[rows], LABELS[rows]),
    "similarity": lambda rows, X: RelationGraph.from_classes(X[rows], LABELS[rows], S, classes=CLASSES),
    "taxonomy": lambda rows, X: RelationGraph.from_classes(X[rows], PATHS[rows]),
    "taxonomy with values": lambda rows, X: RelationGraph.from_classes(X[rows], PATHS[rows], [0.5, 2, 1]),
    "factors": lambda rows, X: RelationGraph.from_factors(X[rows], A[rows], S[:3, :3]),
    "two factors": lambda rows, X: RelationGraph.from_factors(X[rows], A[rows], T, B[rows]),
    "sparse factors": lambda rows, X: RelationGraph.from_factors(X[rows], sparse.csr_array(A[rows]), S[:3, :3]),
}
MODELS = list(itertools.product(("ordinary", "symmetric", "reciprocal"), ("ranking", "regression")))
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
RNG = np.random.default_rng(0)
N_FEW, D_FEW = 30, 4
FEW = RNG.normal(size=(N_FEW, D_FEW))
FEW_LABELS = np.arange(N_FEW) % 3
WINS = np.array([[0.5, 0.8, 0.3], [0.2, 0.5, 0.9], [0.7, 0.1, 0.5]])
from_classes = RelationGraph.from_classes


# Symmetric relations, which a reciprocal ranker refuses: it gets a similarity of classes that is not symmetric.
SYMMETRIC = ("classes", "taxonomy", "taxonomy with values")


def suited(graph, relation):
    return GRAPHS["similarity" if relation == "reciprocal" and graph in SYMMETRIC else graph]


def both(graph, X=X, blocks=BLOCKS, **params):
    """A ranker fitted to everything, and one fitted block by block."""
    make = suited(graph, params.get("relation", "ordinary"))
    whole = ConditionalRanker(**params).fit(make(slice(None), X))
    parts = ConditionalRanker(**params)
    for rows in blocks:
        parts.partial_fit(make(rows, X))
    return whole, parts


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("relation", "loss"), MODELS)
def test_blocks_are_as_good_as_the_whole(graph, relation, loss):
    whole, parts = both(graph, relation=relation, loss=loss, alpha=0.3)
    np.testing.assert_allclose(parts.predict(NEW, X), whole.predict(NEW, X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("graph", ["classes", "two factors"])
@pytest.mark.parametrize(("relation", "loss"), MODELS)
@pytest.mark.parametrize(
    "params",
    [
        {"constant": True},
        {"rank_by": "incoming"},
        {"kernel": "cosine"},
        {"feature_weights": [1, 0, 2, 0.5, 3]},
        {"prior": "similarity", "prior_weight": 0.7},
        {"kernel": "cosine", "constant": True, "rank_by": "incoming", "alpha": 1e-4},
    ],
    ids=str,
)
def test_blocks_are_as_good_as_the_whole_with_other_parameters(graph, relation, loss, params):
    if "prior" in params and relation == "reciprocal":
        pytest.skip("a similarity is no prior of a reciprocal relation")
    whole, parts = both(graph, relation=relation, loss=loss, **{"alpha": 0.3} | params)
    np.testing.assert_allclose(parts.predict(NEW, X), whole.predict(NEW, X), rtol=1e-10, atol=1e-10)
    if relation == "reciprocal" and "constant" in params:
        np.testing.assert_allclose(parts.strengths(NEW), whole.strengths(NEW), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("relation", "loss"), MODELS)
@pytest.mark.parametrize("kind", ["sparse", "duplicated", "ones in the span", "far from zero", "float32"])
def test_blocks_are_as_good_as_the_whole_for_other_node_data(relation, loss, kind):
    tolerance = 1e-10
    data = X
    if kind == "sparse":
        data = sparse.csr_array(np.where(X > 0.5, X, 0))
    elif kind == "duplicated":
        data = np.hstack([X, X[:, :2]])
    elif kind == "ones in the span":
        data = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    elif kind == "far from zero":
        data, tolerance = X + 1e3, 1e-7
    elif kind == "float32":
        data, tolerance = X.astype(np.float32), 1e-4
    whole, parts = both("classes", data, relation=relation, loss=loss)
    new = data[:7]
    assert parts.predict(new, new).dtype == data.dtype
    np.testing.assert_allclose(parts.predict(new, new), whole.predict(new, new), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("relation", "loss"), MODELS)
def test_the_first_block_may_have_as_many_features_as_nodes(relation, loss):
    graphs = [RelationGraph.from_factors(X[rows], A[rows], S[:3, :3]) for rows in (slice(0, 2), slice(2, 5), slice(5))]
    parts = ConditionalRanker(relation, loss).partial_fit(graphs[0]).partial_fit(graphs[1])
    whole = ConditionalRanker(relation, loss).fit(graphs[2])  # with the exact kernel
    np.testing.assert_allclose(parts.predict(X, X), whole.predict(X, X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("loss", ["ranking", "regression"])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_blocks_of_two_domains_are_as_good_as_the_whole(loss, rank_by):
    objects = rng.normal(size=(25, 3))
    C = rng.normal(size=(25, 2))

    def graph(rows, cols):
        return RelationGraph.from_factors(X[rows], A[rows], T, C[cols], objects=objects[cols])

    whole = ConditionalRanker(loss=loss, rank_by=rank_by).fit(graph(slice(None), slice(None)))
    parts = ConditionalRanker(loss=loss, rank_by=rank_by)
    parts.partial_fit(graph(slice(9), slice(10))).partial_fit(graph(slice(9, None), slice(10, None)))
    pair = (NEW, objects) if rank_by == "outgoing" else (objects, NEW)
    np.testing.assert_allclose(parts.predict(*pair), whole.predict(*pair), rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="one domain or two"):
        ConditionalRanker(rank_by=rank_by).partial_fit(GRAPHS["two factors"](slice(9), X)).partial_fit(
            RelationGraph.from_factors(X, A, T, B, objects=X)
        )


@pytest.mark.parametrize("params", [{}, {"approximation": "fourier"}, {"constant": True}], ids=str)
@pytest.mark.parametrize(("relation", "loss"), MODELS)
def test_an_approximation_stays_that_of_the_first_block(relation, loss, params):
    given = {"relation": relation, "loss": loss, "kernel": "rbf", "n_components": 8, "random_state": 0} | params
    make = suited("classes", relation)
    parts = ConditionalRanker(**given).fit(make(slice(0, 20), X))
    parts.partial_fit(make(slice(20, None), X))

    # The same features, of all nodes at once, as those of a linear kernel.
    def features(rows):
        return parts.fitted_.model.rows.features(Nodes(rows))

    linear = given | {"kernel": "linear", "n_components": None}
    linear.pop("approximation", None)
    whole = ConditionalRanker(**linear).fit(make(slice(None), features(X)))
    expected = whole.predict(features(NEW), features(X))
    np.testing.assert_allclose(parts.predict(NEW, X), expected, rtol=1e-9, atol=1e-9)


def test_a_ranker_goes_on_from_a_fit_and_from_a_file(tmp_path):
    for graph in GRAPHS:
        whole, _ = both(graph, blocks=[])
        first = ConditionalRanker().fit(GRAPHS[graph](slice(0, 40), X))
        first.save(tmp_path / "first")
        again = ConditionalRanker.load(tmp_path / "first").partial_fit(GRAPHS[graph](slice(40, 50), X))
        again.save(tmp_path / "again")
        last = ConditionalRanker.load(tmp_path / "again")
        np.testing.assert_array_equal(last.predict(NEW, X), again.predict(NEW, X))
        last.partial_fit(GRAPHS[graph](slice(50, None), X))
        np.testing.assert_allclose(last.predict(NEW, X), whole.predict(NEW, X), rtol=1e-10, atol=1e-10)
        assert first.predict(NEW).shape == (7, 40)


def test_other_parameters_and_a_path_come_from_the_same_sums():
    _, parts = both("classes")
    parts.set_params(relation="symmetric", loss="regression", alpha=0.1, prior="similarity")
    parts.partial_fit(GRAPHS["classes"](slice(0, 5), X))
    twice = RelationGraph.from_classes(np.vstack([X, X[:5]]), np.append(LABELS, LABELS[:5]))
    whole = ConditionalRanker("symmetric", "regression", 0.1, prior="similarity").fit(twice)
    for one, other in zip(parts.path([0.1, 10]), whole.path([0.1, 10]), strict=True):
        np.testing.assert_allclose(one.predict(NEW, X), other.predict(NEW, X), rtol=1e-10, atol=1e-10)


def test_nodes_are_not_kept():
    _, parts = both("classes", relation="symmetric")
    for call in (parts.predict, parts.rank):
        with pytest.raises(ValueError, match="objects must be given"):
            call(NEW)
    with pytest.raises(AttributeError, match="training nodes"):
        _ = parts.dual_coef_
    assert parts.rank(NEW, X, top=3).indices.shape == (7, 3)
    assert 0 <= parts.score(GRAPHS["classes"](slice(None), X)) <= 1
    assert "60 nodes" in str(parts.plan_)


def test_a_block_that_is_refused_changes_nothing():
    ranker = ConditionalRanker().partial_fit(GRAPHS["similarity"](slice(0, 20), X))
    before = ranker.predict(NEW, X)
    with pytest.raises(ValueError, match="that of 'fox' and 'fox' differs"):
        ranker.partial_fit(RelationGraph.from_classes(X[20:40], LABELS[20:40], 2 * S, classes=CLASSES))
    with pytest.raises(ValueError, match="5 features, as before, got 4"):
        ranker.partial_fit(GRAPHS["similarity"](slice(20, 40), X[:, :4]))
    np.testing.assert_array_equal(ranker.predict(NEW, X), before)


def test_similarity_across_blocks_must_be_known():
    one = RelationGraph.from_classes(X[:4], ["a", "b", "a", "b"], np.eye(2))
    other = RelationGraph.from_classes(X[:4], ["b", "c", "c", "b"], np.eye(2))
    with pytest.raises(ValueError, match="classes 'a' and 'c'"):
        ConditionalRanker().partial_fit(one).partial_fit(other)
    with pytest.raises(ValueError, match="same similarity of classes as the nodes before"):
        ConditionalRanker().partial_fit(one).partial_fit(RelationGraph.from_classes(X[:2], ["a", "b"]))


@pytest.mark.parametrize(
    ("params", "graph", "match"),
    [
        ({"kernel": "rbf"}, "classes", "exact rbf kernel"),
        ({"kernel": "precomputed"}, "classes", "kernel matrix"),
        ({"relation": "reciprocal", "loss": "logistic"}, "classes", "loss='logistic'"),
        ({"solver": "early_stopping"}, "classes", "solver='early_stopping'"),
        ({"relation": "reciprocal", "compared": [0]}, "classes", "compared features"),
        ({"kernel": "rbf", "n_components": 30}, "first block", "more nodes than the 30 components"),
        ({}, "matrix", "as a matrix or by edges"),
        ({}, "edges", "as a matrix or by edges"),
    ],
    ids=str,
)
def test_what_has_no_sums_is_refused(params, graph, match):
    graphs = {
        "classes": lambda: GRAPHS["classes"](slice(None), X),
        "first block": lambda: GRAPHS["classes"](slice(0, 20), X),
        "matrix": lambda: RelationGraph(X, X @ X.T),
        "edges": lambda: RelationGraph.from_edges(X, [0, 1], [1, 2], [1.0, 2.0]),
    }
    with pytest.raises(ValueError, match=match):
        ConditionalRanker(**params).partial_fit(graphs[graph]())


@pytest.mark.parametrize("graph", ["similarity", "taxonomy with values"])
def test_blocks_of_different_precision_are_fitted_in_single(graph):
    single = X.astype(np.float32)
    whole, _ = both(graph, blocks=[])
    for first, second in ((X, single), (single, X)):
        parts = ConditionalRanker().partial_fit(GRAPHS[graph](slice(0, 30), first))
        parts.partial_fit(GRAPHS[graph](slice(30, None), second))
        assert parts.coef_.dtype == np.float32
        np.testing.assert_allclose(parts.predict(NEW, X), whole.predict(NEW, X), rtol=1e-4, atol=1e-4)


def test_only_plain_rankers_add_nodes():
    assert not hasattr(ConditionalRankerCV(alphas=[1.0]), "partial_fit")
    assert hasattr(ConditionalRanker(), "partial_fit")


def test_classes_name_the_rows_of_a_similarity():
    whole = RelationGraph.from_classes(X, LABELS, S, classes=CLASSES)
    place = [CLASSES.index(one) for one in LABELS]
    np.testing.assert_array_equal(whole.to_dense(), S[np.ix_(place, place)])
    assert RelationGraph.from_classes(X[:5], LABELS[:5], classes=CLASSES).is_symmetric
    with pytest.raises(ValueError, match="'cat' is not among them"):
        RelationGraph.from_classes(X, LABELS, np.eye(3), classes=["dog", "eel", "fox"])
    with pytest.raises(ValueError, match="classes must be one-dimensional and unique"):
        RelationGraph.from_classes(X, LABELS, S, classes=["cat", "dog", "eel", "fox", "cat"])
    with pytest.raises(ValueError, match="each of the 4 classes"):
        RelationGraph.from_classes(X, LABELS, np.eye(3), classes=CLASSES)
    with pytest.raises(ValueError, match="named by their paths"):
        RelationGraph.from_classes(X, PATHS, classes=CLASSES)


def test_a_file_that_cannot_hold_the_classes_is_loaded_without_sums(tmp_path):
    dates = np.datetime64("2020-01-01") + np.arange(N) % 3
    ranker = ConditionalRanker().fit(RelationGraph.from_classes(X, dates))
    ranker.save(tmp_path / "dates")
    loaded = ConditionalRanker.load(tmp_path / "dates")
    np.testing.assert_array_equal(loaded.predict(NEW), ranker.predict(NEW))
    with pytest.raises(ValueError, match="without sums"):
        loaded.partial_fit(RelationGraph.from_classes(X, dates))


def test_a_fit_without_sums_cannot_go_on():
    block = GRAPHS["classes"](slice(0, 20), X)
    with pytest.raises(ValueError, match="without sums"):
        ConditionalRanker().fit(X, X @ X.T).partial_fit(block)
    ranker = ConditionalRanker().partial_fit(block)
    with pytest.raises(ValueError, match="kernel must be 'linear', as for the nodes before"):
        ranker.set_params(kernel="cosine").partial_fit(block)


def test_partial_fit_warns_as_fit_does():
    S = np.array([[1.0, 0.5], [0.2, 1.0]])
    graph = RelationGraph.from_classes(RNG.normal(size=(6, 2)), [0, 0, 0, 1, 1, 1], S)
    messages = []
    for method in ("fit", "partial_fit"):
        with pytest.warns(RelationWarning, match="the symmetric part is learned") as caught:
            getattr(ConditionalRanker("symmetric"), method)(graph)
        assert caught[0].filename == __file__
        messages.append(str(caught[0].message))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("cuts", [[1], [1, 2], [1, 2, 3, 4], [10, 11], [15]], ids=str)
@pytest.mark.filterwarnings("error::condrank.exceptions.RelationWarning")
def test_probabilities_may_begin_with_one_node(rank_by, cuts):
    def graph(rows):
        return from_classes(FEW[rows], FEW_LABELS[rows], WINS, classes=[0, 1, 2])

    params = {"relation": "reciprocal", "loss": "regression", "constant": True, "rank_by": rank_by}
    parts = ConditionalRanker(**params)
    for rows in np.split(np.arange(N_FEW), cuts):
        parts.partial_fit(graph(rows))
    whole = ConditionalRanker(**params).fit(graph(slice(None)))
    assert whole.fitted_.model.offset == 0.5
    np.testing.assert_allclose(parts.predict(FEW, FEW), whole.predict(FEW, FEW), rtol=1e-9, atol=1e-9)


def test_single_nodes_of_parts_and_of_factors_keep_the_scale():
    members = np.eye(3)[FEW_LABELS]
    params = {"relation": "reciprocal", "loss": "regression"}
    whole = RelationGraph.from_factors(FEW, members, WINS)
    expected = ConditionalRanker(**params).fit(whole).predict(FEW, FEW)
    for make in (lambda rows: whole[rows], lambda rows: RelationGraph.from_factors(FEW[rows], members[rows], WINS)):
        for cuts in ([10, 11], [1]):
            parts = ConditionalRanker(**params)
            for rows in np.split(np.arange(N_FEW), cuts):
                parts.partial_fit(make(rows))
            np.testing.assert_allclose(parts.predict(FEW, FEW), expected, rtol=1e-9, atol=1e-9)
    ranker = ConditionalRanker(**params).partial_fit(whole)
    skew = np.array([[0.0, 2.0, -1.0], [-2.0, 0.0, 3.0], [1.0, -3.0, 0.0]])
    with pytest.raises(ValueError, match=r"relation S|scale of the relation"):
        ranker.partial_fit(RelationGraph.from_factors(FEW, members, skew))


def test_objects_with_other_features_are_refused():
    def graph(nodes, objects):
        return RelationGraph.from_factors(nodes, FEW, np.eye(D_FEW), FEW[:9], objects=objects)

    others = RNG.normal(size=(9, 6))
    for rank_by in ("outgoing", "incoming"):
        ranker = ConditionalRanker(rank_by=rank_by).partial_fit(graph(FEW, others))
        with pytest.raises(ValueError, match="objects must have 6 features, as before, got 5"):
            ranker.partial_fit(graph(FEW, others[:, :5]))
        with pytest.raises(ValueError, match="X must have 4 features, as before, got 3"):
            ranker.partial_fit(graph(FEW[:, :3], others))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"gamma": 2.0}, r"gamma must be None, as for the nodes before, got 2\.0"),
        ({"kernel": "laplacian"}, "kernel must be 'rbf', as for the nodes before, got 'laplacian'"),
        ({"constant": True}, "constant must be"),
        ({"feature_weights": [1, 1, 1, 0]}, "feature_weights must be"),
        ({"n_components": 6}, "n_components must be 5, as for the nodes before, got 6"),
        ({"landmarks": "pivoted"}, "landmarks must be"),
        ({"kernel": "linear", "n_components": None}, "kernel must be"),
        ({"rank_by": "incoming"}, "rank_by must be"),
    ],
    ids=str,
)
def test_the_parameter_that_was_changed_is_named(change, match):
    ranker = ConditionalRanker(kernel="rbf", n_components=5).partial_fit(from_classes(FEW, FEW_LABELS))
    with pytest.raises(ValueError, match=match):
        ranker.set_params(**change).partial_fit(from_classes(FEW, FEW_LABELS))
