"""Relations made from a seed: rock-paper-scissors, Gaussian classes, and the digits of scikit-learn."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import softmax
from sklearn.datasets import load_digits

from condrank.graph import RelationGraph

RandomSeed = int | np.random.Generator | np.random.RandomState | None

# Rows and columns are rock, paper, scissors: 1 where the row's move beats the column's, ½ where they tie.
_BEATS = np.array([[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]])

_ENCLOSES_AN_AREA = np.isin(np.arange(10), [0, 4, 6, 8, 9])
_UNSEEN_DIGITS = (0, 2, 4, 7)


def make_rock_paper_scissors(
    w: float, n_players: int = 100, n_games: int = 1000, random_state: RandomSeed = None
) -> tuple[RelationGraph, RelationGraph]:
    """Games of rock-paper-scissors for training, winning probabilities of other players for testing.

    A player has u ~ U(0, 1)³ and plays rock, paper, scissors with probabilities softmax(w·u/3), which are
    also its three features. A game is between two distinct players drawn uniformly, and gives both directed
    edges: +1 from the winner, -1 from the loser, 0 and 0 for a tie. The test relation is P(win) + ½P(tie),
    on the scale 0..1, for all pairs of other players, including loops (½).
    Cost: O(n_games + n_players²).

    Parameters
    ----------
    w : float
        How much players prefer one move: at 1 all are nearly balanced, at 100 nearly all play one move only.
    n_players : int, default=100
        Number of players in the training graph, and of other players in the test graph.
    n_games : int, default=1000
        Training games; the training graph has ``2 * n_games`` edges, and two players may meet several times.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same integer gives the same two graphs.

    Returns
    -------
    train, test : RelationGraph
        An edge list over ``n_players`` nodes, and a complete graph over ``n_players`` other nodes.

    Notes
    -----
    The paper's formula is not public. The factor ⅓ is calibrated on the paper's table: conditional regression
    with λ = 2⁻³⁰ has mean rank loss .481 ± .007, .0407 ± .0008, .00127 ± .00004 at w = 1, 10, 100 over 1,000
    seeds (paper .4875, .0417, .00138 over 100).
    """
    if not isinstance(w, Real) or not np.isfinite(w) or w < 0:
        raise ValueError(f"w must be a finite number >= 0, got {w!r}")
    _check_count("n_players", n_players, 2)
    _check_count("n_games", n_games, 1)
    rng = _generator(random_state)
    strategies = softmax(w * rng.random((n_players, 3)) / 3, axis=1)
    first, second, outcome = play(strategies, n_games, rng)
    train = RelationGraph.from_edges(
        strategies,
        np.concatenate([first, second]),
        np.concatenate([second, first]),
        np.concatenate([outcome, -outcome]).astype(np.float64),
    )
    strategies = softmax(w * rng.random((n_players, 3)) / 3, axis=1)
    return train, RelationGraph(strategies, winning_probability(strategies))


def make_classes(
    n_nodes: int,
    n_features: int,
    n_classes: int,
    *,
    n_groups: int | None = None,
    class_sep: float = 1.0,
    dtype: DTypeLike = np.float64,
    random_state: RandomSeed = None,
) -> RelationGraph:
    """Gaussian classes with the relation "of the same class", stored as factors, for benchmarks of any size.

    A node is its class centre plus standard normal noise; centres are normal with standard deviation
    ``class_sep``. With ``n_groups`` the classes form groups, centres lie around group centres of the
    same spread, and the relation is 2 within a class, 1 within a group, 0 otherwise. The sizes of classes differ
    by at most one. Nodes are in random order, so that ``graph[:k]`` and ``graph[k:]`` are a training and a
    test graph of the same classes. Cost: O(n_nodes · n_features) time and memory; no n×n matrix is built.

    Parameters
    ----------
    n_nodes, n_features : int
        Shape of the features.
    n_classes : int
        Number of classes, at most ``n_nodes``.
    n_groups : int or None, default=None
        Number of groups of classes, at most ``n_classes``; None: a relation of two levels.
    class_sep : float, default=1.0
        Standard deviation of the centres in each feature, in units of the noise.
    dtype : dtype, default=float64
        Type of the features, float32 or float64; float32 needs half the memory while drawing too.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    graph : RelationGraph
        Complete and symmetric.
    """
    _check_count("n_features", n_features, 1)
    _check_count("n_classes", n_classes, 1)
    _check_count("n_nodes", n_nodes, n_classes, "n_classes")
    if n_groups is not None:
        _check_count("n_groups", n_groups, 1)
        _check_count("n_classes", n_classes, n_groups, "n_groups")
    if not isinstance(class_sep, Real) or not np.isfinite(class_sep) or class_sep < 0:
        raise ValueError(f"class_sep must be a finite number >= 0, got {class_sep!r}")
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {kind}")
    rng = _generator(random_state)
    labels = rng.permutation(np.arange(n_nodes) % n_classes)
    centres = class_sep * rng.standard_normal((n_classes, n_features))
    if n_groups is not None:
        group_of_class = np.arange(n_classes) % n_groups
        centres += class_sep * rng.standard_normal((n_groups, n_features))[group_of_class]
    X = _around(centres.astype(kind), labels, rng)
    if n_groups is None:
        return RelationGraph.from_classes(X, labels)
    return RelationGraph.from_classes(X, np.column_stack([labels % n_groups, labels]))


def make_digits_task(
    n_train: int = 600, n_test: int = 600, *, unseen_classes: bool = False, random_state: RandomSeed = None
) -> tuple[RelationGraph, RelationGraph]:
    """A symmetric three-level task from scikit-learn's digits: 2 same digit, 1 same shape, 0 otherwise.

    The two shapes are the digits that enclose an area, 0 4 6 8 9 (a 4 as it is printed), and those that do
    not, 1 2 3 5 7. Features are the 8×8 pixels, scaled to 0..1. Nodes are drawn uniformly without
    replacement; no node is in both graphs.

    Parameters
    ----------
    n_train, n_test : int, default=600
        Number of nodes; together at most 1797.
    unseen_classes : bool, default=False
        True: the test digits are 0 2 4 7, the training digits the other six, three of each shape. Then only the
        shape can be learned for new digits, and six classes say little about it. There are 100 ways to hold out
        two digits of each shape; this is the one where learning helps most. With an RBF kernel (γ = .05) the rank
        loss falls from about .19, ranking by the kernel itself, to about .13 with the best λ, which is large. For
        most other ways the kernel itself ranks better.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    train, test : RelationGraph
        Complete, symmetric, factored. Ids are such as ``"digit3-0012"``: the digit and its row in
        ``load_digits``.
    """
    _check_count("n_train", n_train, 1)
    _check_count("n_test", n_test, 1)
    bunch: Any = load_digits()
    X, digit = bunch.data / 16, bunch.target
    order = _generator(random_state).permutation(len(digit))
    if unseen_classes:
        held_out = np.isin(digit[order], _UNSEEN_DIGITS)
        candidates, others = order[~held_out], order[held_out]
        for name, value, most in (("n_train", n_train, len(candidates)), ("n_test", n_test, len(others))):
            if value > most:
                raise ValueError(f"{name} must be at most {most} with unseen_classes=True, got {value}")
    else:
        if n_train + n_test > len(digit):
            raise ValueError(f"n_train + n_test must be at most {len(digit)}, got {n_train} + {n_test}")
        candidates, others = order[:n_train], order[n_train:]
    return _digits_graph(X, digit, candidates[:n_train]), _digits_graph(X, digit, others[:n_test])


def play(
    strategies: NDArray[np.float64], n_games: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the players of each game, distinct, and its outcome for the first: 1, 0 or -1."""
    n_players = len(strategies)
    first = rng.integers(n_players, size=n_games)
    second = (first + rng.integers(1, n_players, size=n_games)) % n_players
    # Each move is beaten by the next in the circle rock, paper, scissors: a lead of 1 wins, of 2 loses.
    lead = (_moves(strategies[first], rng) - _moves(strategies[second], rng)) % 3
    return first, second, np.array([0, 1, -1])[lead]


