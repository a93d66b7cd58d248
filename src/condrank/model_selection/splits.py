"""Splits of a graph for the paper's four settings, by what is new about a held-out edge:

1. only the edge: its conditioning node and its object were in training;
2. its conditioning node: the object was in training;
3. its object: the conditioning node was in training;
4. both nodes (cold start).

Training graphs contain nothing of a held-out node: no row, no column, no kernel value. All graphs of a splitter share
the node data of the graph that is split.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from math import prod
from numbers import Integral

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from condrank.base.checks import check_count, check_number
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import Fold, Splitter, listed

LEAVE_ONE_OUT = "leave-one-out"


@dataclass(frozen=True, eq=False)
class SettingSplit(Splitter):
    """Folds of cross-validation for one of the four settings.

    ``split(graph)`` gives training and test graphs. In a single domain, nodes are held out in folds. A training graph
    is the induced subgraph of the other nodes. A test graph has, in setting 2, the held-out nodes as conditioning nodes
    and the other nodes as objects; in setting 3 the reverse; in setting 4 the held-out nodes as both.

    In two domains, setting 2 holds out rows, setting 3 columns, and setting 4 both, in n_splits × n_splits folds: each
    fold of rows with each fold of columns. It trains on the other rows and columns, so the edges between held-out and
    other nodes are in neither graph.

    In setting 1 all nodes stay, and observed edges are held out. The training graph is then a list of edges, also if
    the relation was complete or factored (O(n²) memory).

    Parameters
    ----------
    setting : {1, 2, 3, 4}
        What is new in a test graph: 1 only the edge, 2 the conditioning node, 3 the object, 4 both.
    n_splits : int or "leave-one-out"
        Number of folds; or one fold for each node (each group; each pair in setting 1).
    n_repeats : int
        How often to split into folds, each time in another random order.
    groups : array-like with an entry for each node, or dict from id to group, optional
        Groups of nodes that are held out together (settings 2 to 4). An array may be for the nodes of the graph, or for
        the graph from which it was taken, so that a splitter can be used again on a training graph. It is refused for
        a whole graph in another order, where it could mean either. A dict is never ambiguous. With two domains, give
        the groups of the side that is held out; for setting 4 a pair, for ``graph.nodes`` and ``graph.objects``.
    stratify : array-like or dict, optional
        Classes of the nodes, given in the same way, to be spread evenly over the folds. If there are groups and each
        has one class, every fold gets equally many groups of a class, at random. If groups have several classes, they
        are distributed by their number of nodes.
    rank_by : {"outgoing", "incoming"}
        ``rank_by`` of the ranker. With "incoming" the conditioning nodes are the columns, so settings 2 and 3 are
        exchanged.
    both_directions : bool, optional
        Setting 1: hold out both directions of a pair together, because one reveals the other. By default if the graph
        is symmetric or reciprocal.
    random_state : int, RandomState instance or None
        Seed for the order of the nodes; an int gives the same folds again.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank import RelationGraph
    >>> from condrank.model_selection import SettingSplit
    >>> graph = RelationGraph(np.eye(6), np.arange(36.0).reshape(6, 6))
    >>> for train, test in SettingSplit(setting=2, n_splits=3, random_state=0).split(graph):
    ...     print(train.shape, test.shape)
    (4, 4) (2, 4)
    (4, 4) (2, 4)
    (4, 4) (2, 4)
    """

    _: KW_ONLY
    n_repeats: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_repeats", self.n_repeats)
        if self.n_splits == LEAVE_ONE_OUT:
            if self.n_repeats > 1:
                raise ValueError(
                    f"n_repeats must be 1 to leave one out: every repeat is the same, got {self.n_repeats}"
                )
            if self.stratify is not None:
                raise ValueError("stratify must be left out to leave one out: a fold of one cannot be balanced")
        elif isinstance(self.n_splits, str) or check_count("n_splits", self.n_splits) < 2:
            raise ValueError(
                f"n_splits must be a whole number of at least 2 or {LEAVE_ONE_OUT!r}, got {self.n_splits!r}"
            )

    def tests_single_objects(self, graph: RelationGraph) -> bool:
        """Whether one edge or one object is left out, so that no fold has anything to rank."""
        if self.n_splits != LEAVE_ONE_OUT or self.setting == 2:
            return False
        return self.setting == 1 or self._per_side("groups", graph)[self.rank_by == "outgoing"] is None

    def _count_folds(self, graph: RelationGraph | None) -> int:
        """Total number of folds; without a graph, that for a single domain."""
        if graph is None or self.setting == 1:
            if self.n_splits != LEAVE_ONE_OUT:
                return int(self.n_splits) * self.n_repeats
            if graph is None:
                raise ValueError("graph is needed to count the folds that leave one out")
            return self._pairs(graph, listed(graph))[1]
        groups = self._per_side("groups", graph)
        if not graph.is_two_domain:
            return self._n_folds(len(graph), groups[0]) * self.n_repeats
        held_out = zip(self._holds_out, graph.shape, groups, strict=True)
        return prod(self._n_folds(n, its_groups) for held, n, its_groups in held_out if held) * self.n_repeats

    def _n_folds(self, n: int, groups: np.ndarray | None) -> int:
        return n_units(n, groups) if self.n_splits == LEAVE_ONE_OUT else int(self.n_splits)

    @property
    def _n_rounds(self) -> int:
        return self.n_repeats

    def _folds(self, n: int, groups: np.ndarray | None, classes: np.ndarray | None, seed: int) -> Iterable[Fold]:
        available, n_folds = n_units(n, groups), self._n_folds(n, groups)
        if available < max(2, n_folds):
            what = "observed pairs" if self.setting == 1 else "nodes" if groups is None else "groups"
            raise ValueError(f"n_splits={self.n_splits!r} needs at least {max(2, n_folds)} {what}, got {available}")
        if self.n_splits == LEAVE_ONE_OUT:
            folds = LeaveOneOut() if groups is None else LeaveOneGroupOut()
        elif groups is not None and classes is not None and has_one_class(groups, classes):
            # StratifiedGroupKFold goes by the size of groups and makes the same folds for nearly every seed.
            return PredefinedSplit(dealt(groups, classes, n_folds, seed)).split()
        else:
            kinds = {(0, 0): KFold, (0, 1): StratifiedKFold, (1, 0): GroupKFold, (1, 1): StratifiedGroupKFold}
            kind = kinds[groups is not None, classes is not None]
            folds = kind(n_folds, shuffle=True, random_state=seed)
        return folds.split(np.empty(n), classes, groups)


@dataclass(frozen=True, eq=False)
class SettingShuffleSplit(Splitter):
    """Random holdouts for one of the four settings. Graphs and parameters are as for `SettingSplit`.

    Parameters
    ----------
    setting : {1, 2, 3, 4}
        What is new in a test graph.
    n_splits : int
        Number of independent holdouts.
    test_size : float or int
        Share or number of nodes to hold out; of groups, if there are any; of pairs in setting 1. With two domains,
        setting 4 holds out as much of both.
    groups, stratify, rank_by, both_directions, random_state
        As for `SettingSplit`, but only one of groups and stratify.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank import RelationGraph
    >>> from condrank.model_selection import SettingShuffleSplit
    >>> graph = RelationGraph(np.eye(6), np.arange(36.0).reshape(6, 6))
    >>> train, test = next(SettingShuffleSplit(groups=[0, 0, 0, 1, 1, 1], random_state=0).split(graph))
    >>> train.shape, test.shape
    ((3, 3), (3, 3))
    """

    n_splits: int = 1
    _: KW_ONLY
    test_size: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_splits", self.n_splits)
        if isinstance(self.test_size, Integral):
            check_count("test_size", self.test_size)
        elif check_number("test_size", self.test_size, above=0.0) >= 1:
            raise ValueError(f"test_size must be a share below 1, or a whole number, got {self.test_size!r}")
        if self.groups is not None and self.stratify is not None:
            raise ValueError("groups and stratify cannot be used together in a holdout; SettingSplit takes both")

    def _count_folds(self, graph: RelationGraph | None) -> int:
        return self.n_splits

    @property
    def _n_rounds(self) -> int:
        return self.n_splits

    def _folds(self, n: int, groups: np.ndarray | None, classes: np.ndarray | None, seed: int) -> Iterable[Fold]:
        kind = GroupShuffleSplit if groups is not None else ShuffleSplit if classes is None else StratifiedShuffleSplit
        holdouts = kind(1, test_size=self.test_size, random_state=seed)
        return ((np.sort(train), np.sort(test)) for train, test in holdouts.split(np.empty(n), classes, groups))


def n_units(n: int, groups: np.ndarray | None) -> int:
    """Number of nodes, pairs or groups that can be held out."""
    return n if groups is None else len(np.unique(groups))


def has_one_class(groups: np.ndarray, classes: np.ndarray) -> bool:
    """Whether every group has nodes of one class only."""
    _, group = np.unique(groups, return_inverse=True)
    _, cls = np.unique(classes, return_inverse=True)
    return len(np.unique(np.column_stack([group, cls]), axis=0)) == group.max() + 1


def dealt(groups: np.ndarray, classes: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """The fold of each node. The groups of each class are dealt to the folds like cards, in random order."""
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    _, cls = np.unique(classes, return_inverse=True)
    random = np.random.default_rng(seed)
    order = random.permutation(len(first))
    order = order[np.argsort(cls[first[order]], kind="stable")]
    # Each class continues at the fold where the last one ended, so that folds differ by one group at most.
    fold = np.empty(len(first), dtype=int)
    fold[order] = random.permutation(n_folds)[np.arange(len(first)) % n_folds]
    return fold[group]
