"""Losses: what is minimised over the observed edges, and which mean is taken out of labels and scores before.

Every quadratic loss is ½‖L(Y - F)‖² for a projection L that takes a mean out: none (regression), or that of each
conditioning node's edges (ranking, the paper's conditional RankRLS). Everything that depends on the loss asks the loss
object what is centred; how that is done over edges stands in `condrank.objective.edge_loss`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loss:
    """A loss.

    Attributes
    ----------
    name : str
        Its name as a parameter.
    centres_rows : bool
        The mean over each conditioning node's observed edges is taken out of labels and scores.
    is_quadratic : bool
        The minimiser solves one linear system; otherwise Newton's method solves a sequence of them.
    """

    name: str
    centres_rows: bool
    is_quadratic: bool = True


REGRESSION = Loss("regression", centres_rows=False)
RANKING = Loss("ranking", centres_rows=True)
LOGISTIC = Loss("logistic", centres_rows=False, is_quadratic=False)
LOSSES = {loss.name: loss for loss in (RANKING, REGRESSION, LOGISTIC)}
QUADRATIC = (REGRESSION, RANKING)


def get_loss(name: str) -> Loss:
    """The loss of that name, or a ValueError that lists the names."""
    try:
        return LOSSES[name]
    except (KeyError, TypeError):
        raise ValueError(f"loss must be one of {[*LOSSES]}, got {name!r}") from None
