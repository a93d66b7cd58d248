"""Bacteria: a quick run on a small file, and the split of species."""

import numpy as np
import pytest

from condrank import datasets
from experiment_modules import check_rows, naive_rank_loss, quick_run

pytestmark = pytest.mark.usefixtures("one_library")


@pytest.fixture(scope="module")
def outcome(experiments, home, one_library):
    return quick_run(experiments, home, "bacteria")


def test_bacteria_have_rows_for_both_test_sets(experiments, outcome, tmp_path):
    check_rows(outcome.rows)
    bacteria = experiments.bacteria
    n_methods = 9 + experiments.trees.is_installed("LightGBM")
    assert [row.data for row in outcome.rows] == [bacteria.SEEN] * n_methods + [bacteria.UNSEEN] * n_methods
    found = {(row.data, row.method): row for row in outcome.rows}
    assert found[bacteria.SEEN, "c.rank"].paper == 0.1082
    assert found[bacteria.UNSEEN, "c.reg"].paper == 0.07762
    assert found[bacteria.SEEN, bacteria.COSINE].note == ""
    assert "τ" in found[bacteria.UNSEEN, "c.rank, similarity prior"].note
    assert "τ" not in found[bacteria.UNSEEN, "c.rank"].note
    experiments.report.write(outcome, tmp_path)
    assert "replace them" in (tmp_path / "bacteria.md").read_text(encoding="utf-8")


def test_bacteria_are_judged_without_loops(experiments, home, outcome):
    bunch = datasets.load_bacteria(data_home=home)
    few = np.concatenate([np.flatnonzero(bunch.labels == one)[:6] for one in range(12)])
    expected = []
    for seed in (3, 4):
        _, _, test = experiments.bacteria.split_species(bunch.labels[few], np.random.default_rng(seed))
        X, species = bunch.X[few][test], bunch.labels[few][test]
        truth = np.where(np.eye(len(test), dtype=bool), np.nan, np.equal.outer(species, species))
        expected.append(naive_rank_loss(truth, X @ X.T))
    (cosine,) = [
        r for r in outcome.rows if (r.data, r.method) == (experiments.bacteria.UNSEEN, experiments.bacteria.COSINE)
    ]
    assert cosine.measured == pytest.approx(np.mean(expected), abs=1e-12)
    assert cosine.error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(2), abs=1e-12)


def test_species_are_split_as_in_the_paper(experiments):
    species = np.repeat(np.arange(9), [4, 9, 3, 5, 8, 2, 5, 4, 6])
    sets = experiments.bacteria.split_species(species, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate(sets)), np.arange(len(species)))
    train, first, second = (species[positions] for positions in sets)
    assert set(first) == {1, 4}
    assert set(first) <= set(train)
    assert not set(second) & set(train)
    assert abs(len(first) - np.isin(train, (1, 4)).sum()) <= 1
    assert len(set(second)) == 3
