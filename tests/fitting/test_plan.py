"""Plans on complete and incomplete graphs: the solver, the reason, its cost and that of the others."""

import time

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph
from condrank.solvers.explicit import MAX_BYTES

RNG = np.random.default_rng(0)
N = 200
X, Y = RNG.normal(size=(N, 5)), RNG.normal(size=(N, N))
COMPLETE = RelationGraph(X, Y)
SMALL_N = 24
SMALL_X = np.random.default_rng(0).normal(size=(SMALL_N, 4))
SMALL_Y = SMALL_X @ np.random.default_rng(1).normal(size=(4, 4)) @ SMALL_X.T + np.random.default_rng(2).normal(
    size=(SMALL_N, SMALL_N)
)


def with_share(share, nodes=X):
    n = len(nodes)
    observed = np.random.default_rng(1).random((n, n)) < share
    sources, targets = np.nonzero(observed)
    return RelationGraph.from_edges(nodes, sources, targets, np.ones(len(sources)))


HALF = with_share(0.5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["regression", "ranking"])
@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
def test_auto_chooses_the_closed_form_for_complete_graphs_only(relation, loss, kernel):
    def planned(graph, **params):
        return ConditionalRanker(relation, loss, kernel=kernel, **params).plan(graph)

    assert planned(COMPLETE).solver == "closed_form"
    assert planned(COMPLETE).reason == "the graph is complete"
    assert planned(RelationGraph.from_classes(X, np.arange(N) % 3)).solver == "closed_form"
    assert planned(HALF).solver in ("primal", "dual")
    assert planned(HALF).reason.startswith(f"{HALF.density:.2%} of the pairs are observed: ")
    assert planned(COMPLETE, solver="iterative").solver in ("primal", "dual")
    if kernel == "linear":  # five coordinates: nothing is cheaper
        assert planned(HALF).solver == planned(with_share(0.002)).solver == "primal"


def test_the_cheaper_iteration_is_chosen():
    for share in (0.9, 0.3, 0.01, 0.0005):
        plan = ConditionalRanker(kernel="rbf").plan(with_share(share))
        assert set(plan.alternatives) == {"primal", "dual"} - {plan.solver}
        assert plan.flops <= min(plan.alternatives.values())
    assert plan.solver == "dual"
    assert "cheaper than an eigendecomposition" in plan.reason


@pytest.mark.parametrize("solver", ["primal", "dual", "explicit", "early_stopping"])
@pytest.mark.parametrize("graph", [COMPLETE, HALF], ids=["complete", "incomplete"])
def test_the_solver_asked_for_is_planned(graph, solver):
    plan = ConditionalRanker(solver=solver).plan(graph)
    assert (plan.solver, plan.reason) == (solver, "as asked for")
    assert plan.flops > 0
    assert plan.memory > 0


def test_a_plan_gives_the_cost_of_other_solvers():
    assert set(ConditionalRanker().plan(COMPLETE).alternatives) == set()
    assert set(ConditionalRanker(solver="primal").plan(COMPLETE).alternatives) == {"closed_form"}
    assert set(ConditionalRanker(solver="explicit", kernel="rbf").plan(HALF).alternatives) == {"primal", "dual"}
    primal = ConditionalRanker(solver="primal").plan(COMPLETE)
    assert primal.alternatives["closed_form"] < primal.flops
    assert primal.alternatives["closed_form"] == ConditionalRanker().plan(COMPLETE).flops
    assert f"; closed_form would take {primal.alternatives['closed_form']:.1e}" in str(primal)


def test_the_logistic_loss_is_solved_by_newton():
    ranker = ConditionalRanker("reciprocal", "logistic")
    for graph in (COMPLETE, HALF):
        plan = ranker.plan(graph)
        assert (plan.solver, plan.reason, plan.alternatives) == ("newton", "the logistic loss has no closed form", {})
        assert plan.flops > ConditionalRanker("reciprocal", "regression", solver="primal").plan(graph).flops / 2
    with pytest.raises(ValueError, match=r"loss='logistic' is solved by Newton's method: use solver='auto'"):
        ConditionalRanker("reciprocal", "logistic", solver="closed_form").plan(COMPLETE)


