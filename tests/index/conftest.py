"""Settings shared by the tests of indexes."""

import pytest


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks, of several objects and conditioning nodes each, where there would be one."""
    monkeypatch.setattr("condrank.index.vectors.WIDTH", 7)
    monkeypatch.setattr("condrank.index.vectors.NARROW", 7)
    monkeypatch.setattr("condrank.index.vectors.SCORES", 28)
    monkeypatch.setattr("condrank.index.selection.THREADED", 1)
