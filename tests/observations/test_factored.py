"""Relations in factors: classes, taxonomies, and products of three matrices."""

import numpy as np
import pytest
from scipy import sparse

from condrank import RelationGraph
from condrank.observations import Factored
from reference_cases import CASES, models

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

RNG = np.random.default_rng(0)
N, D = 30, 4
X = RNG.normal(size=(N, D))
LABELS = np.arange(N) % 3
from_classes = RelationGraph.from_classes


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.where(LABELS == 1, np.nan, LABELS), "10 are missing, the first for node 1"),
        ([None if one == 1 else str(one) for one in LABELS], r"first for node 1 \(None\)"),
        (np.array([float("nan") if one == 2 else "a" for one in LABELS], dtype=object), "first for node 2"),
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


def factored_graphs(X):
    rng = np.random.default_rng(14)
    n = X.shape[0]
    classes = np.array(["c", "a", "b"])[np.arange(n) % 3]
    taxonomy = np.column_stack([np.arange(n) % 2, np.arange(n) % 4, np.arange(n) % 3])
    A, B = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    return {
        "classes": RelationGraph.from_classes(X, classes),
        "classes with similarities": RelationGraph.from_classes(X, classes, rng.normal(size=(3, 3))),
        "taxonomy": RelationGraph.from_classes(X, taxonomy),
        "taxonomy with values": RelationGraph.from_classes(X, taxonomy, [0.5, 1, 3, 2]),
        "factors": RelationGraph.from_factors(X, A, rng.normal(size=(2, 2))),
        "two factors": RelationGraph.from_factors(X, A, rng.normal(size=(2, 3)), B),
        "sparse factors": RelationGraph.from_factors(X, sparse.csr_array(A), np.eye(2), sparse.csr_array(A[::-1])),
    }


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("name", ["linear, fewer features than nodes", "rbf"])
@pytest.mark.parametrize("form", factored_graphs(np.zeros((8, 1))).keys())
@models
def test_a_fit_of_a_factored_relation_equals_that_of_the_dense_one(form, name, relation, loss, rank_by):
    case = CASES[name]
    if relation == "reciprocal" and form in ("classes", "taxonomy", "taxonomy with values"):
        pytest.skip("a reciprocal ranker refuses symmetric labels")
    for X in (case.X, sparse.csr_array(case.X)):
        graph = factored_graphs(X)[form]
        params = {"relation": relation, "loss": loss, "rank_by": rank_by, "alpha": 0.4}
        factored, dense = case.ranker(**params).fit(graph), case.ranker(**params).fit(X, graph.to_dense())
        expected = dense.predict(case.X_new)
        np.testing.assert_allclose(factored.predict(case.X_new), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_disagreement_of_factors_is_on_the_scale_of_the_labels(scale):
    A, S = scale * np.array([[1.0, 0.3], [0.2, -1.0], [0.5, 0.5]]), np.array([[1.0, 2.0], [0.0, 1.0]])
    seen, Y = Factored(A, S, A), A @ S @ A.T
    np.testing.assert_allclose(seen.disagreement(1), np.sqrt(np.mean((Y - Y.T) ** 2)), rtol=1e-9)


def test_classes_without_members_do_not_count():
    S = np.array([[1.0, 0.5, 9.0], [0.5, 1.0, 0.0], [-9.0, 0.0, 1.0]])
    seen = Factored.from_classes(np.array([0, 1, 2, 1]), S, np.float64)
    assert seen.extremes() == (-9, 9)
    assert seen.disagreement(1) == 18
    some = np.array([0, 1, 3])
    assert seen.take(some, some).extremes() == (0.5, 1)
    assert seen.take(some, some).disagreement(1) == 0


def test_factors_with_an_empty_and_a_double_row_are_not_classes():
    A = sparse.csr_array(np.array([[1.0, 1.0], [0.0, 0.0]]))
    seen = Factored(A, np.eye(2), A)
    assert seen.extremes() == (0, 2)
