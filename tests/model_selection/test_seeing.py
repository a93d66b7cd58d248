"""A choice of λ says what it cannot see: whole new classes, new nodes on both sides."""

import warnings

import numpy as np
import pytest

from condrank import ConditionalRankerCV, RelationGraph, SelectionWarning
from condrank.model_selection import SettingSplit

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 3))
LABELS = np.arange(N) % 6
GRAPH = RelationGraph.from_classes(X, LABELS)
ALPHAS = [0.1, 1.0, 10.0]
NEW = RNG.normal(size=(5, 3))
Y = RNG.normal(size=(N, N))


def fitted(graph, cv, relation="ordinary"):
    return ConditionalRankerCV(ALPHAS, cv, relation=relation, kernel="rbf").fit(graph)


@pytest.fixture(autouse=True)
def quiet_about_ends():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the best λ")
        yield


@pytest.mark.parametrize("cv", [None, "leave-node-out", "holdout", 3, SettingSplit(4, 3, random_state=0)])
def test_classes_that_stay_in_training_are_said(cv):
    with pytest.warns(SelectionWarning, match=r"made from classes.*cv=SettingSplit\(4, groups=labels\)"):
        fitted(GRAPH, cv, "symmetric")


def test_whole_classes_given_folds_and_other_graphs_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelectionWarning)
        fitted(GRAPH, SettingSplit(4, 3, groups=LABELS, random_state=0), "symmetric")
        held_out = LABELS < 2
        fitted(GRAPH, [(np.flatnonzero(~held_out), np.flatnonzero(held_out))], "symmetric")
        fitted(RelationGraph(X, GRAPH.to_dense()), "leave-node-out", "symmetric")


@pytest.mark.parametrize(
    ("cv", "setting"),
    [("leave-query-out", 2), ("leave-edge-out", 1), (SettingSplit(3, 3, random_state=0), 3), (None, 2)],
)
def test_new_nodes_on_both_sides_are_said_when_they_are_asked_for(cv, setting):
    ranker = fitted(RelationGraph(X, Y), cv)
    assert ranker.cv_setting_ == setting
    for ask in (
        lambda: ranker.predict(NEW, NEW),
        lambda: ranker.predict(RelationGraph(NEW, np.ones((5, 5)))),
        lambda: ranker.score(RelationGraph(NEW, RNG.normal(size=(5, 5)))),
    ):
        with pytest.warns(SelectionWarning, match=r"both new, but λ was chosen by .* cv='leave-node-out'"):
            ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelectionWarning)
        ranker.predict(NEW)
        ranker.predict(X[:3], NEW)
        ranker.score(RelationGraph(X, Y))


def test_choices_that_see_new_nodes_on_both_sides_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelectionWarning)
        for cv in ("leave-node-out", 3):
            fitted(RelationGraph(X, Y), cv).predict(NEW, NEW)
