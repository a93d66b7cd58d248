"""Each measurement of the diagnosis against its naive twin, and the advice on relations that are known."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank import RelationGraph
from condrank.diagnosis import (
    cyclic_triads,
    describe_degrees,
    describe_rows,
    describe_values,
    diagnose,
    hodge_split,
    relation_parts,
    skew_flow,
    stochastic_transitivity,
    t_transitivity,
)

RPS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def random_labels(seed, n, *, hole=0.0, levels=None):
    """Labels with holes; with ``levels`` they are few, so that there are ties."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, n)) if levels is None else rng.choice(levels, size=(n, n))
    Y = Y.astype(float)
    Y[rng.random((n, n)) < hole] = np.nan
    return Y


def order(n):
    """Crisp tournament without a cycle."""
    return np.sign(np.arange(n)[:, None] - np.arange(n)[None, :]).astype(float)


def classes(n, n_classes=3):
    labels = np.arange(n) % n_classes
    return (labels[:, None] == labels[None, :]).astype(float)


relations = st.builds(
    random_labels,
    st.integers(0, 10_000),
    st.integers(1, 7),
    hole=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    levels=st.sampled_from([None, (-1, 1), (-1, 0, 1), (0, 1)]),
)


# Relation: symmetric and skew parts, values, degrees


@given(relations)
@settings(max_examples=60, deadline=None)
def test_parts_against_loops(Y):
    parts = relation_parts(Y)
    n = len(Y)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if np.isfinite(Y[i, j]) and np.isfinite(Y[j, i])]
    assert parts.n_pairs == len(pairs)
    if not pairs:
        assert (parts.mean, parts.skew_share, parts.symmetric_share) == (None, None, None)
        return
    mean = np.mean([(Y[i, j] + Y[j, i]) / 2 - parts.offset for i, j in pairs])
    assert parts.mean == pytest.approx(mean, abs=1e-12)
    assert parts.constant == pytest.approx(2 * len(pairs) * mean**2, abs=1e-12)
    assert parts.skew == pytest.approx(sum((Y[i, j] - Y[j, i]) ** 2 / 2 for i, j in pairs), abs=1e-12)
    energy = sum((Y[i, j] - parts.offset) ** 2 + (Y[j, i] - parts.offset) ** 2 for i, j in pairs)
    assert parts.constant + parts.symmetric + parts.skew == pytest.approx(energy, abs=1e-12)


def test_probability_scale_is_centred_at_one_half():
    P = (1 + random_labels(0, 6, levels=(-1, 1))) / 2
    P = np.triu(P, 1) + np.tril(1 - P.T, -1)
    for diagonal in (0.5, 0.0, np.nan):
        np.fill_diagonal(P, diagonal)
        parts = relation_parts(P)
        assert (parts.scale, parts.offset) == ("probability", 0.5)
        assert parts.skew_energy_share == pytest.approx(1.0)
    assert relation_parts(2 * P).scale == "as given"
    P[0, 1] = 0.9 if P[1, 0] == 0 else 0.1
    assert relation_parts(P).scale == "as given"


def test_mean_is_no_symmetry():
    # Labels far from zero: nearly all energy is constant, yet the variation is skew.
    Y = 100 + (lambda A: A - A.T)(random_labels(1, 8))
    parts = relation_parts(Y)
    assert parts.skew_share == pytest.approx(1.0)
    assert parts.skew_energy_share < 0.01
    found = diagnose(Y)
    assert found.recommended_relation == "reciprocal"
    assert "mean 100" in found.reasons[0]


@pytest.mark.parametrize(
    ("labels", "kind", "levels"),
    [
        ([[0, 1], [1, 0]], "constant", (1.0,)),  # zeros on the diagonal are loops
        (RPS, "crisp", (-1.0, 1.0)),
        ([[np.nan, 0.1 + 0.2], [0.3, np.nan]], "constant", (0.3,)),
        ([[np.nan, 0.0], [-0.0, np.nan]], "constant", (0.0,)),
        (np.arange(9.0).reshape(3, 3), "graded", (1.0, 2.0, 3.0, 5.0, 6.0, 7.0)),
        (np.arange(16.0).reshape(4, 4), "valued", ()),
        (np.full((3, 3), np.nan), "none", ()),
        ([[7.0]], "constant", (7.0,)),
        ([[np.nan, 1e-300], [0, np.nan]], "crisp", (0.0, 1e-300)),
    ],
)
def test_values(labels, kind, levels):
    values = describe_values(np.array(labels, dtype=float))
    assert (values.kind, values.levels) == (kind, levels)


