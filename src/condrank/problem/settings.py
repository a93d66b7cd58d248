"""Checked parameters of a fit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from condrank.kernels import Custom, Kernel, parse_kernel, read_kernel
from condrank.kernels.shorthand import shorthand_of
from condrank.nodes import Approximation
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation
from condrank.persistence.plain import plain


@dataclass(frozen=True)
class Settings:
    """Checked parameters of a fit; `condrank.ConditionalRanker` explains them."""

    relation: Relation
    loss: Loss
    alpha: float
    kernel: Kernel
    prior_weight: float
    rank_by: str
    clip: bool
    solver: str
    pairwise_kernel: str | None
    tol: float
    max_iter: int
    method: str
    centre: float
    compared: tuple[int, ...] = ()
    approximation: Approximation | None = None
    object_kernel: Kernel | None = None

    @property
    def kernels(self) -> tuple[Kernel, Kernel]:
        """Kernels of the conditioning nodes and of the objects; the same one for both in a single domain."""
        second = self.kernel if self.object_kernel is None else self.object_kernel
        return (self.kernel, second) if self.rank_by == "outgoing" else (second, self.kernel)

    def to_state(self) -> dict[str, Any]:
        """Plain values."""
        values = _fields(self) | {
            "relation": self.relation.name,
            "loss": self.loss.name,
            "kernel": kernel_to("kernel", self.kernel),
        }
        del values["object_kernel"]
        if self.object_kernel is not None and self.object_kernel != self.kernel:
            values["object_kernel"] = kernel_to("object_kernel", self.object_kernel)
        if self.loss.fits_intercept:
            values["fit_intercept"] = True  # a file without it is also read by versions that know no intercept
        if self.approximation is not None:
            # The drawn landmarks or frequencies are in the arrays. A seed drawn for random_state=None is useless later.
            compared = [field.name for field in fields(self.approximation) if field.compare]
            values["approximation"] = {name: getattr(self.approximation, name) for name in compared}
        return plain("settings", values)


def kernel_to(name: str, kernel: Kernel) -> Any:
    """A kernel as plain values: a shorthand as files have had it from the start, or the text of an expression."""
    found = shorthand_of(kernel)
    if found is None:
        return kernel_text(name, kernel)
    return {"name": found.pop("kernel"), "weights": found.pop("feature_weights")} | found


def kernel_from(given: Any) -> Kernel:
    """The kernel that `kernel_to` stored."""
    if not isinstance(given, dict):
        return parse_kernel(given)
    if set(given) != {"name", "gamma", "degree", "coef0", "params", "constant", "weights"}:
        raise ValueError(f"kernel of the fit must have the parameters of a kernel, got {[*given]}")
    values = dict(given)
    return read_kernel(values.pop("name"), feature_weights=values.pop("weights"), **values)


def kernel_text(name: str, kernel: Kernel) -> str:
    """A kernel as text that `condrank.kernels.parse_kernel` reads. A function cannot be saved."""
    for leaf in kernel.leaves():
        if isinstance(leaf, Custom):
            plain(name, leaf.function)  # raises
    return repr(kernel)


def _fields(instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in fields(instance)}
