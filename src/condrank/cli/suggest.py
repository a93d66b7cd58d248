"""``condrank suggest``: which pairs to measure next."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.output import FormatOption, JsonOption, OutputOption, Records, SafeOption, choose_format, write_rows
from condrank.cli.terminal import fail, say

if TYPE_CHECKING:
    import numpy as np

    from condrank.tables import TableRanker

EPILOG = (
    "Examples: [bold]condrank suggest model/ -n 20[/bold] · "
    "[bold]condrank suggest model/ --by top --cost prices.csv[/bold]"
)


class Way(StrEnum):
    """By what pairs are chosen."""

    variance = "variance"
    order = "order"
    top = "top"


def suggest(
    model: Annotated[Path, typer.Argument(help="Folder or file of a saved model.")],
    n: Annotated[int, typer.Option("--number", "-n", min=1, help="Number of pairs.")] = 10,
    by: Annotated[
        Way,
        typer.Option(help="variance: least sure scores; order: least sure order of neighbours; top: likely the best."),
    ] = Way.variance,
    query_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="New nodes to choose from; by default those of training."),
    ] = None,
    objects: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New objects to choose from; by default those of training.")
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table with the columns object and cost; gains are divided by the cost."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed, if there are many pairs and only some are compared.")] = 0,
    form: FormatOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    safe_csv: SafeOption = False,
) -> None:
    """Suggest pairs to measure next, the most useful first. Columns: query, object, score, std, gain, cost, why."""
    if [query_file, objects, cost].count(Path("-")) > 1:
        raise typer.BadParameter("only one file can come from standard input", param_hint="-")
    form = choose_format(form, as_json, output, safe_csv)
    from condrank.tables.ranker import TableRanker

    ranker = TableRanker.load(model)
    new = None if objects is None else ranker.objects_.columns(objects, "objects")
    costs = None if cost is None else _costs(ranker, cost, new)
    found = ranker.suggest_edges(n, by=by.value, queries=query_file, objects=new, cost=costs, random_state=seed)
    if found.n_candidates < found.n_unknown:
        say(f"note: compared {found.n_candidates:,} of {found.n_unknown:,} pairs without a label")
    columns = found.to_dict()
    rows: Records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    write_rows(rows, list(columns), form, output, {"model": str(model), "by": by.value, "suggestions": rows}, safe_csv)


def _costs(ranker: TableRanker, file: Path, new: Any) -> np.ndarray:
    """The cost of every object, in the order of the objects to choose from."""
    import numpy as np

    from condrank.frames.ids import Ids, as_id_array
    from condrank.tables import read_table

    table = read_table(file, "cost")
    for name in ("object", "cost"):
        if name not in table.names:
            fail(f"--cost: {file} must have the columns object and cost, got {', '.join(table.names)}")
        table.refuse_missing(name)
    names: Ids = ranker.read_objects(new)[1]
    places = names.places(as_id_array(table.values["object"].tolist()))
    costs = np.full(len(names), np.nan)
    try:
        given = np.asarray(table.values["cost"], dtype=np.float64)
    except (TypeError, ValueError):
        fail(f"--cost: the column cost of {file} must be numbers")
    costs[places[places >= 0]] = given[places >= 0]
    if np.isnan(costs).any():
        fail(f"--cost: {file} has no cost of the object {names.ids[int(np.isnan(costs).argmax())]!r}")
    return costs
