"""Blocks that begin with little, and blocks that contradict those before; what a generator is drawn from for."""

import datetime

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import check_random_state

from condrank import ConditionalRanker, RelationGraph

RNG = np.random.default_rng(0)
N, D = 30, 4
X = RNG.normal(size=(N, D))
LABELS = np.arange(N) % 3
TREE = np.column_stack([LABELS, np.arange(N) % 6])
P = np.array([[0.5, 0.8, 0.3], [0.2, 0.5, 0.9], [0.7, 0.1, 0.5]])
from_classes = RelationGraph.from_classes


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("cuts", [[1], [1, 2], [1, 2, 3, 4], [10, 11], [15]], ids=str)
@pytest.mark.filterwarnings("error::condrank.exceptions.RelationWarning")
def test_probabilities_may_begin_with_one_node(rank_by, cuts):
    def graph(rows):
        return from_classes(X[rows], LABELS[rows], P, classes=[0, 1, 2])

    params = {"relation": "reciprocal", "loss": "regression", "constant": True, "rank_by": rank_by}
    parts = ConditionalRanker(**params)
    for rows in np.split(np.arange(N), cuts):
        parts.partial_fit(graph(rows))
    whole = ConditionalRanker(**params).fit(graph(slice(None)))
    assert whole._model.offset == 0.5
    np.testing.assert_allclose(parts.predict(X, X), whole.predict(X, X), rtol=1e-9, atol=1e-9)


def test_single_nodes_of_parts_and_of_factors_keep_the_scale():
    members = np.eye(3)[LABELS]
    params = {"relation": "reciprocal", "loss": "regression"}
    whole = RelationGraph.from_factors(X, members, P)
    expected = ConditionalRanker(**params).fit(whole).predict(X, X)
    for make in (lambda rows: whole[rows], lambda rows: RelationGraph.from_factors(X[rows], members[rows], P)):
        for cuts in ([10, 11], [1]):
            parts = ConditionalRanker(**params)
            for rows in np.split(np.arange(N), cuts):
                parts.partial_fit(make(rows))
            np.testing.assert_allclose(parts.predict(X, X), expected, rtol=1e-9, atol=1e-9)
    ranker = ConditionalRanker(**params).partial_fit(whole)
    skew = np.array([[0.0, 2.0, -1.0], [-2.0, 0.0, 3.0], [1.0, -3.0, 0.0]])
    with pytest.raises(ValueError, match=r"relation S|scale of the relation"):
        ranker.partial_fit(RelationGraph.from_factors(X, members, skew))


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ((TREE, [0, 1, 2]), (TREE + 10, [0, 1, 3]), r"similarity of shared levels .*3\.0"),
        ((TREE, [1, 1, 2]), (TREE + 10, [0, 1, 2]), "similarity of shared levels"),
        ((TREE,), (np.column_stack([TREE + 10, TREE]),), "taxonomy of 2 level.*taxonomy of 4 level"),
        ((LABELS,), (TREE + 10,), "classes of one level, got a taxonomy"),
        ((TREE,), (LABELS + 10,), "got classes of one level"),
        ((LABELS,), (LABELS.astype(str),), "number, got str"),
        ((TREE.astype(str),), (TREE,), "str, got number"),
    ],
)
def test_blocks_of_other_classes_must_not_contradict_each_other(first, second, match, tmp_path):
    ranker = ConditionalRanker().partial_fit(from_classes(X, *first))
    before = ranker.predict(X, X)
    ranker.save(tmp_path / "ranker")
    for one in (ranker, ConditionalRanker.load(tmp_path / "ranker")):
        with pytest.raises(ValueError, match=match):
            one.partial_fit(from_classes(X, *second))
        np.testing.assert_array_equal(one.predict(X, X), before)


def test_levels_of_another_precision_are_the_same():
    values = [0.1, 0.7, 1.3]
    for types in ((np.float32, np.float64), (np.float64, np.float32)):
        ranker = ConditionalRanker()
        for shift, dtype in zip((0, 10), types, strict=True):
            ranker.partial_fit(from_classes(X.astype(dtype), TREE + shift, values))
        assert "60 nodes" in str(ranker.plan_)


