"""Generated data sets: what the generators draw, and what they refuse."""

import numpy as np
import pytest
import sklearn.datasets
from scipy.special import softmax

from condrank import datasets
from condrank.datasets import generated
from stored_files import level_matrix


def test_rock_paper_scissors_trains_on_games_and_tests_on_all_chances():
    train, test = datasets.make_rock_paper_scissors(10, n_players=20, n_games=300, random_state=0)
    assert train.n_nodes == test.n_nodes == 20
    assert train.n_edges == 600
    assert not train.is_complete
    assert train.is_reciprocal
    assert test.is_complete
    P = test.to_dense()
    np.testing.assert_allclose(P + P.T, 1)
    np.testing.assert_allclose(np.diagonal(P), 0.5)
    assert ((P >= 0) & (P <= 1)).all()


def test_rock_paper_scissors_is_seeded():
    def relation(seed):
        return datasets.make_rock_paper_scissors(1, n_players=5, n_games=9, random_state=seed)[1].to_dense()

    np.testing.assert_array_equal(relation(3), relation(3))
    assert not np.array_equal(relation(3), relation(4))
    np.testing.assert_array_equal(
        relation(np.random.default_rng(3)),
        relation(3),
    )
    np.testing.assert_array_equal(relation(np.random.RandomState(3)), relation(np.random.RandomState(3)))


def test_winning_probability_follows_the_rules():
    # Naive twin: sum over all pairs of moves.
    rng = np.random.default_rng(0)
    players = softmax(rng.random((4, 3)) * 5, axis=1)
    beaten_by = {"rock": "paper", "paper": "scissors", "scissors": "rock"}
    moves = list(beaten_by)
    expected = np.zeros((4, 4))
    for a in range(4):
        for b in range(4):
            for i, mine in enumerate(moves):
                for j, theirs in enumerate(moves):
                    worth = 1.0 if beaten_by[theirs] == mine else 0.5 if mine == theirs else 0.0
                    expected[a, b] += worth * players[a, i] * players[b, j]
    np.testing.assert_allclose(generated.winning_probability(players), expected)


def test_games_follow_the_winning_probability():
    rng = np.random.default_rng(1)
    players = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.6, 0.2]])
    first, second, outcome = generated.play(players, 60_000, rng)
    assert (first != second).all()
    assert set(np.unique(outcome)) == {-1, 0, 1}
    P = generated.winning_probability(players)
    for a in range(3):
        for b in set(range(3)) - {a}:
            games = outcome[(first == a) & (second == b)]
            assert len(games) == pytest.approx(10_000, abs=500)
            assert games.mean() == pytest.approx(2 * P[a, b] - 1, abs=0.04)


def test_tie_edges_are_kept_as_zero():
    rng = np.random.default_rng(0)
    outcome = generated.play(np.full((5, 3), 1 / 3), 30_000, rng)[2]
    assert (outcome == 0).mean() == pytest.approx(1 / 3, abs=0.015)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"w": -1}, "w must be"),
        ({"w": np.nan}, "w must be .* got nan"),
        ({"w": "10"}, "w must be .* got '10'"),
        ({"w": 1, "n_players": 1}, "n_players must be an integer >= 2, got 1"),
        ({"w": 1, "n_games": 0}, "n_games must be an integer >= 1, got 0"),
        ({"w": 1, "n_games": 2.5}, "n_games must be an integer >= 1, got 2.5"),
    ],
)
def test_rock_paper_scissors_refuses_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_rock_paper_scissors(**arguments)


def mean_rank_loss(Y, scores):
    """Pairs of objects in the wrong order, ties in the scores half, over all pairs that differ in Y."""
    wrong = total = 0.0
    for y, score in zip(Y, scores, strict=True):
        better = y[:, None] > y[None, :]
        gap = score[:, None] - score[None, :]
        wrong += (better & (gap < 0)).sum() + 0.5 * (better & (gap == 0)).sum()
        total += better.sum()
    return wrong / total


