"""What the parts of a kernel are worth: intercept, powers, constant and identity, added one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from condrank import ConditionalRankerCV, RelationGraph, datasets
from condrank.kernels import Constant, Identity, Kernel, Precomputed

from .drugs import SETTINGS, TOLERANCE, Data, few, holdouts, outer_folds
from .folds import Folds
from .results import Row, Run, experiment

# Small λ beside large constants take many iterations: at a residual of 1e-3 such fits to Metz were far from their
# solution (rank loss .259 instead of .195). Searches start each λ from the solutions of others and need less.
PRECISION: dict[str, Any] = {"tol": 1e-5, "search_tol": TOLERANCE, "max_iter": 3000}
POWERS = (1, 2, 4, 8, 16)
CONSTANTS = (0.0, 0.01, 0.1, 1.0, 10.0)
IDENTITIES = (0.0, 0.01, 0.1, 1.0)
PLAIN = "c.reg, intercept"

DATA = {
    "Davis": Data(datasets.load_davis, 5, 3, 2.0 ** np.arange(-12, 11, 2)),
    "Metz": Data(datasets.load_metz, 3, 1, 2.0 ** np.arange(-6, 13, 3)),
    "Yamanishi, G protein-coupled receptors": Data(
        partial(datasets.load_yamanishi, "gpcr"), 5, 3, 2.0 ** np.arange(-8, 13, 2)
    ),
}
#: Sides with nodes that are known in a test graph, where an identity can help.
KNOWN = {1: (True, True), 2: (False, True), 3: (True, False), 4: (False, False)}


@dataclass(frozen=True)
class Parts:
    """The parts of a kernel of one side: the given similarity to a power, a constant and an identity with weights."""

    power: int = 1
    constant: float = 0.0
    identity: float = 0.0

    @property
    def kernel(self) -> Kernel:
        """The expression."""
        kernel: Kernel = Precomputed() ** self.power if self.power > 1 else Precomputed()
        kernel = kernel + self.constant * Constant() if self.constant else kernel
        return kernel + self.identity * Identity() if self.identity else kernel


class Stepwise:
    """A ranker whose kernels are chosen part by part, each by the loss on the same holdouts of the training graph.

    Parameters
    ----------
    steps : sequence of (side, name of the part, values)
        What is tried, in this order. λ is chosen anew for everything that is tried.
    inner : splitter
        The holdouts.
    alphas : ndarray
        The λ to try.
    loss : {"regression", "ranking"}
        Loss of the ranker.
    """

    def __init__(self, steps: Sequence[tuple[int, str, Sequence[Any]]], inner: Any, alphas: np.ndarray, loss: str):
        self.steps, self.inner, self.alphas, self.loss = steps, inner, alphas, loss

    def fit(self, graph: RelationGraph) -> Stepwise:
        """Choose the parts on a graph, then λ and the weights on the whole of it."""
        self.n_tried = 0
        sides: tuple[Parts, Parts] = (Parts(), Parts())
        self.best = self._fitted(sides, graph)
        for side, name, values in self.steps:
            start = sides
            for value in values:
                if value == getattr(start[side], name):
                    continue
                part: Any = replace(start[side], **{name: value})
                changed = (part, start[1]) if side == 0 else (start[0], part)
                one = self._fitted(changed, graph)
                if one.cv_losses_.min() < self.best.cv_losses_.min():
                    self.best, sides = one, changed
        self.alpha_, self.alphas_ = self.best.alpha_, self.best.alphas_
        self.described = f"{sides[0].kernel} and {sides[1].kernel}, {self.n_tried} variants tried"
        return self

    def _fitted(self, sides: tuple[Parts, Parts], graph: RelationGraph) -> ConditionalRankerCV:
        self.n_tried += 1
        kernels: dict[str, Any] = {"kernel": sides[0].kernel, "object_kernel": sides[1].kernel}
        params: dict[str, Any] = {"loss": self.loss, "clip": True, "fit_intercept": True} | PRECISION
        return ConditionalRankerCV(self.alphas, self.inner, **params, **kernels).fit(graph)

    def predict(self, graph: RelationGraph) -> np.ndarray:
        """Scores of all pairs of a graph."""
        return self.best.predict(graph)


@experiment(
    "The parts of a kernel",
    differences=(
        "Not in the paper. Drugs are the conditioning nodes. Similarities as published, clipped where they are not "
        "positive semi-definite.",
        "Everything is chosen inside the training graph, on random holdouts of the same setting: λ for every method, "
        "and the parts of the kernel one after another (power of the drugs' kernel, power of the targets', constants, "
        f"identities of sides with known nodes), from powers {[*POWERS]}, constants {[*CONSTANTS]} and identities "
        f"{[*IDENTITIES]}. The note has the number of variants that were tried.",
        "Choices are made by the rank loss for a drug. Concordance over all edges, in the notes, also compares "
        "affinities of different drugs, as papers on these data do. ± is the standard error over outer folds, and "
        f"differences against {PLAIN} are paired by fold.",
        "The grids were set once, before any test loss of this experiment was seen; powers up to 8 had been seen to "
        "help on Metz in the experiment drugs. The smallest λ of Metz was raised from 2⁻¹² to 2⁻⁶ after a first run, "
        "because fits at smaller ones did not converge.",
    ),
    files=("davis/davis.npz", "metz/metz.npz", "yamanishi/gpcr.npz"),
)
def kernel_parts(run: Run) -> Iterator[Row]:
    """What an intercept, powers of similarities, weighted constants and identities add to plain kernels."""
    for name, data in DATA.items():
        bunch = data.load(data_home=run.data)
        bunch = few(bunch) if run.quick else bunch
        known = np.isfinite(bunch.Y).mean()
        table = f"{name}: {len(bunch.K_drug):,} drugs × {len(bunch.K_target):,} targets, {known:.0%} known"
        graph = RelationGraph(bunch.K_drug, bunch.Y, objects=bunch.K_target)
        for setting, what in SETTINGS.items():
            outer = outer_folds(data, setting, run)
            protocol = f"{outer.get_n_splits(graph)} outer folds, {data.inner} inner holdouts of the same setting"
            rows = Folds(run, table, f"setting {setting}: {what}", protocol, PLAIN, across=True)
            for train, test in outer.split(graph):
                judge(rows, data, setting, train, test, run)
            yield from rows.rows()


def judge(rows: Folds, data: Data, setting: int, train: RelationGraph, test: RelationGraph, run: Run) -> None:
    """All methods on one fold."""
    inner = holdouts(data, setting, run)
    every = 4 if run.quick else 1
    alphas, step = data.alphas[::every], 2 if run.quick else 1
    plain = ConditionalRankerCV(
        alphas, inner, loss="regression", kernel="precomputed", clip=True, fit_intercept=False, **PRECISION
    )
    rows.judge("c.reg, plain", plain.fit, train, test)
    powers = [(side, "power", POWERS[::step]) for side in (0, 1)]
    constants = [(side, "constant", CONSTANTS[::step]) for side in (0, 1)]
    identities = [(side, "identity", IDENTITIES[::step]) for side in (0, 1) if KNOWN[setting][side]]
    for method, steps, loss in (
        (PLAIN, [], "regression"),
        ("c.reg, powers", powers, "regression"),
        ("c.reg, powers, constants and identities", powers + constants + identities, "regression"),
        ("c.rank", [], "ranking"),
        ("c.rank, powers, constants and identities", powers + constants + identities, "ranking"),
    ):
        rows.judge(method, Stepwise(steps, inner, alphas, loss).fit, train, test)
