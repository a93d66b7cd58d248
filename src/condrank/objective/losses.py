"""Losses: what is minimised over the observed edges, and which mean is first subtracted from labels and scores.

Every quadratic loss is ½‖L(Y - F)‖² for a projection L. For regression L is the identity. For ranking (the paper's
conditional RankRLS) L subtracts the mean of each conditioning node's edges. For regression with an intercept L
subtracts the mean of all edges: that is what is left after minimising over one constant that is not penalised. All code
that depends on the loss asks the loss object what is centred. `condrank.objective.edge_loss` centres over edges.
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
    centres : {None, "rows", "all"}
        Whether the weighted mean is subtracted from labels and scores: of each conditioning node's observed edges, or
        of all observed edges.
    is_quadratic : bool
        Whether one linear system gives the minimiser. Otherwise Newton's method solves a sequence of systems.
    """

    name: str
    centres: str | None = None
    is_quadratic: bool = True

    @property
    def centres_rows(self) -> bool:
        """Whether a constant of each conditioning node has no influence on the loss."""
        return self.centres == "rows"

    @property
    def fits_intercept(self) -> bool:
        """Whether one constant is fitted to all edges, without a penalty."""
        return self.centres == "all"


REGRESSION = Loss("regression")
#: The same loss, minimised also over a constant c: ½ Σ m (y - h - c)².
REGRESSION_WITH_INTERCEPT = Loss("regression", centres="all")
RANKING = Loss("ranking", centres="rows")
LOGISTIC = Loss("logistic", is_quadratic=False)
LOSSES = {loss.name: loss for loss in (RANKING, REGRESSION, LOGISTIC)}
QUADRATIC = (REGRESSION, RANKING, REGRESSION_WITH_INTERCEPT)


def get_loss(name: str, fit_intercept: bool = False) -> Loss:
    """The loss of this name. Only regression can have an intercept. Raises a ValueError that lists the names."""
    try:
        loss = LOSSES[name]
    except (KeyError, TypeError):
        raise ValueError(f"loss must be one of {[*LOSSES]}, got {name!r}") from None
    return REGRESSION_WITH_INTERCEPT if fit_intercept and loss is REGRESSION else loss
