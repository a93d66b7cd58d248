"""Small files of the form that the loaders of data sets read, and the relations that they should give."""

from __future__ import annotations

import numpy as np
from scipy import sparse

GROUPS = ["alt.atheism", "comp.graphics", "comp.windows.x", "rec.autos", "rec.sport.baseball"]


def level_matrix(levels):
    """Naive twin of the class relation: how many leading levels two nodes share."""
    levels = np.asarray(levels)
    return np.array([[np.cumprod(a == b).sum() for b in levels] for a in levels], dtype=float)


def kernel(rng, n):
    Z = rng.random((n, 4))
    return (Z @ Z.T).astype(np.float32)


def newsgroups_arrays():
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(5, dtype=np.uint8), 3)
    counts = sparse.random_array((15, 40), density=0.2, rng=rng, data_sampler=lambda size: rng.integers(1, 9, size))
    counts = sparse.csr_array(counts, dtype=np.uint16)
    return counts, {
        "label": label,
        "is_test": np.tile([False, False, True], 5),
        "article": np.arange(100, 115, dtype=np.int32),
        "group_names": np.array(GROUPS),
    }


def write_davis(write, **changes):
    rng = np.random.default_rng(0)
    arrays = {
        "pKd": rng.uniform(5, 9, (3, 5)).astype(np.float32),
        "K_drug": kernel(rng, 3),
        "K_target_SW": kernel(rng, 5) * 900,
        "drug_ids": np.array(["1", "2", "3"]),
        "smiles": np.array(["C", "CC", "CCC"]),
        "target_names": np.array(list("abcde")),
    }
    write("davis/davis.npz", **(arrays | changes))
    return arrays
