"""Edge tables: values of pairs, won and lost games, or counts of games, read as a list of edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_choice
from condrank.frames.ages import days_of, weights_of_age
from condrank.frames.columns import Columns, missing, read_table
from condrank.frames.edge_columns import EdgeColumns, find_columns
from condrank.frames.ends import find_end, refuse_unknown
from condrank.frames.ids import Ids
from condrank.frames.kinds import as_number, as_numbers
from condrank.frames.quick_columns import NotPlain
from condrank.frames.quick_edges import QuickTable, read_quickly

# Words for a tie, besides numbers and booleans.
TRUTH = {"": False, "no": False, "n": False, "yes": True, "y": True}
# Words for results of games, which are no values.
OUTCOMES = {"win", "won", "w", "loss", "lose", "lost", "l", "draw", "drawn", "tie", "tied", "d"}


@dataclass(frozen=True)
class EdgeList:
    """Edges by positions of their nodes."""

    sources: np.ndarray
    targets: np.ndarray
    values: np.ndarray
    weights: np.ndarray | None

    def both_ways(self, centre: float, sign: int) -> EdgeList:
        """These edges and their reverses, with the same value (sign 1) or the opposite one (-1); loops stay single."""
        turned = self.sources != self.targets
        values = self.values[turned]
        return EdgeList(
            np.concatenate([self.sources, self.targets[turned]]),
            np.concatenate([self.targets, self.sources[turned]]),
            np.concatenate([self.values, values if sign > 0 else 2 * centre - values]),
            None if self.weights is None else np.concatenate([self.weights, self.weights[turned]]),
        )


def read_edges(
    edges: Any,
    nodes: Ids,
    objects: Ids,
    mirror: str | None,
    centre: float,
    named: dict[str, Any],
    is_kernel: bool,
    half_life: float | None = None,
) -> tuple[EdgeList, EdgeColumns]:
    """Edges of a table and the columns that were read, in O(rows); an error in a row names the row.

    Parameters
    ----------
    edges : path-like or frame
        The table.
    nodes, objects : Ids
        Ids of the nodes at the two ends.
    mirror : {"auto", None, "same", "opposite"}
        Whether a row also gives the other direction of its pair, with the same or the opposite value; "auto": the
        opposite for games and counts, nothing for values.
    centre : float
        Centre of opposite values: ½ for probabilities, else 0.
    named : dict
        Names of columns; None for a column to be found by its usual name.
    is_kernel : bool
        Whether the nodes come with a kernel, which always has one kind of nodes.
    half_life : float, optional
        Days after which a row counts half.
    """
    check_choice("mirror", mirror, ("auto", None, "same", "opposite"))
    two_domains = nodes is not objects
    if two_domains and mirror in ("same", "opposite"):
        raise ValueError(f"mirror={mirror!r} needs a single domain: edges between two domains have no other direction")
    named = {**named, "has_dates": half_life is not None}
    found = _read_quickly(edges, nodes, objects, named, half_life) or _read_by_rows(
        edges, nodes, objects, named, is_kernel, half_life
    )
    listed, used = found
    if mirror == "auto":
        mirror = "opposite" if used.is_game and not two_domains else None
    return (listed.both_ways(centre, 1 if mirror == "same" else -1) if mirror else listed), used


def _read_quickly(
    edges: Any, nodes: Ids, objects: Ids, named: dict[str, Any], half_life: float | None
) -> tuple[EdgeList, EdgeColumns] | None:
    """Edges of a large, plain CSV file; None where the rows have to be looked at."""
    table = read_quickly(edges)
    if table is None:
        return None
    used = find_columns(table.columns, **named)
    try:
        sources, targets = table.places(used.source, nodes), table.places(used.target, objects)
        weights = None if used.weight is None else table.numbers(used.weight)
        if used.wins is not None:
            won, lost = (table.numbers(name) for name in used.wins)
            negative = (won < 0).any() or (lost < 0).any()
            values, weights = _of_counts(won, lost, weights)
        else:
            values, negative = np.ones(len(table)) if used.value is None else table.numbers(used.value), False
            if used.tie is not None:
                values[_quick_ties(table, used.tie)] = 0.0
        if half_life is not None:
            weights = _aged(weights, _quick_days(table, str(used.date)), half_life)
    except NotPlain:
        return None
    negative = negative or (weights is not None and (weights < 0).any())
    if negative or (used.is_game and nodes is objects and (sources == targets).any()):
        return None
    return EdgeList(sources, targets, values, weights), used


def _quick_days(table: QuickTable, name: str) -> np.ndarray:
    """Days since 1970; each different date is read once."""
    found, codes = table.column(name).distinct()
    try:
        return days_of(Columns({name: found}, "edges"), name)[codes]
    except ValueError:
        raise NotPlain from None


def _aged(weights: np.ndarray | None, days: np.ndarray, half_life: float) -> np.ndarray:
    """Weights of rows, times what their age makes of them."""
    aged = weights_of_age(days, half_life)
    return aged if weights is None else weights * aged


def _quick_ties(table: QuickTable, name: str) -> np.ndarray:
    """Whether nobody won; each different word is read once."""
    found, codes = table.column(name).distinct(empty=True)
    try:
        return _ties(Columns({name: found}, "edges"), name)[codes]
    except ValueError:
        raise NotPlain from None


def _read_by_rows(
    edges: Any, nodes: Ids, objects: Ids, named: dict[str, Any], is_kernel: bool, half_life: float | None
) -> tuple[EdgeList, EdgeColumns]:
    """Edges of any table; an error names the row."""
    columns = read_table(edges, "edges")
    used = find_columns(columns, **named)
    two_domains = nodes is not objects
    first, second = ("winner", "loser") if used.is_game and used.wins is None else ("source", "target")
    ends = []
    for argument, name, ids, what in (
        (first, used.source, nodes, "node"),
        (second, used.target, objects, "object" if two_domains else "node"),
    ):
        guess = f" (read as {argument}=)" if named.get(argument) is None and name != argument else ""
        columns.refuse_missing(name, guess)
        ends.append(find_end(columns, name, name + guess, ids, what))
    refuse_unknown(columns, ends, may_be_two=not is_kernel)
    sources, targets = (end.places for end in ends)
    if used.is_game and not two_domains and (sources == targets).any():
        row = int(np.argmax(sources == targets))
        raise ValueError(f"{columns.where(row)}: {columns.values[used.source][row]!r} plays against itself")
    values, weights = _values(columns, used)
    if half_life is not None:
        weights = _aged(weights, days_of(columns, str(used.date)), half_life)
    return EdgeList(sources, targets, values, weights), used


def _values(columns: Columns, used: EdgeColumns) -> tuple[np.ndarray, np.ndarray | None]:
    """Relation values and weights; counts of n games are their mean with weight n."""
    weights = None if used.weight is None else _counts(columns, used.weight)
    if used.wins is not None:
        won, lost = (_counts(columns, name) for name in used.wins)
        return _of_counts(won, lost, weights)
    if used.value is not None:
        _refuse_outcomes(columns, used.value)
        return as_numbers(columns, used.value), weights
    if used.tie is None:
        return np.ones(len(columns)), weights
    return np.where(_ties(columns, used.tie), 0.0, 1.0), weights


def _refuse_outcomes(columns: Columns, name: str) -> None:
    """Say how games are written if the values are words such as win and draw."""
    values = columns.values[name].tolist()
    found = next((row for row, one in enumerate(values) if isinstance(one, str) and one.casefold() in OUTCOMES), None)
    if found is not None:
        raise ValueError(
            f"{columns.where(found)}: column {name!r} must be a number, got {values[found]!r}; games have the columns "
            "winner= and loser=, with a column tie= if there are draws, or values 1, 0 and -1 and mirror='opposite'"
        )


def _of_counts(won: np.ndarray, lost: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Counts of games as their mean, with the number of games as weight."""
    played = won + lost
    values = np.divide(won - lost, played, out=np.zeros(len(played)), where=played > 0)
    return values, played if weights is None else weights * played


def _ties(columns: Columns, name: str) -> np.ndarray:
    """Whether nobody won: a number other than 0, true, or yes; an empty cell means no."""
    given = columns.values[name]
    ties = np.zeros(len(given), dtype=bool)
    for row in np.flatnonzero(~missing(given)).tolist():
        one = given[row]
        number = TRUTH.get(one.strip().lower(), as_number(one)) if isinstance(one, str) else as_number(one)
        if number is None:
            raise ValueError(f"{columns.where(row)}: column {name!r} must be yes or no, or 1 or 0, got {one!r}")
        ties[row] = number != 0
    return ties


def _counts(columns: Columns, name: str) -> np.ndarray:
    numbers = as_numbers(columns, name)
    if (numbers < 0).any():
        row = int(np.argmax(numbers < 0))
        raise ValueError(f"{columns.where(row)}: column {name!r} must not be negative, got {numbers[row]:g}")
    return numbers
