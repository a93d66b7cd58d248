"""The experiments, and small files of the form that their loaders read."""

import numpy as np
import pytest
from scipy import sparse

from experiment_modules import module

GROUPS = (
    *("alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    *("comp.windows.x", "rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey"),
)


@pytest.fixture(scope="module")
def experiments():
    """The package, with its modules as attributes."""
    module("report")
    package = module()
    package.load_experiments()
    return package


@pytest.fixture(scope="module")
def one_library(experiments):
    """One library of trees, which is enough to see that trees are judged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments.trees, "LIBRARIES", {"LightGBM": "lightgbm"})
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Newsgroups of a few documents each and a few digits, in the files that the loaders read."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(len(GROUPS)), 12)
    topic = np.array([name.partition(".")[0] for name in GROUPS])[label] == "comp"
    rates = 0.3 + 2.0 * (np.arange(30) % len(GROUPS) == label[:, None]) + 1.0 * (np.arange(30) % 2 == topic[:, None])
    (folder / "20newsgroups").mkdir()
    sparse.save_npz(folder / "20newsgroups/counts_csr.npz", sparse.csr_matrix(rng.poisson(rates).astype(np.uint16)))
    np.savez(
        folder / "20newsgroups/labels.npz",
        label=label,
        is_test=np.zeros(len(label), bool),
        article=np.arange(len(label)),
        group_names=np.array(GROUPS),
    )
    (folder / "usps").mkdir()
    X = rng.integers(-1000, 1000, size=(60, 8)).astype(np.int16)
    y = np.arange(60) % 10
    np.savez(folder / "usps/usps.npz", X_train_milli=X, y_train=y, X_test_milli=X[:4], y_test=y[:4])
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Files of all three experiments, with structure to be found."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)

    def write(file, **arrays):
        (folder / file).parent.mkdir(exist_ok=True)
        np.savez(folder / file, **arrays)

    species = np.repeat(np.arange(12), 7)
    write(
        "micromass/micromass.npz",
        X=np.exp(rng.normal(size=(12, 30))[species] + 0.4 * rng.normal(size=(len(species), 30))),
        species=species,
        species_names=np.array([f"species {one}" for one in range(12)]),
        genus=species // 2,
        genus_names=np.array([f"genus {one}" for one in range(6)]),
        sample_id=np.array([f"s{row}" for row in range(len(species))]),
        gram_positive=species % 2 == 0,
    )
    ec = np.repeat([(top, sub, 1, last) for top in (1, 2, 3) for sub in (1, 2) for last in (1, 2, 3, 4)], 6, axis=0)
    counts = rng.poisson(rng.gamma(0.5, size=(7, 40))[ec[:, 0] + ec[:, 1]] + 0.2).astype(float)
    spectrum = sparse.csr_array(counts)
    spectrum.resize((len(ec), 8000))
    scores = counts @ counts.T + 5 * np.eye(len(ec))
    write(
        "enzymes_pdb_ec/subset_ge5.npz",
        chain=np.array([f"chain{row}" for row in range(len(ec))]),
        ec=ec,
        sw_score_upper=scores[np.triu_indices(len(ec))],
        spectrum3_data=spectrum.data,
        spectrum3_indices=spectrum.indices,
        spectrum3_indptr=spectrum.indptr,
    )
    drug, target = rng.normal(size=(32, 3)), rng.normal(size=(26, 3))
    affinity = drug @ target.T + 0.1 * rng.normal(size=(32, 26))
    K_drug, K_target = drug @ drug.T + np.eye(32), target @ target.T + np.eye(26)
    names = {"drug_ids": np.arange(32).astype(str)}
    write(
        "davis/davis.npz",
        pKd=affinity,
        K_drug=K_drug,
        K_target_SW=K_target,
        smiles=names["drug_ids"],
        target_names=np.arange(26).astype(str),
        **names,
    )
    rows, columns = np.nonzero(rng.random(affinity.shape) < 0.7)
    indefinite = K_target - 3 * np.eye(26)
    write("metz/metz.npz", drug=rows, target=columns, pKi=affinity[rows, columns], K_drug=K_drug, K_target=indefinite)
    holes = np.where(rng.random(affinity.shape) < 0.7, affinity, np.nan)
    of_targets = {"target_ids": np.arange(26).astype(str)}
    write("kiba/kiba.npz", affinity=holes, K_drug=K_drug, K_target=K_target, **of_targets, **names)
    known = {"A_target_by_drug": (affinity > 1).T, "target_ids": np.arange(26).astype(str), "K_target": K_target}
    write("yamanishi/gpcr.npz", K_drug=K_drug, **known, **names)
    return folder
