"""A relation that the labels have no part of is refused; one that they have some part of is learned, with a warning."""

import warnings

import numpy as np
import pytest

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, RelationWarning

RNG = np.random.default_rng(0)
N = 12
X = RNG.normal(size=(N, 3))
Y = RNG.normal(size=(N, N))
SKEW, SYMMETRIC = Y - Y.T, Y + Y.T
CHANCES = 1 / (1 + np.exp(-SKEW))
HOLES = np.triu(RNG.random((N, N)) < 0.5)
HOLES |= HOLES.T
HOLES[0, 1] = HOLES[1, 0] = True


def with_holes(labels, seen=HOLES):
    return np.where(seen, labels, np.nan)


@pytest.mark.parametrize("make", [ConditionalRanker, ConditionalRankerCV])
@pytest.mark.parametrize("form", [lambda labels: labels, with_holes])
@pytest.mark.parametrize(
    ("relation", "labels", "fits"),
    [
        ("symmetric", SKEW, "reciprocal"),
        ("symmetric", CHANCES, "reciprocal"),
        ("reciprocal", SYMMETRIC, "symmetric"),
    ],
)
def test_labels_that_are_all_of_the_other_kind_are_refused(make, form, relation, labels, fits):
    with pytest.raises(ValueError, match=f"relation='{relation}' does not suit these labels.*use relation='{fits}'"):
        make(relation=relation, kernel="rbf").fit(X, form(labels))
    ConditionalRanker("ordinary", kernel="rbf").fit(X, form(labels))


@pytest.mark.parametrize(("relation", "labels"), [("symmetric", SKEW), ("reciprocal", SYMMETRIC)])
def test_with_some_other_pair_it_is_learned_with_a_warning(relation, labels):
    noisy = labels.copy()
    noisy[0, 1] += 0.5
    with pytest.warns(RelationWarning, match="the two directions of some pairs disagree"):
        ConditionalRanker(relation, kernel="rbf").fit(X, noisy)
    one_way = HOLES.copy()
    one_way[1, 0] = False  # this pair has only one direction, which says nothing against the relation
    with pytest.warns(RelationWarning, match="the two directions of some pairs disagree"):
        ConditionalRanker(relation, kernel="rbf").fit(X, with_holes(labels, one_way))


@pytest.mark.parametrize(("relation", "labels"), [("symmetric", SKEW), ("reciprocal", SYMMETRIC)])
def test_a_few_pairs_and_labels_that_are_all_alike_are_no_proof(relation, labels):
    ConditionalRanker(relation, kernel="rbf").fit(X[:4], labels[:4, :4])
    ConditionalRanker("reciprocal", kernel="rbf").fit(X, np.ones((N, N)))


def test_zeros_are_of_both_kinds_and_the_right_relation_is_no_matter():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for relation in ("symmetric", "reciprocal"):
            ConditionalRanker(relation, "regression", kernel="rbf").fit(X, np.zeros((N, N)))
        ConditionalRanker("reciprocal", kernel="rbf").fit(X, SKEW)
        ConditionalRanker("symmetric", kernel="rbf").fit(RelationGraph(X, SYMMETRIC))
