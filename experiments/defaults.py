"""What happens when nothing is chosen by hand: the search beside similarity, strengths, two-step ridge and trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from condrank import RelationGraph, datasets
from condrank.baselines import PopularityRanker, SimilarityRanker, StrengthRanker, TwoStepRidge
from condrank.model_selection import RankerSearch, SettingShuffleSplit

from . import trees
from .drugs import few
from .folds import TREE_COORDINATES, Folds, leading
from .results import Row, Run, experiment

SEARCH = "RankerSearch"
# Seconds of a search, and the repetitions of each data set.
LIMIT, QUICK_LIMIT, REPEATS = 60.0, 1.0, 5
# Share of the classes, or of the nodes, that are new; nodes of large data sets; rows of a leaderboard that are shown.
UNSEEN, NEW, MOST_NODES, SHOWN = 0.4, 0.25, 1500, 8
ALPHAS = tuple(10.0**power for power in range(-3, 4))
HOLDOUTS = 3


@dataclass(frozen=True)
class Data:
    """A data set: its graph, the same graph with coordinates for trees, and classes of which some are new.

    Attributes
    ----------
    graph, coordinates : RelationGraph
        With the same nodes in the same order.
    kernel : str
        Kernel of the baselines.
    classes : ndarray or None
        Classes of the nodes: new nodes are of new classes. None: new nodes are drawn at random.
    """

    graph: RelationGraph
    coordinates: RelationGraph
    kernel: str
    classes: np.ndarray | None = None

    @property
    def relation(self) -> str:
        """The relation that trees are told."""
        if self.graph.is_two_domain:
            return "ordinary"
        return "symmetric" if self.graph.is_symmetric else "reciprocal"

    def split(self, seed: int, quick: bool) -> tuple[Any, Any]:
        """Training and test graphs of the data and of the coordinates; no test node is a training node."""
        rng = np.random.default_rng(seed)
        if self.classes is None:
            holdout = SettingShuffleSplit(4, test_size=NEW, random_state=seed)
            return next(holdout.split(self.graph)), next(holdout.split(self.coordinates))
        names = rng.permutation(np.unique(self.classes))
        new = np.isin(self.classes, names[: max(2, round(UNSEEN * len(names)))])
        order = rng.permutation(len(new))[: 150 if quick else MOST_NODES]
        parts = [np.sort(order[new[order] == held_out]) for held_out in (False, True)]
        return tuple(self.graph[part] for part in parts), tuple(self.coordinates[part] for part in parts)


def of_classes(load: Callable[..., Any], run: Run) -> Data:
    """Digits or spectra with classes."""
    bunch = load(data_home=run.data)
    return Data(bunch.graph, bunch.graph, "cosine", np.asarray(bunch.labels))


def of_newsgroups(run: Run) -> Data:
    """Texts of all newsgroups as tf-idf; trees get the leading singular vectors."""
    from sklearn.decomposition import TruncatedSVD

    bunch = datasets.load_newsgroups("all", data_home=run.data)
    chosen = np.sort(np.random.default_rng(run.seed).permutation(bunch.X.shape[0])[:4000])
    X: Any = TfidfTransformer(sublinear_tf=True).fit_transform(bunch.X[chosen])
    n = min(TREE_COORDINATES, X.shape[1] - 1)
    short = TruncatedSVD(n, random_state=0).fit_transform(X)
    levels = bunch.levels[chosen]
    graphs = [RelationGraph.from_classes(features, levels) for features in (X, short)]
    return Data(graphs[0], graphs[1], "cosine", bunch.labels[chosen])


def of_enzymes(run: Run) -> Data:
    """Enzymes by alignment, with new EC numbers."""
    bunch = datasets.load_enzymes(data_home=run.data)
    coordinates = RelationGraph.from_classes(leading(np.asarray(bunch.graph.nodes.base)), bunch.labels)
    numbers = np.unique(bunch.labels, axis=0, return_inverse=True)[1].ravel()
    return Data(bunch.graph, coordinates, "precomputed", numbers)


def of_pokemon(run: Run) -> Data:
    """Battles, between Pokémon of which both are new."""
    battles = datasets.load_pokemon(data_home=run.data)
    fought = np.unique(np.concatenate([battles.first, battles.second]))
    graph = battles.graph[fought[:60] if run.quick else fought]
    return Data(graph, graph, "rbf")


def of_drugs(load: Callable[..., Any], run: Run) -> Data:
    """Affinities of drugs to targets, by similarities of both without negative parts, which two-step ridge refuses."""
    bunch = load(data_home=run.data)
    bunch = few(bunch) if run.quick else bunch
    for side in ("K_drug", "K_target"):
        Z = leading(bunch[side], len(bunch[side]))
        bunch[side] = Z @ Z.T
    graphs = [
        RelationGraph(rows, bunch.Y, objects=cols)
        for rows, cols in ((bunch.K_drug, bunch.K_target), (leading(bunch.K_drug), leading(bunch.K_target)))
    ]
    return Data(graphs[0], graphs[1], "precomputed")


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
        f"A search has {LIMIT:g} s. Two-step ridge (complete graphs only) chooses λ on {HOLDOUTS} holdouts of training "
        "nodes. Similarity and strengths have nothing to choose. Strengths and popularity are constant for new nodes, "
        "so they have a rank loss of one half.",
        f"LightGBM, where it is installed, gets the {TREE_COORDINATES} leading coordinates of kernels and texts "
        "(computed without labels, but for all nodes), chooses among twelve candidates on one holdout, and is judged "
        "on the first split only.",
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
            (train, test), (near, far) = data.split(seed, run.quick)
            fit_search = partial(searched, run, seed, boards)
            folds.judge(SEARCH, fit_search, train, test)
            for method, fit in baselines(data, seed).items():
                folds.judge(method, fit, train, test)
            if split == 0 and trees.is_installed("LightGBM"):
                held_out = list(SettingShuffleSplit(4, test_size=1 / 3, random_state=seed).split(near))
                grid = trees.QUICK if run.quick else None
                tune = partial(trees.tune, folds=held_out, relation=data.relation, seed=seed, grid=grid)
                folds.judge("LightGBM on pairs", lambda graph, tune=tune: tune("LightGBM", graph), near, far)
        yield from folds.rows()
        yield from leaderboard(name, boards[0], run)


def searched(run: Run, seed: int, kept: list[RankerSearch], train: RelationGraph) -> RankerSearch:
    """The search with nothing given but a time limit; it is also kept for its leaderboard."""
    limit = QUICK_LIMIT if run.quick else LIMIT
    search = RankerSearch(time_limit=limit, random_state=seed, callback=lambda row: run.step(str(row))).fit(train)
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
        found["two-step ridge"] = lambda train: two_step(kernel, train, seed)
    return found


def two_step(kernel: str, train: RelationGraph, seed: int) -> TwoStepRidge:
    """Two-step ridge with λ = μ chosen on holdouts."""
    splits = list(SettingShuffleSplit(4, HOLDOUTS, test_size=1 / 3, random_state=seed).split(train))
    ranker, losses = TwoStepRidge(kernel=kernel, fit_intercept=True), np.zeros(len(ALPHAS))
    for part, rest in splits:
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
            f"three holdouts of {search.held_out_by_} inside the training nodes",
            "; ".join([*marks, search.summary_] if row.chosen else marks),
        )
