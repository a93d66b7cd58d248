"""Leaders of a contest, best matches of any other relation."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.metrics.games import probabilities_of
from condrank.report.leaders import SHOWN, best_matches, find_leaders, leaderboard, records
from condrank.report.probability import scale_of
from condrank.report.rankings import rank_sample
from condrank.report.words import Words
from report.games import Reader, make_games
from report.test_rankings import two_domains


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_the_strongest_come_first(rank_by):
    asked = ConditionalRanker("reciprocal", "logistic", constant=True, rank_by=rank_by)
    ranker = TableRanker(asked).fit(*make_games())
    encoded = ranker.encode(ranker.graph_)
    found = find_leaders(ranker.ranker_, encoded, "log-odds")
    strengths = ranker.strengths(ranker.query_ids_)
    assert found.is_order
    np.testing.assert_array_equal(found.nodes, np.argsort(-strengths, kind="stable"))
    np.testing.assert_allclose(found.strengths, strengths[found.nodes])
    wins = ranker.ranker_.predict_proba(encoded)
    wins = 1 - wins if rank_by == "incoming" else wins
    np.fill_diagonal(wins, 0)
    np.testing.assert_allclose(found.chances, (wins.sum(axis=1) / 39)[found.nodes])


def test_without_a_constant_the_mean_score_decides(ranker):
    encoded = ranker.encode(ranker.graph_)
    found = find_leaders(ranker.ranker_, encoded, "outcome")
    scores = ranker.predict(ranker.graph_)
    mean = (scores.sum(axis=1) - np.diag(scores)) / 39
    assert not found.is_order
    np.testing.assert_allclose(found.strengths, -np.sort(-mean))


@pytest.mark.parametrize("both", [False, True])
def test_records_count_opponents_once(both):
    rng = np.random.default_rng(0)
    Y = np.full((9, 9), np.nan)
    for i, j in rng.integers(0, 8, size=(25, 2)):  # the last node has no game
        Y[i, j] = rng.integers(-1, 2)
        Y[j, i] = -Y[i, j] if both else np.nan
    met, beaten = records(RelationGraph(np.eye(9), Y))
    for node in range(9):
        opponents = {}
        for other in range(9):
            if other != node:
                seen = [one for one in (Y[node, other], -Y[other, node]) if not np.isnan(one)]
                if seen:
                    opponents[other] = sum(seen)
        assert met[node] == len(opponents)
        assert beaten[node] == sum(one > 0 for one in opponents.values())


def test_nodes_without_edges_are_not_on_the_board():
    players, games = make_games(30, 300)
    more = {name: [*values, *values[:12]] for name, values in players.items()} | {
        "id": [*players["id"], *(f"nobody {i}" for i in range(12))]
    }
    ranker = TableRanker(ConditionalRanker("reciprocal", "logistic", constant=True)).fit(more, games)
    encoded = ranker.encode(ranker.graph_)
    page = leaderboard(
        find_leaders(ranker.ranker_, encoded, "log-odds"), ranker.ranker_, encoded, Words("players", "players", True)
    )
    words = "".join(Reader(page).words)
    assert "nobody" not in words
    assert "12 players without edges are left out." in words
    assert len(Reader(page).named("tr")) == 30 + 2
    assert f"Places {SHOWN + 1} to 30" in words


def test_best_matches_are_the_first_of_the_nodes_with_most_edges():
    ranker = two_domains("outgoing")
    rankings = rank_sample(ranker.ranker_, ranker.encode(ranker.graph_), 5, 100)
    words = "".join(Reader(best_matches(rankings, Words("drugs", "proteins", False))).words)
    busiest = int(np.argmax((~np.isnan(ranker.graph_.to_dense())).sum(axis=1)))
    name = ranker.query_ids_[busiest]
    best = ranker.rank([name], top=1).ids[0, 0]
    value = ranker.graph_.to_dense()[busiest, list(ranker.object_ids_).index(best)]
    seen = "not observed" if np.isnan(value) else f"observed {value:.3g}"
    assert f"third{name}{best}{seen}" in words


@pytest.mark.parametrize(("loss", "scale"), [("logistic", "log-odds"), ("regression", "outcome"), ("ranking", None)])
def test_scores_are_probabilities_where_the_loss_makes_them_so(loss, scale):
    ranker = TableRanker(ConditionalRanker("reciprocal", loss)).fit(*make_games())
    assert scale_of(ranker.ranker_, ranker.graph_) == scale
    if scale == "log-odds":
        np.testing.assert_allclose(
            probabilities_of(ranker.predict(ranker.graph_), scale),
            ranker.ranker_.predict_proba(ranker.encode(ranker.graph_)),
        )
    assert scale_of(two_domains("outgoing").ranker_, two_domains("outgoing").graph_) is None


def test_scores_of_probabilities_are_probabilities():
    rng = np.random.default_rng(0)
    P = rng.random((12, 12))
    graph = RelationGraph(rng.normal(size=(12, 3)), np.where(np.eye(12) > 0, 0.5, (P + 1 - P.T) / 2))
    ranker = TableRanker(ConditionalRanker("reciprocal", "regression")).fit(graph)
    assert scale_of(ranker.ranker_, graph) == "probability"
    np.testing.assert_array_equal(probabilities_of(np.array([-0.2, 0.3, 1.4]), "probability"), [0, 0.3, 1])
