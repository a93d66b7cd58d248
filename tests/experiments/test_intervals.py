"""Intervals in the four settings: a quick run on small files."""

import numpy as np

from experiment_modules import check_rows, quick_run


def test_every_method_is_judged_in_every_setting(experiments, home):
    found = quick_run(experiments, home, "intervals").rows
    check_rows(found)
    assert len(found) == 3 * 4 * len(experiments.intervals.METHODS)
    for row in found:
        assert 0 <= row.measured <= 1
        assert "mean width" in row.note


def test_conditioning_nodes_have_equal_weight(experiments):
    covered = experiments.intervals.Covered()
    truth = np.array([[0.0, 0.0, 0.0, 0.0], [5.0, np.nan, np.nan, np.nan], [np.nan] * 4])
    covered.add(truth, np.full((3, 4), -1.0), np.full((3, 4), 1.0))
    assert covered.coverage == [0.5]
    assert covered.width == [2.0]


def test_known_and_new_nodes_are_those_of_the_setting(experiments, home):
    run = experiments.results.Run(quick=True, data=home)
    graph, _ = experiments.intervals.davis(run, 0)
    for setting, (train, test) in experiments.intervals.splits(graph, 0):
        shared = [
            bool(set(one.positions) & set(other.positions))
            for one, other in ((train.nodes, test.nodes), (train.objects, test.objects))
        ]
        assert shared == {1: [True, True], 2: [False, True], 3: [True, False], 4: [False, False]}[setting]
