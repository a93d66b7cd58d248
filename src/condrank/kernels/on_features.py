"""Kernels on the features of one view: those of scikit-learn, by the names that it has for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import normalize

from condrank.base.arrays import writable
from condrank.base.checks import check_number
from condrank.kernels.expression import Kernel
from condrank.kernels.widths import MEDIANS, median_width

MEDIAN = "median"


@dataclass(eq=False, repr=False)
class OnFeatures(Kernel):
    """A kernel of scikit-learn on the features of one view."""

    view: str | None = field(default=None, kw_only=True)
    feature_weights: tuple[float, ...] | None = field(default=None, kw_only=True)
    takes_features: ClassVar[bool] = True
    #: Parameters that are passed to scikit-learn.
    passed: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Refuse wrong parameters."""
        check_view(self.view)
        if self.feature_weights is not None:
            weights = np.asarray(self.feature_weights)
            numbers = weights.ndim == 1 and weights.dtype.kind in "fiub" and np.isfinite(weights).all()
            if not numbers or (weights < 0).any() or not weights.any():
                raise ValueError(
                    f"feature_weights must be finite numbers, not negative and not all zero, got {_shown(weights)}"
                )
            self.feature_weights = tuple(weights.astype(np.float64).tolist())

    @property
    def is_positive(self) -> bool:
        """Whether the kernel is positive semi-definite for all parameters."""
        return self.name in ("linear", "rbf", "cosine", "laplacian", "chi2")

    @property
    def has_unit_diagonal(self) -> bool:
        """Whether k(v, v) = 1 for all nodes."""
        return self.name in ("rbf", "laplacian", "chi2")

    def fitted(self, X: Any) -> Kernel:
        """The kernel with a width for the features X of the training nodes, if it is not a number yet."""
        return self

    def on_rows(self, X: Any, X_other: Any = None) -> np.ndarray:
        """Kernel values between the rows of X and of X_other (by default X), as a new array of X's dtype."""
        given = {name: getattr(self, name) for name in self.passed}
        given = {name: value for name, value in given.items() if value is not None}  # chi2 rejects None
        X, X_other = self.weighted(X), None if X_other is None else self.weighted(X_other)
        if self.name == "chi2":
            X, X_other = writable(X), writable(X_other)
        K: Any = pairwise_kernels(X, X_other, metric=cast(Any, self.name), **given)
        return np.asarray(K.toarray() if hasattr(K, "toarray") else K, dtype=X.dtype)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(v, v) of the rows of X, in double precision. O(nd)."""
        if self.has_unit_diagonal:
            return np.ones(X.shape[0])
        X = self.weighted(X).astype(np.float64)
        squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
        return self._of_squares(np.asarray(squares).ravel(), X.shape[1])

    def _of_squares(self, squares: np.ndarray, n_features: int) -> np.ndarray:
        """k(v, v) from ‖x‖²."""
        return squares

    def weighted(self, X: Any) -> Any:
        """Features multiplied by their weights: a copy if there are weights, otherwise X itself."""
        if self.feature_weights is None:
            return X
        weights = np.asarray(self.feature_weights, dtype=X.dtype)
        if X.shape[1] != len(weights):
            raise ValueError(f"feature_weights must be {X.shape[1]} numbers, one per feature, got {len(weights)}")
        return sparse.csr_array(X @ sparse.diags_array(weights)) if sparse.issparse(X) else X * weights


@dataclass(eq=False, repr=False)
class Linear(OnFeatures):
    """xᵀx'.

    Parameters
    ----------
    view : str, optional
        Name of the features, if the nodes have several views.
    feature_weights : sequence of float, optional
        Weights ≥ 0 that multiply the features.
    """

    name = "linear"

    def features(self, X: Any) -> Any:
        """Explicit features φ with k = φᵀφ', for a block of rows."""
        return self.weighted(X)


@dataclass(eq=False, repr=False)
class Cosine(OnFeatures):
    """Cosine of the angle between x and x'.

    Parameters
    ----------
    view, feature_weights
        As for `Linear`.
    """

    name = "cosine"

    def features(self, X: Any) -> Any:
        """Rows of unit length."""
        return normalize(self.weighted(X))

    def _of_squares(self, squares: np.ndarray, n_features: int) -> np.ndarray:
        return (squares > 0).astype(np.float64)


