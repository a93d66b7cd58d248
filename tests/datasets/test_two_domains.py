"""Drugs and targets: what the loaders make of files of the right form."""

import numpy as np
import pytest

from condrank import datasets
from stored_files import kernel, write_davis


def test_davis_is_complete_with_two_domains(write, tmp_path):
    arrays = write_davis(write)
    bunch = datasets.load_davis(data_home=tmp_path)
    assert bunch.graph.shape == (3, 5)
    assert bunch.graph.is_complete
    np.testing.assert_array_equal(bunch.graph.to_dense(), arrays["pKd"])
    np.testing.assert_allclose(np.diagonal(bunch.K_target), 1)
    np.testing.assert_array_equal(bunch.K_drug, arrays["K_drug"])


def test_metz_has_holes(write, tmp_path):
    rng = np.random.default_rng(0)
    write(
        "metz/metz.npz",
        drug=np.array([0, 2, 2], np.int16),
        target=np.array([1, 0, 1], np.int16),
        pKi=np.array([6.5, 7, 8], np.float32),
        K_drug=kernel(rng, 3),
        K_target=kernel(rng, 2),
    )
    bunch = datasets.load_metz(data_home=tmp_path)
    nan = np.nan
    np.testing.assert_array_equal(bunch.graph.to_dense(), [[nan, 6.5], [nan, nan], [7, 8]])
    assert not bunch.graph.is_complete
    assert bunch.graph.n_edges == 3
    assert "not positive semi-definite" in bunch.DESCR


def test_kiba_has_holes(write, tmp_path):
    rng = np.random.default_rng(0)
    nan = np.nan
    affinity = np.array([[11.1, nan], [nan, nan], [12.0, 13.5]], np.float32)
    ids = {"drug_ids": np.array(["CHEMBL1", "CHEMBL2", "CHEMBL3"]), "target_ids": np.array(["P1", "P2"])}
    write("kiba/kiba.npz", affinity=affinity, K_drug=kernel(rng, 3), K_target=kernel(rng, 2), **ids)
    bunch = datasets.load_kiba(data_home=tmp_path)
    np.testing.assert_array_equal(bunch.graph.to_dense(), affinity)
    assert bunch.graph.n_edges == 3
    assert list(bunch.graph.ids) == ["CHEMBL1", "CHEMBL2", "CHEMBL3"]


@pytest.mark.parametrize("name", ["nr", "e"])
def test_yamanishi_is_complete_with_a_symmetric_drug_kernel(name, write, tmp_path):
    rng = np.random.default_rng(0)
    K_drug = kernel(rng, 3)
    K_drug[0, 1] += 0.2
    A = np.array([[1, 0, 0], [0, 1, 1]], np.uint8)
    write(
        f"yamanishi/{name}.npz",
        A_target_by_drug=A,
        K_drug=K_drug,
        drug_ids=np.array(["D1", "D2", "D3"]),
        target_ids=np.array(["hsa1", "hsa2"]),
        **{"K_target_ppi" if name == "e" else "K_target": kernel(rng, 2)},
    )
    bunch = datasets.load_yamanishi(name, data_home=tmp_path)
    np.testing.assert_array_equal(bunch.graph.to_dense(), A.T)
    np.testing.assert_array_equal(bunch.K_drug, bunch.K_drug.T)
    np.testing.assert_allclose(bunch.K_drug[0, 1], (K_drug[0, 1] + K_drug[1, 0]) / 2)
    assert bunch.graph.is_complete
    assert ("interaction network" in bunch.DESCR) == (name == "e")


def test_yamanishi_refuses_another_name():
    with pytest.raises(ValueError, match=r"name must be one of \['nr', 'gpcr', 'ic', 'e'\], got 'xx'"):
        datasets.load_yamanishi("xx")
