"""Sums of a factored relation over explicit features. A closed form needs nothing else, and nodes can be added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_number, check_numbers
from condrank.nodes import ExplicitFeatures, Nodes
from condrank.nodes.feature_maps import FeatureMap, FeatureRows
from condrank.nodes.feature_sums import FeatureSums
from condrank.nodes.features import add_rows
from condrank.observations import Factored
from condrank.observations.factored import class_members, reduce_factors
from condrank.persistence.arrays import Arrays, Held

ROUNDED = 1e-6  # relative difference of equal values of different floating types


@dataclass(frozen=True)
class FactoredSums:
    """ΦᵀΦ, Φᵀ1, AᵀΦ and Aᵀ1 of the nodes and of the objects, for Y = A S Bᵀ. O(p² + kp) memory for any number of nodes.

    A `ClosedForm` takes these sums instead of observations.

    Attributes
    ----------
    rows, cols : FeatureSums
        Sums over the conditioning nodes and over the objects; the same Python object for one domain.
    S : ndarray of shape (k, l)
        Relation between the factors, in double precision.
    names : list or None
        Names of the factors, see `Factored`.
    rest : float or None
        Value between factors that S does not contain; None means not known.
    levels : tuple of float or None
        Values of a taxonomy.
    """

    rows: FeatureSums
    cols: FeatureSums
    S: np.ndarray
    names: list[Any] | None
    rest: float | None
    levels: tuple[float, ...] | None = None

    @classmethod
    def of(cls, rows: FeatureSums, cols: FeatureSums, observed: Factored) -> FactoredSums:
        """Sums over nodes, with the relation between their factors."""
        return cls(rows, cols, observed.S.astype(np.float64), observed.names, observed.rest, observed.levels)

    @property
    def one_domain(self) -> bool:
        """Whether the objects are the conditioning nodes."""
        return self.cols is self.rows

    def joined(self, other: FactoredSums) -> FactoredSums:
        """Sums over the nodes of both. The factors give the relation of every pair of them."""
        if self.one_domain != other.one_domain or len(self.rows.factors) != len(other.rows.factors):
            raise ValueError(
                "X must be a graph like those before: with one domain or two, with or without factors B of the objects"
            )
        names, S, places = _match(self, other)
        by_rows = [places] if self.names is not None else [np.arange(S.shape[0])]
        by_cols = [places] if self.names is not None else [np.arange(S.shape[1])]
        if self.one_domain:
            both = by_rows + by_cols if len(self.rows.factors) == 2 else by_rows
            rows = cols = self.rows.joined(other.rows, both, list(S.shape)[: len(both)])
        else:
            rows = self.rows.joined(other.rows, by_rows, S.shape[:1])
            cols = self.cols.joined(other.cols, by_cols, S.shape[1:])
        return FactoredSums(rows, cols, S, names, self.rest, self.levels)

    def to_state(self, arrays: Arrays) -> dict[str, Any] | None:
        """Sums, S and the names and values of the factors; None if the name of a class is not a plain value.

        Predictions do not need the sums, so a model can be saved without them if a name cannot be stored.
        """
        if not all(_is_plain(name) for name in self.names or []):
            return None
        arrays.put("S", self.S)
        rows = self.rows.to_state(arrays.under("rows"))
        cols = {"total": None} if self.one_domain else self.cols.to_state(arrays.under("cols"))
        names = None if self.names is None else [list(name) if isinstance(name, tuple) else name for name in self.names]
        levels = None if self.levels is None else list(self.levels)
        return {"totals": [rows["total"], cols["total"]], "names": names, "rest": self.rest, "levels": levels}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, rows: Any, cols: Any) -> FactoredSums:
        """Stored sums over the training nodes of these coordinates. Raises if they are not from explicit features."""
        S = held.floats("S", None, None)
        rest = None if given["rest"] is None else check_number("rest of the sums", given["rest"])
        names, levels = given["names"], given["levels"]
        if levels is not None:
            levels = tuple(check_numbers("levels of the sums", levels))
        if names is not None:
            names = [tuple(name) if isinstance(name, list) else name for name in names]
            if not all(_is_plain(name) for name in names) or S.shape != (len(set(names)), len(names)):
                raise ValueError(f"names of the sums must be {len(S)} different strings or numbers, got {names!r:.100}")
        first, second = given["totals"]
        if cols is rows:
            sizes = S.shape if "factors1" in held.under("rows") else S.shape[:1]
            by_rows = by_cols = _side_from(first, held.under("rows"), rows, sizes)
        else:
            by_rows = _side_from(first, held.under("rows"), rows, S.shape[:1])
            by_cols = _side_from(second, held.under("cols"), cols, S.shape[1:])
        return cls(by_rows, by_cols, S, names, rest, levels)

    # The methods of observations

    @property
    def shape(self) -> tuple[int, int]:
        """Number of conditioning nodes and of objects."""
        return round(self.rows.total), round(self.cols.total)

    def reduced(self, rows: Any, cols: Any) -> np.ndarray:
        """ΦᵀYΦ' = (AᵀΦ)ᵀ S (BᵀΦ')."""
        return reduce_factors(self.rows.factors[0], self.S, self.cols.factors[-1])

    def reduced_sums(self, rows: Any) -> np.ndarray:
        """ΦᵀY1 = (AᵀΦ)ᵀ S Bᵀ1."""
        return reduce_factors(self.rows.factors[0], self.S, self.cols.counts[-1])

    def reduced_and_total(self, rows: Any, cols: Any) -> tuple[np.ndarray, float]:
        """`reduced`, and the sum of all labels 1ᵀY1 = (Aᵀ1)ᵀ S Bᵀ1."""
        return self.reduced(rows, cols), self.total()

    def total(self) -> float:
        """The sum of all labels, (Aᵀ1)ᵀ S Bᵀ1."""
        return float(self.rows.counts[0] @ (self.S @ self.cols.counts[-1]))

    def squares(self) -> tuple[float, float] | None:
        """Σ y² of all labels and of the sums of the rows, if every node is of one class; None otherwise."""
        if self.names is None or self.levels is not None:
            return None
        members, counts = self.rows.counts[0], self.cols.counts[-1]
        sums = self.S @ counts
        return float(members @ ((self.S * self.S) @ counts)), float(members @ (sums * sums))

    def between_classes(self) -> Factored | None:
        """The relation of at most two nodes of each class, which has all of its values; None without classes."""
        if self.names is None or self.levels is not None or not self.one_domain or len(self.rows.factors) > 1:
            return None
        members = np.repeat(np.arange(len(self.names)), np.minimum(np.rint(self.rows.counts[0]), 2).astype(np.intp))
        A = class_members(members, len(self.names), self.S.dtype)
        return Factored(A, self.S, A, self.names, self.rest)


def sums_over(
    features: tuple[FeatureMap, FeatureMap], first: Nodes, second: Nodes, observed: Factored, constants: Sequence[float]
) -> FactoredSums:
    """Sums over conditioning nodes and objects, and their relation: one pass over the features of each."""
    sides = [*zip(features, (first, second), constants, strict=True)][: 1 if second is first else 2]
    sums = []
    for (one, nodes, constant), factors in zip(sides, observed.factors_of(second is first), strict=False):
        rows = FeatureRows(one, nodes, constant)
        sums.append(FeatureSums(rows.shape[1], [A.shape[1] for A in factors]))
        add_rows(sums[-1], rows, None, factors)
    return FactoredSums.of(sums[0], sums[-1], observed)


def _side_from(total: Any, held: Held, coordinates: Any, n_factors: tuple[int, ...]) -> FeatureSums:
    if not isinstance(coordinates, ExplicitFeatures):
        raise ValueError(f"{held.name} need coordinates of explicit features, got {type(coordinates).__name__}")
    sums = FeatureSums.from_state({"total": total}, held, len(coordinates.rotation), n_factors)
    if sums.total != coordinates.n_nodes:
        raise ValueError(f"{held.name} must be over {coordinates.n_nodes} nodes, got {sums.total:g}")
    return sums


def _is_plain(name: Any) -> bool:
    """Whether JSON can hold the name of a class, or a path of a taxonomy."""
    if isinstance(name, tuple):
        return all(_is_plain(one) and not isinstance(one, tuple) for one in name)
    return isinstance(name, str | int | float | bool)


def _match(old: FactoredSums, new: FactoredSums) -> tuple[list[Any] | None, np.ndarray, np.ndarray]:
    """Names and S of two sets of factors together, and the positions of the new factors in them."""
    if old.names is None or new.names is None:
        if (
            old.names is not new.names
            or old.S.shape != new.S.shape
            or not np.allclose(old.S, new.S, rtol=ROUNDED, atol=0)
        ):
            raise ValueError("X must have the same relation S between factors as the nodes before, of the same shape")
        return None, old.S, np.arange(0)
    _check_kind(old, new)
    place = {name: position for position, name in enumerate(old.names)}
    places = np.array([place.setdefault(name, len(place)) for name in new.names], dtype=np.intp)
    names, k = list(place), len(old.names)
    S = np.full((len(names), len(names)), np.nan if old.rest is None else old.rest)
    S[:k, :k] = old.S
    known = np.zeros(S.shape, dtype=bool)
    known[:k, :k] = True
    here = np.ix_(places, places)
    differs = np.argwhere(known[here] & ~np.isclose(S[here], new.S, rtol=ROUNDED, atol=0))
    if old.rest != new.rest or len(differs):
        pair = [new.names[i] for i in differs[0]] if len(differs) else []
        which = f", but that of {pair[0]!r} and {pair[1]!r} differs" if pair else ""
        raise ValueError(f"X must have the same similarity of classes as the nodes before{which}")
    S[here] = new.S
    unknown = np.argwhere(np.isnan(S))
    if len(unknown):
        one, other = (names[i] for i in unknown[0])
        raise ValueError(
            f"the similarity of classes {one!r} and {other!r} is not known, as no block of nodes has both: make "
            "every graph with the whole similarity, RelationGraph.from_classes(X, labels, similarity, classes=...)"
        )
    return names, S, places


def _check_kind(old: FactoredSums, new: FactoredSums) -> None:
    """Raise if the kind of classes differs from before. Names that occur in both need not show it."""
    kinds = [_kind(sums.levels) for sums in (old, new)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"X must have the same kind of classes as the nodes before, {kinds[0]}, got {kinds[1]}")
    if old.levels is not None and not np.allclose(old.levels, new.levels or (), rtol=ROUNDED, atol=0):
        raise ValueError(
            f"X must have the same similarity of shared levels as the nodes before, {old.levels}, got {new.levels}"
        )
    types = [{_type(name) for name in sums.names or []} for sums in (old, new)]
    if types[0] and types[1] and not types[0] & types[1]:
        named = [" and ".join(sorted(one)) for one in types]
        raise ValueError(f"X must have names of classes like the nodes before, {named[0]}, got {named[1]}")


def _kind(levels: tuple[float, ...] | None) -> str:
    return "classes of one level" if levels is None else f"a taxonomy of {len(levels) - 1} level(s)"


def _type(name: Any) -> str:
    if isinstance(name, tuple):
        return _type(name[0]) if name else "root"
    return "number" if isinstance(name, int | float) else type(name).__name__
