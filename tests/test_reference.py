"""The twins themselves."""

import numpy as np

import reference
from reference_cases import CASES, LOSSES, RELATIONS


def test_the_exact_twin_is_the_naive_twin():
    case = CASES["rbf, gamma by default"]
    K, K_new, Y = case.K[:5, :5], case.K_all[-2:, :5], case.Y[:5, :5]
    for relation in RELATIONS:
        for loss in LOSSES:
            options = {"relation": relation, "loss": loss, "K_queries": K_new, "K_objects": K_new}
            exact, naive = (twin(K, Y, 0.3, **options) for twin in (reference.exact_complete, reference.naive_complete))
            np.testing.assert_allclose(exact, naive, rtol=1e-10)
