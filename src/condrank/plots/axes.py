"""Axes that no window and no pyplot knows of."""

from __future__ import annotations

import numpy as np


def new_axes(rows: int, columns: int, figsize: tuple[float, float]) -> np.ndarray:
    """Axes of a figure that pyplot does not know of."""
    from matplotlib.figure import Figure

    return Figure(figsize=figsize, layout="constrained").subplots(rows, columns, squeeze=False).ravel()
