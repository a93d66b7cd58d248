"""Intervals: what share of new labels they cover in the four settings, and how wide they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condrank import ConditionalRanker, RelationGraph, datasets
from condrank.model_selection import SettingShuffleSplit

from .drugs import few as few_drugs
from .enzymes import few as few_enzymes
from .results import Row, Run, clock, experiment, mean_and_error

COVERAGE = 0.9
SETTINGS = {1: "only the edge is new", 2: "new conditioning node", 3: "new object", 4: "both new"}
#: Share of the nodes of each side, and in setting 1 of the edges, that are new.
NEW = 0.25
N_ENZYMES, N_PLAYERS, N_GAMES = 400, 200, 4000
#: Posterior intervals of incomplete graphs with more edges need hundreds of iterative solves and are left out.
MOST_EDGES = 20_000
Interval = Callable[[ConditionalRanker, RelationGraph], tuple[np.ndarray, np.ndarray]]


def davis(run: Run, seed: int) -> tuple[RelationGraph, ConditionalRanker]:
    """Affinities of drugs and targets, complete, two domains."""
    bunch = datasets.load_davis(data_home=run.data)
    bunch = few_drugs(bunch) if run.quick else bunch
    return RelationGraph(bunch.K_drug, bunch.Y, objects=bunch.K_target), regression()


def enzymes(run: Run, seed: int) -> tuple[RelationGraph, ConditionalRanker]:
    """Shared EC digits of some enzymes, complete and symmetric."""
    bunch = datasets.load_enzymes(data_home=run.data)
    if run.quick:
        graph = few_enzymes(bunch.graph, np.unique(bunch.labels, axis=0, return_inverse=True)[1])
    else:
        graph = bunch.graph[np.sort(np.random.default_rng(seed).choice(len(bunch.graph), N_ENZYMES, replace=False))]
    return graph, regression(relation="symmetric")


def rock_paper_scissors(run: Run, seed: int) -> tuple[RelationGraph, ConditionalRanker]:
    """Outcomes of single games, -1, 0 or 1: an edge list with holes, reciprocal."""
    size = (60, 600) if run.quick else (N_PLAYERS, N_GAMES)
    return datasets.make_rock_paper_scissors(10, *size, random_state=seed)[0], ConditionalRanker(
        "reciprocal", "regression", alpha=1.0, tol=1e-5
    )


def regression(**params: Any) -> ConditionalRanker:
    """A plain ranker of given kernels. λ is not chosen: intervals must hold whatever it is."""
    return ConditionalRanker(
        loss="regression", alpha=1.0, kernel="precomputed", clip=True, fit_intercept=True, tol=1e-5, **params
    )


DATA = {"Davis": davis, "Enzymes": enzymes, "Rock-paper-scissors, w10": rock_paper_scissors}


def of_setting(ranker: ConditionalRanker, test: RelationGraph) -> tuple[np.ndarray, np.ndarray]:
    """The interval of the setting."""
    return ranker.predict_interval(test, coverage=COVERAGE)


def one_width(ranker: ConditionalRanker, test: RelationGraph) -> tuple[np.ndarray, np.ndarray]:
    """Score ± one width for all pairs: that of edges left out, as ordinary cross-validation would give it."""
    known = ranker.fitted_.graph
    assert known is not None
    lower, upper = ranker.predict_interval(known.cut(np.array([0]), np.array([1])), coverage=COVERAGE)
    scores = ranker.predict(test)
    return scores - (upper - lower) / 2, scores + (upper - lower) / 2


def by_posterior(ranker: ConditionalRanker, test: RelationGraph) -> tuple[np.ndarray, np.ndarray]:
    """Score ± 1.645 standard deviations of a new label: those of the score and of the noise, if the model is right."""
    scores, std = ranker.predict(test, return_std=True)
    half = 1.645 * np.hypot(std, ranker.posterior_.noise_std or 0.0)
    return scores - half, scores + half


METHODS: dict[str, Interval] = {
    "predict_interval": of_setting,
    "one width, from left-out edges": one_width,
    "posterior": by_posterior,
}


@dataclass
class Covered:
    """Coverage and mean width of one method in one setting, over seeds."""

    coverage: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, truth: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Count the labels that are known, each conditioning node with the same weight."""
        known = ~np.isnan(truth)
        inside = (lower <= truth) & (truth <= upper)
        rows = known.any(axis=1)
        self.coverage.append(float(np.mean([inside[i][known[i]].mean() for i in np.flatnonzero(rows)])))
        self.width.append(float((upper - lower)[known].mean()))


