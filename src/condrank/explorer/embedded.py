"""Rankings inside a file, as compact plain data that the script of the page reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Bytes of the rankings, which bounds the file.
MOST_BYTES = 1_800_000
#: Characters of a name or cell that are shown.
MOST_TEXT = 120
#: Characters of the reason of an order.
MOST_REASON = 1000
#: Two places of a ranking, the probability that the first of them has the higher score, and why it is above the other.
Reason = tuple[int, int, float, str]


@dataclass(frozen=True)
class RankedNode:
    """A conditioning node and its ranking, best first.

    Attributes
    ----------
    position : int
        Where the node is among all conditioning nodes.
    name : object
        Its id.
    loss : float
        Its rank loss; NaN if there is nothing to rank.
    observed : int
        Objects whose relation to it is known.
    cells : sequence
        Its values, one for each column.
    objects, object_names : sequence
        Positions and ids of the ranked objects.
    scores, truth : sequence of float
        Their scores, and the observed relation, NaN if there is none.
    reasons : sequence of (int, int, float, str)
        Two places, the probability that the first of them has the higher score, and why; as far as they are known.
    """

    position: int
    name: Any
    loss: float
    observed: int
    cells: Sequence[Any]
    objects: Sequence[int]
    object_names: Sequence[Any]
    scores: Sequence[float]
    truth: Sequence[float]
    reasons: Sequence[Reason] = ()


def embedded_data(
    n: int, ranked: Callable[[int], RankedNode], columns: Sequence[str], one_domain: bool
) -> dict[str, Any]:
    """Names, columns and rankings of n conditioning nodes, or of a random part of them that fits into `MOST_BYTES`.

    ``names`` has each node that occurs once. ``queries`` has for each conditioning node: the number of its name, loss,
    number of observed objects, cells, numbers of the ranked objects' names, their scores, the truth, null if it was
    not observed, and where they are known, two places with the probability and the reason of their order.

    Parameters
    ----------
    n : int
        How many conditioning nodes there are.
    ranked : callable
        Gives the node and ranking at a place from 0 to n - 1.
    columns : sequence of str
        Names of the cells.
    one_domain : bool
        Whether conditioning nodes and objects are the same nodes, with the same names.
    """
    numbers: dict[tuple[bool, int], int] = {}
    names: list[str] = []

    def number(is_query: bool, position: int, name: Any) -> int:
        key = (is_query and not one_domain, position)
        if key not in numbers:
            numbers[key] = len(names)
            names.append(clipped(name))
        return numbers[key]

    queries: list[tuple[int, list[Any]]] = []
    size = 0
    # In a random order, so that what does not fit is left out evenly.
    for place in np.random.default_rng(0).permutation(n).tolist():
        one, before = ranked(place), len(names)
        query = [
            number(True, one.position, one.name),
            rounded(one.loss),
            one.observed,
            [clipped(cell) for cell in one.cells],
            [number(False, *pair) for pair in zip(one.objects, one.object_names, strict=True)],
            [rounded(score) for score in one.scores],
            [rounded(value) for value in one.truth],
        ]
        if one.reasons:
            query.append([[*places, rounded(above), why[:MOST_REASON]] for *places, above, why in one.reasons])
        size += len(json.dumps([query, names[before:]], separators=(",", ":")))
        if size > MOST_BYTES and queries:
            break
        queries.append((place, query))
    queries.sort(key=lambda pair: pair[0])
    return {
        "source": "embedded",
        "names": names,
        "columns": [clipped(one) for one in columns],
        "queries": [query for _, query in queries],
    }


def clipped(thing: Any) -> str:
    """Text of a name or a cell, cut if it is too long to read."""
    text = f"{thing:.6g}" if isinstance(thing, float) else str(thing)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def rounded(value: float) -> float | int | None:
    """Five digits; None for a value that is not known."""
    if not np.isfinite(value):
        return None
    short = float(f"{value:.5g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