def test_newton_steps_over_the_edges_are_chosen_where_they_are_cheaper():
    many = with_share(0.02, RNG.normal(size=(400, 5)))
    for solver, expected in (("primal", "newton"), ("dual", "dual_newton"), ("auto", "dual_newton")):
        plan = ConditionalRanker("reciprocal", "logistic", kernel="rbf", solver=solver).plan(many)
        assert plan.solver == expected
        assert set(plan.alternatives) == {"newton", "dual_newton"} - {expected}
    assert plan.flops < plan.alternatives["newton"]
    assert ConditionalRanker("reciprocal", "logistic", kernel="rbf").plan(with_share(0.05, X[:50])).solver == "newton"
    # An eigendecomposition, which clip=True needs, is what the dual solver avoids.
    assert ConditionalRanker("reciprocal", "logistic", kernel="rbf", clip=True).plan(many).solver == "newton"


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
def test_the_width_of_the_kernel_decides_the_solver(relation):
    """Plain iterations over the edges solve a narrow kernel at once; wide ones want the closed form."""
    nodes = np.random.default_rng(2).normal(size=(400, 5))
    graph = with_share(0.2, nodes)
    choose = [
        ConditionalRanker(relation, kernel="rbf", gamma=gamma, alpha=0.01).plan(graph).solver for gamma in (5, 0.02)
    ]
    assert choose == ["dual", "primal"]
    again = RelationGraph.from_edges(nodes, graph.relation.sources, graph.relation.indices, graph.relation.values)
    ranker = ConditionalRanker(relation, kernel="rbf", gamma=5, alpha=0.01)
    assert ranker.plan(again) == ranker.plan(graph)
    K = ConditionalRanker(relation, kernel="precomputed", alpha=0.01)
    same = RelationGraph.from_edges(
        np.exp(-5 * ((nodes[:, None] - nodes) ** 2).sum(axis=2)),
        graph.relation.sources,
        graph.relation.indices,
        graph.relation.values,
    )
    assert K.plan(same).solver == "dual"


def test_small_graphs_are_planned_without_a_look(monkeypatch):
    def look(*args):
        raise AssertionError("looked")

    monkeypatch.setattr("condrank.problem.problem.KernelSample", look)
    for graph in (with_share(0.3, X[:60]), with_share(0.001), COMPLETE):
        ConditionalRanker(kernel="rbf").plan(graph)
    for params in ({"solver": "primal"}, {"clip": True}, {"kernel": "linear"}):
        ConditionalRanker(**{"kernel": "rbf", **params}).plan(with_share(0.3, RNG.normal(size=(300, 5))))
    for solver in ("auto", "dual"):  # the latter for the rank of its preconditioner
        with pytest.raises(AssertionError, match="looked"):
            ConditionalRanker(kernel="rbf", solver=solver).plan(with_share(0.3, RNG.normal(size=(300, 5))))


@pytest.mark.parametrize(
    ("graph", "share"),
    [
        (HALF, f"{HALF.density:.2%}"),
        (RelationGraph(X[:4], np.where(np.eye(4) == 1, np.nan, 1.0)), "75.00%"),
        (RelationGraph(X[:4], sparse.csr_array(np.eye(4))), "25.00%"),
        (RelationGraph.from_edges(X[:2], [0, 0, 1, 1, 1], [0, 1, 0, 1, 1], np.ones(5)), "100.00%"),
        (RelationGraph.from_edges(X[:1], [0], [0], [1.0], [2.0]), "100.00%"),
    ],
    ids=["half", "no loops", "stored", "repeated", "weighted"],
)
def test_closed_form_needs_a_complete_graph(graph, share):
    ranker = ConditionalRanker(solver="closed_form")
    message = rf"solver='closed_form' needs a complete graph, but {share} of the pairs are observed.*solver='auto'"
    for ask in (ranker.plan, ranker.fit):
        with pytest.raises(ValueError, match=message):
            ask(graph)
    assert not hasattr(ranker, "n_features_in_")
    assert ConditionalRanker("ordinary", "regression").fit(graph).solver_ in ("primal", "dual")


def test_fit_follows_the_plan():
    for params in ({}, {"solver": "primal"}, {"solver": "explicit"}, {"loss": "regression", "kernel": "rbf"}):
        for graph in (COMPLETE, HALF):
            ranker = ConditionalRanker(**params).fit(graph)
            assert ranker.plan_ == ranker.plan(graph)
            assert ranker.solver_ == ranker.plan_.solver


def test_costs_grow_with_the_work():
    def planned(graph, **params):
        return ConditionalRanker(**{"kernel": "rbf", "solver": "primal", **params}).plan(graph)

    dense, few, fewer = planned(HALF), planned(with_share(0.02)), planned(with_share(0.005))
    assert min(dense.memory, few.memory) > fewer.memory
    assert planned(with_share(0.02), solver="dual").flops > planned(with_share(0.005), solver="dual").flops
    assert dense.n_coordinates == N
    assert planned(HALF, kernel="linear").flops < dense.flops / 3
    assert planned(HALF, kernel="linear").memory < dense.memory
    small = planned(with_share(0.5, X[:50]))
    assert small.flops < dense.flops / 3
    assert small.memory < dense.memory / 8
    single = planned(with_share(0.5, X.astype(np.float32)))
    assert single.memory < dense.memory / 2  # it needs no copies in single precision
    early = {"solver": "early_stopping"}
    assert planned(COMPLETE, **early, max_iter=1000).flops > planned(COMPLETE, **early, max_iter=10).flops