def test_averages_of_duplicates_are_no_levels():
    Y = random_labels(0, 20, levels=(-1, 0, 1))
    Y[0, 1:16] = np.linspace(-0.9, 0.9, 15)
    assert describe_values(Y).kind == "valued"
    values = describe_values(Y, n_duplicates=15)
    assert (values.kind, values.levels) == ("crisp", (-1.0, 0.0, 1.0))


@given(relations)
@settings(max_examples=40, deadline=None)
def test_degrees_and_rows_against_loops(Y):
    n = len(Y)
    seen = np.isfinite(Y)
    out = [sum(seen[i, j] for j in range(n) if j != i) for i in range(n)]
    into = [sum(seen[j, i] for j in range(n) if j != i) for i in range(n)]
    degrees = describe_degrees(Y)
    assert degrees.outgoing == (min(out), np.median(out), max(out))
    assert degrees.incoming == (min(into), np.median(into), max(into))
    assert degrees.n_loops == sum(seen[i, i] for i in range(n))
    assert degrees.n_isolated == sum(a + b == 0 for a, b in zip(out, into, strict=True))

    rows = describe_rows(Y)
    known = [Y[i][seen[i]] for i in range(n) if seen[i].any()]
    assert rows.n_rows == len(known)
    if known:
        assert rows.edges_per_row == pytest.approx(seen.sum() / len(known))
        assert rows.rankable_share == np.mean([len(set(row)) > 1 for row in known])
        every = np.concatenate(known)
        if len(set(every)) > 1:
            within = sum(((row - row.mean()) ** 2).sum() for row in known)
            total = ((every - every.mean()) ** 2).sum()
            assert rows.row_mean_share == pytest.approx(1 - within / total)
        else:
            assert rows.row_mean_share is None


# Order and cycles


def hodge_naive(flow):
    """Least squares on the incidence matrix, one row a pair."""
    n = len(flow)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if np.isfinite(flow[i, j])]
    incidence = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        incidence[row, i], incidence[row, j] = 1, -1
    values = np.array([flow[pair] for pair in pairs])
    scores = np.linalg.pinv(incidence) @ values if pairs else np.zeros(n)
    return incidence, values, scores


def test_flow_reads_one_direction_as_reciprocal_when_asked():
    Y = np.array([[5, 0.9, np.nan], [0.1, 5, 0.8], [np.nan, np.nan, 5]])
    assert np.allclose(skew_flow(Y)[0, 1], 0.4)
    assert np.isnan(skew_flow(Y)[1, 2])
    flow = skew_flow(Y, centre=0.5, complete=True)
    assert np.allclose([flow[0, 1], flow[1, 2], flow[2, 1]], [0.4, 0.3, -0.3])
    assert np.isnan(flow[0, 2])
    assert np.isnan(np.diag(flow)).all()


@given(relations, st.booleans())
@settings(max_examples=80, deadline=None)
def test_hodge_against_least_squares(Y, complete):
    flow = skew_flow(Y, complete=complete)
    split = hodge_split(flow)
    incidence, values, scores = hodge_naive(flow)
    assert split.n_pairs == len(values)
    np.testing.assert_allclose(split.scores, scores, atol=1e-10)
    if len(values) == 0:
        assert split.noise_floor is None
        return
    rank = np.linalg.matrix_rank(incidence)
    assert split.noise_floor == pytest.approx(1 - rank / len(values))
    assert split.n_components == len(Y) - rank
    if not values.any():
        assert split.gradient_share is None
        return
    gradient = np.sum((incidence @ scores) ** 2) / np.sum(values**2)
    assert split.gradient_share == pytest.approx(gradient, abs=1e-10)
    assert split.cyclic_share == pytest.approx(1 - gradient, abs=1e-10)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_hodge_of_complete_graph_has_row_means(n):
    A = random_labels(3, n)
    A = A - A.T
    split = hodge_split(skew_flow(A))
    np.testing.assert_allclose(split.scores, A.mean(axis=1), atol=1e-12)
    assert split.noise_floor == pytest.approx(1 - 2 / n)


