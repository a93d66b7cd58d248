"""What to measure next: how many labels suggestions need, beside labels that are chosen at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from condrank import ConditionalRanker, RelationGraph, datasets
from condrank.metrics import rank_loss

from .drawing import LINES
from .drugs import few
from .results import Picture, Row, Run, clock, experiment, mean_and_error

RANDOM = "at random"
STRONG = 8.0
#: The loss to be reached: rank loss on other players, and share of the strong binders that were not found.
GOALS = {"Rock-paper-scissors, w10": 0.1, "Davis": 0.9}
WAYS = {"Rock-paper-scissors, w10": (RANDOM, "variance", "order"), "Davis": (RANDOM, "top")}
MOST_PAIRS = 500


@experiment(
    "What to measure next",
    differences=(
        "Not in the paper. A model is fitted to some labels, it suggests a batch of pairs, their labels are added, and "
        "so on. The number is how many labels were needed to reach a given loss, as a mean over draws. Draws that did "
        "not reach it count with all labels that were bought, which is too few; the note says how many reached it.",
        "Rock-paper-scissors: 100 players with a linear kernel and λ = 1. A label is the outcome of one game. 10 games "
        "at the start, batches of 10. The loss is the rank loss on 100 other players, and the goal .1.",
        "Davis: similarities as given, λ = .1. 500 affinities at the start, batches of 100. The loss is the share of "
        f"the strong binders (pKd ≥ {STRONG:g}) of all 68 × 442 pairs that were not measured yet, and the goal .9.",
        f"At most {MOST_PAIRS} pairs are compared for each batch. Goals, λ and sizes were set after looking at a few "
        "draws.",
    ),
    files=("davis/davis.npz",),
)
def suggestions(run: Run) -> Iterator[Row | Picture]:
    """Labels that are needed to reach a loss, if they are suggested or chosen at random."""
    n_draws = run.repeat(paper=10, quick=2)
    curves: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for name, loop in {"Rock-paper-scissors, w10": play, "Davis": screen}.items():
        for way in WAYS[name]:
            with clock() as seconds:
                found = []
                for draw in range(n_draws):
                    run.step(f"{name}: {way}, draw {draw + 1}")
                    found.append(loop(run, way, run.seed + draw))
            labels, losses = found[0][0], np.array([one[1] for one in found])
            curves.setdefault(name, {})[way] = labels, losses
            needed = [needed_labels(labels, one, GOALS[name]) for one in losses]
            measured, error = mean_and_error([labels[-1] if one is None else one for one in needed])
            reached = sum(one is not None for one in needed)
            yield Row(
                "Labels until the loss is reached",
                f"{name}: loss {GOALS[name]:g}",
                way if way == RANDOM else f"suggest_edges by {way}",
                measured,
                error,
                seconds=seconds(),
                seed=run.seed,
                protocol=f"{n_draws} draws of at most {labels[-1]:,} labels",
                note=f"reached in {reached} of {n_draws}; loss at the end {losses[:, -1].mean():.3g}",
                unit="labels",
            )
    yield picture(curves)


def needed_labels(labels: np.ndarray, losses: np.ndarray, goal: float) -> float | None:
    """How many labels there were when the loss first was at most the goal."""
    below = np.flatnonzero(losses <= goal)
    return float(labels[below[0]]) if len(below) else None


def play(run: Run, way: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of labels and rank losses on other players."""
    n, start, batch, rounds = (24, 10, 10, 3) if run.quick else (100, 10, 10, 25)
    players, others = (datasets.make_rock_paper_scissors(10, n, 10, random_state=2 * seed + k)[1] for k in (0, 1))
    X, truth = players.nodes.rows, others.to_dense()
    i, j = np.triu_indices(n, 1)
    outcome = outcomes(X, i, j, np.random.default_rng(seed))
    place = np.full((n, n), -1)
    place[i, j] = place[j, i] = np.arange(len(i))

    def fit(known: np.ndarray) -> tuple[Any, float]:
        ends = np.append(i[known], j[known]), np.append(j[known], i[known])
        graph = RelationGraph.from_edges(X, *ends, np.append(outcome[known], -outcome[known]))
        ranker = ConditionalRanker("reciprocal", "regression", alpha=1.0).fit(graph)
        return ranker, rank_loss(truth, ranker.predict(others))

    return bought(fit, lambda one: place[one.queries, one.objects], len(i), way, start, batch, rounds, seed)


