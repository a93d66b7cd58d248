"""A saved model, to be damaged."""

import pytest

from condrank import ConditionalRanker
from saved_rankers import X, Y


@pytest.fixture
def saved(tmp_path):
    ConditionalRanker(kernel="rbf").fit(X, Y).save(tmp_path / "model")
    return tmp_path / "model"
