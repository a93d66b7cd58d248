"""All closed forms against the naive twin, on nodes with ties, duplicates, zero columns and singular kernels."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import reference
from condrank import ConditionalRanker, RelationGraph
from reference import loss_options

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

relations = st.sampled_from(["ordinary", "symmetric", "reciprocal"])
losses = st.sampled_from(["regression", "ranking", "intercept"])
shares = st.sampled_from([1e-6, 1e-4, 1e-2, 1.0, 100.0])


def numbers(rows, columns):
    """Small whole numbers, so that nodes and values repeat, or halves of them."""
    return arrays(np.int64, (rows, columns), elements=st.integers(-4, 4)).map(lambda M: M / 2)


@st.composite
def domains(draw, kernel=None, constant=None):
    """Training nodes, new nodes, a kernel of theirs with its parameters, and its values."""
    kernel = draw(st.sampled_from(["linear", "rbf", "cosine", "poly"])) if kernel is None else kernel
    constant = draw(st.booleans()) if constant is None else constant
    n, d = draw(st.integers(2, 6)), draw(st.integers(1, 8))
    X, X_new = draw(numbers(n, d)), draw(numbers(2, d))
    if kernel == "cosine":
        assume((X != 0).any(axis=1).all() and (X_new != 0).any(axis=1).all())
    assume(constant or (X != 0).any())
    params = {"gamma": 0.3, "degree": 2, "coef0": 1}

    def values(first, second):
        return reference.kernel_values(kernel, first, second, **params) + constant

    return X, X_new, {"kernel": kernel, "constant": constant, **params}, values


def assert_close(found, expected, labels):
    """Within 1e-8 of the largest expected score, or of the labels where scores vanish."""
    scale = max(np.abs(expected).max(), np.abs(labels).max())
    assert np.abs(found - expected).max() <= 1e-8 * scale


def largest(K):
    return np.linalg.eigvalsh((K + K.T) / 2)[-1]


@given(domains(), relations, losses, shares, st.sampled_from(["outgoing", "incoming"]), st.data())
def test_every_closed_form_equals_the_naive_twin(domain, relation, loss, share, rank_by, data):
    X, X_new, params, values = domain
    Y = data.draw(numbers(len(X), len(X)))
    K, everyone = values(X, X), np.vstack([X, X_new])
    alpha = share * largest(K) ** 2
    prior = data.draw(st.sampled_from([0.0, 0.5])) if relation != "reciprocal" else 0.0
    ranker = ConditionalRanker(
        relation,
        alpha=alpha,
        **loss_options(loss),
        rank_by=rank_by,
        prior="similarity" if prior else None,
        prior_weight=prior,
        **params,
    ).fit(RelationGraph(X, Y, probabilities=False))
    expected = reference.naive_complete(
        K,
        Y if rank_by == "outgoing" else Y.T.copy(),
        alpha,
        relation=relation,
        **loss_options(loss, relation),
        K_queries=values(everyone, X),
        K_objects=values(everyone, X),
        prior_weight=prior,
        K_new=values(everyone, everyone),
    )
    assert_close(ranker.predict(everyone, everyone), expected, Y)


@given(domains(), losses, shares, st.data())
def test_two_domains_equal_the_naive_twin(domain, loss, share, data):
    X, X_new, params, values = domain
    objects, new_objects, _, other_values = data.draw(domains(params["kernel"], params["constant"]))
    Y = data.draw(numbers(len(X), len(objects)))
    K, K_domain = values(X, X), other_values(objects, objects)
    alpha = share * largest(K) * largest(K_domain)
    ranker = ConditionalRanker(alpha=alpha, **loss_options(loss), **params).fit(RelationGraph(X, Y, objects=objects))
    expected = reference.naive_complete(
        K,
        Y,
        alpha,
        **loss_options(loss),
        K_domain=K_domain,
        K_queries=values(X_new, X),
        K_objects=other_values(new_objects, objects),
    )
    assert_close(ranker.predict(X_new, new_objects), expected, Y)


@given(domains(), relations, losses, st.data())
def test_the_solution_does_not_depend_on_the_order_of_nodes(domain, relation, loss, data):
    X, X_new, params, values = domain
    Y = data.draw(numbers(len(X), len(X)))
    order = np.array(data.draw(st.permutations(range(len(X)))))
    graph = RelationGraph(X, Y, probabilities=False)
    alpha = 1e-3 * largest(values(X, X)) ** 2
    options = {"alpha": alpha, **loss_options(loss), **params}
    first, second = (ConditionalRanker(relation, **options).fit(g) for g in (graph, graph[order]))
    assert_close(second.predict(X_new, X_new), first.predict(X_new, X_new), Y)
    assert_close(second.predict(X_new), first.predict(X_new)[:, order], Y)


@given(domains(), relations, losses, st.data())
def test_the_solution_is_linear_in_the_labels(domain, relation, loss, data):
    X, X_new, params, values = domain
    A, B = data.draw(numbers(len(X), len(X))), data.draw(numbers(len(X), len(X)))
    alpha = 1e-3 * largest(values(X, X)) ** 2

    def scores(Y):
        graph = RelationGraph(X, Y, probabilities=False)
        ranker = ConditionalRanker(relation, alpha=alpha, **loss_options(loss), **params)
        return ranker.fit(graph).predict(X_new, X_new)

    assert_close(scores(A - 2 * B), scores(A) - 2 * scores(B), np.abs(A) + np.abs(B))


@given(domains(), relations, losses, st.data())
def test_the_solution_minimises_the_objective(domain, relation, loss, data):
    """No step away from W, within the relation, lowers ½‖L(Y - F)‖² + ½ λ‖h‖²."""
    X, _, params, values = domain
    n = len(X)
    Y, step = data.draw(numbers(n, n)), data.draw(numbers(n, n))
    K = values(X, X)
    alpha = 1e-2 * largest(K) ** 2
    sign = reference.SIGNS[relation]
    step = (step + sign * step.T) / 2 if sign else step

    def objective(A):
        left = Y - K @ A @ K
        if loss == "ranking":
            left = left - left.mean(axis=1, keepdims=True)
        elif loss_options(loss, relation).get("fit_intercept"):
            left = left - left.mean()
        return (np.sum(left**2) + alpha * np.sum((K @ A @ K) * A)) / 2

    graph = RelationGraph(X, Y, probabilities=False)
    A = ConditionalRanker(relation, alpha=alpha, **loss_options(loss), **params).fit(graph).dual_coef_
    scale = max(objective(0 * A), 1e-12)
    for size in (1e-3, -1e-3, 1e-1, -1e-1):
        assert objective(A + size * step / largest(K) ** 2) >= objective(A) - 1e-10 * scale
