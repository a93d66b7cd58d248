"""``condrank plan``: what a fit would do, and its flops and memory, before any work."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from condrank.cli.inputs import check_model, make_ranker, read_model, read_tables
from condrank.cli.options import Model, Tables
from condrank.cli.output import write_json
from condrank.cli.terminal import answers, say

EPILOG = (
    "Examples: [bold]condrank plan --nodes players.csv --edges games.csv[/bold] · "
    "[bold]condrank plan --nodes players.csv --edges games.csv --n-components 500 --json[/bold]"
)


def plan(
    tables: Tables,
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Say which solver a fit would use and why, with its flops and memory. Has the options of `condrank fit`."""
    check_model(model)
    graph = read_tables(tables)
    asked = read_model(model, graph, tables)
    if asked.recommended.chosen:
        say(str(asked.recommended))
    from condrank.base.memory import available_memory, readable
    from condrank.tables import TableRanker

    planned = TableRanker(make_ranker(asked), impute=asked.impute).plan(graph)
    parts: dict[str, Any] = asdict(planned)
    n_alphas, by, how = (parts.pop(name, None) for name in ("n_alphas", "chosen_by", "searched_by"))
    search = None if by is None else {"n_alphas": n_alphas, "by": by} | ({"how": how} if how else {})
    free = available_memory()
    fits = free is None or planned.memory <= free
    if as_json:
        write_json({**parts, "available_memory": free, "fits": fits, "search": search})
        return
    memory = readable(planned.memory)
    if free is not None:
        memory += f" of {readable(free)} available" + ("" if fits else ": too much")
    lines = {
        "solver": planned.solver,
        "because": planned.reason,
        "coordinates": f"{planned.coordinates}, at most {planned.n_coordinates:,}",
        "flops": f"{planned.flops:.1e}",
        "memory": memory,
        "instead": ", ".join(f"{name} {flops:.1e} flops" for name, flops in planned.alternatives.items()),
        "λ": search and ", ".join([f"{search['n_alphas']} tried", *([search["how"]] if how else []), search["by"]]),
    }
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, text in lines.items():
        if text:
            table.add_row(Text(name, "bold"), Text(text))
    answers().print(table)
