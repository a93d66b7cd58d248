"""Complete relations."""

import numpy as np
import pytest

from condrank.observations import Complete


def test_a_disagreement_is_found_over_many_blocks():
    """More rows than a block of the blocked comparison has, with one gap in the last and one in the first block."""
    n = 1100
    Y = np.zeros((n, n), dtype=np.float32)
    Y[1090, 30] = 3
    assert Complete(Y).disagreement(1) == 3
    Y[30, 1090] = 3
    assert Complete(Y).disagreement(1) == 0
    assert Complete(Y).disagreement(-1) == 6
    Y[:] = 0.5
    assert Complete(Y).disagreement(-1, 0.5) == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("turned", [False, True])
def test_labels_are_reduced_by_the_blas_of_the_eigendecomposition(dtype, turned, monkeypatch):
    rng = np.random.default_rng(0)
    Y, Z, Z_objects = (rng.normal(size=size) for size in ((9, 7), (9, 5), (7, 6)))
    expected = Z.T @ Y @ Z_objects
    Z, Z_objects = np.asfortranarray(Z, dtype), np.asfortranarray(Z_objects, dtype)
    observed = Complete(np.asfortranarray(Y) if turned else Y)
    for most in (10, 4):
        monkeypatch.setattr("condrank.observations.complete.NUMPY_EIGH_MOST_NODES", most)
        found = observed.reduce(Z, Z_objects)
        assert found.dtype == dtype
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found, expected, atol=1e-4 if dtype == np.float32 else 1e-12)
