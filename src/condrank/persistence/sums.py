"""Sums over nodes in a file, so that a loaded ranker can learn on from further nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.checks import check_number, check_numbers
from condrank.models.sums import FactoredSums
from condrank.nodes.feature_sums import FeatureSums


def sums_to(sums: FactoredSums | None, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Manifest of sums, whose arrays are put among others; None without any, or where a class's name is no plain value.

    Predictions do not need the sums, so a name that cannot be saved is no reason to refuse the rest.
    """
    if sums is None or not all(_is_plain(name) for name in sums.names or []):
        return None
    arrays["sums.S"] = sums.S
    for side, one in zip(("rows", "cols")[: 1 if sums.one_domain else 2], (sums.rows, sums.cols), strict=False):
        arrays |= {f"sums.{side}.mean": one.mean, f"sums.{side}.scatter": one.scatter}
        for number, (factors, counts) in enumerate(zip(one.factors, one.counts, strict=True)):
            arrays |= {f"sums.{side}.factors{number}": factors, f"sums.{side}.counts{number}": counts}
    names = None if sums.names is None else [list(name) if isinstance(name, tuple) else name for name in sums.names]
    totals = [float(sums.rows.total), None if sums.one_domain else float(sums.cols.total)]
    levels = None if sums.levels is None else list(sums.levels)
    return {"totals": totals, "names": names, "rest": sums.rest, "levels": levels}


def sums_from(given: dict[str, Any] | None, model: Any, held: Any) -> FactoredSums | None:
    """Sums from a manifest and arrays, checked against the model."""
    if given is None:
        return None
    S = held.floats("sums.S", None, None)
    rest = None if given["rest"] is None else check_number("rest of the sums", given["rest"])
    names, levels = given["names"], given["levels"]
    if levels is not None:
        levels = tuple(check_numbers("levels of the sums", levels))
    if names is not None:
        names = [tuple(name) if isinstance(name, list) else name for name in names]
        if not all(_is_plain(name) for name in names) or S.shape != (len(set(names)), len(names)):
            raise ValueError(f"names of the sums must be {len(S)} different strings or numbers, got {names!r:.100}")
    one_domain = model.cols is model.rows
    first, second = given["totals"]
    if one_domain:
        n_factors = S.shape if "sums.rows.factors1" in held else S.shape[:1]
        rows = cols = _side("rows", first, model.rows, n_factors, held)
    else:
        rows = _side("rows", first, model.rows, S.shape[:1], held)
        cols = _side("cols", second, model.cols, S.shape[1:], held)
    return FactoredSums(rows, cols, S, names, rest, levels)


def _side(side: str, total: Any, coordinates: Any, n_factors: tuple[int, ...], held: Any) -> FeatureSums:
    p = len(coordinates.rotation)
    sums = FeatureSums(p)
    sums.total = check_number(f"total of the sums of {side}", total, above=0.0)
    if sums.total != coordinates.n_nodes:
        raise ValueError(f"sums of {side} must be over {coordinates.n_nodes} nodes, got {sums.total:g}")
    sums.mean, sums.scatter = held.floats(f"sums.{side}.mean", p), held.floats(f"sums.{side}.scatter", p, p)
    sums.factors = [held.floats(f"sums.{side}.factors{i}", k, p) for i, k in enumerate(n_factors)]
    sums.counts = [held.floats(f"sums.{side}.counts{i}", k) for i, k in enumerate(n_factors)]
    return sums


def _is_plain(name: Any) -> bool:
    if isinstance(name, tuple):
        return all(_is_plain(one) and not isinstance(one, tuple) for one in name)
    return isinstance(name, str | int | float | bool)
