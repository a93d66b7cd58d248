"""Bacteria, enzymes, USPS digits and Pokémon: what the loaders make of files of the right form."""

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from sklearn.utils import Bunch

from condrank import datasets
from stored_files import kernel, level_matrix


def test_bacteria_are_related_by_species_or_taxonomy(write, tmp_path):
    X = np.random.default_rng(0).poisson(1.0, (6, 9)).astype(np.float32) * 100
    species, genus = np.array([0, 0, 1, 1, 2, 2], np.uint8), np.array([0, 0, 0, 0, 1, 1], np.uint8)
    write(
        "micromass/micromass.npz",
        X=X,
        species=species,
        genus=genus,
        species_names=np.array(["A a", "A b", "B c"]),
        genus_names=np.array(["A", "B"]),
        sample_id=np.array([f"s{i}" for i in range(6)]),
        gram_positive=genus == 0,
    )
    bunch = datasets.load_bacteria(data_home=str(tmp_path))
    np.testing.assert_array_equal(bunch.graph.to_dense(), species[:, None] == species)
    np.testing.assert_allclose(np.linalg.norm(bunch.X, axis=1), 1)
    np.testing.assert_array_equal(bunch.intensities, X)
    bunch = datasets.load_bacteria("taxonomy", data_home=tmp_path)
    np.testing.assert_array_equal(bunch.graph.to_dense(), level_matrix(np.column_stack([genus, species])))
    with pytest.raises(ValueError, match="relation must be 'species' or 'taxonomy', got 'genus'"):
        datasets.load_bacteria("genus", data_home=tmp_path)


def write_enzymes(write, **changes):
    rng = np.random.default_rng(0)
    scores = np.rint(kernel(rng, 4) * 1000).astype(np.int16)
    counts = sparse.csr_array(np.eye(4, 8000, k=7990, dtype=np.uint16) + np.eye(4, 8000, dtype=np.uint16))
    ec = np.array([[1, 1, 1, 1], [1, 1, 1, 2], [1, 2, 1, 1], [3, 1, 1, 1]], np.int16)
    arrays = {
        "chain": np.array(["1AAA-A", "1AAB-A", "1AAC-B", "1AAD-A"]),
        "ec": ec,
        "sw_score_upper": scores[np.triu_indices(4)],
        "spectrum3_data": counts.data,
        "spectrum3_indices": counts.indices.astype(np.int16),
        "spectrum3_indptr": counts.indptr,
    }
    write("enzymes_pdb_ec/subset_ge5.npz", **(arrays | changes))
    return scores.astype(float), ec


def test_enzymes_are_related_by_leading_digits(write, tmp_path):
    scores, ec = write_enzymes(write)
    bunch = datasets.load_enzymes(data_home=tmp_path)
    d = np.sqrt(np.diagonal(scores))
    np.testing.assert_allclose(bunch.X, scores / np.outer(d, d))
    np.testing.assert_array_equal(bunch.graph.to_dense(), level_matrix(ec))
    assert bunch.graph.to_dense()[0].tolist() == [4, 3, 1, 0]
    assert bunch.spectrum.shape == (4, 8000)
    bunch = datasets.load_enzymes("spectrum", data_home=tmp_path)
    assert sparse.issparse(bunch.X)
    np.testing.assert_allclose((bunch.X @ bunch.X.T).diagonal(), 1)
    with pytest.raises(ValueError, match="kernel must be 'smith_waterman' or 'spectrum', got 'blast'"):
        datasets.load_enzymes("blast", data_home=tmp_path)


def test_enzymes_refuse_a_triangle_of_another_size(write, tmp_path):
    write_enzymes(write, sw_score_upper=np.ones(9, np.int16))
    with pytest.raises(ValueError, match=r"sw_score_upper must have shape \(10,\) for 4 enzymes, got \(9,\)"):
        datasets.load_enzymes(data_home=tmp_path)


def test_usps_digits_are_read_from_a_file(write, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-1000, 1001, (7, 256)).astype(np.int16)
    y = np.array([3, 1, 3, 0, 1, 3, 0], np.uint8)
    write("usps/usps.npz", X_train_milli=X[:4], y_train=y[:4], X_test_milli=X[4:], y_test=y[4:])
    for subset, rows in {"train": slice(4), "test": slice(4, 7), "all": slice(7)}.items():
        bunch = datasets.load_usps(subset, data_home=tmp_path)
        np.testing.assert_array_equal(bunch.X, X[rows] / 1000)
        np.testing.assert_array_equal(bunch.graph.to_dense(), y[rows, None] == y[rows])
    assert list(bunch.is_test) == [False] * 4 + [True] * 3
    assert bunch.ids[5] == "digit3-00005"
    with pytest.raises(ValueError, match="subset must be 'train', 'test' or 'all', got 'both'"):
        datasets.load_usps("both", data_home=tmp_path)


def test_usps_digits_are_downloaded_if_there_is_no_file(monkeypatch):
    counts = datasets.real.USPS_TRAIN_COUNTS
    digits = np.concatenate([np.repeat(np.arange(10), counts), np.arange(10)])
    fetched = Bunch(data=np.zeros((len(digits), 2)), target=(digits + 1).astype(str))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **arguments: fetched)
    monkeypatch.delenv("CONDRANK_DATA", raising=False)
    bunch = datasets.load_usps("test")
    np.testing.assert_array_equal(bunch.labels, np.arange(10))
    fetched.target = fetched.target[::-1]
    with pytest.raises(ValueError, match="must begin with the 7291 training images"):
        datasets.load_usps("test")


def test_pokemon_battles_give_two_edges_each(write, tmp_path):
    rng = np.random.default_rng(0)
    write(
        "pokemon/pokemon.npz",
        stats=rng.integers(10, 200, (4, 6)).astype(np.int16),
        stat_names=np.array(["HP", "Attack", "Defense", "SpAtk", "SpDef", "Speed"]),
        types=rng.integers(0, 2, (4, 18)).astype(np.uint8),
        type_names=np.array([f"type{i}" for i in range(18)]),
        generation=np.ones(4, np.uint8),
        legendary=np.zeros(4, bool),
        names=np.array(["A", "B", "", "D"]),
        first=np.array([0, 2, 0], np.int16),
        second=np.array([1, 0, 1], np.int16),
        first_wins=np.array([True, False, True]),
    )
    bunch = datasets.load_pokemon(data_home=tmp_path)
    assert bunch.X.shape == (4, 24)
    assert list(bunch.ids) == ["A", "B", "unnamed-2", "D"]
    assert len(bunch.feature_names) == 24
    assert bunch.graph.n_nodes == 4
    assert bunch.graph.is_reciprocal
    Y = bunch.graph.to_dense()
    assert (Y[0, 1], Y[1, 0], Y[0, 2], Y[2, 0]) == (1, -1, 1, -1)
    assert np.isnan(Y[3]).all()
