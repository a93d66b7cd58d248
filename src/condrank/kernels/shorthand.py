"""Kernels by name, as scikit-learn's ``KernelRidge`` takes them: shorthands of expressions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from condrank.base.checks import check_number
from condrank.kernels.composed import Sum, Weighted
from condrank.kernels.expression import Kernel
from condrank.kernels.leaves import Constant, Custom, Precomputed
from condrank.kernels.on_features import ON_FEATURES
from condrank.kernels.parsing import WORDS, parse_kernel

#: Values of the parameter ``kernel`` that are names.
NAMES = (*ON_FEATURES, "precomputed")


def read_kernel(
    kernel: str | Kernel | Callable[..., Any] = "linear",
    gamma: float | str | None = None,
    degree: float = 3,
    coef0: float = 1,
    params: dict[str, Any] | None = None,
    constant: bool | float = False,
    feature_weights: Any = None,
) -> Kernel:
    """The expression of the parameters of a ranker, as a new object.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A name, an expression, its text, or a function of two rows.
    gamma, degree, coef0, params
        Parameters of a kernel by name or of a function; an expression has its own.
    constant : bool or float
        Weight of a `Constant` to add; True is 1.
    feature_weights : sequence of float, optional
        Weights of the features, for all kernels on features that have none.
    """
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ValueError(f"kernel must be a kernel, got the class {kernel.__name__}: write {kernel.__name__}()")
    if isinstance(kernel, str) and kernel in NAMES:
        found = _by_name(kernel, gamma, degree, coef0)
    elif isinstance(kernel, Kernel | str):
        # Functions and their parameters, which may be large, are shared.
        found = kernel.mapped(copy.copy) if isinstance(kernel, Kernel) else _by_text(kernel)
        given = {"gamma": gamma is not None, "degree": degree != 3, "coef0": coef0 != 1, "kernel_params": bool(params)}
        if any(given.values()):
            names = ", ".join(name for name, there in given.items() if there)
            raise ValueError(
                f"{names} must be in the kernel expression itself, as in RBF(gamma=0.1), got kernel={found}"
            )
    elif callable(kernel):
        found = Custom(kernel, params=params or None)
    else:
        raise _unknown(kernel)
    if feature_weights is not None:
        found = found.mapped(lambda leaf: _with_weights(leaf, feature_weights))
    weight = float(constant) if isinstance(constant, bool) else check_number("constant", constant, at_least=0.0)
    if not weight:
        return found
    return Sum(found, Constant() if weight == 1.0 else Weighted(weight, Constant()))


def _by_name(name: str, gamma: Any, degree: Any, coef0: Any) -> Kernel:
    if name == "precomputed":
        return Precomputed()
    kind = ON_FEATURES[name]
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return kind(**{parameter: given[parameter] for parameter in kind.passed})


def _by_text(text: str) -> Kernel:
    try:
        return parse_kernel(text)
    except ValueError as error:
        if text.isidentifier() and text not in WORDS:
            raise _unknown(text) from None
        raise error


def _unknown(kernel: Any) -> ValueError:
    return ValueError(
        f"kernel must be a callable or one of {[*NAMES]}, got {kernel!r}; or an expression of condrank.kernels, such "
        "as RBF(gamma=0.1) + Constant()"
    )


def shorthand_of(kernel: Kernel) -> dict[str, Any] | None:
    """The parameters of `read_kernel` that give this kernel, if it is a name with parameters and perhaps a constant."""
    body: Any = kernel.body
    weights = getattr(body, "feature_weights", None)
    given = {name: getattr(body, name) for name in getattr(body, "passed", ())}
    if body.name not in NAMES or kernel.constant not in (0.0, 1.0):
        return None
    found = {"kernel": body.name, "gamma": None, "degree": 3.0, "coef0": 1.0, "params": {}} | given
    found |= {"constant": bool(kernel.constant), "feature_weights": weights}
    return found if read_kernel(**found) == kernel else None


def _with_weights(leaf: Any, weights: Any) -> Kernel:
    if not hasattr(leaf, "feature_weights") or leaf.feature_weights is not None:
        return leaf
    return replace(leaf, feature_weights=tuple(weights))
