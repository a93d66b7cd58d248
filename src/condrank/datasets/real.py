"""Real relations on one set of nodes: bacteria, enzymes, handwritten digits, battles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets as sklearn_datasets
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch

from condrank.datasets import files
from condrank.datasets.files import DataHome
from condrank.graph import RelationGraph

_USPS_ON_OPENML = 41082
USPS_TRAIN_COUNTS = (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644)
_WITHOUT_FILES = "Without it, condrank.datasets.{} makes a relation of the same kind."


def load_bacteria(relation: str = "species", *, data_home: DataHome = None) -> Bunch:
    """Mass spectra of 20 bacterial species of 10 genera: 1 for the same species, 0 otherwise.

    Parameters
    ----------
    relation : {"species", "taxonomy"}, default="species"
        "species" as in the paper; "taxonomy": 2 for the same species, 1 for the same genus, 0 otherwise.
    data_home : path or None, default=None
        Folder with "micromass/micromass.npz"; None: the environment variable CONDRANK_DATA.

    Returns
    -------
    bunch : Bunch
        ``graph``; ``X`` (571, 1300), log(1 + intensity) scaled to unit norm; ``intensities`` as measured;
        ``labels`` (n,), indices into ``species_names``; ``levels`` (n, 2), genus and species;
        ``genus_names``; ``gram_positive``; ``ids``; ``DESCR``.
    """
    if relation not in ("species", "taxonomy"):
        raise ValueError(f"relation must be 'species' or 'taxonomy', got {relation!r}")
    path = files.find("micromass/micromass.npz", data_home, "bacteria", _WITHOUT_FILES.format("make_classes"))
    names = ("X", "species", "species_names", "genus", "genus_names", "sample_id", "gram_positive")
    stored = files.read(path, *names)
    intensities = stored["X"].astype(np.float64)
    X = normalize(np.log1p(intensities))
    levels = np.column_stack([stored["genus"], stored["species"]]).astype(np.int64)
    labels = levels if relation == "taxonomy" else levels[:, 1]
    return Bunch(
        graph=RelationGraph.from_classes(X, labels, ids=stored["sample_id"]),
        X=X,
        intensities=intensities,
        labels=levels[:, 1],
        levels=levels,
        species_names=stored["species_names"],
        genus_names=stored["genus_names"],
        gram_positive=stored["gram_positive"],
        ids=stored["sample_id"],
        DESCR="MicroMass (Mahé and Veyrieras, UCI 2013, doi 10.24432/C5T61S): 571 MALDI-TOF spectra in "
        "1,300 bins. It replaces the fatty acid profiles of the paper, which were not found. A "
        "strain may have several spectra, and strains are not given here, so a random split may "
        "put one strain on both sides.",
    )


def load_enzymes(kernel: str = "smith_waterman", *, data_home: DataHome = None) -> Bunch:
    """Enzymes: how many leading digits of their EC numbers two enzymes share, 0..4.

    Parameters
    ----------
    kernel : {"smith_waterman", "spectrum"}, default="smith_waterman"
        Features of the nodes of the graph. "smith_waterman": the kernel matrix of local alignment
        scores, scaled to a diagonal of ones, for rankers with ``kernel="precomputed"``. "spectrum": sparse
        counts of the 8,000 words of three amino acids, scaled to unit norm, for ``kernel="linear"``.
    data_home : path or None, default=None
        Folder with "enzymes_pdb_ec/subset_ge5.npz"; None: the environment variable CONDRANK_DATA.

    Returns
    -------
    bunch : Bunch
        ``graph``; ``X``, as chosen by ``kernel``; ``kernels``, dict with the (n, n) "smith_waterman";
        ``spectrum``, the counts (n, 8000), CSR; ``labels`` (n, 4), the EC numbers; ``ids``, PDB chains;
        ``DESCR``.
    """
    if kernel not in ("smith_waterman", "spectrum"):
        raise ValueError(f"kernel must be 'smith_waterman' or 'spectrum', got {kernel!r}")
    path = files.find("enzymes_pdb_ec/subset_ge5.npz", data_home, "enzymes", _WITHOUT_FILES.format("make_digits_task"))
    names = ("chain", "ec", "sw_score_upper", "spectrum3_data", "spectrum3_indices", "spectrum3_indptr")
    stored = files.read(path, *names)
    ec = stored["ec"].astype(np.int64)
    K = unit_diagonal(_full_from_upper(stored["sw_score_upper"], len(ec)))
    parts = [stored[f"spectrum3_{part}"] for part in ("data", "indices", "indptr")]
    counts = sparse.csr_array((parts[0].astype(np.float64), parts[1].astype(np.int32), parts[2]), shape=(len(ec), 8000))
    X = K if kernel == "smith_waterman" else normalize(counts)
    return Bunch(
        graph=RelationGraph.from_classes(X, ec, ids=stored["chain"]),
        X=X,
        kernels={"smith_waterman": K},
        spectrum=counts,
        labels=ec,
        ids=stored["chain"],
        DESCR="Enzymes of the Protein Data Bank with one complete EC number, chains of the DeepFRI test "
        "set (BSD-3), those whose EC number has at least five chains: 1,155 chains, 105 EC numbers, "
        "all seven top classes. They replace the 1,730 enzymes and five structure kernels of "
        "the paper, which were not found. Smith-Waterman: BLOSUM62, gaps 11/1, positive definite "
        "after scaling.",
    )


def load_usps(subset: str = "train", *, data_home: DataHome = None) -> Bunch:
    """Handwritten digits of the US Postal Service, 16×16 pixels: 1 for the same digit, 0 otherwise.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 7,291 training images, the 2,007 test images, or all, training images first.
    data_home : path or None, default=None
        Folder with "usps/usps.npz"; None: the environment variable CONDRANK_DATA. If that is not set or has
        no such folder, :func:`sklearn.datasets.fetch_openml` downloads the images.

    Returns
    -------
    bunch : Bunch
        ``graph``; ``X`` (n, 256), in -1..1; ``labels`` (n,), the digits; ``is_test`` (n,); ``ids`` such as
        "digit3-00012", the digit and its row among all images; ``DESCR``.
    """
    parts = {"train": [False], "test": [True], "all": [False, True]}
    if subset not in parts:
        raise ValueError(f"subset must be 'train', 'test' or 'all', got {subset!r}")
    X, digit, is_test = _usps(data_home)
    rows = np.flatnonzero(np.isin(is_test, parts[subset]))
    ids = np.array([f"digit{digit[row]}-{row:05d}" for row in rows])
    return Bunch(
        graph=RelationGraph.from_classes(X[rows], digit[rows], ids=ids),
        X=X[rows],
        labels=digit[rows],
        is_test=is_test[rows],
        ids=ids,
        DESCR="USPS digits (Le Cun et al. 1990; made available by the neural network group at AT&T): "
        "9,298 images of 16×16 grey values in -1..1, cut from postal codes. Relation: the same "
        "digit or not.",
    )


def load_pokemon(*, data_home: DataHome = None) -> Bunch:
    """Simulated battles of two Pokémon: an edge +1 from the winner to the loser and one -1 back.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder with "pokemon/pokemon.npz"; None: the environment variable CONDRANK_DATA.

    Returns
    -------
    bunch : Bunch
        ``graph``, 800 nodes, two edges for each of 50,000 battles, repeated pairs kept; ``X`` (800, 24):
        six stats in hundreds and 18 type flags; ``feature_names``; ``first``, ``second``, ``first_wins``
        (50000,), the battles, where ``first`` attacks first; ``generation``, ``legendary`` (800,);
        ``ids``, the names; ``DESCR``.
    """
    alternative = _WITHOUT_FILES.format("make_rock_paper_scissors")
    path = files.find("pokemon/pokemon.npz", data_home, "Pokémon", alternative)
    names = ("stats", "stat_names", "types", "type_names", "generation", "legendary", "names")
    stored = files.read(path, *names, "first", "second", "first_wins")
    # Not centred: on centred features a skew-symmetric form cannot express "the faster one wins".
    X = np.hstack([stored["stats"] / 100.0, stored["types"].astype(np.float64)])
    first, second = stored["first"].astype(np.int64), stored["second"].astype(np.int64)
    outcome = np.where(stored["first_wins"], 1.0, -1.0)
    ids = np.array([str(name) or f"unnamed-{row}" for row, name in enumerate(stored["names"])])
    sources, targets = ids[np.concatenate([first, second])], ids[np.concatenate([second, first])]
    return Bunch(
        graph=RelationGraph.from_edges(X, sources, targets, np.concatenate([outcome, -outcome]), ids=ids),
        X=X,
        feature_names=np.concatenate([stored["stat_names"], stored["type_names"]]),
        first=first,
        second=second,
        first_wins=stored["first_wins"],
        generation=stored["generation"],
        legendary=stored["legendary"],
        ids=ids,
        DESCR="Pokémon battles of the Kaggle set 'Weedle's Cave': 800 nodes, 784 of them in 50,000 "
        "battles over 46,226 pairs. Outcomes were simulated by the makers of the challenge. Mostly "
        "transitive: the faster one wins 93.9% of the battles, and 5.6% of the observed triads are "
        "cyclic.",
    )


def unit_diagonal(K: NDArray[Any]) -> NDArray[np.float64]:
    """Return K_ij / sqrt(K_ii K_jj) in float64."""
    scale = 1 / np.sqrt(np.diagonal(K).astype(np.float64))
    return K * scale[:, None] * scale


def _full_from_upper(upper: NDArray[Any], n: int) -> NDArray[np.float64]:
    """Return the symmetric (n, n) matrix of an upper triangle given row by row, including the diagonal."""
    if upper.shape != (n * (n + 1) // 2,):
        raise ValueError(f"sw_score_upper must have shape ({n * (n + 1) // 2},) for {n} enzymes, got {upper.shape}")
    full = np.zeros((n, n))
    rows, columns = np.triu_indices(n)
    full[rows, columns] = upper
    full[columns, rows] = upper
    return full


def _usps(data_home: DataHome) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return pixels in -1..1, digit and is_test of every image, the training images first."""
    file, what = "usps/usps.npz", "USPS"
    if files.has_folder(file, data_home):
        path = files.find(file, data_home, what, _WITHOUT_FILES.format("make_digits_task"))
        stored = files.read(path, "X_train_milli", "y_train", "X_test_milli", "y_test")
        X = np.concatenate([stored["X_train_milli"], stored["X_test_milli"]]) / 1000.0
        digit = np.concatenate([stored["y_train"], stored["y_test"]]).astype(np.int64)
        return X, digit, np.arange(len(digit)) >= len(stored["y_train"])
    try:
        fetched: Any = sklearn_datasets.fetch_openml(data_id=_USPS_ON_OPENML, as_frame=False)
    except OSError as error:  # URLError is one
        reason = f"there is no file, and sklearn.datasets.fetch_openml could not download it ({error})"
        raise FileNotFoundError(files.missing(file, what, reason, _WITHOUT_FILES.format("make_digits_task"))) from error
    digit = np.asarray(fetched.target).astype(np.int64)
    digit = digit - digit.min()  # OpenML's labels are 1..10
    n_train = sum(USPS_TRAIN_COUNTS)
    # The download does not say which images are test images; the counts show that the training images come first.
    got = np.bincount(digit[:n_train]).tolist()
    if got != list(USPS_TRAIN_COUNTS):
        raise ValueError(
            f"OpenML's 'usps' must begin with the {n_train} training images, {list(USPS_TRAIN_COUNTS)} of "
            f"each digit, got {got}; read the images from a file instead (data_home or {files.VARIABLE})"
        )
    return np.asarray(fetched.data, dtype=np.float64), digit, np.arange(len(digit)) >= n_train
