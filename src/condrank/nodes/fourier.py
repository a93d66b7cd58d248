"""Random Fourier features of shift-invariant kernels: k(x - y) is the mean of cos ωᵀ(x - y) over its frequencies ω."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_number
from condrank.kernels.expression import Kernel
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held

FOURIER = ("rbf", "laplacian")


@dataclass(frozen=True)
class FourierFeatures:
    """Features φ(x) = (cos ωᵀx, sin ωᵀx)/√f of f random frequencies ω, so that φ(x)ᵀφ(y) ≈ k(x, y).

    The frequencies of the RBF kernel exp(-γ‖x - y‖²) are normal with variance 2γ. Those of the Laplacian kernel
    exp(-γ‖x - y‖₁) are Cauchy with scale γ. The error is about √(1/m) for any spectrum of the kernel.

    Attributes
    ----------
    kernel : Kernel
        An RBF or Laplacian kernel, perhaps with a weight. A constant that it adds is not part of φ.
    frequencies : ndarray of shape (d, f)
        ω, one per column.
    phase : float
        Phase of the last frequency if the number of features is odd. Its only feature is √2 cos(ωᵀx + phase).
    n_features : int
        m, 2f or 2f - 1.
    """

    kernel: Kernel
    frequencies: np.ndarray
    phase: float
    n_features: int

    @classmethod
    def fit(cls, kernel: Kernel, nodes: Nodes, m: int, seed: int) -> FourierFeatures:
        """Draw the frequencies of m features of a kernel on these nodes. O(dm)."""
        check_fourier(kernel)
        _, leaf = _summand(kernel)
        d, rng = nodes.view(leaf.view).base.shape[1], np.random.default_rng(seed)
        gamma = 1.0 / d if leaf.gamma is None else leaf.gamma
        shape = (d, (m + 1) // 2)
        if leaf.name == "rbf":
            frequencies = np.sqrt(2 * gamma) * rng.standard_normal(shape)
        else:
            frequencies = gamma * rng.standard_cauchy(shape)
        return cls(kernel, frequencies, float(rng.uniform(0, 2 * np.pi)) if m % 2 else 0.0, m)

    def to_state(self, arrays: Arrays, training: Nodes) -> dict[str, Any]:
        """The frequencies and the phase; `from_state` reads them."""
        arrays.put("frequencies", self.frequencies)
        return {"phase": float(self.phase)}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, kernel: Kernel, nodes: Nodes, m: int) -> FourierFeatures:
        """The m stored features of a kernel on these nodes."""
        phase = check_number(f"phase of {held.name}", given["phase"], at_least=0.0)
        d = nodes.view(_summand(kernel)[1].view).base.shape[1]
        return cls(kernel, held.floats("frequencies", d, (m + 1) // 2), phase, m)

    def __call__(self, nodes: Nodes) -> np.ndarray:
        """Features (b, m) of a block of nodes, dense or sparse, in the nodes' precision. O(bdm)."""
        weight, leaf = _summand(self.kernel)
        f, X = self.frequencies.shape[1], nodes.view(leaf.view).rows
        angles = np.asarray(leaf.weighted(X) @ self.frequencies.astype(X.dtype, copy=False))
        angles[:, -1] += X.dtype.type(self.phase)
        out = np.empty((len(angles), self.n_features), dtype=X.dtype)
        np.sin(angles[:, : self.n_features - f], out=out[:, f:])
        np.cos(angles, out=out[:, :f])
        if self.n_features % 2:
            out[:, f - 1] *= np.sqrt(2).astype(X.dtype)
        out *= X.dtype.type((weight / f) ** 0.5)
        return out


def check_fourier(kernel: Kernel) -> None:
    """Raise if the kernel is not a function of x - y, or if its frequencies are not known."""
    summands = _summands(kernel)
    if len(summands) != 1 or summands[0][1].name not in FOURIER:
        raise ValueError(
            f"approximation='fourier' is for kernels {list(FOURIER)}, got {kernel.body.label!r}; use 'nystroem'"
        )


def _summand(kernel: Kernel) -> tuple[float, Any]:
    """The weight and the RBF or Laplacian kernel."""
    return _summands(kernel)[0]


def _summands(kernel: Kernel) -> list[tuple[float, Any]]:
    """Kernels of a sum that count, without its constant."""
    return [(weight, one) for weight, one in kernel.body.summands() if weight]