def test_hodge_of_pure_gradient_pure_cycle_and_crisp_order():
    s = np.random.default_rng(0).normal(size=9)
    gradient = hodge_split(skew_flow(s[:, None] - s[None, :]))
    assert gradient.gradient_share == pytest.approx(1.0)
    assert gradient.order_ceiling == pytest.approx(1.0)
    assert gradient.adjusted_gradient_share == pytest.approx(1.0)
    np.testing.assert_allclose(gradient.scores, s - s.mean(), atol=1e-12)

    cycle = hodge_split(skew_flow(RPS))
    assert cycle.cyclic_share == pytest.approx(1.0)
    assert cycle.order_ceiling == pytest.approx(8 / 9)

    for n in (2, 3, 7, 30):
        crisp = hodge_split(skew_flow(order(n)))
        assert crisp.gradient_share == pytest.approx(2 * (n + 1) / (3 * n))
        assert crisp.order_ceiling == pytest.approx(crisp.gradient_share)


def test_noise_floor_and_its_spread_are_those_of_noise():
    n, hole = 12, np.random.default_rng(0).random((12, 12)) < 0.4
    shares = []
    for seed in range(400):
        A = random_labels(seed, n)
        A[hole] = np.nan
        split = hodge_split(skew_flow(A - A.T))
        shares.append(split.cyclic_share)
    assert np.mean(shares) == pytest.approx(split.noise_floor, abs=4 * split.noise_sd / 20)
    assert np.std(shares) == pytest.approx(split.noise_sd, rel=0.15)


@given(relations)
@settings(max_examples=60, deadline=None)
def test_cyclic_triads_against_loops(Y):
    flow = skew_flow(Y, complete=True)
    n_triads = n_decided = n_cyclic = 0
    for i, j, k in combinations(range(len(Y)), 3):
        a, b, c = flow[i, j], flow[j, k], flow[k, i]
        if not np.isfinite([a, b, c]).all():
            continue
        n_triads += 1
        n_decided += bool(a and b and c)
        n_cyclic += (a > 0 and b > 0 and c > 0) or (a < 0 and b < 0 and c < 0)
    triads = cyclic_triads(flow)
    assert (triads.n_triads, triads.n_decided, triads.n_cyclic) == (n_triads, n_decided, n_cyclic)
    assert triads.share == (n_cyclic / n_decided if n_decided else None)


def test_coin_tosses_give_a_quarter_of_cyclic_triads_and_its_spread():
    shares = []
    for seed in range(300):
        A = np.triu(random_labels(seed, 10, levels=(-1, 1)), 1)
        found = cyclic_triads(skew_flow(A - A.T))
        shares.append(found.share)
    assert np.mean(shares) == pytest.approx(0.25, abs=4 * found.expected_sd / np.sqrt(300))
    assert np.std(shares) == pytest.approx(found.expected_sd, rel=0.15)


# Transitivity


def stochastic_naive(flow):
    P = (1 + flow / max(np.nanmax(np.abs(flow), initial=0.0), 1e-300)) / 2
    counts = np.zeros(4, dtype=int)
    for i, j, k in permutations(range(len(P)), 3):
        if not np.isfinite([P[i, j], P[j, k], P[i, k]]).all() or P[i, j] < 0.5 or P[j, k] < 0.5:
            continue
        low, high = sorted((P[i, j], P[j, k]))
        slack = 1e-9
        counts += (1, P[i, k] < 0.5, P[i, k] < low - slack, P[i, k] < high - slack)
    return counts


