"""Files that are missing or of the wrong form, for every loader; and the real files where CONDRANK_DATA has them."""

import os

import numpy as np
import pytest
from scipy import sparse

from condrank import datasets
from stored_files import newsgroups_arrays, write_davis

LOADERS = {
    "20 Newsgroups": (datasets.load_newsgroups, "20newsgroups/counts_csr.npz"),
    "bacteria": (datasets.load_bacteria, "micromass/micromass.npz"),
    "enzymes": (datasets.load_enzymes, "enzymes_pdb_ec/subset_ge5.npz"),
    "USPS": (datasets.load_usps, "usps/usps.npz"),
    "Pokémon": (datasets.load_pokemon, "pokemon/pokemon.npz"),
    "Davis": (datasets.load_davis, "davis/davis.npz"),
    "Metz": (datasets.load_metz, "metz/metz.npz"),
    "KIBA": (datasets.load_kiba, "kiba/kiba.npz"),
    "MovieLens": (datasets.load_movielens, "ml100k/u.data"),
    "Yamanishi": (datasets.load_yamanishi, "yamanishi/nr.npz"),
}

DOWNLOADED = ("20 Newsgroups", "USPS")


@pytest.mark.parametrize("what", LOADERS)
def test_without_a_data_folder_the_message_says_what_to_do(what, monkeypatch):
    monkeypatch.delenv("CONDRANK_DATA", raising=False)
    load, file = LOADERS[what]
    with pytest.raises(FileNotFoundError) as caught:
        load()
    message = str(caught.value)
    expected = "could not download it (<urlopen error no network in tests>)" if what in DOWNLOADED else "is set"
    for part in (what, file, "CONDRANK_DATA", "data_home", "Without it", expected):
        assert part in message


@pytest.mark.parametrize("what", LOADERS)
@pytest.mark.parametrize("by_variable", [False, True])
def test_a_missing_file_is_named(what, by_variable, monkeypatch, tmp_path):
    load, file = LOADERS[what]
    if by_variable:
        monkeypatch.setenv("CONDRANK_DATA", str(tmp_path))
        (tmp_path / file).parent.mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        load() if by_variable else load(data_home=tmp_path)
    message = str(caught.value)
    for part in (what, repr(str(tmp_path / file)), "CONDRANK_DATA", "data_home", "Without it"):
        assert part in message


def test_a_missing_second_file_is_named(tmp_path):
    (tmp_path / "20newsgroups").mkdir()
    sparse.save_npz(tmp_path / "20newsgroups/counts_csr.npz", newsgroups_arrays()[0])
    with pytest.raises(FileNotFoundError, match=r"labels\.npz"):
        datasets.load_newsgroups(data_home=tmp_path)


def test_a_file_without_an_array_is_refused(write, tmp_path):
    write("davis/davis.npz", pKd=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"davis\.npz' must have the arrays .* got a file without \['K_drug'"):
        datasets.load_davis(data_home=tmp_path)


def test_a_truncated_file_is_refused(write, tmp_path):
    write_davis(write)
    path = tmp_path / "davis/davis.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"davis\.npz' must be an npz file of plain arrays"):
        datasets.load_davis(data_home=tmp_path)


def test_pickled_objects_are_refused(write, tmp_path):
    write_davis(write, smiles=np.array([{"a": 1}, None, 3], dtype=object))
    with pytest.raises(ValueError, match=r"must be an npz file of plain arrays.*allow_pickle=False"):
        datasets.load_davis(data_home=tmp_path)


real_data = pytest.mark.skipif(not os.environ.get("CONDRANK_DATA"), reason="CONDRANK_DATA is not set")


@real_data
@pytest.mark.parametrize(
    ("load", "arguments", "shape"),
    [
        (datasets.load_newsgroups, {"groups": "set1"}, (3954, 3954)),
        (datasets.load_newsgroups, {"groups": "set2"}, (4916, 4916)),
        (datasets.load_bacteria, {}, (571, 571)),
        (datasets.load_enzymes, {}, (1155, 1155)),
        (datasets.load_enzymes, {"kernel": "spectrum"}, (1155, 1155)),
        (datasets.load_usps, {"subset": "test"}, (2007, 2007)),
        (datasets.load_pokemon, {}, (800, 800)),
        (datasets.load_davis, {}, (68, 442)),
        (datasets.load_metz, {}, (1421, 156)),
        (datasets.load_yamanishi, {"name": "nr"}, (54, 26)),
        (datasets.load_yamanishi, {"name": "gpcr"}, (223, 95)),
        (datasets.load_yamanishi, {"name": "ic"}, (210, 204)),
        (datasets.load_yamanishi, {"name": "e"}, (445, 664)),
    ],
)
def test_real_data_sets_have_their_sizes(load, arguments, shape):
    bunch = load(**arguments)
    assert bunch.graph.shape == shape
    assert bunch.DESCR


@real_data
def test_real_relations_have_their_shares():
    Y = datasets.load_enzymes().graph.to_dense()
    off = Y[~np.eye(len(Y), dtype=bool)]
    np.testing.assert_allclose([(off == k).mean() for k in range(5)], [0.701, 0.186, 0.073, 0.022, 0.018], atol=6e-4)
    assert datasets.load_metz().graph.n_edges == 93_356
    assert datasets.load_pokemon().graph.n_edges == 100_000
    assert datasets.load_yamanishi("e").Y.sum() == 2926
