"""What a search has found, in a few lines."""

from __future__ import annotations

from typing import Any

SHOWN = 5  # rows of the leaderboard
HELD_OUT = {1: "pairs", 2: "queries", 3: "objects", 4: "nodes"}  # by setting


def search_lines(found: Any, setting: int = 4) -> list[str]:
    """The first rows of the leaderboard, the best baseline, and the sentence about the choice."""
    if found is None:
        return []
    from condrank.model_selection.leaderboard import shortened

    shown, more = shortened(found.leaderboard_, SHOWN)
    best = f", the best of {len(found.leaderboard_)}:" if more else ":"
    title = f"rank loss on held-out {HELD_OUT[setting]}{best}"
    return [title, *(f"  {row}" for row in shown), found.summary_]