def outcomes(X: np.ndarray, i: np.ndarray, j: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """One game of each pair: 1 if i wins, -1 if j wins, 0 for a tie."""
    cumulated = X.cumsum(axis=1)
    moves = [(random.random(len(of_one))[:, None] > cumulated[of_one][:, :2]).sum(axis=1) for of_one in (i, j)]
    return np.array([0.0, 1.0, -1.0])[(moves[0] - moves[1]) % 3]


def screen(run: Run, way: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of labels and shares of the strong binders that were not found."""
    bunch = datasets.load_davis(data_home=run.data)
    bunch = few(bunch) if run.quick else bunch
    Y = bunch.Y
    n_objects = Y.shape[1]
    start, batch, rounds = (60, 20, 3) if run.quick else (500, 100, 9)
    strong = (np.quantile(Y, 0.9) if run.quick else STRONG) <= Y.ravel()

    def fit(known: np.ndarray) -> tuple[Any, float]:
        labels = np.where(known.reshape(Y.shape), Y, np.nan)
        graph = RelationGraph(bunch.K_drug, labels, objects=bunch.K_target)
        params: dict[str, Any] = {"kernel": "precomputed", "alpha": 0.1, "fit_intercept": True, "clip": True}
        return ConditionalRanker(loss="regression", tol=1e-4, **params).fit(graph), 1 - known[strong].mean()

    return bought(fit, lambda one: one.queries * n_objects + one.objects, Y.size, way, start, batch, rounds, seed)


def bought(
    fit: Callable[[np.ndarray], tuple[Any, float]],
    places: Callable[[Any], np.ndarray],
    n_pairs: int,
    way: str,
    start: int,
    batch: int,
    rounds: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Buy labels batch by batch; the first ones are the same for every way."""
    random = np.random.default_rng(seed)
    known = np.zeros(n_pairs, dtype=bool)
    known[random.choice(n_pairs, start, replace=False)] = True
    labels, losses = [], []
    for _ in range(rounds):
        ranker, loss = fit(known)
        labels.append(int(known.sum()))
        losses.append(loss)
        if way == RANDOM:
            chosen = random.choice(np.flatnonzero(~known), batch, replace=False)
        else:
            found = ranker.suggest_edges(batch, by=way, max_pairs=MOST_PAIRS, random_state=int(random.integers(2**31)))
            chosen = places(found)
        known[chosen] = True
    return np.array(labels), np.array(losses)


def picture(curves: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]) -> Picture:
    """Loss against labels: mean of the draws, and one standard deviation of them as a band."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    points = []
    for ax, (name, ways) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        for colour, (way, (labels, losses)) in zip(LINES, ways.items(), strict=False):
            mean, spread = losses.mean(axis=0), losses.std(axis=0)
            ax.plot(labels, mean, color=colour, marker="o", markersize=3, label=way)
            ax.fill_between(labels, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
            points += [(name, way, float(x), float(y)) for x, y in zip(labels, mean, strict=True)]
        ax.axhline(GOALS[name], color="0.6", linewidth=1, linestyle=":")
        ax.set(title=name, xlabel="labels", ylabel="rank loss" if "Rock" in name else "strong binders not found")
        ax.legend(frameon=False)
    caption = (
        "Loss against the number of labels: mean over the draws, with one standard deviation of them; dotted, the goal."
    )
    return Picture("labels", caption, figure, points)
