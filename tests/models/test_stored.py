"""Models and sums come back from their state as they were; a state that does not fit together is refused."""

from dataclasses import dataclass

import numpy as np
import pytest

from condrank.kernels import Kernel, read_kernel
from condrank.models import ComparedModel, EdgeModel, Model, model_from_state
from condrank.models.sums import FactoredSums, sums_over
from condrank.nodes import Approximation, ExactKernel, ExplicitFeatures, Nodes
from condrank.nodes.feature_maps import OwnFeatures
from condrank.nodes.values import KernelValues
from condrank.observations import Edges, Factored
from condrank.persistence.arrays import Arrays, Held
from condrank.products.edge_kernels import edge_kernel

RNG = np.random.default_rng(0)
X, OBJECTS, NEW = RNG.normal(size=(8, 3)), RNG.normal(size=(5, 2)), RNG.normal(size=(3, 3))
RBF, LINEAR = read_kernel("rbf"), read_kernel("linear")
EDGES = Edges(np.array([0, 2, 2]), np.array([1, 0, 4]), RNG.normal(size=3), None, (8, 5))
SQUARE = Edges(np.array([0, 2, 2]), np.array([1, 0, 4]), RNG.normal(size=3), None, (8, 8))


@dataclass(frozen=True)
class FitSettings:
    kernel: Kernel
    approximation: Approximation | None = None
    compared: tuple[int, ...] = ()

    @property
    def kernels(self) -> tuple[Kernel, Kernel]:
        return self.kernel, self.kernel


def weights(*sides):
    return RNG.normal(size=[len(side.sigma) for side in sides])


def edge_model(kernel, *sides, edges=SQUARE, prior_weight=0.0):
    K = [side.K for side in sides]
    bound = edge_kernel(kernel, K[0], K[1] if len(K) > 1 else None, edges)
    return EdgeModel(sides[0], sides[-1], bound, RNG.normal(size=edges.n_pairs), prior_weight)


ROWS, COLS = ExactKernel(RBF, Nodes(X)), ExactKernel(RBF, Nodes(OBJECTS))
SQUARE_W = RNG.normal(size=(3, len(ROWS.sigma), len(ROWS.sigma)))
MODELS = {
    "one domain": (Model(ROWS, ROWS, weights(ROWS, ROWS), 0.3, 0.5), FitSettings(RBF)),
    "two domains": (Model(ROWS, COLS, weights(ROWS, COLS)), FitSettings(RBF)),
    "log-odds": (Model(ROWS, ROWS, weights(ROWS, ROWS), logistic=True), FitSettings(RBF)),
    "compared": (ComparedModel(ROWS, (0, 2), SQUARE_W, 0.5), FitSettings(RBF, None, (0, 2))),
    "dual": (edge_model("symmetric", KernelValues(RBF, Nodes(X)), prior_weight=0.3), FitSettings(RBF)),
    "dual of two domains": (
        edge_model("poly2D", KernelValues(RBF, Nodes(X)), KernelValues(RBF, Nodes(OBJECTS)), edges=EDGES),
        FitSettings(RBF),
    ),
}


def stored(what):
    arrays = Arrays()
    return what.to_state(arrays), arrays.named


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name):
    model, settings = MODELS[name]
    given, named = stored(model)
    held = Held(dict(named))
    again = model_from_state(given, held, settings)
    assert type(again) is type(model)
    assert held.left() == []
    assert (again.cols is again.rows) == (model.cols is model.rows)
    assert (again.offset, again.logistic) == (model.offset, model.logistic)
    for queries in (None, Nodes(NEW)):
        blocks = zip(again.blocks(queries, None), model.blocks(queries, None), strict=True)
        for (rows, scores), (expected_rows, expected) in blocks:
            assert rows == expected_rows
            np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    assert stored(again)[0] == given


