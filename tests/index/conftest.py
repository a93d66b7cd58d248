"""Settings shared by the tests of indexes."""

import pytest


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks, of several objects and conditioning nodes each, where there would be one."""
    monkeypatch.setattr("condrank.index.vectors.INDEX_BLOCK_OBJECTS", 7)
    monkeypatch.setattr("condrank.index.vectors.INDEX_BLOCK_LEAST_SCORES", 7)
    monkeypatch.setattr("condrank.index.vectors.INDEX_BLOCK_MOST_SCORES", 28)
    monkeypatch.setattr("condrank.index.selection.SELECTION_THREADS_LEAST_SCORES", 1)
    monkeypatch.setattr("condrank.index.exact.INDEX_THREADS_LEAST_QUERIES", 1)
    monkeypatch.setattr("condrank.index.exact.n_processors", lambda: 3)
