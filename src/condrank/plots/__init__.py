"""Pictures of relations and rankings, in the manner of scikit-learn's ``*Display`` classes.

A display keeps what it draws; ``plot(ax=...)`` draws it on axes of yours, or on a figure of its own, and sets
``figure_`` and ``ax_``. Nothing goes through pyplot: no window opens and no figure is kept alive behind your back.
matplotlib is imported when something is drawn, not before.
"""

from __future__ import annotations

from condrank.plots.coordinates import CoordinatesDisplay
from condrank.plots.curves import LossCurveDisplay
from condrank.plots.hodge import HodgeDisplay
from condrank.plots.query_loss import QueryLossDisplay
from condrank.plots.relation import RelationDisplay, deal_out
from condrank.plots.simplex import SimplexDisplay

__all__ = [
    "CoordinatesDisplay",
    "HodgeDisplay",
    "LossCurveDisplay",
    "QueryLossDisplay",
    "RelationDisplay",
    "SimplexDisplay",
    "deal_out",
]
