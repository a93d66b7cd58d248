"""The parts of a kernel: a quick run on small files, and parts that are chosen one after another."""

import numpy as np
import pytest

from condrank import ConditionalRankerCV, RelationGraph, datasets
from condrank.kernels import Constant, Identity, Precomputed
from condrank.model_selection import SettingShuffleSplit
from experiment_modules import check_rows, quick_run


@pytest.mark.filterwarnings("ignore:the best λ")
def test_every_method_is_judged_in_every_setting(experiments, home):
    found = quick_run(experiments, home, "kernel_parts").rows
    check_rows(found)
    methods = {}
    for row in found:
        methods.setdefault((row.table.split(":")[0], int(row.data[8])), []).append(row.method)
    assert len(methods) == 12
    assert {len(of_setting) for of_setting in methods.values()} == {6}
    assert all("variants tried" in row.note for row in found if "powers" in row.method)
    assert all("against c.reg, intercept" in row.note for row in found if row.method != "c.reg, intercept")
    both_new = [row for row in found if row.data.startswith("setting 4")]
    assert all("Identity()" not in row.note for row in both_new)


def test_parts_make_expressions(experiments):
    Parts = experiments.kernel_parts.Parts
    assert Parts().kernel == Precomputed()
    assert Parts(4, 0.1, 0.5).kernel == Precomputed() ** 4 + 0.1 * Constant() + 0.5 * Identity()


@pytest.mark.filterwarnings("ignore:the best λ")
def test_the_lowest_held_out_loss_decides_each_part(experiments, home):
    bunch = datasets.load_davis(data_home=home)
    graph = RelationGraph(bunch.K_drug, bunch.Y, objects=bunch.K_target)
    cv = SettingShuffleSplit(2, 2, test_size=1 / 3, random_state=0)
    alphas = np.array([0.1, 10.0])
    chosen = experiments.kernel_parts.Stepwise([(0, "power", (1, 2, 8))], cv, alphas, "regression").fit(graph)
    params = {"loss": "regression", "clip": True, "fit_intercept": True} | experiments.kernel_parts.PRECISION
    losses = [
        ConditionalRankerCV(alphas, cv, kernel=kernel, object_kernel=Precomputed(), **params)
        .fit(graph)
        .cv_losses_.min()
        for kernel in (Precomputed(), Precomputed() ** 2, Precomputed() ** 8)
    ]
    assert chosen.best.cv_losses_.min() == min(losses)
    assert chosen.n_tried == 3
