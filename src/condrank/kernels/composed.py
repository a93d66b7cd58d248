"""Kernels made of others: sums, products, weights, elementwise powers, and scaling to unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from condrank.base.checks import check_number
from condrank.kernels.expression import Kernel


class _Several(Kernel):
    """An associative operation on several kernels. Nested ones of the same kind are joined."""

    kernels: tuple[Kernel, ...]
    sign = ""

    def __init__(self, *kernels: Kernel):
        for kernel in kernels:
            _check_part(kernel, self)
        if len(kernels) < 2:
            raise ValueError(f"{type(self).__name__} takes at least two kernels, got {len(kernels)}")
        joined: list[Kernel] = []
        for kernel in kernels:
            joined += kernel.kernels if type(kernel) is type(self) else [kernel]
        self.kernels = tuple(joined)

    def own_params(self) -> dict[str, Any]:
        """The kernels as k1, k2, … ."""
        return {f"k{number}": kernel for number, kernel in enumerate(self.kernels, 1)}

    def put(self, name: str, value: Any) -> None:
        """Replace one of the kernels."""
        if not isinstance(value, Kernel):
            raise ValueError(f"{name} of a {type(self).__name__} must be a kernel, got {value!r}")
        kernels = list(self.kernels)
        kernels[int(name[1:]) - 1] = value
        self.kernels = tuple(kernels)

    def __repr__(self) -> str:
        # The second operand of a product is bracketed if it is one, because operators group from the left.
        first, *others = self.kernels
        texts = [first.shown_in(self.precedence), *(one.shown_in(self.precedence + 1) for one in others)]
        return f" {self.sign} ".join(texts)


class Sum(_Several):
    """Sum of kernels, ``k1 + k2 + …``: the coordinates of all of them side by side.

    Parameters
    ----------
    *kernels : Kernel
        At least two. Their parameters are k1, k2, … .
    """

    sign, precedence = "+", 0

    def summands(self) -> list[tuple[float, Kernel]]:
        """The weighted summands of all parts."""
        return [summand for kernel in self.kernels for summand in kernel.summands()]


class Product(_Several):
    """Elementwise product of kernels, ``k1 * k2 * …``: two nodes are alike if they are in every one of them.

    Parameters
    ----------
    *kernels : Kernel
        At least two. Their parameters are k1, k2, … .
    """

    sign, precedence = "*", 1


@dataclass(eq=False, repr=False)
class Weighted(Kernel):
    """A kernel times a weight ≥ 0, ``0.5 * kernel``.

    Parameters
    ----------
    weight : float
        The weight.
    kernel : Kernel
        The kernel.
    """

    weight: float
    kernel: Kernel
    precedence = 1

    def __post_init__(self) -> None:
        if isinstance(self.kernel, Weighted):
            self.weight, self.kernel = float(self.weight) * self.kernel.weight, self.kernel.kernel
        self.check()

    def check(self) -> None:
        """Refuse a weight that is negative or not a number."""
        self.weight = check_number("the weight of a kernel", self.weight, at_least=0.0)
        _check_part(self.kernel, self)

    def summands(self) -> list[tuple[float, Kernel]]:
        """The summands of the kernel, each with its weight times this one."""
        return [(self.weight * weight, kernel) for weight, kernel in self.kernel.summands()]

    def __repr__(self) -> str:
        return f"{self.weight!r} * {self.kernel.shown_in(2)}"


@dataclass(eq=False, repr=False)
class Power(Kernel):
    """An elementwise power, ``kernel ** 8``. A power above 1 makes a kernel narrower: only close nodes stay alike.

    A whole exponent keeps a kernel positive semi-definite. Others may not, which is checked on the training nodes.

    Parameters
    ----------
    kernel : Kernel
        The kernel. With an exponent that is not whole, its values must not be negative.
    exponent : float
        The exponent, above 0.
    """

    kernel: Kernel
    exponent: float
    precedence = 2

    def check(self) -> None:
        """Refuse an exponent that is not positive."""
        exponent = check_number("the exponent of a kernel", self.exponent, above=0.0)
        self.exponent = int(exponent) if exponent.is_integer() else exponent
        _check_part(self.kernel, self)

    @property
    def is_positive(self) -> bool:
        """Whether the exponent is whole and the kernel positive."""
        return isinstance(self.exponent, int) and self.kernel.is_positive

    def __repr__(self) -> str:
        return f"{self.kernel.shown_in(3)} ** {self.exponent!r}"


@dataclass(eq=False, repr=False)
class Unit(Kernel):
    """A kernel scaled to unit length: k(v, v') / √(k(v, v) k(v', v')), and 0 if k(v, v) is 0.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    """

    kernel: Kernel

    def check(self) -> None:
        """Refuse what is not a kernel."""
        _check_part(self.kernel, self)

    @property
    def depends_on_training(self) -> bool:
        """Whether the length of a node depends on whether it is known."""
        return self.kernel.has_identity or self.kernel.depends_on_training

    def __repr__(self) -> str:
        return f"Unit({self.kernel!r})"


def weighted_sum(summands: list[tuple[float, Kernel]]) -> Kernel:
    """The sum of some weighted kernels, without needless weights."""
    kernels = [kernel if weight == 1.0 else Weighted(weight, kernel) for weight, kernel in summands]
    return kernels[0] if len(kernels) == 1 else Sum(*kernels)


def _check_part(part: Any, of: Kernel) -> None:
    if isinstance(part, type) and issubclass(part, Kernel):
        raise ValueError(f"{type(of).__name__} takes kernels, got the class {part.__name__}: write {part.__name__}()")
    if not isinstance(part, Kernel):
        raise ValueError(f"{type(of).__name__} takes kernels, got {part!r}")
