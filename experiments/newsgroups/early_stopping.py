"""The figure of early stopping: test loss after each iteration, without regularisation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from condrank import ConditionalRanker

from ..drawing import Panel, curves
from ..results import Picture, Row, Run, clock
from . import documents

ITERATIONS = 200
MODELS = {
    "c.reg": ("ordinary", "regression"),
    "c.reg, symmetric": ("symmetric", "regression"),
    "c.rank": ("ordinary", "ranking"),
    "c.rank, symmetric": ("symmetric", "ranking"),
}
TABLE = "Early stopping: test rank loss over 200 iterations, λ = 0"
METHODS = {"bicgstab": "BiCGSTAB (the paper's)", "cg": "conjugate gradients"}


def early_stopping(run: Run) -> Iterator[Row | Picture]:
    """Four models on seen newsgroups, 1,000 training and 500 test documents, by BiCGSTAB and by CG."""
    found = documents.load(run, "set1")
    order = np.random.default_rng(run.seed).permutation(len(found.labels))
    n_train, n_test = (30, 15) if run.quick else (1000, 500)
    train, test = found.graph[order[:n_train]], found.graph[order[n_train : n_train + n_test]]
    iterations = 10 if run.quick else ITERATIONS
    panels, words = [], []
    for method, title in METHODS.items():
        series = {}
        for name, (relation, loss) in MODELS.items():
            run.step(f"early stopping, {method}, {name}")
            ranker = ConditionalRanker(
                relation,
                loss,
                alpha=0.0,
                solver="early_stopping",
                method=method,
                tol=0.0,
                max_iter=iterations,
                n_iter_no_change=iterations,
            )
            with clock() as seconds, warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                history = ranker.fit(train, validation=test).history_
            series[name] = (range(1, len(history) + 1), history)
            best = int(np.argmin(history))
            yield Row(
                TABLE,
                "set 1, 4 groups",
                f"{name}, {method}",
                history[-1],
                seconds=seconds(),
                seed=run.seed,
                protocol=f"{n_train} training and {n_test} test documents of the same groups; word counts, linear "
                f"kernel, {iterations} iterations",
                note=f"lowest {history[best]:.4f} at iteration {best + 1}; largest rise in an iteration "
                f"{max([0.0, *np.diff(history)]):.3f}",
            )
        panels.append(Panel(title, "iteration", "test rank loss", series))
        words.append(f"{title}: {in_words({name: history for name, (_, history) in series.items()})}")
    yield curves("early-stopping", f"{PAPER} Ours. {'. '.join(words)}.", panels)


PAPER = (
    "Test rank loss after each iteration. The paper's text says about its figure: ranking is clearly below regression; "
    "symmetry helps, most of all for the ranking loss; curves fall unevenly, with sharp rises on some iterations; and "
    "they flatten out within 200 iterations."
)


def in_words(history: dict[str, list[float]]) -> str:
    """Whether our curves have the shape of the paper's, from their lowest points and their ends, as text."""
    lowest = {name: min(losses) for name, losses in history.items()}
    ranking = all(lowest[f"c.rank{kind}"] < lowest[f"c.reg{kind}"] for kind in ("", ", symmetric"))
    gains = {loss: lowest[loss] - lowest[f"{loss}, symmetric"] for loss in ("c.reg", "c.rank")}
    rise = max(float(np.max(np.diff(losses), initial=0.0)) for losses in history.values())
    tail = max(float(np.ptp(losses[-len(losses) // 4 :])) for losses in history.values())
    return (
        f"ranking {'is' if ranking else 'is not'} below regression at the lowest points; symmetry changes the lowest "
        f"loss of regression by {-gains['c.reg']:+.4f} and of ranking by {-gains['c.rank']:+.4f}; the sharpest rise in "
        f"one iteration is {rise:.3f}; over the last quarter the curves move by at most {tail:.3f}"
    )
