"""Landmarks: which nodes are chosen, and kernels that have none."""

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph

RNG = np.random.default_rng(0)


N, D = 30, 4


X = RNG.normal(size=(N, D))


LABELS = np.arange(N) % 3


from_classes = RelationGraph.from_classes


@pytest.mark.parametrize("landmarks", ["uniform", "pivoted"])
@pytest.mark.parametrize("n_components", [3, "auto"])
def test_landmarks_need_a_kernel_matrix_with_positive_values(landmarks, n_components):
    ranker = ConditionalRanker(kernel="precomputed", n_components=n_components, landmarks=landmarks)
    with pytest.raises(ValueError, match="square kernel matrix as X"):
        ranker.fit(from_classes(X, LABELS))
    with pytest.raises(ValueError, match="dense kernel matrix as X"):
        ranker.fit(from_classes(sparse.csr_array(X @ X.T), LABELS))
    nothing = ConditionalRanker(kernel="poly", coef0=0, n_components=3, landmarks=landmarks)
    with pytest.raises(ValueError, match=r"kernel (is zero|of the nodes has no positive)"):
        nothing.fit(from_classes(0 * X, LABELS))