@pytest.mark.parametrize(
    ("name", "changes", "match"),
    [
        ("one domain", {"class": "Ranker"}, "class of the model must be one of"),
        ("one domain", {"offset": np.nan}, "offset of the model must be a finite number"),
        ("one domain", {"prior_weight": "much"}, "prior_weight of the model must be a finite number"),
        ("one domain", {"logistic": None}, "logistic of the model must be one of"),
        ("one domain", {"shape": [8, 9]}, r"shape of the model is \[8, 9\], which contradicts the \[8, 8\]"),
        ("two domains", {"shape": [8, 8]}, r"shape of the model is \[8, 8\], which contradicts the \[8, 5\]"),
        ("two domains", {"shape": [8, True]}, "shape of the model is .* expected two numbers of nodes"),
        ("compared", {"class": "Model", "prior_weight": 0.0}, r"W must be floating of shape \(8, 8\)"),
        ("dual", {"kernel": "cubic"}, "the edge kernel must be one of"),
        ("dual", {"class": "Model"}, "coordinates of rows must be one of"),
        ("dual", {"shape": [8, 5]}, r"shape of the model is \[8, 5\], which contradicts the \[8, 8\]"),
    ],
)
def test_a_state_that_does_not_fit_together_is_refused(name, changes, match):
    model, settings = MODELS[name]
    given, named = stored(model)
    with pytest.raises(ValueError, match=match):
        model_from_state(given | changes, Held(dict(named)), settings)


def test_compared_features_of_two_domains_are_refused():
    given, named = stored(MODELS["two domains"][0])
    with pytest.raises(ValueError, match="a model with compared features needs one domain"):
        ComparedModel.from_state(given, Held(named), FitSettings(RBF, None, (0,)))


def sums(one_domain, names):
    """Sums over nodes of a relation between two classes, or between other factors."""
    nodes, objects = Nodes(X), Nodes(X) if one_domain else Nodes(OBJECTS)
    objects = nodes if one_domain else objects
    A = np.eye(2)[np.arange(8) % 2]
    B = A if one_domain else np.eye(2)[np.arange(5) % 2]
    observed = Factored(A, np.array([[1.0, 0.5], [0.5, 2.0]]), B, names, 0.0)
    features = OwnFeatures(LINEAR, nodes), OwnFeatures(LINEAR, objects)
    return nodes, objects, sums_over(features, nodes, objects, observed, (0.0, 0.0))


@pytest.mark.parametrize("one_domain", [True, False])
@pytest.mark.parametrize("names", [None, ["a", "b"], [("a",), ("a", 2)]])
def test_sums_come_back_as_they_were(one_domain, names):
    nodes, objects, before = sums(one_domain, names)
    given, named = stored(before)
    rows = ExplicitFeatures(LINEAR, nodes)
    cols = rows if one_domain else ExplicitFeatures(LINEAR, objects)
    held = Held(named)
    again = FactoredSums.from_state(given, held, rows, cols)
    assert held.left() == []
    assert (again.names, again.rest, again.levels, again.one_domain) == (names, 0.0, None, one_domain)
    np.testing.assert_array_equal(again.reduced(rows, cols), before.reduced(rows, cols))
    np.testing.assert_array_equal(again.reduced_sums(rows), before.reduced_sums(rows))
    assert again.shape == before.shape


def test_sums_with_names_that_json_cannot_hold_are_left_out():
    _, _, before = sums(True, [frozenset("a"), "b"])
    assert stored(before) == (None, {})


def test_sums_over_other_nodes_or_coordinates_are_refused():
    _, _, before = sums(True, None)
    given, named = stored(before)
    fewer = ExplicitFeatures(LINEAR, Nodes(X[:5]))
    with pytest.raises(ValueError, match="rows must be over 5 nodes, got 8"):
        FactoredSums.from_state(given, Held(dict(named)), fewer, fewer)
    with pytest.raises(ValueError, match="rows need coordinates of explicit features, got ExactKernel"):
        FactoredSums.from_state(given, Held(dict(named)), ROWS, ROWS)
    with pytest.raises(ValueError, match="names of the sums must be 2 different strings or numbers"):
        FactoredSums.from_state(given | {"names": ["a", "a"]}, Held(dict(named)), fewer, fewer)
