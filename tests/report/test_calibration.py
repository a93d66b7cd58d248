"""Held-out games: bins of chances are those of a naive count."""

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.model_selection import SettingSplit
from condrank.report.calibration import FEWEST, MODELS, Games, bins, calibration, held_out_games
from condrank.report.certainty import certainty
from condrank.report.rankings import rank_sample
from condrank.report.words import Words
from report.games import Reader, make_games


def test_bins_are_those_of_a_naive_count():
    rng = np.random.default_rng(0)
    games = Games(rng.uniform(0.5, 1, 400), rng.choice([0, 0.5, 1], 400), 4)
    found = bins(games)
    row = 0
    for start in np.arange(0.5, 0.99, 0.05):
        inside = [
            (p, won) for p, won in zip(games.chances, games.won, strict=True) if start <= p < start + 0.05 - 1e-12
        ]
        if len(inside) < FEWEST:
            continue
        chance, share, low, high, n = found[row]
        assert n == len(inside)
        assert (chance, share) == pytest.approx(tuple(np.mean(inside, axis=0)))
        assert 0 <= low < share < high <= 1
        # Wilson: the ends are the shares from which this one is 1.96 standard deviations away.
        for end in (low, high):
            assert abs(share - end) == pytest.approx(1.96 * np.sqrt(end * (1 - end) / n))
        row += 1
    assert row == len(found)


def test_games_are_predicted_by_models_that_have_not_seen_them():
    asked = ConditionalRanker("reciprocal", "logistic", constant=True)
    ranker = TableRanker(asked).fit(*make_games())
    found = held_out_games(ranker, ranker.graph_, 4, 4, "log-odds", lambda _: None)
    chances, won = [], []
    folds = list(SettingSplit(4, 4, both_directions=True, random_state=0).split(ranker.graph_))
    for train, test in folds[:MODELS]:
        fitted, truth = TableRanker(asked).fit(train), test.to_dense()
        p = fitted.ranker_.predict_proba(fitted.encode(test))
        for i in range(len(truth)):
            for j in range(i + 1, len(truth)):
                if not np.isnan(truth[i, j]):
                    favourite = p[i, j] >= 0.5
                    chances.append(p[i, j] if favourite else 1 - p[i, j])
                    won.append((1 + truth[i, j]) / 2 if favourite else (1 - truth[i, j]) / 2)
    np.testing.assert_allclose(found.chances, chances, rtol=1e-6)
    np.testing.assert_allclose(found.won, won)


def test_the_section_has_the_measures_of_games_and_says_when_there_are_too_few():
    games = Games(np.repeat([0.6, 0.9], 50), np.r_[np.ones(30), np.zeros(20), np.ones(45), np.zeros(5)], 4)
    reader = Reader(calibration(games))
    words = "".join(reader.words)
    assert "given 75\xa0% on average, and won 75\xa0% of them" in words
    assert "accuracy75\xa0%" in words
    assert f"log loss{-(0.3 * np.log(0.6) + 0.2 * np.log(0.4) + 0.45 * np.log(0.9) + 0.05 * np.log(0.1)):.3f}" in words
    assert "Brier score0.165" in words
    assert len(reader.named("circle")) == 2
    few = calibration(Games(np.array([0.6]), np.array([1.0]), 4))
    assert "too few to say more" in few
    assert "no game could be held out" in calibration(None)


def test_how_sure_names_the_spread_over_nodes(ranker):
    rankings = rank_sample(ranker.ranker_, ranker.encode(ranker.graph_), 5, 100)
    words = "".join(Reader(certainty([], rankings, Words("players", "players", True), "Seen.")).words)
    right = 1 - rankings.losses[~np.isnan(rankings.losses)]
    half, tenth = np.quantile(right, [0.5, 0.1])
    assert f"For half of the players at least {100 * half:.0f}\xa0% of pairs are ordered right" in words
    assert f"for nine in ten at least {100 * tenth:.0f}\xa0%" in words
    assert "By this model. Seen." in words
