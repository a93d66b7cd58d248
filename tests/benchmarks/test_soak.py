"""The soak in seconds: some trials of each part with fixed seeds, and that each part finds what is wrong."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(os.name != "posix", reason="files that are open elsewhere, and signals")
pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the benchmarks are not part of the package")


@pytest.fixture(scope="module")
def soak():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("benchmarks.soak")


def failures(soak, name, seed, count, say=lambda text: None):
    part = soak.PARTS[name]
    for package in part.needs:
        pytest.importorskip(package)
    found = [soak.run_part(part, seed + number, 0.0, say) for number in range(count)]
    assert sum(one.tried for one in found) == count
    return [failure for one in found for failure in one.failures]


@pytest.mark.parametrize("seed", [0, 100, 200, 1006204])
def test_calls(soak, seed):
    assert failures(soak, "calls", seed, 40) == []


@POSIX
@pytest.mark.parametrize(("name", "count"), [("damaged", 5), ("changing", 4)])
def test_files(soak, name, count):
    assert failures(soak, name, 0, count) == []


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize("name", ["killed", "service", "workers"])
def test_processes(soak, name):
    assert failures(soak, name, 0, 2) == []


def test_scores_that_are_wrong_are_found_with_their_seed(soak, monkeypatch):
    real = ConditionalRanker.predict
    monkeypatch.setattr(ConditionalRanker, "predict", lambda self, *given: real(self, *given) * (1 + 1e-3))
    said = []
    found = failures(soak, "calls", 0, 20, said.append)
    assert any("scores are off by" in text for _, text in found)
    assert all(0 <= seed < 20 for seed, _ in found)
    assert [line.split(":")[0] for line in said] == [f"calls, seed {seed}" for seed, _ in found]


def test_errors_that_are_not_clear_are_found(soak, monkeypatch):
    def unclear(self, *given):
        return np.zeros(3)[self.alpha_ is not None, 7, :]

    monkeypatch.setattr(ConditionalRanker, "predict", unclear)
    assert any("IndexError" in text for _, text in failures(soak, "calls", 0, 10))
    monkeypatch.setattr(RelationGraph, "__init__", lambda self, *given, **more: np.zeros(2).reshape(3))
    assert any("ValueError: cannot reshape" in text for _, text in failures(soak, "calls", 0, 10))


@POSIX
def test_mixtures_of_files_are_found(soak, monkeypatch):
    files = importlib.import_module("benchmarks.soaking.files")
    real, turn = ConditionalRanker.load.__func__, iter(range(10**6))

    def mixed(cls, path, mmap=False):
        loaded = real(cls, path, mmap)
        if next(turn) > 5:
            loaded.fitted_.model.W[:] *= 2
        return loaded

    monkeypatch.setattr(files.ConditionalRanker, "load", classmethod(mixed))
    assert any("mixture" in text for _, text in failures(soak, "changing", 0, 1))


def test_rows_count_what_failed(soak, monkeypatch):
    part = soak.PARTS["calls"]

    def trial(seed, folder, found):
        assert seed != 3, "no luck"
        found.times.setdefault("/health", []).append(0.01)

    monkeypatch.setitem(soak.PARTS, "calls", type(part)("calls", "", 1.0, trial))
    (row, times) = soak.soak(True, part="calls", seed=2)
    assert (row.measured, row.holds, times.holds) == (0.0, True, True)
    (row,) = soak.soak(True, part="calls", seed=3)
    assert (row.measured, row.holds) == (1.0, False)
    assert "failed: 3" in row.note
    with pytest.raises(ValueError, match="part must be one of"):
        soak.soak(True, part="nothing")
