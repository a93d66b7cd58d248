"""Node kernels k(v, v'): those of scikit-learn, callables, and precomputed matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

KERNELS = ("linear", "rbf", "poly", "cosine", "laplacian", "chi2", "sigmoid", "precomputed")


@dataclass(frozen=True)
class NodeKernel:
    """A kernel by name or callable, with the parameters of scikit-learn's ``KernelRidge``.

    ``constant=True`` adds 1 to every value, which is the same as appending a constant coordinate to z. ``weights``
    multiply the features before the kernel is computed. They are a tuple, so that kernels can be compared.
    """

    name: str | Callable[..., Any] = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: dict[str, Any] = field(default_factory=dict)
    constant: bool = False
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not callable(self.name) and self.name not in KERNELS:
            raise ValueError(f"kernel must be a callable or one of {list(KERNELS)}, got {self.name!r}")
        if self.name in ("rbf", "laplacian", "chi2") and self.gamma is not None and self.gamma < 0:
            raise ValueError(f"gamma must not be negative for the {self.name} kernel, got {self.gamma!r}")

    @property
    def is_precomputed(self) -> bool:
        """Whether the nodes are given as a kernel matrix."""
        return self.name == "precomputed"

    @property
    def is_positive(self) -> bool:
        """Whether the kernel is known to be positive semi-definite on all nodes."""
        return self.name in ("linear", "rbf", "cosine", "laplacian", "chi2")

    @property
    def label(self) -> str:
        """The kernel's name for messages."""
        return self.name if isinstance(self.name, str) else getattr(self.name, "__name__", "callable")

    def __call__(self, X: Any, X_other: Any = None) -> np.ndarray:
        """Kernel values between the rows of X and of X_other (by default X), as a new array of X's dtype."""
        metric: Any = self.name
        X, X_other = self.weighted(X), None if X_other is None else self.weighted(X_other)
        if callable(metric):
            K = pairwise_kernels(X, X_other, metric=cast(Any, metric), **self.params)
        else:
            settings = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            settings = {name: value for name, value in settings.items() if value is not None}  # chi2 rejects None
            K = pairwise_kernels(X, X_other, metric=metric, filter_params=True, **settings)
        K = np.asarray(K.toarray() if hasattr(K, "toarray") else K, dtype=X.dtype)
        if self.constant:
            K += 1
        return K

    def weighted(self, X: Any) -> Any:
        """Features multiplied by their weights: a copy if there are weights, otherwise X itself."""
        if self.weights is None:
            return X
        weights = np.asarray(self.weights, dtype=X.dtype)
        return sparse.csr_array(X @ sparse.diags_array(weights)) if sparse.issparse(X) else X * weights
