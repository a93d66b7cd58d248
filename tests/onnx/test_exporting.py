"""Exported models score as the ranker does, run by onnxruntime."""

import sys

import numpy as np
import pytest
from scipy import sparse

from builders import ranker_of_games, refused
from condrank import ConditionalRanker, RelationGraph
from condrank.onnx import export
from reference_index import HOLES, LABELS, OBJECTS, QUERIES, SKEW_HOLES, D, X, Y, fitted

#: Largest error, as a share of the largest score.
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
WEIGHTS = [1.0, 0.5, 2.0, 0.0]
CASES = {
    "linear": {},
    "linear, constant, weights": {"constant": True, "feature_weights": WEIGHTS},
    "linear, prior": {"prior": "similarity", "prior_weight": 0.3, "constant": 2.0, "feature_weights": WEIGHTS},
    "weighted sum": {"kernel": "2.0 * Linear() + 0.5 * Constant()", "prior": "similarity"},
    "rbf": {"kernel": "rbf"},
    "rbf, constant, weights": {"kernel": "rbf", "gamma": 0.3, "constant": 0.5, "feature_weights": WEIGHTS},
    "rbf, incoming": {"kernel": "rbf", "rank_by": "incoming", "constant": True},
    "nystroem": {"kernel": "rbf", "n_components": 8, "random_state": 0},
    "nystroem, weighted": {"kernel": "3.0 * RBF(0.2) + Constant()", "n_components": 8, "random_state": 0},
    "nystroem, k-means": {"kernel": "rbf", "n_components": 8, "landmarks": "kmeans", "random_state": 0},
    "nystroem, prior": {"kernel": "rbf", "n_components": 8, "prior": "similarity", "constant": 0.5, "random_state": 0},
    "nystroem, linear": {"kernel": "linear", "n_components": 3, "constant": True, "random_state": 0},
}


def run(path, queries, objects, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = {"queries": queries.astype(dtype), "objects": objects.astype(dtype)}
    (scores,) = session.run(["scores"], given)
    return scores


def assert_exported(ranker, path, queries=QUERIES, objects=OBJECTS, dtype="float64"):
    pytest.importorskip("onnx")
    export(ranker, path, dtype=dtype)
    expected = ranker.predict(queries, objects)
    scores = run(path, queries, objects, dtype)
    assert scores.dtype == dtype
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE[dtype] * np.abs(expected).max())


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("params", CASES.values(), ids=CASES)
def test_scores_are_those_of_predict(params, dtype, tmp_path):
    assert_exported(ConditionalRanker(**params).fit(X, Y), tmp_path / "model.onnx", dtype=dtype)


@pytest.mark.parametrize("relation", LABELS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_relations_and_incomplete_graphs(relation, kernel, tmp_path):
    ranker = ConditionalRanker(relation, kernel=kernel, constant=True, solver="primal")
    holes = np.where(np.isnan(SKEW_HOLES), np.nan, LABELS[relation])
    assert_exported(ranker.fit(X, holes), tmp_path / "model.onnx")


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_two_domains_have_inputs_of_two_widths(rank_by, tmp_path):
    others = np.random.default_rng(1).normal(size=(7, 3))
    ranker = ConditionalRanker(kernel="rbf", object_kernel="linear", rank_by=rank_by)
    ranker.fit(RelationGraph(X, Y[:, :7], objects=others))
    sides = (QUERIES, others) if rank_by == "outgoing" else (others, QUERIES)
    assert_exported(ranker, tmp_path / "model.onnx", *sides)


def test_centres_of_probabilities_are_added_and_log_odds_are_not_shifted(tmp_path):
    assert_exported(fitted("probabilities"), tmp_path / "model.onnx")
    assert_exported(fitted("logistic"), tmp_path / "model.onnx")


def test_far_features_lose_few_digits_in_single_precision(tmp_path):
    far = X + 100.0
    ranker = ConditionalRanker(kernel="rbf", n_components=8, random_state=0).fit(far, Y)
    export(ranker, tmp_path / "model.onnx")
    expected = ranker.predict(QUERIES + 100.0, OBJECTS + 100.0)
    scores = run(tmp_path / "model.onnx", QUERIES + 100.0, OBJECTS + 100.0, "float32")
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fitted("compared"), "compared"),
        (lambda: fitted("poly2D"), "pairwise_kernel"),
        (lambda: fitted("dual"), "over the edges, take another"),
        (lambda: fitted("prior, rbf"), "n_components"),
        (lambda: ConditionalRanker(kernel="poly").fit(X, Y), "linear or rbf"),
        (lambda: ConditionalRanker(kernel="Linear() + RBF()").fit(X, Y), "linear or rbf"),
        (lambda: ConditionalRanker(kernel="rbf", approximation="fourier", n_components=6).fit(X, Y), "nystroem"),
        (lambda: ConditionalRanker().fit(sparse.csr_array(X), Y), "sparse"),
        (lambda: ConditionalRanker(kernel="Linear(view='a')").fit(RelationGraph({"a": X}, Y)), "views"),
        (ranker_of_games, "ranker_"),
    ],
)
def test_other_models_are_refused(make, message, tmp_path):
    refused(message, export, make(), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_dtype_is_checked(tmp_path):
    refused("dtype", export, ConditionalRanker().fit(X, HOLES), tmp_path / "model.onnx", dtype="float16")


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"condrank\[onnx\]"):
        export(ConditionalRanker().fit(X, Y), tmp_path / "model.onnx")


def test_the_file_says_what_it_is(tmp_path):
    onnx = pytest.importorskip("onnx")
    export(ConditionalRanker("symmetric").fit(X, Y + Y.T), tmp_path / "model.onnx")
    made = onnx.load(tmp_path / "model.onnx")
    facts = {one.key: one.value for one in made.metadata_props}
    assert facts == {"relation": "symmetric", "loss": "ranking", "rank_by": "outgoing"}
    assert [one.name for one in made.graph.input] == ["queries", "objects"]
    assert made.graph.input[0].type.tensor_type.shape.dim[1].dim_value == D
