"""20 Newsgroups: rank documents by how close their newsgroup is to the newsgroup of another document.

Three experiments: the paper's, the same with better features and models and with trees, and all twenty groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..results import Picture, Row, Run, experiment
from .all_groups import all_groups
from .early_stopping import early_stopping
from .unseen import PRIOR_WEIGHTS, alphas, beyond, table_2

FILES = ("20newsgroups/counts_csr.npz", "20newsgroups/labels.npz")
PARTS = "± s.e. is over ten disjoint parts of the test documents; the paper has one number of one split."
HALVES = (
    "λ is chosen as in the paper with half of the training groups held out, but in both directions (each half in turn "
    "is trained on), with both topics in either half: the paper does not say which half it used."
)
TWO_HALVINGS = (
    "λ, τ and the trees' sizes are chosen with half of the training groups held out, as in the paper, but in two "
    "different ways to halve them and in both directions, because one holdout is too noisy."
)
PRIORS = f"Models with a prior try {len(alphas(Run()))} λ × {len(PRIOR_WEIGHTS)} τ, models without a prior only the λ."


@experiment(
    "20 Newsgroups",
    differences=(
        "Words are counted again from the texts (59,349 words in at least two documents); the paper does not say which "
        "of the published vocabularies it used, nor which half of the groups it held out.",
        TWO_HALVINGS,
        "With the regression loss the ordinary and the symmetric model agree in exact arithmetic at every iteration, "
        "because the labels are symmetric. Their early-stopping curves differ by the rounding errors of iterations "
        "without regularisation; the symmetric model stays symmetric under rounding.",
        PARTS,
    ),
    files=FILES,
)
def newsgroups(run: Run) -> Iterator[Row | Picture]:
    """Documents of the same newsgroup first, then documents of the same topic, then the rest. The newsgroups of the
    test documents are not in training for Table 2, and are in training for early stopping.
    """
    yield from table_2(run)
    yield from early_stopping(run)


@experiment(
    "20 Newsgroups, beyond the paper",
    differences=(
        "Documents and relation of the paper's Table 2, with tf-idf of unit length instead of word counts, and with "
        "symmetric models, the similarity prior, and trees.",
        TWO_HALVINGS,
        PARTS,
        "Trees score all pairs within each of the ten parts of the test documents, not across parts, because building "
        "millions of pairs is slow. Their number is the mean over the parts.",
        PRIORS + " Trees have 12 candidates.",
    ),
    files=FILES,
)
def newsgroups_beyond(run: Run) -> Iterator[Row | Picture]:
    """Documents of newsgroups that are not in training, as in the paper's Table 2."""
    yield from beyond(run)


@experiment(
    "20 Newsgroups, all of them",
    differences=("Not in the paper: all documents, half of the newsgroups unseen.", HALVES, PARTS, PRIORS),
    files=FILES,
)
def newsgroups_all(run: Run) -> Iterator[Row | Picture]:
    """18,846 documents: train on documents of ten newsgroups, rank documents of the other ten. Then one fit to all of
    them, with 355 million edges that are never stored.
    """
    yield from all_groups(run)
