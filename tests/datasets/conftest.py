"""Nothing is downloaded in these tests, and small files stand for the real ones."""

from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise URLError("no network in tests")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", refuse)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


@pytest.fixture
def write(tmp_path):
    """Write arrays to tmp_path / file."""

    def write(file, **arrays):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **arrays)

    return write
