"""The modules of the experiments, and checks that tests of several experiments share."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from condrank.cli.reproduce import load_package
from reference_metrics import pair_counts


def module(name: str = "") -> Any:
    """A module of the experiments by name, or the package."""
    package = load_package()
    return importlib.import_module(f"condrank.experiments.{name}") if name else package


def naive_rank_loss(truth, scores):
    """Wrong over comparable pairs of all rows, pair by pair."""
    wrong, comparable = np.sum([pair_counts(y, h) for y, h in zip(truth, scores, strict=True)], axis=0)
    return wrong / comparable


def quick_run(experiments, home, name, seed=3):
    results = experiments.results
    return results.run_experiment(results.EXPERIMENTS[name], results.Run(quick=True, seed=seed, data=home))


def check_rows(rows):
    for row in rows:
        assert 0 <= row.measured <= 1
        assert row.seconds > 0
        assert row.seed == 3
        assert row.protocol
        assert row.verdict == ""
