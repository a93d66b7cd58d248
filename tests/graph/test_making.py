"""Ways to make a RelationGraph: dense and sparse labels, edge lists, classes, taxonomies and factors."""

import numpy as np
import pytest
from scipy import sparse

from builders import LABELS, N_NODES, NODES, refused, with_entry
from condrank import ConditionalRanker, RelationGraph

THIRTY = np.random.default_rng(0).normal(size=(30, 4))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (LABELS[:, :4], r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(6, 4\)"),
        (LABELS[:4], r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(4, 6\)"),
        (sparse.csr_array(LABELS[:4]), r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(4, 6\)"),
        (LABELS[0], r"Y must be two-dimensional \(nodes × objects\), got 1 dimension"),
        (with_entry(LABELS, 2, 3, np.inf), "Y must not be infinite: 1 entries are"),
        (sparse.csr_array(with_entry(LABELS, 2, 3, -np.inf)), "Y must not be infinite: 1 entries are"),
        (
            sparse.csr_array(with_entry(LABELS, 2, 3, np.nan)),
            "a sparse Y must not store NaN: leave entries .* unstored",
        ),
        (LABELS.astype(str), "Y must be numeric, got dtype <U"),
        (LABELS.astype(complex), "Y must be numeric, got dtype complex128"),
    ],
)
def test_labels_of_a_wrong_form_are_refused(given, message):
    refused(message, RelationGraph, NODES, given)
    refused(message, ConditionalRanker().fit, NODES, given)


def test_labels_of_two_domains_need_a_column_for_each_object():
    refused(
        r"Y must have shape \(6, 4\) \(nodes × objects\), got \(6, 6\)", RelationGraph, NODES, LABELS, objects=NODES[:4]
    )


def test_a_wrong_unstored_is_refused():
    refused("unstored must be 'unobserved' or 'zero', got 'zeros'", RelationGraph, NODES, LABELS, unstored="zeros")
    refused(
        "unstored='zero' is for a sparse Y; in a dense Y, NaN is unobserved",
        RelationGraph,
        NODES,
        LABELS,
        unstored="zero",
    )


def test_wrong_classes_are_refused():
    make = RelationGraph.from_classes
    refused(r"labels must have shape \(6,\) for classes or \(6, n_levels\).*, got \(2,\)", make, NODES, [0, 1])
    refused(r"labels must have shape .* got \(6, 1, 1\)", make, NODES, np.zeros((N_NODES, 1, 1)))
    refused("similarity must have one row and one column for each of the 2 classes", make, NODES, [0, 1] * 3, np.eye(3))
    refused("similarity must be finite", make, NODES, [0, 1] * 3, [[1, np.nan], [0, 1]])
    refused(r"taxonomy of 2 levels must give 3 values.*got shape \(2,\)", make, NODES, np.zeros((N_NODES, 2)), [1, 2])
    refused("similarity must be finite", make, NODES, np.zeros((N_NODES, 2)), [0, np.nan, 1])
    refused("taxonomy must have at least one level", make, NODES, np.zeros((N_NODES, 0)))


def test_wrong_factors_are_refused():
    make = RelationGraph.from_factors
    refused(r"S must have shape \(2, 3\) to fit A and B, got \(2, 2\)", make, NODES, NODES[:, :2], np.eye(2), NODES)
    refused("A must have a row for each of the 6 nodes, got 4", make, NODES, NODES[:4], np.eye(3))
    refused("A must be finite", make, NODES, with_entry(NODES, 0, 0, np.nan), np.eye(3))
    refused("S must be finite", make, NODES, NODES, with_entry(np.eye(3), 0, 0, np.inf))


def test_factors_that_do_not_fit_the_nodes_are_named():
    with pytest.raises(ValueError, match="A must have a row for each of the 30 nodes, got 5"):
        RelationGraph.from_factors(THIRTY, THIRTY[:5], np.eye(4))
    with pytest.raises(ValueError, match="B must have a row for each of the 30 nodes, got 5"):
        RelationGraph.from_factors(THIRTY, THIRTY, np.eye(4), THIRTY[:5])
    with pytest.raises(ValueError, match="B must have a row for each of the 5 objects, got 30; B is A"):
        RelationGraph.from_factors(THIRTY, THIRTY, np.eye(4), objects=THIRTY[:5])