@experiment(
    "Intervals",
    differences=(
        "Not in the paper. The number is the share of new labels that 90 % intervals cover, as a mean over new "
        "conditioning nodes and then over draws; the note has their mean width. It should be .9.",
        f"In each draw a quarter of the nodes (of both sides) are new, in setting 1 a quarter of the edges. "
        f"{N_ENZYMES} enzymes are drawn each time; rock-paper-scissors has {N_PLAYERS} players and {N_GAMES:,} games, "
        "and a label is the outcome of one game. λ is 1 everywhere, whether it is good or not.",
        "One width is what leaving out single edges (or folds of them) gives, used for all pairs. Posterior intervals "
        "have the standard deviation of the score and of the estimated noise; they rely on the model, and are left out "
        f"for incomplete graphs of more than {MOST_EDGES:,} edges (setting 1 of the enzymes), where they take long.",
    ),
    files=("davis/davis.npz", "enzymes_pdb_ec/subset_ge5.npz"),
)
def intervals(run: Run) -> Iterator[Row]:
    """Coverage of 90 % intervals on new edges and new nodes, and their width, beside other intervals."""
    n_draws = run.repeat(paper=10, quick=2)
    for name, make in DATA.items():
        found: dict[tuple[int, str], Covered] = {}
        for draw in range(n_draws):
            run.step(f"{name}: draw {draw + 1}")
            graph, ranker = make(run, run.seed + draw)
            for setting, (train, test) in splits(graph, run.seed + draw):
                fitted = ranker.fit(train)
                truth = without_loops(test)
                for method, interval in METHODS.items():
                    if interval is by_posterior and not train.is_complete and train.n_edges > MOST_EDGES:
                        continue
                    covered = found.setdefault((setting, method), Covered())
                    with clock() as seconds:
                        covered.add(truth, *interval(fitted, test))
                    covered.seconds += seconds()
        for (setting, method), covered in sorted(found.items(), key=lambda one: one[0][0]):
            measured, error = mean_and_error(covered.coverage)
            width, width_error = mean_and_error(covered.width)
            note = f"mean width {width:.3g}" + ("" if width_error is None else f" ± {width_error:.1g}")
            yield Row(
                f"{name}: 90 % intervals",
                f"setting {setting}: {SETTINGS[setting]}",
                method,
                measured,
                error,
                seconds=covered.seconds,
                seed=run.seed,
                protocol=f"{n_draws} draws",
                note=note,
                unit="coverage",
            )


def splits(graph: RelationGraph, seed: int) -> Iterator[tuple[int, tuple[RelationGraph, RelationGraph]]]:
    """Training and test graph of each setting; settings 2 to 4 have the same training graph."""
    random = np.random.default_rng(seed)
    sides = []
    for n in graph.shape[: 1 + graph.is_two_domain]:
        order = random.permutation(n)
        sides.append((np.sort(order[int(NEW * n) :]), np.sort(order[: int(NEW * n)])))
    rows, cols = sides[0], sides[-1]
    train = graph.cut(rows[0], rows[0] if rows is cols else cols[0])
    for setting in (2, 3, 4):
        yield setting, (train, graph.cut(rows[int(setting != 3)], cols[int(setting != 2)]))
    yield 1, next(SettingShuffleSplit(1, test_size=NEW, random_state=seed).split(train))


def without_loops(test: RelationGraph) -> np.ndarray:
    """The labels of a test graph; those of a node with itself do not count."""
    truth = test.to_dense().astype(float)
    if not test.is_two_domain:
        np.fill_diagonal(truth, np.nan)
    return truth