def test_objects_with_other_features_are_refused():
    def graph(nodes, objects):
        return RelationGraph.from_factors(nodes, X, np.eye(D), X[:9], objects=objects)

    others = RNG.normal(size=(9, 6))
    for rank_by in ("outgoing", "incoming"):
        ranker = ConditionalRanker(rank_by=rank_by).partial_fit(graph(X, others))
        with pytest.raises(ValueError, match="objects must have 6 features, as before, got 5"):
            ranker.partial_fit(graph(X, others[:, :5]))
        with pytest.raises(ValueError, match="X must have 4 features, as before, got 3"):
            ranker.partial_fit(graph(X[:, :3], others))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"gamma": 2.0}, r"gamma must be that of the nodes before, None, got 2\.0"),
        ({"kernel": "laplacian"}, "kernel must be that of the nodes before, 'rbf', got 'laplacian'"),
        ({"constant": True}, "constant must be"),
        ({"feature_weights": [1, 1, 1, 0]}, "feature_weights must be"),
        ({"n_components": 6}, "n_components must be that of the nodes before, 5, got 6"),
        ({"landmarks": "pivoted"}, "landmarks must be"),
        ({"kernel": "linear", "n_components": None}, "kernel must be"),
        ({"rank_by": "incoming"}, "rank_by must be"),
    ],
    ids=str,
)
def test_the_parameter_that_was_changed_is_named(change, match):
    ranker = ConditionalRanker(kernel="rbf", n_components=5).partial_fit(from_classes(X, LABELS))
    with pytest.raises(ValueError, match=match):
        ranker.set_params(**change).partial_fit(from_classes(X, LABELS))


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.where(LABELS == 1, np.nan, LABELS), "10 are missing, the first of node 1"),
        ([None if one == 1 else str(one) for one in LABELS], r"first of node 1 \(None\)"),
        (np.array([float("nan") if one == 2 else "a" for one in LABELS], dtype=object), "first of node 2"),
        (
            np.array([one if one == 1 else str(one) for one in LABELS.tolist()], dtype=object),
            "of one type.*int and str",
        ),
        (np.where(LABELS == 1, np.datetime64("NaT"), np.datetime64("2020-01-01")), "10 are missing"),
        (np.column_stack([LABELS, np.where(LABELS == 1, np.nan, 0)]), "10 are missing"),
    ],
)
def test_missing_classes_are_refused(labels, match):
    with pytest.raises(ValueError, match=f"labels must .*{match}"):
        from_classes(X, labels)


def test_factors_are_named_that_do_not_fit_the_nodes():
    with pytest.raises(ValueError, match="A must have a row for each of the 30 nodes, got 5"):
        RelationGraph.from_factors(X, X[:5], np.eye(D))
    with pytest.raises(ValueError, match="B must have a row for each of the 30 nodes, got 5"):
        RelationGraph.from_factors(X, X, np.eye(D), X[:5])
    with pytest.raises(ValueError, match="B must have a row for each of the 5 objects, got 30; B is A"):
        RelationGraph.from_factors(X, X, np.eye(D), objects=X[:5])


def test_only_a_fit_draws_from_a_generator(tmp_path):
    graph = from_classes(X, LABELS)

    def fitted(planned, more=0):
        random = np.random.RandomState(3)
        ranker = ConditionalRanker(kernel="rbf", n_components=5, random_state=random)
        if planned:
            ranker.plan(graph)
        ranker.fit(graph)
        for _ in range(more):
            ranker.partial_fit(graph)
        return ranker.predict(X, X), random.randint(1000)

    scores, following = fitted(planned=False)
    again, after = fitted(planned=True)
    np.testing.assert_array_equal(again, scores)
    assert after == following == fitted(planned=False, more=2)[1]
    ranker = ConditionalRanker(kernel="rbf", n_components=5).fit(graph)
    common = check_random_state(None)
    before = common.get_state(legacy=False)["state"]
    ranker.save(tmp_path / "ranker")
    ConditionalRanker.load(tmp_path / "ranker")
    np.testing.assert_equal(common.get_state(legacy=False)["state"], before)


@pytest.mark.parametrize("landmarks", ["uniform", "pivoted"])
@pytest.mark.parametrize("n_components", [3, "auto"])
def test_landmarks_need_a_kernel(landmarks, n_components):
    ranker = ConditionalRanker(kernel="precomputed", n_components=n_components, landmarks=landmarks)
    with pytest.raises(ValueError, match="square kernel matrix as X"):
        ranker.fit(from_classes(X, LABELS))
    with pytest.raises(ValueError, match="dense kernel matrix as X"):
        ranker.fit(from_classes(sparse.csr_array(X @ X.T), LABELS))
    nothing = ConditionalRanker(kernel="poly", coef0=0, n_components=3, landmarks=landmarks)
    with pytest.raises(ValueError, match=r"kernel (is zero|of the nodes has no positive)"):
        nothing.fit(from_classes(0 * X, LABELS))


def test_what_cannot_be_saved_says_what_can(tmp_path):
    dates = np.array([datetime.date(2020, 1, 1 + day) for day in range(N)], dtype=object)
    with pytest.raises(ValueError, match=r"numpy\.datetime64"):
        ConditionalRanker().fit(from_classes(X, LABELS, ids=dates)).save(tmp_path / "ranker")
    with pytest.raises(ValueError, match=r"random_state cannot be saved.*seed"):
        ConditionalRanker(random_state=np.random.RandomState(0)).fit(from_classes(X, LABELS)).save(tmp_path / "ranker")
