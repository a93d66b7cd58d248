"""Edges of tables: which columns are ends, values, weights and ties, and what a row means."""

from __future__ import annotations

import numpy as np
import pytest

from builders import GAMES as PLAYED
from builders import PLAYERS
from condrank import RelationGraph
from forms import EDGES, GAMES, LIBRARIES, NODES, make_frame


@pytest.mark.parametrize("library", LIBRARIES)
def test_games_with_ties_and_weights_give_both_directions(library):
    games = make_frame(library, GAMES | {"draw": [False, False, True], "weight": [1, 2, 3]})
    graph = RelationGraph.from_frame(make_frame(library, NODES), games)
    dense = graph.to_dense()
    assert dense[0, 1] == 1
    assert dense[1, 0] == -1
    assert dense[0, 3] == dense[3, 0] == 0
    assert graph.is_reciprocal
    assert graph.centre == 0
    assert graph.n_edges == 6
    assert sorted(graph.relation.weights.tolist()) == [1, 1, 2, 2, 3, 3]


def test_counts_are_the_mean_of_their_games_with_the_number_of_games_as_weight():
    counts = {"a": ["ann", "bob", "cyd"], "b": ["bob", "cyd", "dan"], "wins_a": [3, 0, 0], "wins_b": [1, 2, 0]}
    games = {"winner": ["ann"] * 3 + ["bob"] + ["cyd"] * 2, "loser": ["bob"] * 3 + ["ann"] + ["bob"] * 2}
    graph, one_by_one = RelationGraph.from_frame(NODES, counts), RelationGraph.from_frame(NODES, games)
    np.testing.assert_allclose(graph.to_dense(), one_by_one.to_dense())
    np.testing.assert_allclose(graph.relation.weights, one_by_one.relation.weights)
    renamed = {"p": counts["a"], "q": counts["b"], "w": counts["wins_a"], "l": counts["wins_b"]}
    other = RelationGraph.from_frame(NODES, renamed, source="p", target="q", wins=("w", "l"))
    np.testing.assert_array_equal(other.to_dense(), graph.to_dense())


@pytest.mark.parametrize("word", ["win", "Draw", "L"])
def test_words_for_outcomes_are_refused_with_the_columns_that_games_have(word):
    edges = {"source": ["ann", "bob"], "target": ["bob", "cyd"], "value": ["1", word]}
    message = (
        rf"position 1: column 'value' must be a number, got '{word}'; games have the columns winner= and loser=, with "
        r"a column tie= if there are draws, or values 1, 0 and -1 and mirror='opposite'$"
    )
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_frame(NODES, edges)


def test_named_columns_come_before_usual_ones():
    edges = EDGES | {"winner": EDGES["target"], "loser": EDGES["source"], "other": [7.0, 8.0, 9.0]}
    assert np.nanmax(RelationGraph.from_frame(NODES, edges, value="other").to_dense()) == 9
    assert RelationGraph.from_frame(NODES, edges, winner="source", loser="target").to_dense()[0, 1] == 1
    nodes = NODES | {"key": ["x", "y", "z", "w"]}
    named = {"from": ["x"], "to": ["y"], "score": [2.0]}
    graph = RelationGraph.from_frame(nodes, named, id="key", drop=["id"])
    assert graph.nodes.ids.tolist() == ["x", "y", "z", "w"]
    assert graph.to_dense()[0, 1] == 2


def test_the_first_columns_are_ids_and_ends_if_no_name_is_usual():
    nodes = {"player": ["ann", "bob"], "age": [31, 25]}
    graph = RelationGraph.from_frame(nodes, {"one": ["ann"], "two": ["bob"], "points": [4]})
    assert graph.to_dense()[0, 1] == 4
    assert graph.nodes.base.tolist() == [[31], [25]]


def test_mirror_adds_the_other_direction_but_no_second_loop():
    edges = {"source": ["ann", "bob"], "target": ["bob", "bob"], "value": [0.75, 0.5]}
    same = RelationGraph.from_frame(NODES, edges, mirror="same")
    assert same.to_dense()[1, 0] == 0.75
    assert same.n_edges == 3
    opposite = RelationGraph.from_frame(NODES, edges, mirror="opposite", probabilities=True)
    assert opposite.to_dense()[1, 0] == 0.25
    assert RelationGraph.from_frame(NODES, edges).n_edges == 2
    assert RelationGraph.from_frame(NODES, GAMES, mirror=None).n_edges == 3


def test_errors_name_the_columns_that_were_found_by_position():
    edges = {"p1": ["ann"], "p2": ["zoe"], "value": [1.0]}
    with pytest.raises(ValueError, match=r"position 0, p2 \(read as target=\): no node has the id 'zoe'"):
        RelationGraph.from_frame(PLAYERS, edges)
    with pytest.raises(ValueError, match="position 0, p2: no node has the id 'zoe'"):
        RelationGraph.from_frame(PLAYERS, edges, target="p2")
    with pytest.raises(
        ValueError, match=r"every id in column 'team' must be different; it was read as the ids, .* with id=$"
    ):
        RelationGraph.from_frame({"team": ["x", "x"], "player": ["ann", "bob"], "x": [1, 2]}, edges)
    with pytest.raises(ValueError, match=r"every id in column 'team' must be different$"):
        RelationGraph.from_frame({"team": ["x", "x"], "x": [1, 2]}, edges, id="team")


def test_weights_are_not_read_as_values():
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
def test_ties_are_yes_no_or_empty(ties):
    graph = RelationGraph.from_frame(PLAYERS, PLAYED | {"tie": ties})
    values = graph.to_dense()
    assert [values[0, 1], values[2, 1], values[0, 2], values[1, 3]] == [1.0, 0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="position 1: column 'tie' must be yes or no, or 1 or 0, got 'perhaps'"):
        RelationGraph.from_frame(PLAYERS, PLAYED | {"tie": ["", "perhaps", "", ""]})
