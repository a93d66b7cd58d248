"""What the ranking explorer of the page needs, as compact plain data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from condrank.frames.table import Table
from condrank.nodes import Nodes
from condrank.report.rankings import Rankings

#: Bytes of the rankings, which bounds the page.
MOST_BYTES = 1_800_000
#: Columns of a node that are shown, and characters of a name or cell.
MOST_COLUMNS, MOST_TEXT = 12, 120


def explorer_data(rankings: Rankings, nodes: Nodes, one_domain: bool) -> dict[str, Any]:
    """Names, columns and rankings of conditioning nodes, as many as fit.

    ``names`` are those of all nodes that occur. ``queries`` has for each conditioning node: its name's number, loss,
    number of observed objects, cells, and then the numbers of the ranked objects' names, their scores, and the truth,
    null where it was not observed.

    Parameters
    ----------
    rankings : Rankings
        What was ranked.
    nodes : Nodes
        The conditioning nodes as they were given, whose columns are shown.
    one_domain : bool
        Whether conditioning nodes and objects are the same nodes, with the same names.
    """
    table = nodes.rows if isinstance(nodes.base, Table) else None
    columns = [] if table is None else list(table.kinds)[:MOST_COLUMNS]
    numbers: dict[tuple[bool, int], int] = {}
    names: list[str] = []

    def number(is_query: bool, position: int, name: Any) -> int:
        key = (is_query and not one_domain, position)
        if key not in numbers:
            numbers[key] = len(names)
            names.append(clipped(name))
        return numbers[key]

    queries: list[Any] = []
    size = 0
    for row in _spread(len(rankings)):
        position, before = int(rankings.queries[row]), len(names)
        cells = [] if table is None else [clipped(one) for one in _cells(table, position, columns)]
        objects = [number(False, int(one), rankings.object_ids[one]) for one in rankings.indices[row]]
        query = [
            number(True, position, rankings.query_ids[position]),
            rounded(float(rankings.losses[row])),
            int(rankings.observed[row]),
            cells,
            objects,
            [rounded(one) for one in rankings.scores[row].tolist()],
            [rounded(one) for one in rankings.truth[row].tolist()],
        ]
        size += len(json.dumps([query, names[before:]], separators=(",", ":")))
        if size > MOST_BYTES and queries:
            break
        queries.append((row, query))
    queries.sort(key=lambda pair: pair[0])
    return {
        "names": names,
        "columns": [clipped(one) for one in columns],
        "queries": [query for _, query in queries],
    }


def clipped(thing: Any) -> str:
    """Text of a name or a cell, not longer than is good to look at."""
    text = f"{thing:.6g}" if isinstance(thing, float) else str(thing)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def rounded(value: float) -> float | int | None:
    """Five digits; None for what is not known."""
    if not np.isfinite(value):
        return None
    short = float(f"{value:.5g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _spread(n: int) -> np.ndarray:
    """Rows in an order whose beginning is a random sample, so that what does not fit is left out evenly."""
    return np.random.default_rng(0).permutation(n)


def _cells(table: Table, position: int, columns: list[str]) -> list[Any]:
    row = table.row(position)
    return [row[name] for name in columns]
