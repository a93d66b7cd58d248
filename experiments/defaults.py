"""What happens when nothing is chosen by hand: the search beside similarity, strengths, two-step ridge and trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from condrank import RelationGraph, datasets
from condrank.baselines import PopularityRanker, SimilarityRanker, StrengthRanker, TwoStepRidge
from condrank.model_selection import RankerSearch, SettingShuffleSplit
from condrank.nodes import Nodes

from . import trees
from .drugs import few
from .folds import TREE_COORDINATES, Folds, leading
from .results import Row, Run, experiment

SEARCH = "RankerSearch"
# Seconds of a search and of tuning trees, and the repetitions of each data set.
LIMIT, QUICK_LIMIT, REPEATS = 60.0, 1.0, 5
# Share of the classes, or of the nodes, that are new; nodes of large data sets; rows of a leaderboard that are shown.
UNSEEN, NEW, MOST_NODES, SHOWN = 0.4, 0.25, 1500, 8
ALPHAS = tuple(10.0**power for power in range(-3, 4))
# Holdouts of two-step ridge and of trees, and the share of the nodes or classes that each holds out.
HOLDOUTS, HELD_OUT = 3, 1 / 3
# Trees take more features than this as leading coordinates.
MOST_FEATURES = 50


@dataclass(frozen=True)
class Data:
    """A data set: its graph, the kernel of the baselines, and classes of which some are new.

    Attributes
    ----------
    graph : RelationGraph
        The whole graph.
    kernel : str
        Kernel of the baselines.
    classes : ndarray or None
        Classes of the nodes: new nodes are of new classes. None: new nodes are drawn at random.
    """

    graph: RelationGraph
    kernel: str
    classes: np.ndarray | None = None

    @property
    def relation(self) -> str:
        """The relation that trees are told."""
        if self.graph.is_two_domain:
            return "ordinary"
        return "symmetric" if self.graph.is_symmetric else "reciprocal"

    def split(self, seed: int, quick: bool) -> tuple[RelationGraph, RelationGraph]:
        """A training and a test graph; no test node is a training node."""
        if self.classes is None:
            return next(SettingShuffleSplit(4, test_size=NEW, random_state=seed).split(self.graph))
        rng = np.random.default_rng(seed)
        names = rng.permutation(np.unique(self.classes))
        new = np.isin(self.classes, names[: max(2, round(UNSEEN * len(names)))])
        order = rng.permutation(len(new))[: 150 if quick else MOST_NODES]
        train, test = (self.graph[np.sort(order[new[order] == held_out])] for held_out in (False, True))
        return train, test

    def holdouts(
        self, train: RelationGraph, like: RelationGraph, seed: int
    ) -> list[tuple[RelationGraph, RelationGraph]]:
        """Holdouts of the same kind as the test graph, of a graph with the nodes of ``train`` in the same order."""
        if self.classes is None:
            return list(SettingShuffleSplit(4, HOLDOUTS, test_size=HELD_OUT, random_state=seed).split(like))
        groups = self.classes[train.nodes.positions]
        number = max(2, round(HELD_OUT * len(np.unique(groups))))
        return list(SettingShuffleSplit(4, HOLDOUTS, test_size=number, groups=groups, random_state=seed).split(like))

    def coordinates(self, train: RelationGraph, test: RelationGraph) -> tuple[RelationGraph, RelationGraph]:
        """The two graphs with few features for trees, computed from the training nodes and from no label."""
        sides = [(train.nodes, test.nodes), (train.objects, test.objects)][: 1 + train.is_two_domain]
        short = [few_features(near, far, self.kernel == "precomputed") for near, far in sides]
        graphs = []
        for place, graph in enumerate((train, test)):
            nodes = [Nodes(side[place], None, None) for side in short]
            graphs.append(graph.part(nodes[0], nodes[-1], graph.relation))
        return graphs[0], graphs[1]


def few_features(near: Nodes, far: Nodes, is_kernel: bool) -> tuple[np.ndarray, np.ndarray]:
    """Leading coordinates of training nodes, and others placed among them; a few given features stay as they are."""
    if is_kernel:
        K, K_far = near.kernel_with(near), far.kernel_with(near)
        sigma, Q = np.linalg.eigh(K)
        leading = np.argsort(sigma)[::-1][:TREE_COORDINATES]
        leading = leading[sigma[leading] > 1e-9 * sigma.max()]
        return Q[:, leading] * np.sqrt(sigma[leading]), K_far @ (Q[:, leading] / np.sqrt(sigma[leading]))
    X, X_far = near.rows, far.rows
    if X.shape[1] <= MOST_FEATURES:
        return trees.dense(X), trees.dense(X_far)
    short = TruncatedSVD(min(TREE_COORDINATES, X.shape[1] - 1), random_state=0)
    return np.asarray(short.fit_transform(X)), np.asarray(short.transform(X_far))


def of_classes(load: Callable[..., Any], run: Run) -> Data:
    """Digits or spectra with classes."""
    bunch = load(data_home=run.data)
    return Data(bunch.graph, "cosine", np.asarray(bunch.labels))


def of_newsgroups(run: Run) -> Data:
    """Texts of all newsgroups as tf-idf."""
    bunch = datasets.load_newsgroups("all", data_home=run.data)
    chosen = np.sort(np.random.default_rng(run.seed).permutation(bunch.X.shape[0])[:4000])
    X: Any = TfidfTransformer(sublinear_tf=True).fit_transform(bunch.X[chosen])
    return Data(RelationGraph.from_classes(X, bunch.levels[chosen]), "cosine", bunch.labels[chosen])


def of_enzymes(run: Run) -> Data:
    """Enzymes by alignment, with new EC numbers."""
    bunch = datasets.load_enzymes(data_home=run.data)
    numbers = np.unique(bunch.labels, axis=0, return_inverse=True)[1].ravel()
    return Data(bunch.graph, "precomputed", numbers)


def of_pokemon(run: Run) -> Data:
    """Battles, between Pokémon of which both are new."""
    battles = datasets.load_pokemon(data_home=run.data)
    fought = np.unique(np.concatenate([battles.first, battles.second]))
    graph = battles.graph[fought[:60] if run.quick else fought]
    return Data(graph, "rbf")


def of_drugs(load: Callable[..., Any], run: Run) -> Data:
    """Affinities of drugs to targets, by similarities of both without negative parts, which two-step ridge refuses."""
    bunch = load(data_home=run.data)
    bunch = few(bunch) if run.quick else bunch
    for side in ("K_drug", "K_target"):
        Z = leading(bunch[side], len(bunch[side]))
        bunch[side] = Z @ Z.T
    return Data(RelationGraph(bunch.K_drug, bunch.Y, objects=bunch.K_target), "precomputed")


DATA: dict[str, Callable[[Run], Data]] = {
    "newsgroups, new groups": of_newsgroups,
    "USPS, new digits": partial(of_classes, datasets.load_usps),
    "bacteria, new species": partial(of_classes, datasets.load_bacteria),
    "enzymes, new EC numbers": of_enzymes,
    "Davis, new drugs and targets": partial(of_drugs, datasets.load_davis),
    "Metz, new drugs and targets": partial(of_drugs, datasets.load_metz),
    "KIBA, new drugs and targets": partial(of_drugs, datasets.load_kiba),
    "Yamanishi GPCR, new drugs and targets": partial(of_drugs, partial(datasets.load_yamanishi, "gpcr")),
    "Pokémon, new ones": of_pokemon,
}


@experiment(
    "What happens when I do nothing",
    differences=(
        "Not in the paper. Every search sees only a training graph, chooses everything inside it, and is judged on "
        "nodes that are new on both sides (setting 4): whole classes for newsgroups, digits, species and EC numbers, "
        "nodes drawn at random for the others. ± s.e. is over these splits, which overlap.",
        f"A search has {LIMIT:g} s, as in `condrank fit`. Two-step ridge (complete graphs only) chooses λ on "
        f"{HOLDOUTS} holdouts of training nodes, of the same kind as the test. Similarity and strengths have nothing "
        "to choose. Strengths and popularity are constant for new nodes, so they have a rank loss of one half.",
        f"LightGBM, where it is installed, has the same {LIMIT:g} s on every split: objective, sizes and numbers of "
        f"trees, learning rate and smallest leaves are drawn at random and judged on {HOLDOUTS} holdouts of training "
        f"nodes, of the same kind as the test. Kernels, texts and more than {MOST_FEATURES} features become "
        f"{TREE_COORDINATES} leading coordinates, computed from the training nodes; test nodes are placed among them.",
        "Similarities of drugs and targets are made positive semi-definite beforehand, for all methods.",
        f"Newsgroups: 4,000 documents drawn once; of each data set with classes at most {MOST_NODES} nodes a split.",
        "The leaderboards are those of the first split: losses on holdouts inside the training nodes.",
    ),
    files=(
        "20newsgroups/counts_csr.npz",
        "usps/usps.npz",
        "micromass/micromass.npz",
        "enzymes_pdb_ec/subset_ge5.npz",
        "davis/davis.npz",
        "metz/metz.npz",
        "kiba/kiba.npz",
        "yamanishi/gpcr.npz",
        "pokemon/pokemon.npz",
    ),
)
def defaults(run: Run) -> Iterator[Row]:
    """What the search chooses without being told anything, and what it is worth beside methods that choose little."""
    n_splits = run.repeat(paper=REPEATS, quick=1)
    for name, load in DATA.items():
        data = load(run)
        protocol = f"{n_splits} splits; setting 4; everything chosen inside training nodes"
        folds, boards = Folds(run, "Rank loss on new nodes", name, protocol, SEARCH), []
        for split in range(n_splits):
            seed = run.seed + split
            train, test = data.split(seed, run.quick)
            fit_search = partial(searched, run, seed, boards)
            folds.judge(SEARCH, fit_search, train, test)
            for method, fit in baselines(data, seed).items():
                folds.judge(method, fit, train, test)
            if trees.is_installed("LightGBM"):
                near, far = data.coordinates(train, test)
                held_out = data.holdouts(train, near, seed)
                tune = partial(
                    trees.tune_for, limit_of(run), "LightGBM", folds=held_out, relation=data.relation, seed=seed
                )
                folds.judge("LightGBM on pairs", lambda graph, tune=tune: tune(graph), near, far)
        yield from folds.rows()
        yield from leaderboard(name, boards[0], run)


def limit_of(run: Run) -> float:
    """Seconds of a search, and of the tuning of trees."""
    return QUICK_LIMIT if run.quick else LIMIT


def searched(run: Run, seed: int, kept: list[RankerSearch], train: RelationGraph) -> RankerSearch:
    """The search with nothing given but a time limit; it is also kept for its leaderboard."""
    search = RankerSearch(time_limit=limit_of(run), random_state=seed, callback=lambda row: run.step(str(row))).fit(
        train
    )
    kept.append(search)
    return search


def baselines(data: Data, seed: int) -> dict[str, Callable[[RelationGraph], Any]]:
    """What is judged beside the search, as far as it suits the data."""
    graph, kernel = data.graph, data.kernel
    found: dict[str, Callable[[RelationGraph], Any]] = {}
    if data.relation == "reciprocal":
        found["strengths"] = StrengthRanker().fit
    else:
        found["popularity"] = PopularityRanker(kernel=kernel).fit
    if data.relation == "symmetric":
        found["similarity"] = SimilarityRanker(kernel).fit
    if graph.is_complete:
        found["two-step ridge"] = lambda train: two_step(kernel, train, data.holdouts(train, train, seed))
    return found


def two_step(kernel: str, train: RelationGraph, holdouts: list[tuple[RelationGraph, RelationGraph]]) -> TwoStepRidge:
    """Two-step ridge with λ = μ chosen on holdouts."""
    ranker, losses = TwoStepRidge(kernel=kernel, fit_intercept=True), np.zeros(len(ALPHAS))
    for part, rest in holdouts:
        losses += [1 - one.score(rest) for one in ranker.fit(part).path(ALPHAS)]
    return ranker.set_params(alpha=ALPHAS[int(np.argmin(losses))]).fit(train)


def leaderboard(name: str, search: RankerSearch, run: Run) -> Iterator[Row]:
    """The first rows of a leaderboard, and the baselines of it."""
    board = search.leaderboard_
    shown = {row.name: row for row in [*board[:SHOWN], *(row for row in board if row.is_baseline or row.chosen)]}
    for row in sorted(shown.values(), key=lambda one: one.loss):
        marks = ["chosen"] * row.chosen + ["baseline"] * row.is_baseline
        yield Row(
            f"Leaderboard: {name}",
            name,
            row.name,
            row.loss,
            row.standard_error,
            None,
            max(row.seconds, 1e-6),
            run.seed,
            f"{search.n_holdouts_} holdouts of {search.held_out_by_} inside the training nodes",
            "; ".join([*marks, search.summary_] if row.chosen else marks),
        )
