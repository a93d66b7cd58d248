"""``condrank strengths``: the strengths of players with intervals, as a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from condrank.cli.output import FormatOption, JsonOption, OutputOption, Records, SafeOption, choose_format, write_rows
from condrank.cli.terminal import fail

EPILOG = (
    "Examples: [bold]condrank strengths model/[/bold] · "
    "[bold]condrank strengths model/ --cautious --top 20 -o leaderboard.csv[/bold]"
)
# Standard deviations beside a strength: the interval has 95 % if the model is right. The cautious order takes two.
WIDTH, CAUTION = 1.96, 2.0


def strengths(
    model: Annotated[Path, typer.Argument(help="Folder or file of a saved model of games, learned with a constant.")],
    nodes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New nodes with the columns of training; by default its nodes.")
    ] = None,
    top: Annotated[int | None, typer.Option("--top", "-k", min=1, help="The first places only.")] = None,
    cautious: Annotated[
        bool, typer.Option("--cautious", help="Order by strength minus 2 std: who is surely strong comes first.")
    ] = False,
    form: FormatOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    safe_csv: SafeOption = False,
) -> None:
    """Strengths of nodes, strongest first. Columns: rank, node, strength, std, lower and upper (of 95 % intervals)."""
    import numpy as np

    from condrank.tables.ranker import TableRanker

    form = choose_format(form, as_json, output, safe_csv)
    ranker = TableRanker.load(model)
    given: Any = ranker.query_ids_ if nodes is None else ranker.queries_.columns(nodes, "nodes")
    ids = ranker.query_ids_ if nodes is None else ranker.queries_.read(given, "nodes")[1]
    try:
        found, std = ranker.strengths(given, return_std=True)
    except ValueError as error:
        fail(str(error))
    order = np.argsort(-(found - CAUTION * std if cautious else found), kind="stable")[:top]
    rows: Records = [
        {
            "rank": place,
            "node": int(one) if ids is None else ids[one],
            "strength": float(found[one]),
            "std": float(std[one]),
            "lower": float(found[one] - WIDTH * std[one]),
            "upper": float(found[one] + WIDTH * std[one]),
        }
        for place, one in enumerate(order.tolist(), start=1)
    ]
    names = ["rank", "node", "strength", "std", "lower", "upper"]
    write_rows(rows, names, form, output, {"model": str(model), "strengths": rows}, safe_csv)