@dataclass(eq=False, repr=False)
class _WithWidth(OnFeatures):
    gamma: float | str | None = None
    passed: ClassVar[tuple[str, ...]] = ("gamma",)

    def check(self) -> None:
        """Refuse a width that is not a number, "median" or None."""
        super().check()
        if self.gamma is None or (self.gamma == MEDIAN and self.name in MEDIANS):
            return
        if isinstance(self.gamma, str):
            allowed = "a number or None" if self.name not in MEDIANS else "a number, None or 'median'"
            raise ValueError(f"gamma of the {self.name} kernel must be {allowed}, got {self.gamma!r}")
        self.gamma = check_number(f"gamma of the {self.name} kernel", self.gamma)
        if self.gamma < 0 and self.name in MEDIANS:
            raise ValueError(f"gamma must not be negative for the {self.name} kernel, got {self.gamma!r}")

    @property
    def depends_on_training(self) -> bool:
        """Whether the width is still to be fitted to training nodes."""
        return self.gamma == MEDIAN

    def fitted(self, X: Any) -> Kernel:
        """With ``gamma="median"``: one over the median distance of some rows of X."""
        if self.gamma != MEDIAN:
            return self
        return replace(self, gamma=1.0 / median_width(cast(str, self.name), self.weighted(X)))


@dataclass(eq=False, repr=False)
class RBF(_WithWidth):
    """exp(-γ‖x - x'‖²).

    Parameters
    ----------
    gamma : float or "median", optional
        γ. "median" is one over the median of ‖x - x'‖² of the training nodes; None is one over the number of features.
    view, feature_weights
        As for `Linear`.
    """

    name = "rbf"


@dataclass(eq=False, repr=False)
class Laplacian(_WithWidth):
    """exp(-γ‖x - x'‖₁).

    Parameters
    ----------
    gamma : float or "median", optional
        γ. "median" is one over the median of ‖x - x'‖₁ of the training nodes; None is one over the number of features.
    view, feature_weights
        As for `Linear`.
    """

    name = "laplacian"


@dataclass(eq=False, repr=False)
class Chi2(_WithWidth):
    """exp(-γ Σ (x - x')²/(x + x')), for features ≥ 0 such as counts.

    Parameters
    ----------
    gamma : float or "median", optional
        γ. "median" is one over the median of the sum for the training nodes; None is 1.
    view, feature_weights
        As for `Linear`.
    """

    name = "chi2"


@dataclass(eq=False, repr=False)
class Sigmoid(_WithWidth):
    """tanh(γ xᵀx' + c₀), which need not be positive semi-definite.

    Parameters
    ----------
    gamma : float, optional
        γ; None is one over the number of features.
    coef0 : float
        c₀.
    view, feature_weights
        As for `Linear`.
    """

    coef0: float = 1.0
    name = "sigmoid"
    passed: ClassVar[tuple[str, ...]] = ("gamma", "coef0")

    def check(self) -> None:
        """Refuse a c₀ that is not a number."""
        super().check()
        self.coef0 = check_number(f"coef0 of the {self.name} kernel", self.coef0)

    def _of_squares(self, squares: np.ndarray, n_features: int) -> np.ndarray:
        return np.tanh(self._inner(squares, n_features))

    def _inner(self, squares: np.ndarray, n_features: int) -> np.ndarray:
        gamma = 1.0 / n_features if self.gamma is None else float(self.gamma)
        return gamma * squares + self.coef0


@dataclass(eq=False, repr=False)
class Polynomial(Sigmoid):
    """(γ xᵀx' + c₀)^d.

    Parameters
    ----------
    gamma, coef0 : float
        As for `Sigmoid`.
    degree : float
        d.
    view, feature_weights
        As for `Linear`.
    """

    degree: float = 3.0
    name = "poly"
    passed: ClassVar[tuple[str, ...]] = ("gamma", "coef0", "degree")

    def check(self) -> None:
        """Refuse a degree that is not a number."""
        super().check()
        self.degree = check_number(f"degree of the {self.name} kernel", self.degree)

    def _of_squares(self, squares: np.ndarray, n_features: int) -> np.ndarray:
        return self._inner(squares, n_features) ** self.degree


#: Feature kernels by the value of the parameter ``kernel``.
ON_FEATURES = {kind.name: kind for kind in (Linear, RBF, Polynomial, Cosine, Laplacian, Chi2, Sigmoid)}


def _shown(weights: np.ndarray) -> str:
    """The beginning of feature weights for a message: there may be very many."""
    text = repr(weights.tolist())
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_view(view: Any) -> None:
    """Refuse a name of a view that is not text."""
    if view is not None and (not isinstance(view, str) or not view):
        raise ValueError(f"view must be the name of a view, got {view!r}")
