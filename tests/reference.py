"""The naive twins: they build the whole edge kernel and solve it as one dense system, as the paper states it."""

from __future__ import annotations

import mpmath
import numpy as np

from condrank.objective.losses import get_loss

SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}


def edge_kernel(K_starts, K_ends, K_start_end=None, K_end_start=None, relation="ordinary"):
    """Kernel between two lists of edges, from node kernels between their starting and ending nodes, aligned by edge."""
    sign = SIGNS[relation]
    if sign == 0:
        return K_starts * K_ends
    return (K_starts * K_ends + sign * K_start_end * K_end_start) / 2


def naive_scores(
    K,
    sources,
    targets,
    values,
    alpha,
    *,
    relation="ordinary",
    loss="ranking",
    weights=None,
    K_queries=None,
    K_objects=None,
    K_domain=None,
    prior_weight=0.0,
    K_new=None,
    centre=0.0,
    fit_intercept=False,
):
    """Scores (n_queries, n_objects) of the minimiser of (y - f)ᵀL(y - f) + λ‖h‖² over the observed edges.

    With fit_intercept (regression only) the constant is one more unknown, in a bordered system.

    K (n, n) is the kernel of the conditioning nodes, K_domain (m, m) that of the objects (K itself for one domain);
    K_queries (q, n) and K_objects (o, m) the kernel of the nodes to predict for against the training nodes; K_new
    (q, o) the kernel between those, which the prior needs.
    """
    sources, targets = np.asarray(sources), np.asarray(targets)
    K_domain = K if K_domain is None else K_domain
    K_queries = K if K_queries is None else K_queries
    K_objects = K_domain if K_objects is None else K_objects
    weights = np.ones(len(sources)) if weights is None else np.asarray(weights, dtype=float)
    y = np.asarray(values, dtype=float) - centre
    if prior_weight:
        y = y - prior_weight * K[sources, targets]
    root = loss_root(sources, weights, loss)
    one_domain = relation != "ordinary"
    train = edge_kernel(
        K[np.ix_(sources, sources)],
        K_domain[np.ix_(targets, targets)],
        K[np.ix_(sources, targets)] if one_domain else None,
        K[np.ix_(targets, sources)] if one_domain else None,
        relation,
    )
    constant = 0.0
    if fit_intercept:
        a, constant = bordered_solution(train, y, weights, alpha)
    else:
        a = root @ np.linalg.solve(root.T @ train @ root + alpha * np.eye(len(y)), root.T @ y)
    q, o = (grid.ravel() for grid in np.meshgrid(range(len(K_queries)), range(len(K_objects)), indexing="ij"))
    new = edge_kernel(
        K_queries[np.ix_(q, sources)],
        K_objects[np.ix_(o, targets)],
        K_queries[np.ix_(q, targets)] if one_domain else None,
        K_objects[np.ix_(o, sources)] if one_domain else None,
        relation,
    )
    scores = (new @ a).reshape(len(K_queries), len(K_objects)) + centre + constant
    return scores + prior_weight * (K if K_new is None else K_new) if prior_weight else scores


def naive_posterior(
    K,
    sources,
    targets,
    values,
    alpha,
    *,
    relation="ordinary",
    loss="ranking",
    weights=None,
    K_queries=None,
    K_objects=None,
    K_domain=None,
    K_own=None,
    K_own_objects=None,
    K_new=None,
    prior_weight=0.0,
    centre=0.0,
    fit_intercept=False,
):
    """Covariances (q·o, q·o) of the scores of all pairs, and σ², of the Gaussian process whose mean a fit is.

    Labels have the precision L/σ², scores the prior covariance σ²/λ times the whole edge kernel. An intercept has a
    prior so wide that it makes no difference: it is eliminated by generalised least squares.

    K_own (q, q) and K_own_objects (o, o) are the kernels among the nodes to predict for, K_new (q, o) that between
    them; by default those of the training nodes. The other arguments are those of `naive_scores`.
    """
    sources, targets = np.asarray(sources), np.asarray(targets)
    K_domain = K if K_domain is None else K_domain
    K_queries, K_own = (K, K) if K_queries is None else (K_queries, K_own)
    K_objects, K_own_objects = (K_domain, K_domain) if K_objects is None else (K_objects, K_own_objects)
    weights = np.ones(len(sources)) if weights is None else np.asarray(weights, dtype=float)
    y = np.asarray(values, dtype=float) - centre - prior_weight * (K[sources, targets] if prior_weight else 0.0)
    one_domain = relation != "ordinary"
    K_new = K if K_new is None else K_new
    q, o = (grid.ravel() for grid in np.meshgrid(range(len(K_queries)), range(len(K_objects)), indexing="ij"))

    def between(K_starts, K_ends, K_start_end, K_end_start, first, second):
        (a, b), (c, d) = first, second
        crossed = (K_start_end[np.ix_(a, d)], K_end_start[np.ix_(b, c)]) if one_domain else (None, None)
        return edge_kernel(K_starts[np.ix_(a, c)], K_ends[np.ix_(b, d)], *crossed, relation)

    edges, pairs = (sources, targets), (q, o)
    train = between(K, K_domain, K, K, edges, edges)
    new = between(K_queries, K_objects, K_queries, K_objects, pairs, edges)
    own = between(K_own, K_own_objects, K_new, K_new.T, pairs, pairs)
    root = loss_root(sources, weights, loss)
    inverse = root @ np.linalg.solve(root.T @ train @ root + alpha * np.eye(len(y)), root.T)
    covariance, n_constants = own - new @ inverse @ new.T, 0
    if loss == "ranking":
        n_constants = len(np.unique(sources[weights > 0]))
    if fit_intercept:
        ones, n_constants = np.ones(len(y)), 1
        size, along = ones @ inverse @ ones, 1 - new @ inverse @ ones
        covariance += np.outer(along, along) / size
        inverse = inverse - np.outer(inverse @ ones, ones @ inverse) / size
    variance = alpha * float(y @ inverse @ y) / (int((weights > 0).sum()) - n_constants)
    return variance / alpha * covariance, variance


