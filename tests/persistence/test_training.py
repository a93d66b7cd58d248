"""The labels of a fit in its file: a loaded ranker can build the system of the fit again."""

import numpy as np
import pytest
from scipy import sparse

from builders import refused
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.problem.problem import Problem
from condrank.solvers.system import Options
from saved_rankers import NEW, RANKERS, X, Y, assert_same, fitted

GRAPHS = {
    "sparse labels": RelationGraph(X, sparse.csr_array(np.where(Y > 1, Y, 0)), unstored="zero"),
    "classes": RelationGraph.from_classes(X, np.arange(len(X)) % 3),
    "factors": RelationGraph.from_factors(X, X[:, :2], np.eye(2), X[:, 2:]),
}
ITERATED = {"primal", "dual", "reciprocal dual", "compared", "pairwise kernel", "logistic", "logistic dual"}


def reloaded(ranker, path, **options):
    ranker.save(path, **options)
    return ConditionalRanker.load(path)


def assert_solves(loaded, before, tolerance):
    """The system of the loaded ranker has the weights of the fit."""
    settings = before.fitted_.settings
    start = before.fitted_.model.start() if before.loss == "logistic" else None
    found = loaded.fitted_.solvable().solve(settings.alpha, Options(settings.tol, settings.max_iter, start)).W
    expected = before.fitted_.model.W
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("name", [name for name in [*RANKERS, "two domains"] if name != "early stopping"])
def test_a_loaded_ranker_with_its_labels_solves_again(name, tmp_path):
    ranker = fitted(name)
    loaded = reloaded(ranker, tmp_path / "model.safetensors", training=True)
    assert loaded.fitted_.observed.shape == ranker.fitted_.observed.shape
    tolerance = 1e-3 if name == "float32" else 1e-6 if name in ITERATED else 1e-11
    assert_solves(loaded, ranker, tolerance)


@pytest.mark.parametrize("form", GRAPHS)
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_complete_relations_of_every_form_are_stored(form, rank_by, tmp_path):
    ranker = ConditionalRanker(kernel="rbf", rank_by=rank_by).fit(GRAPHS[form])
    loaded = reloaded(ranker, tmp_path / "model.safetensors", training=True)
    assert_same(loaded.fitted_.observed.to_dense(), Problem(GRAPHS[form], ranker.fitted_.settings).observed.to_dense())
    assert_solves(loaded, ranker, 1e-11)
    assert_same(loaded.predict(NEW), ranker.predict(NEW))


def test_a_file_without_labels_is_as_before_and_says_how_to_keep_them(tmp_path):
    ranker = fitted("primal")
    ranker.save(tmp_path / "one")
    ranker.save(tmp_path / "two", training=True)
    loaded = ConditionalRanker.load(tmp_path / "one")
    assert loaded.fitted_.observed is None
    assert "training" not in ranker.to_state()[0]
    refused(r"save\(path, training=True\)", loaded.fitted_.solvable)
    refused("training=True needs the labels", loaded.save, tmp_path / "three", training=True)
    assert (tmp_path / "two").stat().st_size > (tmp_path / "one").stat().st_size


def test_coefficients_of_edges_carry_their_labels(tmp_path):
    ranker = fitted("reciprocal dual")
    assert_solves(reloaded(ranker, tmp_path / "model.safetensors"), ranker, 1e-6)
    logistic = ConditionalRanker("reciprocal", "logistic", kernel="rbf", solver="dual")
    logistic.fit(RelationGraph(X, np.sign(Y - Y.T)))
    refused(r"training=True", reloaded(logistic, tmp_path / "model.safetensors").fitted_.solvable)


def test_labels_of_another_shape_are_refused(tmp_path):
    from condrank.persistence import write_file

    manifest, arrays = fitted("explicit features").to_state(training=True)
    arrays["training.labels"] = arrays["training.labels"][:, :-1]
    write_file(tmp_path / "model.safetensors", manifest, arrays)
    refused("shape of the labels", ConditionalRanker.load, tmp_path / "model.safetensors")


def test_a_ranker_of_tables_keeps_its_labels(tmp_path):
    players = {"id": ["ann", "bob", "cyd"], "age": [31, 25, 40]}
    games = {"winner": ["ann", "bob", "ann"], "loser": ["bob", "cyd", "cyd"]}
    ranker = TableRanker(ConditionalRanker("reciprocal", "regression")).fit(players, games)
    ranker.save(tmp_path / "model.safetensors", training=True)
    loaded = TableRanker.load(tmp_path / "model.safetensors")
    assert_same(loaded.ranker_.fitted_.observed.values, ranker.ranker_.fitted_.observed.values)
