"""Early stopping: the iterates are those of plain Krylov iterations on the normal equations."""

import numpy as np
import pytest

import reference
from condrank.kernels import read_kernel
from condrank.nodes import ExactKernel, ExplicitFeatures, Nodes
from condrank.objective.losses import get_loss
from condrank.objective.relations import RELATIONS
from condrank.observations import Complete, Edges
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.early_stopping import EarlyStopping
from condrank.solvers.primal import PrimalSystem
from condrank.solvers.system import Options

LOSSES = ("regression", "ranking")
METHODS = ("cg", "bicgstab")
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
models = pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in RELATIONS for loss in LOSSES])
methods = pytest.mark.parametrize("method", METHODS)
forms = pytest.mark.parametrize("observed", [1.0, 0.6], ids=["complete", "incomplete"])
N = 7
RNG = np.random.default_rng(0)
SMALL, Y_SMALL = RNG.normal(size=(N, 3)), RNG.normal(size=(N, N)) + 1
HOLES = np.where(RNG.random((N, N)) < 0.6, Y_SMALL, np.nan)


def coordinates(kernel):
    if kernel == "linear":
        return ExplicitFeatures(read_kernel("linear"), Nodes(SMALL))
    return ExactKernel(read_kernel("rbf", 0.5), Nodes(SMALL))


def make_system(relation, loss, kernel, observed):
    rows = coordinates(kernel)
    if observed == 1:
        return ClosedForm(RELATIONS[relation], get_loss(loss), rows, rows, Complete(Y_SMALL))
    return PrimalSystem(RELATIONS[relation], get_loss(loss), rows, rows, Edges.from_holes(HOLES))


def naive_normal_equations(Z, labels, relation, loss):
    """The matrix and the right-hand side on vec(W): features of an edge are Π[z z'ᵀ], centred for each node."""
    sources, targets = np.nonzero(~np.isnan(labels))
    sign, r = reference.SIGNS[relation], Z.shape[1]
    features = []
    for i, j in zip(sources, targets, strict=True):
        outer = np.outer(Z[i], Z[j])
        features.append(((outer + sign * outer.T) / (2 if sign else 1)).ravel())
    root = reference.loss_root(sources, np.ones(len(sources)), loss)
    Phi = root.T @ np.array(features).reshape(-1, r * r)
    return Phi.T @ Phi, Phi.T @ (root.T @ labels[sources, targets])


def naive_cg(M, b, n_steps):
    x, r, p, iterates = np.zeros_like(b), b, b, []
    for _ in range(n_steps):
        step = (r @ r) / (p @ M @ p)
        x = x + step * p
        rest = r - step * (M @ p)
        p = rest + (rest @ rest) / (r @ r) * p
        r = rest
        iterates.append(x)
    return iterates


def naive_bicgstab(M, b, n_steps):
    x, r, p, iterates = np.zeros_like(b), b, b, []
    for _ in range(n_steps):
        step = (b @ r) / (b @ M @ p)
        s = r - step * (M @ p)
        omega = (s @ M @ s) / (s @ M @ M @ s)
        x = x + step * p + omega * s
        rest = s - omega * (M @ s)
        p = rest + (b @ rest) / (b @ r) * (step / omega) * (p - omega * (M @ p))
        r = rest
        iterates.append(x)
    return iterates


@forms
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@models
def test_products_and_right_hand_sides_equal_the_naive_ones(relation, loss, kernel, observed):
    system = make_system(relation, loss, kernel, observed)
    Z = system.rows.training()
    M, b = naive_normal_equations(Z, Y_SMALL if observed == 1 else HOLES, relation, loss)
    W = RELATIONS[relation].project(np.random.default_rng(1).normal(size=(Z.shape[1],) * 2))
    for alpha in (0.0, 0.7):
        expected = (M @ W.ravel()).reshape(W.shape) + alpha * W
        np.testing.assert_allclose(system.apply(W, alpha), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(system.rhs.ravel(), b, rtol=1e-10, atol=1e-12)


@forms
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@methods
@models
def test_iterates_equal_those_of_naive_normal_equations(relation, loss, method, kernel, observed):
    system = make_system(relation, loss, kernel, observed)
    M, b = naive_normal_equations(system.rows.training(), Y_SMALL if observed == 1 else HOLES, relation, loss)
    # Three skew coordinates have a Krylov space of three dimensions; BiCGSTAB takes two in one iteration.
    n_steps = {("linear", "cg"): 2, ("linear", "bicgstab"): 1, ("rbf", "cg"): 5, ("rbf", "bicgstab"): 3}[kernel, method]
    seen = []
    found = EarlyStopping(system, method).solve(
        0.0, Options(0.0, n_steps, watch=lambda number, W: seen.append((number, W.copy())))
    )
    naive = (naive_cg if method == "cg" else naive_bicgstab)(M, b, n_steps)
    assert [number for number, _ in seen] == list(range(1, n_steps + 1))
    assert (found.n_iter, found.converged) == (n_steps, True)  # running out of iterations is no failure here
    for (_, W), expected in zip(seen, naive, strict=True):
        np.testing.assert_allclose(W.ravel(), expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_array_equal(found.W, seen[-1][1])
