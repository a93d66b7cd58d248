"""The twins themselves."""

import numpy as np

import reference
import reference_shortcuts as twins
from reference_cases import CASES, LOSSES, RELATIONS


def test_the_exact_twin_is_the_naive_twin():
    case = CASES["rbf, gamma by default"]
    K, K_new, Y = case.K[:5, :5], case.K_all[-2:, :5], case.Y[:5, :5]
    for relation in RELATIONS:
        for loss in LOSSES:
            options = {"relation": relation, "loss": loss, "K_queries": K_new, "K_objects": K_new}
            exact, naive = (twin(K, Y, 0.3, **options) for twin in (reference.exact_complete, reference.naive_complete))
            np.testing.assert_allclose(exact, naive, rtol=1e-10)


def test_the_twin_of_shortcuts_refits_what_is_left():
    """The twin of no row left out is the fit itself."""
    K, Y = np.eye(3), np.arange(9.0).reshape(3, 3)
    assert np.allclose(twins.refit(K, Y, np.ones((3, 3), bool), 1.0), reference.naive_complete(K, Y, 1.0))