def t_norms_naive(R):
    counts = np.zeros(4, dtype=int)
    for i, j, k in permutations(range(len(R)), 3):
        a, b, c = R[i, j], R[j, k], R[i, k]
        if not np.isfinite([a, b, c]).all() or a <= 0 or b <= 0:
            continue
        counts += (1, c < min(a, b) - 1e-9, c < a * b - 1e-9, c < max(a + b - 1, 0) - 1e-9)
    return counts


def as_shares(counts):
    return [None if counts[0] == 0 else count / counts[0] for count in counts[1:]]


@given(relations, st.booleans())
@settings(max_examples=60, deadline=None)
def test_stochastic_transitivity_against_loops(Y, complete):
    flow = skew_flow(Y, complete=complete)
    found = stochastic_transitivity(flow)
    counts = stochastic_naive(flow)
    assert found.n_triples == counts[0]
    assert [found.weak, found.moderate, found.strong] == as_shares(counts)
    assert found.n_nodes_used == len(Y)
    # Probabilities minus ½ and labels of another unit violate the same triples.
    assert stochastic_transitivity(0.25 * flow) == found


@given(relations, st.booleans())
@settings(max_examples=60, deadline=None)
def test_t_transitivity_against_loops(Y, symmetric):
    R = (Y + Y.T) / 2 if symmetric else Y
    off = ~np.eye(len(R), dtype=bool) & np.isfinite(R)
    low, high = (R[off].min(), R[off].max()) if off.any() else (0.0, 1.0)
    scaled = low < 0 or high > 1
    found = t_transitivity(R)
    assert found.scaled == scaled
    if scaled:
        R = (R - low) / (high - low) if high > low else R - low
    counts = t_norms_naive(R)
    assert found.n_triples == counts[0]
    assert [found.minimum, found.product, found.lukasiewicz] == as_shares(counts)


def test_transitivity_of_known_relations():
    transitive = stochastic_transitivity(skew_flow(order(12)))
    assert (transitive.weak, transitive.moderate, transitive.strong) == (0.0, 0.0, 0.0)
    cyclic = stochastic_transitivity(skew_flow(RPS))
    assert (cyclic.n_triples, cyclic.weak) == (3, 1.0)
    s = np.random.default_rng(0).normal(size=15)
    gradient = stochastic_transitivity(skew_flow(np.tanh(s[:, None] - s[None, :])))
    assert gradient.strong == 0.0
    assert t_transitivity(classes(12)).minimum == 0.0
    A = random_labels(0, 120)
    noise = stochastic_transitivity(skew_flow(A))
    assert [noise.weak, noise.moderate, noise.strong] == pytest.approx([1 / 2, 2 / 3, 5 / 6], abs=0.02)


def test_triples_are_sampled_above_the_bound_only():
    A = random_labels(0, 80)
    exact = stochastic_transitivity(skew_flow(A))
    sampled = stochastic_transitivity(skew_flow(A), max_triples=40**3, random_state=1)
    assert exact.n_nodes_used == 80
    assert 35 <= sampled.n_nodes_used <= 41
    assert sampled.strong == pytest.approx(exact.strong, abs=0.05)
    # A sparse graph has few triples: all nodes stay.
    A[np.random.default_rng(1).random(A.shape) < 0.9] = np.nan
    assert stochastic_transitivity(skew_flow(A), max_triples=40**3).n_nodes_used == 80
    assert t_transitivity(random_labels(0, 50), max_triples=1).n_nodes_used == 3


# The whole diagnosis


def players(seed=0, n=40):
    """Winning probabilities of players who mix rock, paper and scissors."""
    moves = np.random.default_rng(seed).dirichlet(np.full(3, 0.2), size=n)
    return (1 + moves @ RPS @ moves.T) / 2


