"""Real relations from drugs to targets: drugs are the conditioning nodes, target proteins the objects.

To rank drugs for a target instead, fit with ``rank_by="incoming"``. Nodes are given by kernel matrices, so
rankers need ``kernel="precomputed"``. A kernel that is not positive semi-definite is not changed, and ``DESCR``
says so.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from condrank.datasets import files
from condrank.datasets.files import DataHome
from condrank.datasets.real import unit_diagonal
from condrank.graph import RelationGraph

_WITHOUT_FILES = "Without it, RelationGraph(K_queries, Y, objects=K_objects) takes any two kernels and a relation."
_YAMANISHI = {
    "nr": "nuclear receptors",
    "gpcr": "G protein-coupled receptors",
    "ic": "ion channels",
    "e": "enzymes",
}


def load_davis(*, data_home: DataHome = None) -> Bunch:
    """Affinities pKd of 68 kinase inhibitors to 442 kinases, complete; higher binds tighter.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder with "davis/davis.npz"; None: the environment variable CONDRANK_DATA.

    Returns
    -------
    bunch : Bunch
        ``graph``, drugs × targets; ``Y`` (68, 442), pKd = 9 - log10(Kd in nM); ``K_drug``, ``K_target``;
        ``drug_ids`` (PubChem), ``target_ids`` (names), ``smiles``; ``DESCR``.
    """
    path = files.find("davis/davis.npz", data_home, "Davis", _WITHOUT_FILES)
    stored = files.read(path, "pKd", "K_drug", "K_target_SW", "drug_ids", "smiles", "target_names")
    return _drugs_and_targets(
        stored["pKd"].astype(np.float64),
        stored["K_drug"].astype(np.float64),
        unit_diagonal(stored["K_target_SW"]),
        stored["drug_ids"],
        stored["target_names"],
        smiles=stored["smiles"],
        DESCR="Davis et al. 2011, similarities by Pahikkala et al. 2014: 68 inhibitors × 442 kinases, all "
        "measured; a pKd of 5 (Kd of 10,000 nM) mostly means that no binding was seen, so there are "
        "many ties. Drugs: PubChem 2D similarity, positive definite. Targets: Smith-Waterman scores "
        "scaled to a diagonal of ones, positive semi-definite.",
    )


def load_metz(*, data_home: DataHome = None) -> Bunch:
    """Affinities pKi of 1,421 kinase inhibitors to 156 kinases, 42% of them measured, the others NaN.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder with "metz/metz.npz"; None: the environment variable CONDRANK_DATA.

    Returns
    -------
    bunch : Bunch
        ``graph``, drugs × targets; ``Y`` (1421, 156), pKi or NaN; ``K_drug``, ``K_target``, not positive
        semi-definite; ``drug_ids``, ``target_ids``, numbered, because the source has no names; ``DESCR``.
    """
    path = files.find("metz/metz.npz", data_home, "Metz", _WITHOUT_FILES)
    stored = files.read(path, "drug", "target", "pKi", "K_drug", "K_target")
    n_drugs, n_targets = len(stored["K_drug"]), len(stored["K_target"])
    Y = np.full((n_drugs, n_targets), np.nan)
    Y[stored["drug"], stored["target"]] = stored["pKi"]
    return _drugs_and_targets(
        Y,
        stored["K_drug"].astype(np.float64),
        stored["K_target"].astype(np.float64),
        np.array([f"drug-{row:04d}" for row in range(n_drugs)]),
        np.array([f"target-{row:03d}" for row in range(n_targets)]),
        DESCR="Metz et al. 2011 via Pahikkala et al. 2014: 93,356 values pKi of 1,421 inhibitors × 156 "
        "kinases, 42% of all pairs. Similarities are scaled to 0..1 and not positive semi-definite, "
        "not changed here: smallest eigenvalue -0.20 for drugs, -0.80 for targets. Use their rows "
        "as features, or clip the negative part.",
    )


def load_kiba(*, data_home: DataHome = None) -> Bunch:
    """KIBA scores of 2,111 drugs and 229 kinases, 24% of them known, the others NaN; higher binds tighter.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder with "kiba/kiba.npz"; None: the environment variable CONDRANK_DATA. The file has the arrays
        ``affinity`` (drugs × targets, NaN where unknown), ``K_drug``, ``K_target``, ``drug_ids`` and
        ``target_ids``.

    Returns
    -------
    bunch : Bunch
        ``graph``, drugs × targets; ``Y`` (2111, 229), scores or NaN; ``K_drug``, ``K_target``; ``drug_ids``
        (ChEMBL), ``target_ids`` (UniProt); ``DESCR``.
    """
    path = files.find("kiba/kiba.npz", data_home, "KIBA", _WITHOUT_FILES)
    stored = files.read(path, "affinity", "K_drug", "K_target", "drug_ids", "target_ids")
    return _drugs_and_targets(
        stored["affinity"].astype(np.float64),
        stored["K_drug"].astype(np.float64),
        stored["K_target"].astype(np.float64),
        stored["drug_ids"],
        stored["target_ids"],
        DESCR="Tang et al. 2014, filtered by He et al. 2017: KIBA scores, which combine Ki, Kd and IC50, of 2,111 "
        "drugs × 229 kinases, 118,254 known. Some drugs were measured with most targets, most with few. Drugs: "
        "a similarity of their fingerprints; targets: normalised Smith-Waterman.",
    )


def load_yamanishi(name: str = "nr", *, data_home: DataHome = None) -> Bunch:
    """Known interactions of drugs with targets of one protein family: 1 where known, 0 elsewhere.

    Parameters
    ----------
    name : {"nr", "gpcr", "ic", "e"}, default="nr"
        Nuclear receptors (54 drugs × 26 targets, 90 ones), G protein-coupled receptors (223 × 95, 635), ion
        channels (210 × 204, 1,476), enzymes (445 × 664, 2,926).
    data_home : path or None, default=None
        Folder with "yamanishi/nr.npz" and so on; None: the environment variable CONDRANK_DATA.

    Returns
    -------
    bunch : Bunch
        ``graph``, drugs × targets, complete; ``Y`` of 0 and 1; ``K_drug``, made symmetric; ``K_target``;
        ``drug_ids``, ``target_ids`` (KEGG); ``DESCR``.
    """
    if name not in _YAMANISHI:
        raise ValueError(f"name must be one of {list(_YAMANISHI)}, got {name!r}")
    path = files.find(f"yamanishi/{name}.npz", data_home, f"Yamanishi ({_YAMANISHI[name]})", _WITHOUT_FILES)
    kernel = "K_target_ppi" if name == "e" else "K_target"
    stored = files.read(path, "A_target_by_drug", "K_drug", kernel, "drug_ids", "target_ids")
    K_drug = stored["K_drug"].astype(np.float64)
    of_targets = (
        "Targets: closeness in the protein interaction network (the sequence kernel of this family was "
        "not found), not positive semi-definite, not changed here: smallest eigenvalue -2.25; drugs -0.12."
        if name == "e"
        else "Targets: normalised Smith-Waterman, positive definite."
    )
    return _drugs_and_targets(
        stored["A_target_by_drug"].T.astype(np.float64),
        (K_drug + K_drug.T) / 2,
        stored[kernel].astype(np.float64),
        stored["drug_ids"],
        stored["target_ids"],
        DESCR=f"Yamanishi et al. 2008, gold standard, {_YAMANISHI[name]}. A 0 means that no interaction "
        "was known then, not that there is none. Drugs: SIMCOMP similarity of structures, slightly "
        "asymmetric as published and here averaged with its transpose; not quite positive "
        f"semi-definite except for nr. {of_targets}",
    )


def _drugs_and_targets(
    Y: np.ndarray,
    K_drug: np.ndarray,
    K_target: np.ndarray,
    drug_ids: np.ndarray,
    target_ids: np.ndarray,
    **more: object,
) -> Bunch:
    graph = RelationGraph(K_drug, Y, objects=K_target, ids=drug_ids, object_ids=target_ids)
    return Bunch(graph=graph, Y=Y, K_drug=K_drug, K_target=K_target, drug_ids=drug_ids, target_ids=target_ids, **more)
