"""What the search that chose the model has tried, the best first."""

from __future__ import annotations

from typing import Any

from condrank.explorer.markup import Markup, join, tag
from condrank.model_selection.leaderboard import shortened
from condrank.report.markup import table
from condrank.report.sections import loss
from condrank.tables.searched import Searched

#: Candidates that are shown at once; the best baseline and the choice are always among them. The rest opens on request.
SHOWN = 10


def searched(found: Searched) -> Markup:
    """The sentence of the search, and its leaderboard: rank loss ± standard error, seconds, baseline or chosen."""
    shown, rest = shortened(found.leaderboard_, SHOWN)
    text = (
        "Rank loss on what the search held out, ± standard error; all candidates were judged on the same holdouts. "
        "The best of many losses is a little too good."
    )
    pieces = [tag("p", found.summary_), tag("p", text, class_="muted"), _board("Leaderboard of the search", shown)]
    if rest:
        more = _board("The other candidates", rest)
        pieces.append(
            tag("details", tag("summary", f"The other {len(rest):,} of {len(found.leaderboard_):,} candidates"), more)
        )
    return join(pieces)


def _board(label: str, rows: list[Any]) -> Markup:
    head = ("candidate", "rank loss", "seconds", "")
    return table(label, head, [_cells(row) for row in rows], numeric=(1, 2), class_="tried")


def _cells(row: Any) -> list[Any]:
    error = "" if row.standard_error != row.standard_error else f" ± {row.standard_error:.4f}"
    seconds = "–" if row.seconds != row.seconds else f"{row.seconds:.1f}"
    kinds = [("chosen", row.chosen), ("baseline", row.is_baseline)]
    marks = join((tag("span", name, class_=f"mark {name}") for name, has in kinds if has), " ")
    return [row.name, join([loss(row.loss), tag("small", error)]), seconds, marks]
