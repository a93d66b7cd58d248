"""Kernels between nodes, and expressions of them: sums, weights, products, powers, several views.

>>> from condrank.kernels import RBF, Constant, Identity, Precomputed, Unit
>>> Unit(Precomputed(view="sequence")) ** 4 + 0.5 * RBF(gamma="median", view="assay") + 0.1 * Constant()
Unit(Precomputed(view='sequence')) ** 4 + 0.5 * RBF(gamma='median', view='assay') + 0.1 * Constant()
"""

from importlib import import_module
from typing import Any

from condrank.kernels.composed import Power, Product, Sum, Unit, Weighted
from condrank.kernels.expression import Kernel
from condrank.kernels.leaves import Constant, Custom, Identity, Precomputed
from condrank.kernels.on_features import RBF, Chi2, Cosine, Laplacian, Linear, Polynomial, Sigmoid
from condrank.kernels.parsing import parse_kernel
from condrank.kernels.shorthand import read_kernel

__all__ = [
    "RBF",
    "Chi2",
    "Constant",
    "Cosine",
    "Custom",
    "Identity",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Sigmoid",
    "Sum",
    "Unit",
    "Weighted",
    "parse_kernel",
    "read_kernel",
]


def __getattr__(name: str) -> Any:
    # It needs solvers, which are above this room; users look for it here.
    if name == "learn_kernel_weights":
        return getattr(import_module("condrank.model_selection"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
