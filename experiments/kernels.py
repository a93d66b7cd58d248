"""Kernels of nodes that the experiments use, as matrices: what the theory is measured on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from condrank import datasets

from .complexity import Relation
from .folds import leading
from .newsgroups import documents
from .results import Run

MAX_NODES, QUICK_NODES = 1200, 30


@dataclass(frozen=True)
class Kernel:
    """A kernel matrix of nodes, that of the objects if there are two domains, and the relation of the data."""

    name: str
    K: np.ndarray
    relation: Relation = "ordinary"
    K_objects: np.ndarray | None = None


def drawn(n: int, run: Run) -> np.ndarray:
    """Positions of at most `MAX_NODES` of n nodes (`QUICK_NODES` in a quick run), in random order."""
    return np.random.default_rng(run.seed).permutation(n)[: QUICK_NODES if run.quick else MAX_NODES]


def linear(X: Any, run: Run) -> np.ndarray:
    """Linear kernel of some of the rows of X, dense or sparse."""
    rows = X[drawn(X.shape[0], run)]
    K = rows @ rows.T
    return K.toarray() if hasattr(K, "toarray") else K


def rock_paper_scissors(run: Run) -> Iterator[Kernel]:
    """The players of the three difficulties of Table 1."""
    for w in (1, 10, 100):
        players = datasets.make_rock_paper_scissors(w, random_state=run.seed)[0].nodes.rows
        yield Kernel(f"rock-paper-scissors w{w}, linear", linear(players, run), "reciprocal")


def newsgroups(run: Run) -> Iterator[Kernel]:
    """Word counts as in the paper, and tf-idf of unit length."""
    X = datasets.load_newsgroups("set1", data_home=run.data).X
    yield Kernel("newsgroups, word counts", linear(X, run), "symmetric")
    yield Kernel("newsgroups, tf-idf", linear(documents.tf_idf().fit_transform(X), run), "symmetric")


def bacteria(run: Run) -> Iterator[Kernel]:
    """Log spectra of unit length."""
    yield Kernel("bacteria, linear", linear(datasets.load_bacteria(data_home=run.data).X, run), "symmetric")


def enzymes(run: Run) -> Iterator[Kernel]:
    """Local alignment, and words of three amino acids."""
    bunch = datasets.load_enzymes(data_home=run.data)
    chosen = drawn(len(bunch.X), run)
    yield Kernel("enzymes, Smith-Waterman", bunch.X[np.ix_(chosen, chosen)], "symmetric")
    spectrum = datasets.load_enzymes("spectrum", data_home=run.data).X
    yield Kernel("enzymes, 3-mers", linear(spectrum, run), "symmetric")


def digits(run: Run) -> Iterator[Kernel]:
    """Pixels."""
    yield Kernel("USPS digits, linear", linear(datasets.load_usps(data_home=run.data).X, run), "symmetric")


def pokemon(run: Run) -> Iterator[Kernel]:
    """Stats and types: RBF, and linear with a constant."""
    X = datasets.load_pokemon(data_home=run.data).X
    yield Kernel("Pokémon, RBF", rbf_kernel(X[drawn(len(X), run)]), "reciprocal")
    yield Kernel("Pokémon, linear with constant", linear(X, run) + 1, "reciprocal")


def drugs(name: str, load: Callable[..., Any], run: Run) -> Iterator[Kernel]:
    """Drugs as conditioning nodes and targets as objects, kernels clipped."""
    bunch = load(data_home=run.data)
    sides = []
    for K in (bunch.K_drug, bunch.K_target):
        chosen = drawn(len(K), run)
        Z = leading(K[np.ix_(chosen, chosen)], len(chosen))
        sides.append(Z @ Z.T)
    yield Kernel(name, sides[0], K_objects=sides[1])


# Data files that each group of kernels needs, and how they are loaded.
SOURCES: dict[str, tuple[tuple[str, ...], Callable[[Run], Iterator[Kernel]]]] = {
    "rock-paper-scissors": ((), rock_paper_scissors),
    "newsgroups": (("20newsgroups/counts_csr.npz", "20newsgroups/labels.npz"), newsgroups),
    "bacteria": (("micromass/micromass.npz",), bacteria),
    "enzymes": (("enzymes_pdb_ec/subset_ge5.npz",), enzymes),
    "USPS digits": (("usps/usps.npz",), digits),
    "Pokémon": (("pokemon/pokemon.npz",), pokemon),
    "drugs, Davis": (("davis/davis.npz",), partial(drugs, "drugs, Davis", datasets.load_davis)),
    "drugs, Metz": (("metz/metz.npz",), partial(drugs, "drugs, Metz", datasets.load_metz)),
    "drugs, Yamanishi GPCR": (
        ("yamanishi/gpcr.npz",),
        partial(drugs, "drugs, Yamanishi GPCR", partial(datasets.load_yamanishi, "gpcr")),
    ),
}
