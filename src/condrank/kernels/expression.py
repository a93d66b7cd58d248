"""The base of kernel expressions: operators, nested parameters, and what can be asked of any kernel."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np

from condrank.base.arrays import check_features


class Kernel:
    """A kernel between nodes, or an expression of kernels.

    ``+`` adds kernels (a number counts as so many times `Constant`), ``*`` multiplies them elementwise or by a weight
    ≥ 0, and ``**`` is an elementwise power. Printing an expression gives text that makes the same expression again. The
    parameters of its parts have nested names, such as ``kernel__k1__gamma`` for the first summand of a ranker's kernel.
    """

    #: The value of the parameter ``kernel`` that this kernel is a shorthand of; None if there is none.
    name: str | None = None
    #: Precedence of the printed form: sum 0, product 1, power 2, anything else 3.
    precedence = 3

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise a ValueError if a parameter is wrong."""

    # Operators

    def __add__(self, other: Any) -> Kernel:
        from condrank.kernels.composed import Sum

        other = _as_kernel(other)
        return NotImplemented if other is None else Sum(self, other)

    def __radd__(self, other: Any) -> Kernel:
        from condrank.kernels.composed import Sum

        if _is_number(other) and other == 0:
            return self  # the start of Python's sum()
        other = _as_kernel(other)
        return NotImplemented if other is None else Sum(other, self)

    def __mul__(self, other: Any) -> Kernel:
        from condrank.kernels.composed import Product, Weighted

        if _is_number(other):
            return Weighted(other, self)
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        from condrank.kernels.composed import Weighted

        return Weighted(other, self) if _is_number(other) else NotImplemented

    def __pow__(self, exponent: Any) -> Kernel:
        from condrank.kernels.composed import Power

        return Power(self, exponent) if _is_number(exponent) else NotImplemented

    # Parts

    def parts(self) -> dict[str, Kernel]:
        """The kernels that this one is made of, by the names of their parameters."""
        return {name: value for name, value in self.own_params().items() if isinstance(value, Kernel)}

    def leaves(self) -> Iterator[Any]:
        """All kernels of the expression that are not made of others."""
        parts = self.parts()
        if not parts:
            yield self
        for part in parts.values():
            yield from part.leaves()

    def mapped(self, function: Callable[[Any], Kernel]) -> Kernel:
        """A copy in which each leaf is replaced."""
        parts = self.parts()
        if not parts:
            return function(self)
        twin = copy.copy(self)
        for name, part in parts.items():
            twin.put(name, part.mapped(function))
        return twin

    def summands(self) -> list[tuple[float, Kernel]]:
        """The kernel as a sum of weighted kernels that are not sums."""
        return [(1.0, self)]

    @property
    def constant(self) -> float:
        """The number that a sum adds to all values: the weight of `Constant` in it, 0 if there is none."""
        return float(sum(weight for weight, kernel in self.summands() if kernel.is_constant))

    @property
    def body(self) -> Kernel:
        """The kernel without the `Constant` of a sum. A kernel that is only constant is returned as it is."""
        summands = self.summands()
        rest = [(weight, kernel) for weight, kernel in summands if not kernel.is_constant]
        if not rest or len(rest) == len(summands):
            return self
        from condrank.kernels.composed import weighted_sum

        return weighted_sum(rest)

    # Facts

    is_constant = False
    is_identity = False
    is_precomputed = False

    @property
    def has_identity(self) -> bool:
        """Whether nodes are recognised by who they are, beside their features."""
        return any(leaf.is_identity for leaf in self.leaves())

    @property
    def matrices(self) -> frozenset[str | None]:
        """Views that are given as kernel matrices; None is the view of nodes without names."""
        return frozenset(leaf.view for leaf in self.leaves() if leaf.is_precomputed)

    @property
    def feature_views(self) -> frozenset[str | None]:
        """Views that are given as features."""
        return frozenset(leaf.view for leaf in self.leaves() if leaf.takes_features)

    takes_features = False

    @property
    def is_positive(self) -> bool:
        """Whether the kernel is known to be positive semi-definite on all nodes."""
        return all(part.is_positive for part in self.parts().values())

    @property
    def depends_on_training(self) -> bool:
        """Whether values between two nodes may change with the nodes that are in training."""
        return any(part.depends_on_training for part in self.parts().values())

    @property
    def label(self) -> str:
        """The kernel for messages: its short name, or the expression."""
        text = self.name if self.name is not None and self._is_plain() else repr(self)
        return text if len(text) <= 80 else f"{text[:77]}..."

    def _is_plain(self) -> bool:
        """Whether no view is named."""
        return getattr(self, "view", None) is None

    def __call__(self, X: Any, X_other: Any = None) -> np.ndarray:
        """Kernel values between the rows of X and of X_other (by default X), as a new array.

        Both are features (n, d), or dicts of features by view. The width of ``gamma="median"`` is that of X. Identity
        and given matrices need nodes of a graph.
        """
        from condrank.kernels.combining import combine

        first = _read_rows(X, "X")
        sides = (first, first if X_other is None else _read_rows(X_other, "X_other"))
        shape = tuple(next(iter(rows.values())).shape[0] for rows in sides)

        def values(leaf: Any) -> np.ndarray:
            if leaf.is_constant:
                return np.ones(shape, dtype=np.result_type(*(rows.dtype for rows in first.values())))
            one, other = (_rows_of(leaf, rows) for rows in sides)
            return leaf.on_rows(one, None if sides[1] is first else other)

        def diagonal(leaf: Any, side: int) -> np.ndarray:
            return np.ones(shape[side]) if leaf.is_constant else leaf.diagonal(_rows_of(leaf, sides[side]))

        fitted = self.mapped(lambda leaf: leaf.fitted(_rows_of(leaf, first)) if leaf.depends_on_training else leaf)
        return combine(fitted, values, diagonal)

    # Parameters, as scikit-learn has them

    def own_params(self) -> dict[str, Any]:
        """Parameters by name, those that can be given by position first."""
        ordered = sorted(fields(self), key=lambda field: bool(field.kw_only))  # pyright: ignore[reportArgumentType]
        return {field.name: getattr(self, field.name) for field in ordered}

    def put(self, name: str, value: Any) -> None:
        """Set one parameter, without checking it."""
        setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` those of the parts too, as ``k1__gamma``."""
        found = dict(self.own_params())
        if deep:
            for name, part in self.parts().items():
                found |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Kernel:
        """Change parameters, also of parts, in place."""
        own, nested = self.own_params(), dict[str, dict[str, Any]]()
        for name, value in params.items():
            first, _, rest = name.partition("__")
            if first not in own:
                raise ValueError(f"{type(self).__name__} has no parameter {first!r}; it has {[*own]}")
            if rest:
                nested.setdefault(first, {})[rest] = value
            else:
                self.put(first, value)
        for first, values in nested.items():
            part = self.own_params()[first]
            if not isinstance(part, Kernel):
                raise ValueError(f"{first} of {type(self).__name__} is {part!r}, which has no parameters {[*values]}")
            part.set_params(**values)
        self.check()
        return self

    def __sklearn_clone__(self) -> Kernel:
        return copy.deepcopy(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _equal(self.own_params(), other.own_params())  # pyright: ignore

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        defaults = {field.name: field.default for field in fields(self)}  # pyright: ignore[reportArgumentType]
        given = [f"{name}={value!r}" for name, value in self.own_params().items() if not _same(value, defaults[name])]
        return f"{type(self).__name__}({', '.join(given)})"

    def shown_in(self, precedence: int) -> str:
        """The printed form as an operand, in brackets if the operator around it binds more strongly."""
        text = repr(self)
        return f"({text})" if self.precedence < precedence else text


def _read_rows(given: Any, name: str) -> dict[str | None, Any]:
    """Checked features by view; None is the view of features without names."""
    if not isinstance(given, Mapping):
        return {None: check_features(given, name)}
    if not given:
        raise ValueError(f"{name} must have at least one view, got an empty dict")
    return {view: check_features(rows, f"view {view!r} of {name}") for view, rows in given.items()}


def _rows_of(leaf: Any, rows: dict[str | None, Any]) -> Any:
    """Features of the view of a leaf. Features without names serve every view, a single view serves leaves without."""
    if not leaf.takes_features:
        raise ValueError(f"{leaf!r} has no values on features alone; fit a ranker to a RelationGraph with it")
    if len(rows) == 1 and (None in rows or leaf.view is None):
        (only,) = rows.values()
        return only
    if leaf.view not in rows:
        raise ValueError(f"{leaf!r} needs the view {leaf.view!r}, got the views {[*rows]}")
    return rows[leaf.view]


def _equal(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are the same; arrays, also within dicts and tuples, by their entries."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
    return one is other or bool(one == other)


def _as_kernel(other: Any) -> Kernel | None:
    """An operand of a sum; None if it is neither a kernel nor a number."""
    if isinstance(other, Kernel):
        return other
    if not _is_number(other):
        return None
    from condrank.kernels.composed import Weighted
    from condrank.kernels.leaves import Constant

    return Weighted(other, Constant())


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.number) and not isinstance(value, bool | np.bool_)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default
