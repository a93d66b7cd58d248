"""Edges of each node and what rows contain to rank, against loops."""

import numpy as np
import pytest
from hypothesis import given, settings

from condrank.diagnosis import describe_degrees, describe_rows
from labelled import relations


@given(relations)
@settings(max_examples=40, deadline=None)
def test_degrees_and_rows_agree_with_loops(Y):
    n = len(Y)
    seen = np.isfinite(Y)
    out = [sum(seen[i, j] for j in range(n) if j != i) for i in range(n)]
    into = [sum(seen[j, i] for j in range(n) if j != i) for i in range(n)]
    degrees = describe_degrees(Y)
    assert degrees.outgoing == (min(out), np.median(out), max(out))
    assert degrees.incoming == (min(into), np.median(into), max(into))
    assert degrees.n_loops == sum(seen[i, i] for i in range(n))
    assert degrees.n_isolated == sum(a + b == 0 for a, b in zip(out, into, strict=True))

    rows = describe_rows(Y)
    known = [Y[i][seen[i]] for i in range(n) if seen[i].any()]
    assert rows.n_rows == len(known)
    if known:
        assert rows.edges_per_row == pytest.approx(seen.sum() / len(known))
        assert rows.rankable_share == np.mean([len(set(row)) > 1 for row in known])
        every = np.concatenate(known)
        if len(set(every)) > 1:
            within = sum(((row - row.mean()) ** 2).sum() for row in known)
            total = ((every - every.mean()) ** 2).sum()
            assert rows.row_mean_share == pytest.approx(1 - within / total)
        else:
            assert rows.row_mean_share is None