def bordered_solution(train, y, weights, alpha):
    """Edge coefficients a and the constant c of (K̄ + λM⁻¹)a + c1 = y, 1ᵀa = 0: a ridge with an unpenalised column."""
    seen = weights > 0
    k = int(seen.sum())
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = train[np.ix_(seen, seen)] + np.diag(alpha / weights[seen])
    system[:k, k] = system[k, :k] = 1
    solution = np.linalg.solve(system, np.append(y[seen], 0.0))
    a = np.zeros(len(y))
    a[seen] = solution[:k]
    return a, float(solution[k])


def loss_options(name, relation="ordinary"):
    """Options of a loss; "intercept" is regression with an intercept, which no reciprocal relation has."""
    if name != "intercept":
        return {"loss": name}
    return {"loss": "regression", "fit_intercept": relation != "reciprocal"}


def loss_named(name):
    """The loss object of a name; "intercept" is regression with an intercept."""
    return get_loss("regression", fit_intercept=True) if name == "intercept" else get_loss(name)


def loss_root(sources, weights, loss):
    """B with BBᵀ = L: the weights (regression), less the weighted mean of each conditioning node's edges (ranking).

    "intercept" is regression after its constant was eliminated: less the weighted mean of all edges.
    """
    root = np.diag(np.sqrt(weights))
    if loss == "regression":
        return root
    centring = np.eye(len(sources))
    groups = np.zeros_like(sources) if loss == "intercept" else sources
    for node in np.unique(groups):
        rows = np.flatnonzero(groups == node)
        unit = np.sqrt(weights[rows])
        total = np.linalg.norm(unit)
        if total > 0:
            unit = unit / total
            centring[np.ix_(rows, rows)] -= np.outer(unit, unit)
    return root @ centring


def naive_complete(K, Y, alpha, **options):
    """`naive_scores` with every pair of Y observed."""
    n, m = Y.shape
    sources, targets = (grid.ravel() for grid in np.meshgrid(range(n), range(m), indexing="ij"))
    return naive_scores(K, sources, targets, Y.ravel(), alpha, **options)


def naive_observed(K, Y, alpha, **options):
    """`naive_scores` with the entries of Y that are not NaN observed."""
    sources, targets = np.nonzero(~np.isnan(Y))
    return naive_scores(K, sources, targets, Y[sources, targets], alpha, **options)


def kernel_values(kernel, X, X_other, gamma=None, degree=3, coef0=1):
    """Node kernel values from their formulas, one pair at a time."""
    gamma = 1 / X.shape[1] if gamma is None else gamma
    of_pair = {
        "linear": lambda x, y: x @ y,
        "rbf": lambda x, y: np.exp(-gamma * np.sum((x - y) ** 2)),
        "poly": lambda x, y: (gamma * (x @ y) + coef0) ** degree,
        "cosine": lambda x, y: x @ y / np.sqrt((x @ x) * (y @ y)),
        "laplacian": lambda x, y: np.exp(-gamma * np.sum(np.abs(x - y))),
    }
    pair = kernel if callable(kernel) else of_pair[kernel]
    return np.array([[pair(x, y) for y in X_other] for x in X])


def exact_array(values):
    """An array of multiple-precision numbers, from floats or from such numbers."""
    return np.vectorize(mpmath.mpf, otypes=[object])(values)


