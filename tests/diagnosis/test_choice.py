"""One call for relation and loss: what `diagnose` recommends, with what is given kept."""

import numpy as np
import pytest

from condrank import RelationGraph, diagnose
from condrank.diagnosis import recommend

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
GAMES = np.sign(X[:, :1] - X[:, 0])
LABELS = {
    "games": GAMES,
    "likeness": X @ X.T,
    "free": RNG.normal(size=(20, 20)),
    "few edges": np.where(RNG.random((20, 20)) < 0.1, X @ X.T, np.nan),
    "two kinds": RNG.normal(size=(20, 7)),
}


@pytest.mark.parametrize("name", LABELS)
def test_it_is_what_diagnose_recommends(name):
    found, want = recommend(LABELS[name]), diagnose(LABELS[name])
    assert (found.relation, found.loss) == (want.recommended_relation, want.recommended_loss)
    assert found.reasons == (want.reasons[0], want.loss_reasons[0])
    first, second = (reason.split(". ")[0].rstrip(".") for reason in found.reasons)
    assert str(found) == f"relation {found.relation} and loss {found.loss}, by the labels: {first}. {second}."


def test_a_sample_of_a_large_graph_is_that_of_diagnose():
    graph = RelationGraph(X, X @ X.T)
    found, want = recommend(graph, max_nodes=8, random_state=3), diagnose(graph, max_nodes=8, random_state=3)
    assert (found.relation, *found.reasons) == (want.recommended_relation, want.reasons[0], want.loss_reasons[0])


def test_what_is_given_is_kept():
    found = recommend(GAMES, loss="regression")
    assert (found.relation, found.loss, found.chosen) == ("reciprocal", "regression", ("relation",))
    assert len(found.reasons) == 1
    found = recommend(GAMES, relation="symmetric", loss="ranking")
    assert (found.relation, found.loss, str(found), found.short) == ("symmetric", "ranking", "", "")


def test_the_logistic_loss_is_for_reciprocal_relations_alone():
    assert recommend(GAMES).loss == "logistic"
    found = recommend(GAMES, relation="ordinary")
    assert (found.loss, found.short) == ("ranking", "loss ranking, by the labels")
    assert "needs a reciprocal relation, but ordinary is asked for" in found.reasons[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [({"relation": "skew"}, "relation must be"), ({"loss": "hinge"}, "loss must be"), ({"max_nodes": 0}, "max_nodes")],
)
def test_wrong_arguments_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        recommend(GAMES, **given)