@pytest.mark.parametrize(
    ("labels", "relation", "loss"),
    [
        (RPS, "reciprocal", "logistic"),
        (order(10), "reciprocal", "logistic"),
        ((1 + order(10)) / 2, "reciprocal", "logistic"),
        (players(), "reciprocal", "ranking"),
        (classes(12), "symmetric", "ranking"),
        (classes(12) + 0.05 * random_labels(0, 12), "symmetric", "ranking"),
        (random_labels(0, 12), "ordinary", "ranking"),
        (random_labels(0, 12)[:, :5], "ordinary", "ranking"),
        (random_labels(0, 12)[:, :2], "ordinary", "regression"),
        (random_labels(0, 40, hole=0.95), "ordinary", "regression"),
        (np.ones((4, 4)), "symmetric", "regression"),
        (np.full((4, 4), np.nan), "ordinary", "ranking"),
        ([[3.0]], "ordinary", "regression"),
        ([[np.nan]], "ordinary", "ranking"),
        ([[0, 1], [-1, 0]], "reciprocal", "logistic"),
        ([[0, 1], [0, 0]], "reciprocal", "logistic"),
        ([[np.nan, 1], [-1, np.nan]], "reciprocal", "logistic"),
        ([[0, 2], [2, 0]], "symmetric", "regression"),
        ([[0, 1], [0.2, 0]], "ordinary", "regression"),
        (np.where(order(6) > 0, random_labels(1, 6), np.nan), "ordinary", "regression"),
    ],
)
def test_recommendation(labels, relation, loss):
    found = diagnose(labels)
    assert (found.recommended_relation, found.recommended_loss) == (relation, loss)
    assert found.reasons
    text = found.summary()
    assert str(found) == text
    assert f'relation="{relation}", loss="{loss}"' in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "nan" not in text
    assert "None" not in text
    assert set(found.loss_reasons) <= set(found.reasons)
    json.dumps(found.to_dict(), allow_nan=False)


def test_diagnosis_tells_order_from_cycles_from_noise():
    s = np.random.default_rng(0).normal(size=30)
    noise = random_labels(0, 30)
    noise = noise - noise.T

    ordered = diagnose(s[:, None] - s[None, :] + 0.1 * noise)
    assert ordered.hodge.cyclic_share < 0.1
    assert any("global order explains" in reason for reason in ordered.reasons)

    cyclic = diagnose(players())
    assert cyclic.parts.scale == "probability"
    assert "centred at ½" in cyclic.summary()
    assert any("cyclic or noise" in reason for reason in cyclic.reasons)

    # Everyone beats the next half of the circle: no order at all, which noise would not manage.
    turn = (np.arange(31)[None, :] - np.arange(31)[:, None]) % 31
    circle = diagnose(np.where(turn == 0, 0.0, np.where(turn <= 15, 1.0, -1.0)))
    assert circle.hodge.gradient_share == pytest.approx(0.0, abs=1e-12)
    assert any("more cyclic than noise" in reason for reason in circle.reasons)

    nothing = diagnose(noise)
    assert any("cyclic or noise" in reason for reason in nothing.reasons)

    crisp = diagnose(order(30))
    assert any("explains most of" in reason for reason in crisp.reasons)


def test_one_direction_is_read_as_reciprocal_only_with_cause():
    upper = np.where(
        np.triu(np.ones((9, 9)), 1) > 0, order(9) * np.random.default_rng(0).choice([-1, 1], (9, 9)), np.nan
    )
    signed = diagnose(upper)
    assert signed.read_as_reciprocal
    assert signed.hodge.n_pairs == 36
    assert "No pair" in signed.reasons[0]
    half_of_symmetric = diagnose(np.abs(upper))
    assert half_of_symmetric.hodge is None
    # Most pairs both ways, some one way: the relation is known to be reciprocal, so none is lost.
    some = order(9)
    some[0, 3:6] = np.nan
    mixed = diagnose(some)
    assert mixed.read_as_reciprocal
    assert mixed.triads.n_triads == 84
    assert mixed.triads.n_cyclic == 0


class Graph:
    """Only what diagnose may use of a RelationGraph."""

    def __init__(self, Y, n_edges=None, two_domain=False):
        self.Y, self.shape, self.is_two_domain = Y, Y.shape, two_domain
        self.n_edges = int(np.isfinite(Y).sum()) if n_edges is None else n_edges
        self.density = np.isfinite(Y).mean()

    def __getitem__(self, index):
        if isinstance(index, tuple):
            return Graph(self.Y[np.ix_(*index)], two_domain=True)
        return Graph(self.Y[index] if self.is_two_domain else self.Y[np.ix_(index, index)], None, self.is_two_domain)

    def to_dense(self):
        return self.Y


