"""``condrank diagnose``: what the labels alone say about a relation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.inputs import column_options, has_nodes, read_tables
from condrank.cli.options import Tables
from condrank.cli.output import write_json
from condrank.cli.terminal import say, show, steps

if TYPE_CHECKING:
    from condrank.graph import RelationGraph

EPILOG = (
    "Examples: [bold]condrank diagnose --edges games.csv[/bold] · "
    "[bold]condrank diagnose --nodes players.csv --edges games.csv --json[/bold]"
)


def diagnose(
    tables: Tables,
    max_nodes: Annotated[
        int, typer.Option(min=1, help="Most nodes to measure; if there are more, a sample is measured.")
    ] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Write all measurements as JSON.")] = False,
) -> None:
    """Measure the labels of a relation, and recommend relation and loss. A table of edges is enough."""
    with steps(2) as step:
        step("reading the tables")
        edges_alone = not has_nodes(tables) and tables.edges is not None
        graph = _read_edges_alone(tables) if edges_alone else read_tables(tables)
        from condrank.diagnosis import diagnose as measure

        step("measuring")
        found = measure(graph, max_nodes=max_nodes)
    if as_json:
        write_json(found.to_dict())
    else:
        show(found.summary())


def _read_edges_alone(tables: Tables) -> RelationGraph:
    """A graph of the nodes that the edges name: of two kinds if edges start and end at different nodes."""
    from condrank.frames.edge_columns import find_columns
    from condrank.frames.sql import from_database
    from condrank.tables import read_graph, read_table

    columns = read_table(from_database(tables.edges, tables.database, "edges"), "edges")
    options = column_options(
        replace(tables, id=None, object_id=None, numeric=None, categorical=None, text=None, drop=None)
    )
    names = ("source", "target", "value", "weight", "winner", "loser", "tie", "wins")
    dates = {"date": tables.date, "has_dates": tables.half_life is not None}
    clicks = tables.unstored.value == "zero"
    used = find_columns(columns, **{name: options[name] for name in names}, **dates, clicks=clicks)
    for name in (used.source, used.target):
        columns.refuse_missing(name)
    sources, targets = (dict.fromkeys(columns.values[name].tolist()) for name in (used.source, used.target))
    two_kinds = not used.is_game and sources.keys().isdisjoint(targets)
    if two_kinds:
        say(f"no node is both in {used.source} and in {used.target}: they are taken as two kinds of nodes")
        return read_graph(_named(sources), columns, objects=_named(targets), **options)
    return read_graph(_named(sources | targets), columns, **options)


def _named(ids: dict[Any, None]) -> dict[str, Any]:
    """A table of nodes with ids and no features."""
    return {"id": list(ids), "known": [1.0] * len(ids)}
