"""Edges of tables: which columns are sources, targets, values, weights and ties."""

import numpy as np
import pytest

from builders import GAMES, PLAYERS
from condrank import RelationGraph


def test_guessed_columns_are_named():
    edges = {"p1": ["ann"], "p2": ["zoe"], "value": [1.0]}
    with pytest.raises(ValueError, match=r"position 0, p2 \(read as target=\): no node has the id 'zoe'"):
        RelationGraph.from_frame(PLAYERS, edges)
    with pytest.raises(ValueError, match="position 0, p2: no node has the id 'zoe'"):
        RelationGraph.from_frame(PLAYERS, edges, target="p2")
    with pytest.raises(ValueError, match=r"column 'team' must have every id once; it was read as the ids, .* by id="):
        RelationGraph.from_frame({"team": ["x", "x"], "player": ["ann", "bob"], "x": [1, 2]}, edges)
    with pytest.raises(ValueError, match=r"column 'team' must have every id once$"):
        RelationGraph.from_frame({"team": ["x", "x"], "x": [1, 2]}, edges, id="team")


def test_weights_are_not_taken_for_values():
    edges = {"p1": ["ann", "bob"], "p2": ["bob", "cyd"], "margin": [3, 1], "weight": [1.0, 2.0]}
    graph = RelationGraph.from_frame(PLAYERS, edges)
    assert graph.relation.values.tolist() == [3.0, 1.0]
    assert graph.relation.weights.tolist() == [1.0, 2.0]
    edges = {"p1": ["ann", "bob"], "p2": ["bob", "cyd"], "margin": [3, 1], "games": [1.0, 2.0]}
    assert RelationGraph.from_frame(PLAYERS, edges, weight="games").relation.values.tolist() == [3.0, 1.0]
    only = {"p1": ["ann", "bob"], "p2": ["bob", "cyd"], "weight": [3, 1]}
    assert RelationGraph.from_frame(PLAYERS, only).relation.values.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    "ties", [["", "yes", "no", ""], [None, True, False, None], ["0", "1", "0", "0"], [0, 1, 0, np.nan]]
)
def test_ties_are_yes_no_or_blank(ties):
    graph = RelationGraph.from_frame(PLAYERS, GAMES | {"tie": ties})
    values = graph.to_dense()
    assert [values[0, 1], values[2, 1], values[0, 2], values[1, 3]] == [1.0, 0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="position 1: column 'tie' must be yes or no, or 1 or 0, got 'perhaps'"):
        RelationGraph.from_frame(PLAYERS, GAMES | {"tie": ["", "perhaps", "", ""]})