def test_graph_and_array_agree():
    Y = random_labels(0, 10, hole=0.3)
    assert diagnose(Graph(Y)) == diagnose(Y)
    assert diagnose(Graph(Y, n_edges=100)).n_duplicates == 100 - np.isfinite(Y).sum()
    square = diagnose(Graph(Y, two_domain=True))
    assert (square.two_domain, square.parts, square.recommended_relation) == (True, None, "ordinary")


def test_large_graphs_are_measured_on_a_sample_and_say_so():
    Y = order(60)
    found = diagnose(Graph(Y), max_nodes=20)
    assert (found.n_nodes, found.n_nodes_used, found.n_edges, found.n_edges_used) == (60, 20, 3600, 400)
    assert len(found.nodes_used) == len(found.hodge.scores) == 20
    assert np.all(np.diff(found.hodge.scores) > 0)
    assert "20 of 60 nodes" in found.summary()
    assert diagnose(Y, max_nodes=20) == found
    assert list(diagnose(Y, max_nodes=20, random_state=1).nodes_used) != list(found.nodes_used)
    for wide in (Graph(Y[:50], two_domain=True), Y[:50]):
        assert diagnose(wide, max_nodes=20).shape_used == (20, 20)
        assert diagnose(wide, max_nodes=55).shape_used == (50, 55)


def test_sparse_sample_does_not_mislead_the_loss():
    Y = random_labels(0, 200, hole=0.9)
    assert diagnose(Y).recommended_loss == "ranking"
    found = diagnose(Y, max_nodes=20)
    assert found.rows.edges_per_row < 4
    assert found.recommended_loss == "ranking"
    assert "a larger max_nodes says more" in found.reasons[-1]


def test_relation_graphs():
    X, Y = np.eye(30, 4), random_labels(0, 30, hole=0.4)
    assert diagnose(RelationGraph(X, Y)) == diagnose(Y)
    assert diagnose(RelationGraph(X, Y), max_nodes=9) == diagnose(Y, max_nodes=9)
    wide = RelationGraph(X[:20], Y[:20], objects=X)
    assert diagnose(wide) == diagnose(Y[:20])
    for max_nodes in (9, 25):
        assert diagnose(wide, max_nodes=max_nodes) == diagnose(Y[:20], max_nodes=max_nodes)

    kinds = np.arange(30) % 3
    found = diagnose(RelationGraph.from_classes(X, kinds), max_nodes=20)
    assert (found.recommended_relation, found.t_norms.minimum, found.n_edges) == ("symmetric", 0.0, 900)

    games = RelationGraph.from_edges(
        X, [0, 0, 1, 2, 1, 1, 2, 0], [1, 1, 2, 0, 0, 0, 1, 2], [1, 1, 1, 1, -1, -1, -1, -1]
    )
    found = diagnose(games)
    assert (found.n_edges, found.n_edges_used, found.n_duplicates) == (8, 6, 2)
    assert (found.recommended_relation, found.triads.n_cyclic, found.degrees.n_isolated) == (
        "reciprocal",
        1,
        27,
    )


def test_input_is_left_alone():
    Y = random_labels(0, 6, hole=0.2)
    before = Y.copy()
    diagnose(Y)
    t_transitivity(Y)
    hodge_split(skew_flow(Y))
    np.testing.assert_array_equal(Y, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": np.zeros(3)}, r"graph must be .* got shape \(3,\)"),
        ({"graph": np.zeros((0, 0))}, "got shape"),
        ({"graph": [[np.inf, 1], [1, 0]]}, "got 1 infinite"),
        ({"graph": np.eye(3), "max_nodes": 0}, "max_nodes must be a positive integer, got 0"),
        ({"graph": np.eye(3), "max_nodes": 2.5}, "max_nodes"),
    ],
)
def test_bad_input_of_diagnose(arguments, message):
    with pytest.raises(ValueError, match=message):
        diagnose(**arguments)


def test_sparse_matrix_is_refused_with_advice():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="RelationGraph"):
        diagnose(sparse.csr_array(np.eye(3)))
