"""Kernels that are not made of others and not those of scikit-learn: constant, identity, given matrices, functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from condrank.base.checks import check_choice
from condrank.kernels.expression import Kernel
from condrank.kernels.on_features import OnFeatures, check_view


@dataclass(eq=False, repr=False)
class Constant(Kernel):
    """1 for all pairs of nodes: a constant coordinate, which gives every node a score of its own.

    With a weight w it is as if √w were appended to the coordinates: the larger w, the less the scores are shrunk.
    """

    is_constant = True
    name = "constant"


@dataclass(eq=False, repr=False)
class Identity(Kernel):
    """1 if both nodes are the same training node, otherwise 0: every known node has a coordinate of its own.

    A node is recognised by its id, or by its place in the training graph. New nodes have no identity.
    """

    is_identity = True
    name = "identity"


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """Values of a kernel matrix: the nodes are given by their kernel values instead of features.

    Parameters
    ----------
    view : str, optional
        Name of the kernel matrix, if the nodes have several views.
    """

    view: str | None = None
    is_precomputed = True
    name = "precomputed"

    def check(self) -> None:
        """Refuse a name that is not text."""
        check_view(self.view)

    @property
    def is_positive(self) -> bool:
        """A given matrix has to be checked."""
        return False


@dataclass(eq=False, repr=False)
class Custom(OnFeatures):
    """A function of features.

    Parameters
    ----------
    function : callable
        With ``on="rows"`` it is called with two rows and gives a number, as for scikit-learn's ``KernelRidge``. With
        ``on="matrices"`` it is called with two arrays of shapes (n, d) and (m, d) and gives an array (n, m), as for
        scikit-learn's ``SVC``, which is much faster.
    on : {"rows", "matrices"}
        What it is called with.
    params : dict, optional
        Keywords for it.
    view, feature_weights
        As for `Linear`.
    """

    function: Callable[..., Any]
    on: str = "rows"
    params: dict[str, Any] | None = None

    def check(self) -> None:
        """Refuse what is not a function."""
        super().check()
        if not callable(self.function):
            raise ValueError(f"the function of a Custom kernel must be callable, got {self.function!r}")
        check_choice("on", self.on, ("rows", "matrices"))

    @property
    def is_positive(self) -> bool:
        """A function has to be checked."""
        return False

    @property
    def label(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__name__", "callable")

    def on_rows(self, X: Any, X_other: Any = None) -> np.ndarray:
        """Kernel values between the rows of X and of X_other (by default X), as a new array of X's dtype."""
        params = self.params or {}
        X, X_other = self.weighted(X), None if X_other is None else self.weighted(X_other)
        if self.on == "rows":
            K = pairwise_kernels(X, X_other, metric=cast(Any, self.function), **params)
        else:
            other = X if X_other is None else X_other
            K = self.function(X, other, **params)
            if np.shape(K) != (X.shape[0], other.shape[0]):
                raise ValueError(
                    f"the {self.label} kernel must give an array of shape {(X.shape[0], other.shape[0])}, "
                    f"got {np.shape(K)}"
                )
        return np.array(K.toarray() if hasattr(K, "toarray") else K, dtype=X.dtype)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(v, v) of the rows of X, one call for each row."""
        return np.array([float(self.on_rows(X[i : i + 1], X[i : i + 1])[0, 0]) for i in range(X.shape[0])])
