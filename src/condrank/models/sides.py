"""The part of the state that all models share: coordinates of both sides, numbers of nodes and scale."""

from __future__ import annotations

from typing import Any, Protocol

from condrank.base.checks import check_choice, check_number
from condrank.kernels import Kernel
from condrank.nodes import Approximation, coordinates_from_state
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.plain import check_same


class FitSettings(Protocol):
    """Settings of the fit, which the state of a model does not repeat."""

    @property
    def kernels(self) -> tuple[Kernel, Kernel]:
        """Node kernels of the conditioning nodes and of the objects."""
        ...

    @property
    def approximation(self) -> Approximation | None:
        """How the kernel was approximated."""
        ...

    @property
    def compared(self) -> tuple[int, ...]:
        """The compared features."""
        ...


def sides_to(model: Any, arrays: Arrays) -> dict[str, Any]:
    """Class, coordinates, number of nodes and scale of a model."""
    one_domain = model.cols is model.rows
    return {
        "class": type(model).__name__,
        "rows": model.rows.to_state(arrays.under("rows")),
        "cols": None if one_domain else model.cols.to_state(arrays.under("cols")),
        "shape": [model.rows.n_nodes, model.cols.n_nodes],
        "offset": float(model.offset),
        "logistic": bool(model.logistic),
    }


def sides_from(given: dict[str, Any], held: Held, settings: FitSettings) -> tuple[Any, Any]:
    """Coordinates of the conditioning nodes and of the objects; the same Python object for one domain."""
    n, m = stored_shape(given)
    (first, second), approximation = settings.kernels, settings.approximation
    rows = cols = coordinates_from_state(given["rows"], held.under("rows"), first, approximation, n)
    if given.get("cols") is not None:
        cols = coordinates_from_state(given["cols"], held.under("cols"), second, approximation, m)
    kept = [len(rows.nodes), len(cols.nodes)]
    # partial_fit keeps only the number of nodes.
    check_same("shape of the model", [n, m], kept if any(kept) else [n, n if cols is rows else m])
    return rows, cols


def stored_shape(given: dict[str, Any]) -> tuple[int, int]:
    """Number of conditioning nodes and of objects."""
    shape = given["shape"]
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(n) is int and n > 0 for n in shape):
        raise ValueError(f"shape of the model is {shape!r}, expected two numbers of nodes")
    return shape[0], shape[1]


def scale_from(given: dict[str, Any]) -> tuple[float, bool]:
    """Offset of the scores, and whether they are log-odds."""
    check_choice("logistic of the model", given["logistic"], (False, True))
    return check_number("offset of the model", given["offset"]), bool(given["logistic"])
