"""Warnings that point at the line of the user's own code, from any depth of calls."""

from __future__ import annotations

import sys
import warnings

# Packages whose frames are not the user's: our own, and those that call our methods for the user.
_INSIDE = ("condrank", "sklearn", "joblib", "contextlib", "functools")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside this package and outside the packages that call its methods."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
