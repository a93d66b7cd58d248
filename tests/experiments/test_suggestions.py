"""What to measure next: a quick run, and the parts of its loop."""

import numpy as np

from experiment_modules import quick_run


def test_every_way_is_measured(experiments, home):
    found = quick_run(experiments, home, "suggestions")
    ways = experiments.suggestions.WAYS
    assert len(found.rows) == sum(map(len, ways.values()))
    for row in found.rows:
        assert row.measured >= 10
        assert "loss at the end" in row.note
    (picture,) = found.pictures
    assert {way for _, way, _, _ in picture.points} == {way for one in ways.values() for way in one}


def test_labels_are_counted_until_the_goal(experiments):
    needed = experiments.suggestions.needed_labels
    labels = np.array([10, 20, 30])
    assert needed(labels, np.array([0.4, 0.1, 0.2]), 0.1) == 20
    assert needed(labels, np.array([0.4, 0.3, 0.2]), 0.1) is None


def test_games_follow_the_moves(experiments):
    """Players of one move each: paper (1) beats rock (0), scissors (2) beats paper, rock beats scissors."""
    i, j = np.array([1, 2, 0, 0]), np.array([0, 1, 2, 0])
    found = experiments.suggestions.outcomes(np.eye(3), i, j, np.random.default_rng(0))
    assert found.tolist() == [1, 1, 1, 0]
