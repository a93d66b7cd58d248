"""Pictures of nodes at their coordinates."""

import numpy as np
import pytest

from builders import SMALL_KERNEL
from condrank.plots import CoordinatesDisplay

RNG = np.random.default_rng(0)


def test_two_domains_have_a_legend():
    pytest.importorskip("matplotlib")
    for options in ({}, {"values": np.arange(4.0)}, {"groups": list("aabb")}):
        axes = CoordinatesDisplay.from_predictions(RNG.normal(size=(4, 5)), **options).plot().ax_
        names = {text.get_text() for text in axes.get_legend().get_texts()}
        assert names == {"objects", *(("a", "b") if "groups" in options else ("conditioning nodes",))}
    skew = SMALL_KERNEL[[1, 2, 0]] - SMALL_KERNEL[[1, 2, 0]].T
    assert CoordinatesDisplay.from_predictions(skew, relation="reciprocal").plot().ax_.get_legend() is None
