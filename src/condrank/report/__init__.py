"""One self-contained HTML page about a fitted ranker: what it is, how well it ranks, and its rankings to explore.

    TableRanker + graph ──► sample of rankings ──► sections, pictures, explorer ──► report.html

`write_report` writes it; the command is ``condrank report``.
"""

from __future__ import annotations

from condrank.report.page import write_report

__all__ = ["write_report"]
