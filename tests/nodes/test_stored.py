"""Nodes and coordinates come back from their state as they were, without their base and without a new fit."""

import numpy as np
import pytest
from scipy import sparse

from condrank.kernels import read_kernel
from condrank.nodes import (
    ApproximateKernel,
    Approximation,
    ExactKernel,
    ExplicitFeatures,
    Nodes,
    coordinates_from_state,
)
from condrank.nodes.feature_sums import FeatureSums
from condrank.nodes.values import KernelValues
from condrank.persistence.arrays import Arrays, Held

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(4, 3))
RBF, LINEAR, COSINE = read_kernel("rbf"), read_kernel("linear", constant=True), read_kernel("cosine")
PRECOMPUTED = read_kernel("precomputed")
KERNEL = X @ X.T + np.eye(12)
WEIGHTS = RNG.uniform(0.5, 2, 12)
WEIGHTS /= WEIGHTS.mean()
CHOSEN = np.array([7, 2, 5, 11, 3, 8])
LANDMARKS, FOURIER = Approximation(4), Approximation(5, "fourier")


def approximate(approximation, kernel, nodes):
    features = approximation.fit(kernel, nodes, approximation.n_components, False)
    return ApproximateKernel(kernel, nodes, None, features)


COORDINATES = {
    "exact": (ExactKernel(RBF, Nodes(X)), None, NEW),
    "exact of a subset": (ExactKernel(RBF, Nodes(X).take(CHOSEN)), None, NEW),
    "exact with node weights": (ExactKernel(RBF, Nodes(X), weights=WEIGHTS), None, NEW),
    "exact of a part of a kernel": (ExactKernel(PRECOMPUTED, Nodes(KERNEL).take(CHOSEN)), None, NEW @ X[CHOSEN].T),
    "linear": (ExplicitFeatures(LINEAR, Nodes(X)), None, NEW),
    "linear with node weights": (ExplicitFeatures(LINEAR, Nodes(X), WEIGHTS), None, NEW),
    "sparse cosine": (
        ExplicitFeatures(COSINE, Nodes(sparse.csr_array(np.abs(X)))),
        None,
        sparse.csr_array(np.abs(NEW)),
    ),
    "landmarks": (approximate(LANDMARKS, RBF, Nodes(X)), LANDMARKS, NEW),
    "landmarks of a part of a kernel": (
        approximate(LANDMARKS, PRECOMPUTED, Nodes(KERNEL).take(CHOSEN)),
        LANDMARKS,
        NEW @ X[CHOSEN].T,
    ),
    "fourier": (approximate(FOURIER, RBF, Nodes(X)), FOURIER, NEW),
}


def stored(what, **options):
    """State of a thing, as a file would hold it under "rows"."""
    arrays = Arrays()
    return what.to_state(arrays.under("rows"), **options), arrays.named


def held(named):
    return Held(dict(named)).under("rows")


def test_only_the_chosen_nodes_of_a_base_are_stored():
    nodes = Nodes(X, None, np.array(list("abcdefghijkl"))).take(CHOSEN)
    given, named = stored(nodes)
    again = Nodes.from_state(given, held(named))
    np.testing.assert_array_equal(again.base, X[CHOSEN])
    assert again.ids is not None
    assert again.ids.tolist() == list("hcfldi")


def test_only_the_values_among_the_chosen_nodes_of_a_kernel_are_stored():
    given, named = stored(Nodes(KERNEL).take(CHOSEN), matrices=frozenset({None}))
    np.testing.assert_array_equal(Nodes.from_state(given, held(named)).base, KERNEL[np.ix_(CHOSEN, CHOSEN)])


@pytest.mark.parametrize("name", COORDINATES)
def test_coordinates_come_back_as_they_were(name):
    coordinates, approximation, new = COORDINATES[name]
    given, named = stored(coordinates)
    rest = held(named)
    again = coordinates_from_state(given, rest, coordinates.kernel, approximation)
    assert type(again) is type(coordinates)
    assert rest.left() == []
    assert (again.n_nodes, again.outside) == (coordinates.n_nodes, coordinates.outside)
    nodes = Nodes(new)
    np.testing.assert_allclose(again.transform(nodes), coordinates.transform(nodes), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(again.training(), coordinates.training(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(again.similarity(nodes, None), coordinates.similarity(nodes, None), rtol=1e-12)
    for array in ("sigma", "ones"):
        np.testing.assert_array_equal(getattr(again, array), getattr(coordinates, array))
    assert stored(again)[0] == given


@pytest.mark.parametrize("kernel", [RBF, PRECOMPUTED])
def test_kernel_values_are_computed_again(kernel):
    values = KernelValues(kernel, Nodes(KERNEL).take(CHOSEN))
    given, named = stored(values)
    assert list(named) == ["rows.nodes"]
    np.testing.assert_array_equal(KernelValues.from_state(given, held(named), kernel).K, values.K)


def test_coordinates_that_the_kernel_cannot_have_are_refused():
    given, named = stored(COORDINATES["linear"][0])
    with pytest.raises(ValueError, match=r"coordinates of rows must be one of \['ExactKernel'\]"):
        coordinates_from_state(given, held(named), RBF)
    given, named = stored(COORDINATES["landmarks"][0])
    with pytest.raises(ValueError, match=r"coordinates of rows must be one of \['ExactKernel'\]"):
        coordinates_from_state(given, held(named), RBF)


def test_exact_coordinates_need_their_nodes():
    given, named = stored(COORDINATES["exact"][0])
    with pytest.raises(ValueError, match="coordinates of rows need training nodes, but there are none"):
        coordinates_from_state(given, held(named | {"rows.nodes": np.empty((0, 3))}), RBF)


def test_explicit_features_do_without_their_nodes():
    given, named = stored(COORDINATES["linear"][0])
    again = coordinates_from_state(given, held(named | {"rows.nodes": np.empty((0, 3))}), LINEAR, None, 12)
    assert again.n_nodes == 12
    np.testing.assert_allclose(again.transform(Nodes(NEW)), COORDINATES["linear"][0].transform(Nodes(NEW)))


def test_landmarks_of_other_features_are_refused():
    given, named = stored(COORDINATES["landmarks"][0])
    wrong = named | {"rows.landmarks": named["rows.landmarks"][:, :2]}
    with pytest.raises(ValueError, match="number of features of the landmarks of rows is 2, which contradicts the 3"):
        coordinates_from_state(given, held(wrong), RBF, LANDMARKS)


def test_kernel_values_that_overflow_are_refused():
    given, named = stored(COORDINATES["exact"][0])
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match="the kernel values of the nodes overflow"),
    ):
        coordinates_from_state(given, held(named | {"rows.nodes": X * 1e200}), read_kernel("poly"))


def test_feature_sums_come_back_and_take_more_nodes():
    factors = RNG.random((12, 2))
    sums = FeatureSums(3, [2])
    sums.add(X[:8], None, [factors[:8]])
    given, named = stored(sums)
    again = FeatureSums.from_state(given, held(named), 3, [2])
    for one in (sums, again):
        one.add(X[8:], None, [factors[8:]])
    np.testing.assert_array_equal(again.gram(), sums.gram())
    np.testing.assert_array_equal(again.factors[0], sums.factors[0])
    np.testing.assert_array_equal(again.counts[0], sums.counts[0])
    with pytest.raises(ValueError, match="total of rows must be a finite number greater than 0"):
        FeatureSums.from_state({"total": 0}, held(named), 3, [2])
