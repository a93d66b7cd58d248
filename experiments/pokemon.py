"""Pokémon battles, between Pokémon that were in no training battle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, datasets
from condrank.model_selection import PreparedRanker, RankerSearch, SettingShuffleSplit, SettingSplit

from . import trees
from .folds import Folds
from .results import Row, Run, experiment

SEARCH = "search"
KERNELS = {"RBF": ("rbf", "raw"), "Laplacian on quantiles": ("laplacian", "quantile")}
ALPHAS = tuple(10.0**power for power in range(-2, 4))
N_FOLDS, N_HOLDOUTS, N_TREE_HOLDOUTS, HELD_OUT = 5, 3, 2, 0.25
# Seconds of the search, and of the tuning of trees, on each fold.
LIMIT, QUICK_LIMIT = 45.0, 2.0


@experiment(
    "Pokémon battles",
    differences=(
        "Not in the paper. Outcomes were simulated by the makers of the data set.",
        "Every method sees only the training graph of a fold and chooses its parameters on held-out nodes of that "
        "graph, each method in its own way.",
        f"`RankerSearch` has {LIMIT:g} s a fold. It reserves a fifth of the training nodes for its loss, judges on "
        "holdouts of the rest, and is fitted to all training nodes at the end. It finds preparation of the features, "
        "kernel, loss, constant, compared features and feature weights by itself. The plain kernels choose only λ.",
        f"Plain kernels and logistic: λ, on {N_HOLDOUTS} holdouts of a quarter.",
        "Trees: both nodes' features, products, absolute and signed differences; half the difference of a pair's "
        f"scores in both directions; {LIMIT:g} s of a random search over objective (lambdarank and regression), size, "
        f"number and learning rate of trees, on {N_TREE_HOLDOUTS} holdouts of a quarter. XGBoost: the first "
        "fold only. LightGBM with a grid of sixteen candidates and 250 s a fold had .0238 in an earlier run.",
    ),
    files=("pokemon/pokemon.npz",),
)
def pokemon(run: Run) -> Iterator[Row]:
    """Rank Pokémon by their chance against a given one. Neither of the two was in a training battle (setting 4). Mostly
    the faster one wins, so the chance jumps where both are equally fast. A continuous kernel has no such jump; trees
    and compared features have it.
    """
    battles = datasets.load_pokemon(data_home=run.data)
    fought = np.unique(np.concatenate([battles.first, battles.second]))
    graph = battles.graph[fought[:80] if run.quick else fought]
    n_folds = min(run.repeat(paper=N_FOLDS, quick=1), N_FOLDS)
    protocol = f"rank loss on the battles among the fifth of the Pokémon held out, mean over {n_folds} folds; setting 4"
    limit = QUICK_LIMIT if run.quick else LIMIT
    folds = Folds(run, "Pokémon", "battles", protocol, SEARCH)
    for fold, (train, test) in enumerate(SettingSplit(4, N_FOLDS, random_state=run.seed).split(graph)):
        if fold == n_folds:
            break
        folds.judge(SEARCH, lambda graph: search(run, limit, graph), train, test)
        for name, (kernel, preparation) in KERNELS.items():
            folds.judge(name, lambda graph, k=kernel, p=preparation: plain(run, k, p, graph), train, test)
        folds.judge("logistic, linear with constant", lambda graph: logistic(run, graph), train, test)
        held_out = list(SettingShuffleSplit(4, N_TREE_HOLDOUTS, test_size=HELD_OUT, random_state=run.seed).split(train))
        for library in filter(trees.is_installed, trees.LIBRARIES if fold == 0 else ("LightGBM",)):
            folds.judge(
                f"{library} on pairs",
                lambda graph, library=library, held_out=held_out: trees.tune_for(
                    limit, library, graph, held_out, "reciprocal", run.seed
                ),
                train,
                test,
            )
    yield from folds.rows()
    for library in trees.LIBRARIES:
        if not trees.is_installed(library):
            yield Row(
                "Pokémon", "battles", f"{library} on pairs", None, seed=run.seed, note=f"{library} is not installed"
            )


def search(run: Run, limit: float, train: RelationGraph) -> RankerSearch:
    """The search on a training graph, as it is by default; each candidate is reported while it runs."""
    return RankerSearch(time_limit=limit, random_state=run.seed, callback=lambda row: run.step(str(row))).fit(train)


def plain(run: Run, kernel: str, preparation: str, train: RelationGraph) -> PreparedRanker:
    """One kernel of the median width with a constant, and λ on holdouts."""
    cv = SettingShuffleSplit(4, N_HOLDOUTS, test_size=HELD_OUT, random_state=run.seed)
    ranker = ConditionalRanker("reciprocal", "regression", kernel=kernel, gamma="median", constant=True)
    prepared = PreparedRanker(ranker, preparation)
    losses = {}
    for alpha in ALPHAS[::3] if run.quick else ALPHAS:
        prepared.ranker.alpha = alpha
        losses[alpha] = sum(1 - prepared.fit(part).score(rest) for part, rest in cv.split(train))
    prepared.ranker.alpha = min(losses, key=lambda one: losses[one])
    return prepared.fit(train)


def logistic(run: Run, train: RelationGraph) -> ConditionalRankerCV:
    """The Bradley–Terry model with features: strengths and a cyclic part."""
    cv = SettingShuffleSplit(4, N_HOLDOUTS, test_size=HELD_OUT, random_state=run.seed)
    ranker = ConditionalRankerCV(
        ALPHAS[::3] if run.quick else ALPHAS, cv, relation="reciprocal", loss="logistic", constant=True
    )
    return ranker.fit(train)
