"""Sections of text and tables."""

import numpy as np

from condrank import ConditionalRanker, TableRanker
from condrank.metrics import rank_loss
from condrank.report.extremes import FEWEST, extremes
from condrank.report.headline import percent
from condrank.report.rankings import rank_sample
from condrank.report.words import Words
from report.games import Reader


def test_worst_and_best_nodes_are_shown_with_the_truth(ranker, text):
    losses = rank_loss(ranker.graph_.to_dense(), ranker.predict(ranker.graph_), average=None)
    worst = ranker.query_ids_[np.argsort(-losses, kind="stable")[0]]
    words = "".join(Reader(text).words)
    shown = words[words.index("Worst 6") :]
    assert shown.startswith(f"Worst 6{worst}{percent(1 - np.max(losses))} of pairs right")
    scores = ranker.rank([worst], top=1)
    value = ranker.graph_.to_dense()[list(ranker.query_ids_).index(worst), scores.indices[0, 0]]
    assert f"{scores.ids[0, 0]} ({'not observed' if np.isnan(value) else f'{value:.4g}'})" in shown


def uneven_games():
    """Two players with many opponents, and many with few, whose losses are 0 or 1 by luck."""
    names = [f"p{i}" for i in range(40)]
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in (0, 1) for j in range(2, 22)] + [(i, i + 1) for i in range(22, 38)]
    winner = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
    games = {"winner": [names[a] for a, _ in winner], "loser": [names[b] for _, b in winner]}
    return TableRanker(ConditionalRanker("reciprocal", "regression")).fit(
        {"id": names, "x": rng.normal(size=40), "y": rng.normal(size=40)}, games
    )


def test_only_nodes_with_enough_edges_are_called_worst_or_best():
    ranker = uneven_games()
    encoded = ranker.encode(ranker.graph_)
    rankings = rank_sample(ranker.ranker_, encoded, 5, 100)
    assert (rankings.observed >= FEWEST).sum() == 2
    page = extremes(ranker.ranker_, encoded, rankings, [], Words("players", "players", True))
    reader = Reader(page)
    assert len(reader.named("article")) == 2
    assert f"among the 2 players with at least {FEWEST} observed values" in "".join(reader.words)


def test_without_enough_edges_there_is_no_worst_and_no_best():
    ranker = uneven_games()
    encoded = ranker.encode(ranker.graph_[np.arange(1, 40)])
    rankings = rank_sample(ranker.ranker_, encoded, 5, 100)
    reader = Reader(extremes(ranker.ranker_, encoded, rankings, [], Words("players", "players", True)))
    assert reader.named("article") == []
    assert f"1 of 39 players have {FEWEST} observed players or more" in "".join(reader.words)
