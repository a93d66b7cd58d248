"""The rank loss from a sample of the conditioning nodes, and its standard error."""

import pytest
from sklearn.decomposition import PCA

from builders import GAMES, PLAYERS, ranker_of_games
from condrank import sampled_rank_loss
from condrank.tables import read_graph


def test_the_sampled_loss_of_a_ranker_of_tables_is_that_of_its_score():
    ranker = ranker_of_games()
    found = sampled_rank_loss(ranker, read_graph(PLAYERS, GAMES), 100)
    assert found.loss == pytest.approx(1 - ranker.score(PLAYERS, GAMES))


def test_the_sampled_loss_of_what_is_no_ranker_is_refused():
    with pytest.raises(ValueError, match=r"must be a ConditionalRanker.*got PCA.*p\[-1\]"):
        sampled_rank_loss(PCA(), read_graph(PLAYERS, GAMES))
