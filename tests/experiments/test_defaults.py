"""The page of the search on its own: every method is judged on new nodes, and the leaderboard is shown."""

import numpy as np
import pytest

from experiment_modules import check_rows

NAMES = ("bacteria, new species", "enzymes, new EC numbers", "Davis, new drugs and targets")


@pytest.mark.filterwarnings("ignore")
def test_search_and_baselines_are_judged_on_new_nodes(experiments, home, monkeypatch):
    story = experiments.defaults
    monkeypatch.setattr(story, "DATA", {name: story.DATA[name] for name in NAMES})
    rows = list(story.defaults(experiments.results.Run(quick=True, seed=3, data=home)))
    check_rows(rows)
    for name in NAMES:
        methods = {row.method for row in rows if row.data == name and row.table == "Rank loss on new nodes"}
        assert {"RankerSearch", "popularity", "two-step ridge"} <= methods
        board = [row for row in rows if row.table == f"Leaderboard: {name}"]
        assert sum("chosen" in row.note for row in board) == 1
        assert [row.measured for row in board] == sorted(row.measured for row in board)


def test_no_test_node_is_in_training(experiments, home):
    story, run = experiments.defaults, experiments.results.Run(quick=True, data=home)
    for name in NAMES:
        data = story.DATA[name](run)
        train, test = data.split(0, True)
        for part, rest in [(train, test), *data.holdouts(train, train, 0)]:
            assert not set(part.nodes.positions) & set(rest.nodes.positions)
            if data.classes is None:
                assert not set(part.objects.positions) & set(rest.objects.positions)
            else:
                classes = [set(np.asarray(data.classes)[one.nodes.positions]) for one in (part, rest)]
                assert not classes[0] & classes[1]


def test_coordinates_of_trees_come_from_training_nodes(experiments, home):
    """They do not change with the test nodes, and are those of the kernel where these are training nodes."""
    story, run = experiments.defaults, experiments.results.Run(quick=True, data=home)
    for name in NAMES:
        data = story.DATA[name](run)
        train, test = data.split(0, True)
        near, far = data.coordinates(train, test)
        again, same = data.coordinates(train, train)
        np.testing.assert_array_equal(near.nodes.rows, again.nodes.rows)
        np.testing.assert_allclose(same.nodes.rows, near.nodes.rows, atol=1e-6)
        assert near.nodes.rows.shape[1] == far.nodes.rows.shape[1] <= story.MOST_FEATURES
        np.testing.assert_array_equal(far.to_dense(), test.to_dense())
