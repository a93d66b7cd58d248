"""Enzymes: a quick run on a small file, heat maps, and folds of EC numbers."""

import numpy as np
import pytest

from condrank import datasets
from experiment_modules import check_rows, quick_run

pytestmark = pytest.mark.usefixtures("one_library")


def test_enzymes_have_rows_of_the_paper_and_ours_and_heat_maps(experiments, home, tmp_path):
    outcome = quick_run(experiments, home, "enzymes")
    enzymes = experiments.enzymes
    paper, ours = outcome.rows[:15], outcome.rows[15:]
    assert all(row.measured is None and row.paper is not None for row in paper)
    check_rows(ours)
    n_methods = 2 * 5 + experiments.trees.is_installed("LightGBM")
    assert [row.table for row in ours] == [enzymes.TABLE] * n_methods + [enzymes.BEYOND] * n_methods
    assert {row.data for row in ours} == set(enzymes.KERNELS)
    (picture,) = outcome.pictures
    titles = [ax.get_title() for ax in picture.figure.axes]
    assert titles[:4] == ["true", *(f"Smith-Waterman: {m}" for m in ("unsupervised", "c.reg", "c.rank"))]
    assert len(titles) == 8
    experiments.report.write(outcome, tmp_path)
    assert (tmp_path / "enzymes-heat-maps.png").stat().st_size > 0


def test_heat_maps_are_in_the_order_of_ec_numbers(experiments):
    ec = np.array([(2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 3, 1), (1, 1, 3, 1)])
    truth = np.array([[np.cumprod(a == b).sum() for b in ec] for a in ec], dtype=float)
    scores = dict.fromkeys(("unsupervised", "c.reg", "c.rank"), truth)
    picture = experiments.enzymes.heat_maps({"kernel": (ec, truth, scores)})
    arranged = [[4, 4, 1, 0], [4, 4, 1, 0], [1, 1, 4, 0], [0, 0, 0, 4]]
    for ax in picture.figure.axes:
        np.testing.assert_array_equal(ax.images[0].get_array(), arranged)


def test_unseen_ec_numbers_are_unseen(experiments, home):
    bunch = datasets.load_enzymes(data_home=home)
    numbers = np.unique(bunch.labels, axis=0, return_inverse=True)[1]
    request = experiments.results.Run(quick=True)
    graph = experiments.enzymes.few(bunch.graph, numbers)
    assert len(graph) == 5 * 6
    for train, test in experiments.enzymes.folds(request, 4, numbers).split(graph):
        assert not set(numbers[train.nodes.positions]) & set(numbers[test.nodes.positions])
        for part, held_out in experiments.enzymes.folds(request, 10, numbers).split(train):
            assert not set(numbers[part.nodes.positions]) & set(numbers[held_out.nodes.positions])