def exact_complete(K, Y, alpha, *, relation="ordinary", loss="ranking", K_queries, K_objects, fit_intercept=False):
    """`naive_complete` in 40-digit arithmetic, for λ so small that the double-precision twin loses its digits."""
    with mpmath.workdps(40):
        K, K_queries, K_objects = (exact_array(values) for values in (K, K_queries, K_objects))
        n = len(K)
        s, t = (grid.ravel() for grid in np.meshgrid(range(n), range(n), indexing="ij"))
        q, o = (grid.ravel() for grid in np.meshgrid(range(len(K_queries)), range(len(K_objects)), indexing="ij"))
        train = edge_kernel(K[np.ix_(s, s)], K[np.ix_(t, t)], K[np.ix_(s, t)], K[np.ix_(t, s)], relation)
        new = edge_kernel(
            K_queries[np.ix_(q, s)], K_objects[np.ix_(o, t)], K_queries[np.ix_(q, t)], K_objects[np.ix_(o, s)], relation
        )
        y = exact_array(Y).ravel()
        if loss == "ranking":
            # L projects, so (L G L + λ) a = L y gives a = L a; both sides of G lose the mean over each node's edges.
            train, y = train.reshape(n, n, n, n), y.reshape(n, n)
            train = train - train.sum(axis=1, keepdims=True) / n
            train = (train - train.sum(axis=3, keepdims=True) / n).reshape(n * n, n * n)
            y = (y - y.sum(axis=1, keepdims=True) / n).ravel()
        train = train + np.diag(exact_array(np.full(n * n, float(alpha))))
        if fit_intercept:
            border = exact_array(np.ones((n * n, 1)))
            train = np.block([[train, border], [border.T, exact_array(np.zeros((1, 1)))]])
            new, y = np.hstack([new, exact_array(np.ones((len(new), 1)))]), np.append(y, mpmath.mpf(0))
        a = mpmath.lu_solve(mpmath.matrix(train.tolist()), mpmath.matrix(y.tolist()))
        scores = new @ np.array(list(a), dtype=object)
        return scores.astype(float).reshape(len(K_queries), len(K_objects))


def error(found, expected):
    """Largest difference relative to the largest expected value."""
    assert found.shape == expected.shape
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)


def scaled(share, K, K_objects=None):
    """λ as a share of the largest eigenvalue of the edge kernel."""
    return share * np.linalg.eigvalsh(K)[-1] * np.linalg.eigvalsh(K if K_objects is None else K_objects)[-1]


def naive_krylov_minimum(A, b, alpha, n_iter, delta):
    """The x in span(b, Ab, …, Aᵏ⁻¹b) whose error for (A + α)x = b is smallest in the norm of (A + δ)(A + α)."""
    basis = [b]
    for _ in range(n_iter - 1):
        basis.append(A @ (basis[-1] / np.linalg.norm(basis[-1])))
        Q = np.linalg.qr(np.array(basis).T)[0]
        basis[-1] = Q[:, -1]
    Q = np.linalg.qr(np.array(basis).T)[0]
    norm = (A + delta * np.eye(len(b))) @ (A + alpha * np.eye(len(b)))
    y = np.linalg.solve(Q.T @ norm @ Q, Q.T @ (A + delta * np.eye(len(b))) @ b)
    return Q @ y


def known_shares(K, K_objects, known, root, root_objects, alpha, wanted, sign=0):
    """Eigenvalues of √s E √s + 1 - s over the strongest products of eigenvectors, each as a matrix, and their number.

    E are the mean products of two directions over the known pairs, relative to all pairs with the density that the
    squares of the roots give.
    """
    density = known.mean()
    sigma, U = np.linalg.eigh(K * np.outer(root, root))
    tau, V = np.linalg.eigh(K_objects * np.outer(root_objects, root_objects))
    strength = np.outer(sigma.clip(0), tau.clip(0))
    kept = np.argwhere(strength >= np.sort(strength, axis=None)[-wanted])
    directions, s = [], []
    for p, q in kept:
        if sign and (p > q or (p == q and sign < 0)):
            continue
        direction = np.outer(U[:, p], V[:, q])
        if sign and p < q:
            direction = (direction + sign * np.outer(U[:, q], V[:, p])) / np.sqrt(2)
        directions.append(direction)
        s.append(strength[p, q] / (strength[p, q] + alpha / density))
    share = known / (density * np.outer(root**2, root_objects**2))
    E = np.array([[(share * one * other).sum() for other in directions] for one in directions])
    s = np.array(s)
    return np.linalg.eigvalsh(np.sqrt(np.outer(s, s)) * E + np.diag(1 - s)), len(kept)