@pytest.mark.slow
@pytest.mark.parametrize(("w", "expected", "error"), [(1, 0.468, 0.024), (10, 0.0388, 0.0021), (100, 0.00131, 0.00013)])
def test_rock_paper_scissors_is_as_hard_as_in_the_paper(w, expected, error):
    # Ordinary regression on the nine product features of an edge, λ = 2⁻³⁰. Both means, the one expected and
    # the one computed, are over 100 repetitions with this standard error: four of it are 2.8 of the difference.
    losses = []
    for seed in range(100):
        train, test = datasets.make_rock_paper_scissors(w, random_state=seed)
        X, games, X_test = train.nodes.rows, train.relation, test.nodes.rows
        Phi = (X[games.sources][:, :, None] * X[games.indices][:, None, :]).reshape(-1, 9)
        weighted = Phi.T * games.weights  # a pair that met again is one entry of a larger weight
        W = np.linalg.solve(weighted @ Phi + 2.0**-30 * np.eye(9), weighted @ games.values).reshape(3, 3)
        losses.append(mean_rank_loss(test.to_dense(), X_test @ W @ X_test.T))
    assert np.mean(losses) == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classes_are_of_nearly_equal_size(dtype):
    graph = datasets.make_classes(30, 5, 4, dtype=dtype, random_state=0)
    assert graph.n_nodes == 30
    assert graph.is_complete
    assert graph.is_symmetric
    assert graph.nodes.rows.shape == (30, 5)
    assert graph.nodes.rows.dtype == dtype
    Y = graph.to_dense()
    assert set(np.unique(Y)) == {0.0, 1.0}
    assert sorted(Y.sum(axis=1)) == [7] * 14 + [8] * 16


def test_classes_in_groups_have_three_levels():
    relation = datasets.make_classes(24, 3, 6, n_groups=2, random_state=0).to_dense()
    for value, count in {0: 12, 1: 8, 2: 4}.items():
        assert ((relation == value).sum(axis=1) == count).all()


def test_classes_lie_around_their_centres():
    graph = datasets.make_classes(100_000, 2, 2, class_sep=50.0, dtype=np.float32, random_state=1)
    # Two tight blobs: the spread around each is the noise, also in the second block of rows.
    far = graph.nodes.rows[:, 0] > graph.nodes.rows[:, 0].mean()
    for blob in (graph.nodes.rows[far], graph.nodes.rows[~far]):
        np.testing.assert_allclose(blob.std(axis=0), 1, atol=0.02)
        assert len(blob) == 50_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2, 4), "n_nodes must be an integer >= n_classes = 4, got 3"),
        ((9, 0, 4), "n_features must be an integer >= 1, got 0"),
        ((9, 2, True), "n_classes must be an integer >= 1, got True"),
    ],
)
def test_classes_refuse_bad_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_classes(*arguments)


def test_classes_refuse_bad_groups_spread_and_dtype():
    with pytest.raises(ValueError, match="n_classes must be an integer >= n_groups = 5, got 4"):
        datasets.make_classes(9, 2, 4, n_groups=5)
    with pytest.raises(ValueError, match="class_sep must be a finite number >= 0, got inf"):
        datasets.make_classes(9, 2, 4, class_sep=np.inf)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int64"):
        datasets.make_classes(9, 2, 4, dtype=np.int64)


def digits_of(graph):
    return np.array([int(str(name)[5]) for name in graph.nodes.ids])


@pytest.mark.parametrize("unseen", [False, True])
def test_digits_task_has_three_levels_and_no_common_node(unseen):
    train, test = datasets.make_digits_task(80, 60, unseen_classes=unseen, random_state=0)
    assert (train.n_nodes, test.n_nodes) == (80, 60)
    assert not set(train.nodes.ids) & set(test.nodes.ids)
    for graph in (train, test):
        digit = digits_of(graph)
        levels = np.column_stack([np.isin(digit, [0, 4, 6, 8, 9]), digit])
        np.testing.assert_array_equal(graph.to_dense(), level_matrix(levels))
        assert graph.nodes.rows.min() >= 0
        assert graph.nodes.rows.max() <= 1
        rows = [int(str(name)[7:]) for name in graph.nodes.ids]
        np.testing.assert_array_equal(graph.nodes.rows * 16, sklearn.datasets.load_digits().data[rows])
    if unseen:
        assert set(digits_of(test)) == {0, 2, 4, 7}
        assert set(digits_of(train)) == {1, 3, 5, 6, 8, 9}
    else:
        assert len(set(digits_of(train))) == 10


def test_digits_task_refuses_more_nodes_than_there_are():
    with pytest.raises(ValueError, match=r"n_train \+ n_test must be at most 1797, got 1797 \+ 1"):
        datasets.make_digits_task(1797, 1)
    with pytest.raises(ValueError, match="n_test must be at most 715 with unseen_classes=True, got 800"):
        datasets.make_digits_task(10, 800, unseen_classes=True)
    with pytest.raises(ValueError, match="n_train must be an integer >= 1, got 0"):
        datasets.make_digits_task(0, 8)
