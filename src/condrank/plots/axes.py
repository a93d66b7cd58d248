"""Axes without a window and without pyplot, and what all pictures have in common: holes, samples, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from condrank.base.checks import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colour of what was not observed; no colour map used here contains it.
NOT_OBSERVED = "0.8"


def new_axes(rows: int, columns: int, figsize: tuple[float, float]) -> np.ndarray:
    """Axes of a new figure, made without pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=figsize, layout="constrained").subplots(rows, columns, squeeze=False).ravel()


def given_axes(ax: Any, count: int, what: str) -> np.ndarray:
    """The axes of the caller as a flat array; raises if their number is wrong."""
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) != count:
        raise ValueError(f"ax must be {what}, got {len(axes)}")
    return axes


def draw_nodes(n: int, max_nodes: int) -> np.ndarray:
    """Ascending positions of the nodes to show: all, or ``max_nodes`` of them, drawn at random with a fixed seed."""
    check_count("max_nodes", max_nodes)
    return np.arange(n) if n <= max_nodes else np.sort(np.random.default_rng(0).choice(n, max_nodes, replace=False))


def sample_note(shown: tuple[int, ...], total: tuple[int, ...]) -> str:
    """The note of a picture that does not show all nodes of a relation; empty if it shows all."""
    if shown == total:
        return ""
    few, all_of_them = (" × ".join(f"{n:,}" for n in dict.fromkeys(sides)) for sides in (shown, total))
    return f"{few} of {all_of_them} nodes, drawn at random"


def show_matrix(ax: Axes, values: np.ndarray, **colours: Any) -> Any:
    """A matrix as an image; NaN has the colour of what was not observed."""
    image = ax.imshow(values, aspect="equal", interpolation="nearest", **colours)
    ax.set_facecolor(NOT_OBSERVED)
    return image


def label_below(ax: Axes, *lines: str) -> None:
    """Label of the x axis, with notes as further lines below it, so that they never overlap."""
    ax.set_xlabel("\n".join(line for line in lines if line), fontsize=9)
