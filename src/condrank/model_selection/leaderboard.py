"""What a search has tried, the best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

from condrank.base.html import table_of

SHOWN = ("name", "loss", "standard_error", "seconds", "is_baseline", "chosen")


@dataclass(frozen=True)
class LeaderboardRow:
    """A candidate of a search.

    Attributes
    ----------
    name : str
        What it is, in words.
    loss : float
        Rank loss on the holdouts, pooled over conditioning nodes.
    standard_error : float
        Standard error of the loss, over conditioning nodes (over groups if whole groups were held out).
    seconds : float
        Time that it took to judge it on all holdouts.
    is_baseline : bool
        Whether it is a baseline.
    chosen : bool
        Whether the search returns it.
    params : dict
        Its parameters that differ from the defaults.
    """

    name: str
    loss: float
    standard_error: float
    seconds: float
    is_baseline: bool
    chosen: bool
    params: dict[str, Any]

    def __str__(self) -> str:
        error = "" if self.standard_error != self.standard_error else f" ± {self.standard_error:.4f}"
        marks = (" (baseline)" if self.is_baseline else "") + (" ← chosen" if self.chosen else "")
        return f"{self.loss:.4f}{error}  {self.seconds:6.1f} s  {self.name}{marks}"


def shortened(rows: Iterable[LeaderboardRow], n: int) -> tuple[list[LeaderboardRow], list[LeaderboardRow]]:
    """The first n rows with the chosen one and the best baseline, which may stand below; and all others."""
    listed = list(rows)
    baseline = next((row for row in listed if row.is_baseline), None)
    shown: list[LeaderboardRow] = []
    rest: list[LeaderboardRow] = []
    for place, row in enumerate(listed):
        (shown if place < n or row.chosen or row is baseline else rest).append(row)
    return shown, rest


class Leaderboard(Sequence[LeaderboardRow]):
    """The candidates of a search in the order of their losses, the lowest first.

    All were judged on the same holdouts. The best of many losses is optimistic; ``loss_`` of the search is not.
    """

    def __init__(self, rows: Sequence[LeaderboardRow]):
        self._rows = sorted(rows, key=lambda row: (row.loss != row.loss, row.loss))

    @overload
    def __getitem__(self, place: int) -> LeaderboardRow: ...

    @overload
    def __getitem__(self, place: slice) -> Leaderboard: ...

    def __getitem__(self, place: int | slice) -> LeaderboardRow | Leaderboard:
        return Leaderboard(self._rows[place]) if isinstance(place, slice) else self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[LeaderboardRow]:
        return iter(self._rows)

    def to_frame(self) -> Any:
        """A pandas frame with a row for each candidate."""
        import pandas

        return pandas.DataFrame([asdict(row) for row in self._rows], columns=[*SHOWN, "params"])

    def __str__(self) -> str:
        return "\n".join(map(str, self._rows))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The leaderboard as a table, for notebooks."""
        rows = [
            (
                row.name,
                f"{row.loss:.4f}",
                f"{row.standard_error:.4f}",
                f"{row.seconds:.1f}",
                row.is_baseline,
                row.chosen,
            )
            for row in self._rows
        ]
        return table_of(SHOWN, rows)
