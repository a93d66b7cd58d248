"""Published numbers: a quick run on small files, splits that do not leak, and choices on the validation part."""

import numpy as np
import pytest

from condrank import datasets
from experiment_modules import quick_run

pytestmark = pytest.mark.filterwarnings("ignore:the best λ")


def test_published_numbers_stand_beside_ours(experiments, home):
    found = quick_run(experiments, home, "published").rows
    ours = [row for row in found if row.measured is not None]
    # Four, four and three settings, three measures, two methods.
    assert len(ours) == (4 + 4 + 3) * 3 * 2
    assert all(row.seconds > 0 and row.protocol and np.isfinite(row.measured) for row in ours)
    theirs = {(row.data, row.method): row.paper for row in found if row.measured is None}
    assert theirs["setting 3: new target, concordance of all pairs", "DMFF-DTA"] == 0.748
    assert len(theirs) == 2 * 3 + 5 * 3 * 2
    for row in ours:
        of_others = [
            other.paper
            for other in found
            if other.measured is None and (other.table, other.data) == (row.table, row.data)
        ]
        best = max if "concordance" in row.data else min
        assert row.paper == (best(of_others) if of_others else None)


def test_a_larger_concordance_is_better(experiments):
    kind = experiments.published.HigherIsBetter
    verdicts = [kind("t", "d", "m", measured, 0.01, 0.7).verdict for measured in (0.75, 0.65, 0.71)]
    assert verdicts == ["better", "worse", "same"]


@pytest.mark.parametrize("setting", [1, 2, 3, 4])
def test_parts_of_a_split_share_nothing_that_is_new(experiments, home, setting):
    bunch = datasets.load_kiba(data_home=home)
    rows, columns = np.indices(bunch.Y.shape)
    # Labels that say where they are from.
    bunch.Y = np.where(np.isfinite(bunch.Y), rows * 100 + columns, np.nan).astype(float)
    one = experiments.published.split(bunch, setting, 0)
    seen = [labels[np.isfinite(labels)].astype(int) for labels in one.labels]
    new = {1: lambda at: at, 2: lambda at: at // 100, 3: lambda at: at % 100, 4: lambda at: at // 100}[setting]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert not set(new(seen[first])) & set(new(seen[second]))
        if setting == 4:
            assert not set(seen[first] % 100) & set(seen[second] % 100)
    if setting != 4:
        assert sum(map(len, seen)) == np.isfinite(bunch.Y).sum()
    for labels, queries, objects in zip(one.labels, one.queries, one.objects, strict=True):
        assert queries.shape == (len(labels), one.graph.shape[0])
        assert objects.shape == (labels.shape[1], one.graph.shape[1])


def test_parts_are_kept_if_they_lower_the_validation_error(experiments, home):
    published = experiments.published
    one = published.split(datasets.load_kiba(data_home=home), 2, 0)
    chosen = published.Chosen(one, every=3)
    plain = chosen.lowest
    assert plain == pytest.approx(published.measures(one, chosen.best, 1)[published.MSE])
    chosen.improve(2)
    assert chosen.lowest <= plain
    assert chosen.lowest == pytest.approx(published.measures(one, chosen.best, 1)[published.MSE])
    assert chosen.n_tried > 1