def _moves(probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one move, 0, 1 or 2, for each row of probabilities."""
    thresholds = probabilities[:, :2].cumsum(axis=1)
    return (rng.random((len(probabilities), 1)) >= thresholds).sum(axis=1)


def winning_probability(strategies: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(win) + ½P(tie) of the player of each row against the player of each column."""
    return strategies @ _BEATS @ strategies.T


def _around(centres: NDArray[Any], labels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
    """Each node's centre plus standard normal noise."""
    # Block by block: a second (n, d) array would double the memory.
    X = rng.standard_normal((len(labels), centres.shape[1]), dtype=centres.dtype.type)
    for start in range(0, len(labels), 65536):
        block = slice(start, start + 65536)
        X[block] += centres[labels[block]]
    return X


def _digits_graph(X: NDArray[np.float64], digit: NDArray[np.int64], rows: NDArray[np.int64]) -> RelationGraph:
    shape_and_digit = np.column_stack([_ENCLOSES_AN_AREA[digit[rows]], digit[rows]])
    ids = [f"digit{digit[row]}-{row:04d}" for row in rows]
    return RelationGraph.from_classes(X[rows], shape_and_digit, ids=ids)


def _generator(random_state: RandomSeed) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        # Not np.random.default_rng(random_state): NumPy takes a RandomState only since 2.2.
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def _check_count(name: str, value: int, least: int, meaning: str = "") -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        bound = f"{meaning} = {least}" if meaning else str(least)
        raise ValueError(f"{name} must be an integer >= {bound}, got {value!r}")
