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


def games_of(rng, n_games, weights=None, dtype=np.float64):
    """Mirrored games of 12 players who meet often, some of them ties."""
    sources, targets = rng.permuted(np.tile(np.arange(12), (n_games, 1)), axis=1)[:, :2].T
    won = rng.choice([-1, 0, 1], size=n_games).astype(dtype)
    both = np.r_[sources, targets], np.r_[targets, sources], np.r_[won, -won]
    weights = None if weights is None else np.r_[weights, weights]
    return RelationGraph.from_edges(X[:12].astype(dtype), *both, weights=weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_games", [60, 400, 4000])
def test_pairs_that_meet_often_stay_games(n_games, dtype):
    graph = games_of(np.random.default_rng(n_games), n_games, dtype=dtype)
    assert graph.relation.values.dtype == dtype
    assert (recommend(graph).relation, recommend(graph).loss) == ("reciprocal", "logistic")
    assert diagnose(graph).recommended_loss == "logistic"


@pytest.mark.parametrize("centre", [0.0, 0.5])
def test_shares_of_counted_games_are_games(centre):
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(12, 1)
    games = rng.integers(1, 9, size=len(i)).astype(float)
    share = rng.binomial(games.astype(int), 0.6) / games
    value = share if centre else 2 * share - 1
    both = np.r_[i, j], np.r_[j, i], np.r_[value, 2 * centre - value]
    counted = RelationGraph.from_edges(X[:12], *both, weights=np.r_[games, games])
    assert recommend(counted).loss == "logistic"
    # The same shares without the numbers of games might be anything.
    assert recommend(RelationGraph.from_edges(X[:12], *both)).loss == "ranking"


def test_old_games_that_count_less_are_games_if_some_pairs_met_once():
    rng = np.random.default_rng(0)
    assert recommend(games_of(rng, 60, weights=rng.random(60) + 0.1)).loss == "logistic"


def test_repeated_margins_are_not_games():
    rng = np.random.default_rng(0)
    sources, targets = rng.permuted(np.tile(np.arange(12), (200, 1)), axis=1)[:, :2].T
    for margin in (rng.uniform(-1, 1, size=200), rng.integers(-20, 21, size=200) / 20, 3 * rng.normal(size=200)):
        both = np.r_[sources, targets], np.r_[targets, sources], np.r_[margin, -margin]
        for weights in (None, np.full(400, 2.0), np.full(400, 0.3)):
            found = recommend(RelationGraph.from_edges(X[:12], *both, weights=weights))
            assert (found.relation, found.loss) == ("reciprocal", "ranking")
