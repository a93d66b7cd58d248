"""The safetensors package reads our files: those of released versions, and those that are written now."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from builders import GAMES, PLAYERS
from condrank import ConditionalRanker, TableRanker
from condrank.persistence import read_file
from saved_rankers import KINDS, X, Y, fitted

RELEASED = sorted((Path(__file__).parents[1] / "fixtures" / "models").glob("*/*.safetensors"))


def assert_read_alike(path):
    """The package reads the same arrays, by name, type, shape and value, and the same manifest."""
    manifest, arrays = read_file(path)
    others = load_file(path)
    assert others.keys() == arrays.keys()
    assert len(arrays) > 0
    for name, array in arrays.items():
        assert others[name].dtype == array.dtype, name
        np.testing.assert_array_equal(others[name], array, err_msg=name, strict=True)
    with safe_open(path, framework="numpy") as file:
        assert json.loads(file.metadata()["manifest"]) == manifest


def test_there_are_files_of_a_released_version():
    assert len(RELEASED) > 50


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_package_reads_files_of_released_versions(path):
    assert_read_alike(path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_the_package_reads_a_saved_ranker(name, tmp_path):
    ranker = fitted(name)
    ranker.save(tmp_path / "model.safetensors")
    assert_read_alike(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load_file(tmp_path / "model.safetensors")["W"], ranker.fitted_.model.W)


def test_the_package_reads_a_saved_ranker_of_tables(tmp_path):
    TableRanker().fit(PLAYERS, GAMES).save(tmp_path / "model.safetensors")
    assert_read_alike(tmp_path / "model.safetensors")


def test_the_package_reads_a_saved_index(tmp_path):
    ConditionalRanker(kernel="rbf").fit(X, Y).index().save(tmp_path / "exact.safetensors")
    assert_read_alike(tmp_path / "exact.safetensors")


def test_the_package_reads_an_approximate_index(tmp_path):
    pytest.importorskip("faiss")
    index = ConditionalRanker(kernel="rbf").fit(X, Y).index(kind="approximate")
    index.save(tmp_path / "approximate.safetensors")
    assert_read_alike(tmp_path / "approximate.safetensors")
