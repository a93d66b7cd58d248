"""Fitting a ranker to tables, and what a command says about it: two lines on stderr, or everything if asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from condrank.cli.inputs import Asked, make_ranker, make_search
from condrank.cli.terminal import say

if TYPE_CHECKING:
    from condrank.diagnosis import Recommendation
    from condrank.graph import RelationGraph
    from condrank.tables import TableRanker

# Warnings of a search that the line about λ says already.
SAID_ALREADY = "the best λ|λ = "


def learn(
    asked: Asked, graph: RelationGraph, step: Callable[..., None], time_limit: float | None = None, setting: int = 4
) -> TableRanker:
    """Fit the ranker that is asked for; ``step`` is called with the name of each step that begins.

    With a time limit, in seconds, a search chooses the model, on holdouts of the setting.
    """
    from condrank.tables import TableRanker

    if time_limit is not None:
        return TableRanker(make_search(asked, time_limit, step, setting), impute=asked.impute).fit(graph)
    ranker = make_ranker(asked)
    if asked.alpha is None:
        step("choosing λ")
        ranker.set_callbacks(LastFit(step))
    else:
        step("learning")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", SAID_ALREADY)
        return TableRanker(ranker, impute=asked.impute).fit(graph)


class LastFit:
    """A callback of scikit-learn that says when a search has chosen λ and fits the whole graph."""

    def __init__(self, step: Callable[..., None]):
        self.step = step

    def setup(self, estimator: Any, context: Any) -> None:
        """Called before a fit."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Called after a fit."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **more: Any) -> None:
        """Called before each task of a fit."""
        if context.task_name == "fit" and context.parent is not None:
            self.step("learning")

    def on_fit_task_end(self, estimator: Any, context: Any, **more: Any) -> bool:
        """Called after each task of a fit; False: go on."""
        return False


def alpha_words(asked: Asked, fitted: TableRanker) -> str:
    """λ and what it was chosen by; empty if it was given."""
    found = fitted.ranker_
    if asked.alpha is not None or not hasattr(found, "chosen_by_"):
        return ""
    words = f"λ = {found.alpha_:g}, {found.chosen_by_}"
    if len(found.fold_losses_) and found.alpha_ in (found.alphas_.min(), found.alphas_.max()):
        words += f"; it is the {'smallest' if found.alpha_ == found.alphas_.min() else 'largest'} of those tried"
    return words


def chosen_by_labels(asked: Asked, fitted: TableRanker) -> Recommendation:
    """What the labels alone have decided: relation and loss, but the relation alone if a search tries other losses."""
    found = asked.recommended
    if fitted.search_ is None or found.loss == "logistic" or "loss" not in found.chosen:
        return found
    kept = [place for place, name in enumerate(found.chosen) if name != "loss"]
    return replace(
        found, chosen=tuple(found.chosen[one] for one in kept), reasons=tuple(found.reasons[one] for one in kept)
    )


def say_choices(asked: Asked, fitted: TableRanker, warned: list[str], verbose: bool = False) -> None:
    """Say on stderr what was chosen and what was warned of: in two lines at most, or all of it.

    What a search has chosen is not said here: it is in the leaderboard.
    """
    alpha, by_labels = alpha_words(asked, fitted), chosen_by_labels(asked, fitted)
    if verbose:
        for line in (by_labels.short, *by_labels.reasons, alpha, *_details(fitted.ranker_)):
            if line:
                say(line)
        for one in warned:
            say(f"warning: {one}")
        return
    lines = [str(by_labels), alpha]
    if warned:  # take one of the two lines
        lines = ["; ".join(line for line in (by_labels.short, alpha) if line), in_one_line(warned)]
    for line in lines:
        if line:
            say(line)


def in_one_line(warned: list[str]) -> str:
    """The first warning, and how many more there are."""
    more = f" (and {len(warned) - 1} more, see --verbose)" if len(warned) > 1 else ""
    return f"warning: {warned[0]}{more}"


def _details(found: Any) -> Iterator[str]:
    """The losses of the λ that were tried, and the plan of the fit."""
    if len(getattr(found, "fold_losses_", ())):
        losses = zip(found.alphas_, found.cv_losses_, strict=True)
        yield "rank loss of each λ: " + ", ".join(f"{loss:.4f} for {alpha:g}" for alpha, loss in losses)
    if hasattr(found, "plan_"):
        yield f"solver {found.plan_}"


@contextmanager
def warnings_kept(typed: Callable[[str], str]) -> Iterator[list[str]]:
    """Warnings as texts in a list instead of lines on stderr; if the work fails, one line about them is said.

    Parameters
    ----------
    typed : callable
        Gives a message with its arguments as options.
    """
    kept: list[str] = []
    done = False

    def keep(message: Any, *where: Any, **more: Any) -> None:
        kept.append(typed(str(message)))

    try:
        with warnings.catch_warnings():
            warnings.showwarning = keep
            yield kept
        done = True
    finally:
        if kept and not done:
            say(in_one_line(kept))
