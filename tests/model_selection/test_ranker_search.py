"""The search chooses on holdouts of the setting, keeps its hands off reserved nodes, and never prefers noise."""

import numpy as np
import pytest

from condrank import RelationGraph
from condrank.model_selection import RankerSearch, stages

RNG = np.random.default_rng(0)


@pytest.fixture
def few(monkeypatch):
    """Fewer candidates, for quick tests."""
    monkeypatch.setattr(stages, "NEIGHBOURS", (5,))
    monkeypatch.setattr(stages, "POWERS", (2,))
    monkeypatch.setattr(stages, "CONSTANTS", (1.0,))
    monkeypatch.setattr(stages, "WIDTHS", (0.3,))


def smooth(n=45, m=None, noise=0.1, seed=0, share=1.0):
    """Values that are a smooth function of the features of both ends; of one domain, or of two."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, 3)), rng.normal(size=(m or n, 3))
    Z = X if m is None else Z
    Y = np.tanh(X @ np.array([[2.0, 0, 0], [0, 0, -1], [0, 1, 0]]) @ Z.T) + noise * rng.normal(size=(n, len(Z)))
    Y = np.where(rng.random(Y.shape) < share, Y, np.nan)
    return RelationGraph(X, Y) if m is None else RelationGraph(X, Y, objects=Z)


@pytest.mark.parametrize("setting", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [None, 40])
def test_every_setting_of_one_and_two_domains(few, setting, m):
    search = RankerSearch(setting=setting, random_state=0).fit(smooth(m=m, share=0.8))
    assert search.learned_
    assert search.loss_ < 0.35
    assert search.loss_error_ > 0
    assert search.leaderboard_[0].loss <= search.leaderboard_[-1].loss
    assert sum(row.chosen for row in search.leaderboard_) == 1
    assert {row.is_baseline for row in search.leaderboard_} == {True, False}
    assert search.predict(search.fitted_.model.rows.nodes.rows[:3]).shape == (3, m or 45)


def test_noise_gives_a_baseline_and_a_sentence(few):
    Y = np.random.default_rng(3).normal(size=(40, 40))
    search = RankerSearch(random_state=1).fit(RNG.normal(size=(40, 3)), Y)
    baseline = min(row.loss for row in search.leaderboard_ if row.is_baseline)
    if not search.learned_:
        assert "adds nothing" in search.summary_
        assert search.summary_.count("\n") == 0
        chosen = next(row for row in search.leaderboard_ if row.chosen)
        assert chosen.is_baseline
        assert chosen.loss == baseline
