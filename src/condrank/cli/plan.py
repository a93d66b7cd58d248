"""``condrank plan``: what a fit would do and take, before any work."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from condrank.cli.inputs import make_ranker, read_model, read_tables
from condrank.cli.options import Model, Tables
from condrank.cli.output import write_json
from condrank.cli.terminal import answers

EPILOG = (
    "Examples: [bold]condrank plan --nodes players.csv --edges games.csv[/bold] · "
    "[bold]condrank plan --nodes players.csv --edges games.csv --n-components 500 --json[/bold]"
)


def plan(
    tables: Tables,
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Tell which solver a fit would take and why, its flops and memory; takes what `condrank fit` takes."""
    graph = read_tables(tables)
    asked = read_model(model, graph, tables.kernel_matrix is not None)
    from condrank.base.memory import available_memory, readable
    from condrank.model_selection.search import ConditionalRankerCV
    from condrank.rankers.conditional import ConditionalRanker
    from condrank.tables.ranker import TableRanker

    planned = TableRanker(ConditionalRanker(**asked.params, alpha=asked.alpha or 1.0)).plan(graph)
    free = available_memory()
    fits = free is None or planned.memory <= free
    search = None
    if asked.alpha is None and fits:
        ranker, by = make_ranker(asked, graph)
        n_alphas = len(ranker._grid()[0]) if isinstance(ranker, ConditionalRankerCV) else 1
        search = {"n_alphas": n_alphas, "by": by}
    if as_json:
        write_json({**asdict(planned), "available_memory": free, "fits": fits, "search": search})
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
        "λ": search and f"{search['n_alphas']} tried, {search['by']}",
    }
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, text in lines.items():
        if text:
            table.add_row(Text(name, "bold"), Text(text))
    answers().print(table)
