"""Saved indexes: they answer as before; damaged, contradictory, newer and other files are refused."""

import numpy as np
import pytest

from builders import SMALL_KERNEL, index_of_classes
from condrank import ConditionalRanker, ObjectIndex, TableRanker


def test_an_index_is_not_loaded_as_a_ranker(tmp_path):
    ConditionalRanker().fit(np.eye(3), SMALL_KERNEL).index().save(tmp_path / "objects")
    for load in (ConditionalRanker.load, TableRanker.load):
        with pytest.raises(ValueError, match=r"load it with ObjectIndex\.load"):
            load(tmp_path / "objects")
    assert len(ObjectIndex.load(tmp_path / "objects")) == 3


def test_the_file_of_an_index_is_not_loaded_as_a_ranker(tmp_path):
    index_of_classes("exact").save(tmp_path / "index")
    with pytest.raises(ValueError, match=r"ObjectIndex\.load"):
        ConditionalRanker.load(tmp_path / "index")
