"""The columns of an edge table by their role: those that the caller names, otherwise those with usual names."""

from __future__ import annotations

from dataclasses import dataclass, replace

from condrank.frames.ages import date_column
from condrank.frames.columns import Columns

# Usual names of columns, used if the caller names none; the first that the table has.
PAIRS = (("source", "target"), ("from", "to"), ("query", "object"), ("a", "b"), ("player_a", "player_b"), ("i", "j"))
GAMES = (("winner", "loser"),)
COUNTS = (("wins_a", "wins_b"), ("wins", "losses"))
VALUES, WEIGHTS, TIES = ("value", "score", "label", "y", "rating", "outcome"), ("weight",), ("tie", "draw")


@dataclass(frozen=True)
class EdgeColumns:
    """The columns of an edge table by their role.

    Attributes
    ----------
    source, target : str
        Starting and ending node; for games the winner and the loser.
    value : str or None
        Relation values; None for games and counts.
    weight, tie : str or None
        Weights of rows; and for games whether nobody won.
    wins : (str, str) or None
        Numbers of games that the source and the target won.
    date : str or None
        Dates of the rows, if old rows count less.
    clicks : bool
        Whether every row is a positive without a value.
    ignored : tuple of str
        Columns that are not used.
    """

    source: str
    target: str
    value: str | None = None
    weight: str | None = None
    tie: str | None = None
    wins: tuple[str, str] | None = None
    ignored: tuple[str, ...] = ()
    date: str | None = None
    clicks: bool = False

    @property
    def roles(self) -> dict[str, str]:
        """The role of each column that is used, in words."""
        ends = ("winner", "loser") if self.is_game and self.wins is None else ("source", "target")
        found = {self.source: ends[0], self.target: ends[1]}
        for name, role in (
            (self.value, "value"),
            (self.weight, "weight"),
            (self.tie, "tie"),
            (self.date, "date"),
        ):
            found |= {} if name is None else {name: role}
        return found | ({} if self.wins is None else {self.wins[0]: "wins", self.wins[1]: "losses"})

    @property
    def is_game(self) -> bool:
        """Whether rows are outcomes of games, so that one row gives both directions."""
        return self.value is None and not self.clicks


def find_columns(
    columns: Columns,
    source: str | None = None,
    target: str | None = None,
    value: str | None = None,
    weight: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = None,
    wins: tuple[str, str] | None = None,
    date: str | None = None,
    has_dates: bool = False,
    clicks: bool = False,
) -> EdgeColumns:
    """Columns that the caller names, and for the rest those with usual names.

    ``has_dates``: a column of dates is needed. ``clicks``: rows are positives, with or without a value.
    """
    for argument, name in {
        "source": source,
        "target": target,
        "value": value,
        "weight": weight,
        "winner": winner,
        "loser": loser,
        "tie": tie,
    }.items():
        if name is not None:
            columns.column(name, argument)
    if wins is not None:
        if isinstance(wins, str) or len(wins) != 2:
            raise ValueError(f"wins must be the two columns of the counts, got {wins!r}")
        for name in wins:
            columns.column(name, "wins")
    if (winner or loser) and (source or target or value or wins):
        raise ValueError(
            "winner and loser must not be given together with source, target, value or wins: a row is a game"
        )
    if value and wins:
        raise ValueError("value and wins must not both be given: a row has a value or counts of games")
    if clicks and (winner or loser or wins):
        raise ValueError("unstored='zero' is for positives such as clicks, not for games and counts of games")
    has_values = source or target or value or wins or clicks
    game = _pair(columns, GAMES)
    if winner or loser or (game and not has_values):
        first, second = (winner or (game or (None, None))[0]), (loser or (game or (None, None))[1])
        if first is None or second is None:
            raise ValueError(f"winner and loser must both be given; {columns.origin} has {columns.names}")
        found = EdgeColumns(first, second, tie=tie or _first(columns, TIES, (first, second)))
    else:
        dated = date_column(columns, date, (source, target, value, weight)) if has_dates else None
        found = _find_values(columns, source, target, value, wins, weight, dated, clicks)
        if tie:
            raise ValueError("tie is for games: it needs the columns of winner and loser")
    taken = (found.source, found.target, found.value, found.tie, *(found.wins or ()))
    if has_dates:
        found = replace(found, date=date_column(columns, date, taken))
    found = replace(found, weight=weight or _first(columns, WEIGHTS, taken))
    return replace(found, ignored=tuple(name for name in columns.names if name not in found.roles))


def _find_values(
    columns: Columns,
    source: str | None,
    target: str | None,
    value: str | None,
    wins: tuple[str, str] | None,
    weight: str | None,
    date: str | None = None,
    clicks: bool = False,
) -> EdgeColumns:
    if source is None or target is None:
        guess = _pair(columns, PAIRS)
        rest = [name for name in columns.names if name not in (source, target, value, date, *(wins or ()))]
        guess = guess or ((rest[0], rest[1]) if len(rest) > 1 else (None, None))
        source, target = source or guess[0], target or guess[1]
    if source is None or target is None or source == target:
        raise ValueError(
            f"{columns.origin} must have two columns with ids of nodes, named with source= and target=, "
            f"it has {columns.names}; for games name the players with winner= and loser="
        )
    if clicks:
        value = value or _first(columns, VALUES, (source, target, date))
        return EdgeColumns(source, target, value, clicks=value is None)
    if value is None and wins is None and _first(columns, VALUES, (source, target)) is None:
        wins = _pair(columns, COUNTS)
    if wins is not None:
        return EdgeColumns(source, target, wins=(wins[0], wins[1]))
    rest = [name for name in columns.names if name not in (source, target, weight, date)]
    rest = [name for name in rest if name.lower() not in WEIGHTS] or rest
    value = value or _first(columns, VALUES, (source, target)) or (rest[0] if len(rest) == 1 else None)
    if value is None:
        raise ValueError(
            f"{columns.origin} must have a column of values, named with value=, it has {columns.names}; if a row is a "
            "game, name the columns of its players with winner= and loser=; if each row is a positive, such as a "
            "click, unstored='zero' makes zeros of all other pairs"
        )
    return EdgeColumns(source, target, value)


def _pair(columns: Columns, usual: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    named = {name.lower(): name for name in columns.names}
    return next(((named[one], named[other]) for one, other in usual if one in named and other in named), None)


def _first(columns: Columns, usual: tuple[str, ...], taken: tuple[str | None, ...]) -> str | None:
    named = {name.lower(): name for name in columns.names if name not in taken}
    return next((named[one] for one in usual if one in named), None)
