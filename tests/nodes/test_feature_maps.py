"""Rows of features that are not held: products with them, block by block."""

import numpy as np
import pytest
from scipy import sparse

from condrank.kernels import Constant, Cosine, Linear
from condrank.nodes import Nodes
from condrank.nodes.feature_maps import FeatureRows, OwnFeatures

rng = np.random.default_rng(0)


X = rng.normal(size=(80, 4)) + 1


@pytest.mark.parametrize(
    "data", [X, sparse.csr_array(np.where(X > 1, X, 0)), X.astype(np.float32)], ids=["dense", "sparse", "float32"]
)
@pytest.mark.parametrize(
    "kernel",
    [Cosine() + Constant(), Linear(feature_weights=(1.0, 2.0, 0.5, 3.0))],
    ids=str,
)
def test_products_of_rows_that_are_not_held_equal_dense_ones(data, kernel, monkeypatch):
    monkeypatch.setattr("condrank.nodes.feature_maps.DENSE_FEATURES_BLOCK_ENTRIES", 32)
    monkeypatch.setattr("condrank.nodes.feature_maps.SPARSE_FEATURES_BLOCK_ROWS", 7)
    rows = FeatureRows(OwnFeatures(kernel, Nodes(data)), Nodes(data), kernel.constant)
    whole = rows.part(slice(None))
    whole = whole.toarray() if sparse.issparse(whole) else whole
    p = whole.shape[1]
    assert len(list(rows.blocks())) > 1
    M, Y = rng.normal(size=(p, 3)), np.where(rng.random((6, 80)) < 0.3, 1.0, 0.0)
    tolerance = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(rows @ M, whole @ M, **tolerance)
    np.testing.assert_allclose(rows @ M[:, 0], whole @ M[:, 0], **tolerance)
    for given in (Y, sparse.csr_array(Y)):
        np.testing.assert_allclose(given @ rows, Y @ whole, **tolerance)
        np.testing.assert_allclose(rows.T @ given.T, whole.T @ Y.T, **tolerance)
    np.testing.assert_allclose(M.T @ rows.T, M.T @ whole.T, **tolerance)
