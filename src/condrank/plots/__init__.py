"""Pictures of relations and rankings, in the style of scikit-learn's ``*Display`` classes.

A display keeps what it draws. ``plot(ax=...)`` draws it on your axes, or on a new figure, and sets ``figure_`` and
``ax_``. pyplot is not used: no window opens, and no figure stays in memory. matplotlib is imported only when something
is drawn.
"""

from __future__ import annotations

from condrank.plots.calibration import CalibrationDisplay
from condrank.plots.coordinates import CoordinatesDisplay
from condrank.plots.curves import LossCurveDisplay
from condrank.plots.hodge import HodgeDisplay
from condrank.plots.query_loss import QueryLossDisplay
from condrank.plots.relation import RelationDisplay, deal_out
from condrank.plots.simplex import SimplexDisplay
from condrank.plots.waterfall import WaterfallDisplay

__all__ = [
    "CalibrationDisplay",
    "CoordinatesDisplay",
    "HodgeDisplay",
    "LossCurveDisplay",
    "QueryLossDisplay",
    "RelationDisplay",
    "SimplexDisplay",
    "WaterfallDisplay",
    "deal_out",
]