@pytest.mark.parametrize("solver", ["primal", "dual", "explicit"])
def test_memory_limits_the_iterative_solvers(solver, monkeypatch):
    ranker = ConditionalRanker("ordinary", "regression", solver=solver)
    needed = ranker.plan(HALF).memory
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: needed - 1)
    with pytest.raises(ValueError, match=r"this fit needs about .* are available"):
        ranker.fit(HALF)
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: needed)
    ranker.fit(HALF)


def test_explicit_refuses_large_systems(monkeypatch):
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: None)
    ranker = ConditionalRanker(kernel="rbf", solver="explicit")
    graph = with_share(0.5, RNG.normal(size=(250, 5)))
    assert ranker.plan(graph).memory > MAX_BYTES
    with pytest.raises(ValueError, match=r"the explicit solver needs about .* GiB for a dense system over [\d,]+ "):
        ranker.fit(graph)


def test_a_plan_checks_parameters():
    with pytest.raises(ValueError, match="max_iter must be a whole number of at least 1, got 0"):
        ConditionalRanker(max_iter=0).plan(HALF)


def test_a_complete_graph_is_planned_before_any_work():
    plan = ConditionalRanker(kernel="rbf").plan(SMALL_X, SMALL_Y)
    assert plan.solver == "closed_form"
    assert plan.reason == "the graph is complete"
    assert plan.coordinates == "exact rbf kernel"
    assert plan.n_coordinates == SMALL_N
    assert plan.memory > 3 * 8 * SMALL_N * SMALL_N - 1
    assert plan.flops > 9 * SMALL_N**3
    assert "closed_form: the graph is complete; exact rbf kernel, at most 24 coordinates" in str(plan)
    plan = ConditionalRanker().plan(RelationGraph.from_classes(SMALL_X, np.arange(SMALL_N) % 2))
    assert (plan.coordinates, plan.n_coordinates) == ("explicit features", 4)
    assert "factored" in plan.reason
    assert ConditionalRanker(solver="closed_form").plan(SMALL_X, SMALL_Y).solver == "closed_form"
    assert ConditionalRanker(constant=True).plan(SMALL_X, SMALL_Y).n_coordinates == 5


def test_a_plan_grows_with_the_work():
    def planned(**params):
        return ConditionalRanker(**params).plan(SMALL_X, SMALL_Y + SMALL_Y.T)

    assert planned(relation="symmetric", kernel="rbf").flops == planned(kernel="rbf").flops
    assert planned(kernel="rbf").flops > planned().flops
    assert planned(kernel="rbf").memory > planned().memory
    single = ConditionalRanker(kernel="rbf").plan(SMALL_X.astype(np.float32), SMALL_Y.astype(np.float32))
    assert single.memory < planned(kernel="rbf").memory


@pytest.mark.parametrize("solver", ["auto", "dual", "primal"])
def test_a_tolerance_of_zero_is_planned(solver):
    rng = np.random.default_rng(0)
    pairs = rng.integers(300, size=(2, 9000))
    graph = RelationGraph.from_edges(rng.normal(size=(300, 5)), *pairs, rng.normal(size=9000))
    assert np.isfinite(ConditionalRanker(kernel="rbf", tol=0.0, solver=solver).plan(graph).flops)


def test_a_fit_beyond_memory_is_refused_at_once(monkeypatch):
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: 16 * 2**30)
    n = 10**6
    graph = RelationGraph.from_classes(np.linspace(-1, 1, n)[:, None], np.arange(n) % 10)
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"needs about 14\.6 TiB \(exact rbf kernel, 1000000 coordinates\) but 16 GiB"):
        ConditionalRanker(kernel="rbf").fit(graph)
    assert time.perf_counter() - start < 1
    assert ConditionalRanker("symmetric", constant=True).fit(graph).coef_.shape == (2, 2)  # explicit features fit


def test_memory_limits_the_closed_form(monkeypatch):
    needed = ConditionalRanker(kernel="rbf").plan(SMALL_X, SMALL_Y).memory
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: needed - 1)
    with pytest.raises(ValueError, match=r"(?s)float32|factored relation"):
        ConditionalRanker(kernel="rbf").fit(SMALL_X, SMALL_Y)
    for available in (needed, None):
        monkeypatch.setattr("condrank.base.memory.available_memory", lambda available=available: available)
        ConditionalRanker(kernel="rbf").fit(SMALL_X, SMALL_Y)
