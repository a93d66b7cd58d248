"""Losses: what is minimised over the observed edges, and which mean is first subtracted from labels and scores.

Every quadratic loss is ½‖L(Y - F)‖² for a projection L. For regression L is the identity. For ranking (the paper's
conditional RankRLS) L subtracts the mean of each conditioning node's edges. All code that depends on the loss asks the
loss object what is centred. `condrank.objective.edge_loss` does the centring over edges.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loss:
    """A loss.

    Attributes
    ----------
    name : str
        The value of the parameter ``loss``.
    centres_rows : bool
        Whether the mean over each conditioning node's observed edges is subtracted from labels and scores.
    is_quadratic : bool
        Whether one linear system gives the minimiser. Otherwise Newton's method solves a sequence of systems.
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
    """The loss of this name. Raises a ValueError that lists the names."""
    try:
        return LOSSES[name]
    except (KeyError, TypeError):
        raise ValueError(f"loss must be one of {[*LOSSES]}, got {name!r}") from None
