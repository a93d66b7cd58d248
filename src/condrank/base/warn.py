"""Warnings that point at the line of the user's own code, however deep they are raised."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

# Frames of these files are not the caller's: our own, and those of wrappers around our methods.
_OURS = str(Path(__file__).resolve().parents[1])
_WRAPPERS = ("sklearn", "contextlib", "joblib", "functools")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame that is neither of this package nor of what wraps its methods."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(file: str, module: str) -> bool:
    return file.startswith(_OURS) or module.partition(".")[0] in _WRAPPERS
