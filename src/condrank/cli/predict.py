"""``condrank predict``: scores of given pairs, with probabilities, standard deviations and intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.output import (
    FormatOption,
    JsonOption,
    OutputOption,
    Records,
    SafeOption,
    choose_format,
    plain,
    write_rows,
)
from condrank.cli.terminal import fail

if TYPE_CHECKING:
    import numpy as np

    from condrank.nodes import Nodes
    from condrank.tables.known import KnownNodes

EPILOG = (
    "Examples: [bold]condrank predict model/ --pairs pairs.csv[/bold] · "
    "[bold]condrank predict model/ --pairs pairs.csv --query-file new_players.csv --coverage 0.8 -o out.csv[/bold]"
)
# Names of the columns of pairs, in this order of preference; otherwise the first two columns.
ENDS = (("query", "object"), ("source", "target"), ("winner", "loser"))


def predict(
    model: Annotated[Path, typer.Argument(help="Folder or file of a saved model.")],
    pairs: Annotated[
        Path, typer.Option("--pairs", metavar="FILE", help="Table of pairs: columns query and object, by id; -: stdin.")
    ],
    query_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="New nodes in the pairs, with ids and the columns of training."),
    ] = None,
    objects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="New objects in the pairs, if they are of another kind than the queries."),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(help="Coverage of the intervals.", show_default="0.9, if the model has left-out residuals"),
    ] = None,
    std: Annotated[bool, typer.Option("--std", help="Add standard deviations of the scores.")] = False,
    form: FormatOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    safe_csv: SafeOption = False,
) -> None:
    """Score given pairs. Columns: query, object, score; probability with the logistic loss; lower and upper.

    Intervals need left-out residuals, which condrank fit --intervals saves with the model.
    """
    if [pairs, query_file, objects].count(Path("-")) > 1:
        raise typer.BadParameter("only one file can come from standard input", param_hint="-")
    if coverage is not None and not 0 < coverage < 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {coverage:g}", param_hint="--coverage")
    form = choose_format(form, as_json, output, safe_csv)
    from condrank.tables import read_table
    from condrank.tables.pairs import judge_pairs
    from condrank.tables.ranker import TableRanker

    ranker = TableRanker.load(model)
    if objects is not None and ranker.queries_ is ranker.objects_:
        raise typer.BadParameter("the model has one kind of nodes: use --query-file", param_hint="--objects")
    columns = read_table(pairs, "pairs")
    ends = next((names for names in ENDS if set(names) <= set(columns.names)), tuple(columns.names[:2]))
    if len(ends) < 2:
        fail(f"--pairs: {pairs} must have two columns of ids, query and object, got {len(columns.names)}")
    for name in ends:
        columns.refuse_missing(name)
    given = [columns.values[name] for name in ends]
    new = query_file if ranker.queries_ is ranker.objects_ else objects
    first = _Side(ranker.queries_, query_file, "--query-file").places(given[0])
    second = _Side(ranker.objects_, new, "--query-file" if new is query_file else "--objects").places(given[1])
    found: dict[str, np.ndarray] = {}
    for queries, of_queries, asked in first:
        for others, of_others, columns_of in second:
            here = asked & columns_of
            if here.any():
                _add(
                    found,
                    here,
                    judge_pairs(
                        ranker.ranker_,
                        queries.take(of_queries[here]),
                        others.take(of_others[here]),
                        coverage=coverage,
                        std=std,
                    ),
                )
    names = ["query", "object", *found]
    rows: Records = [
        {"query": query, "object": one} | {name: _number(column[row]) for name, column in found.items()}
        for row, (query, one) in enumerate(zip(*(side.tolist() for side in given), strict=True))
    ]
    write_rows(rows, names, form, output, {"model": str(model), "pairs": rows}, safe_csv)


class _Side:
    """The conditioning nodes or the objects that pairs may name: those of a table first, then those of training."""

    def __init__(self, known: KnownNodes, file: Path | None, option: str):
        self.known, self.option = known, option
        self.new: tuple[Nodes, Any] | None = None
        if file is not None:
            nodes, ids = known.read(known.columns(file, "queries"), "queries")
            if ids is None:
                fail(f"{option}: {file} must have a column of ids, {known.id_name or 'id'!r}, that the pairs can name")
            from condrank.frames.ids import Ids

            self.new = nodes, Ids(ids)

    def places(self, ids: np.ndarray) -> list[tuple[Nodes, np.ndarray, np.ndarray]]:
        """Nodes, positions among them, and for which pairs; an id that nobody has is refused."""
        import numpy as np

        from condrank.frames.ids import as_id_array

        asked = as_id_array(ids.tolist())
        parts, left = [], np.ones(len(asked), dtype=bool)
        for nodes, names in [*([] if self.new is None else [self.new]), (self.known.nodes, self.known.names)]:
            places = names.places(asked)
            parts.append((nodes, places, left & (places >= 0)))
            left = left & (places < 0)
        if left.any():
            row = int(left.argmax())
            advice = f"{self.known.names.advice(asked, row)}; new nodes go to {self.option}"
            fail(f"--pairs: row {row + 1}: no node has the id {plain(ids[row])!r}; {advice}")
        return parts


def _add(found: dict[str, np.ndarray], here: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    """Columns of some pairs, put in their places; NaN for pairs that do not have them."""
    import numpy as np

    for name, values in columns.items():
        found.setdefault(name, np.full(len(here), np.nan))[here] = values


def _number(value: Any) -> float | None:
    """A number for tables and JSON; None if there is none, or if an end of an interval is infinite."""
    import numpy as np

    return float(value) if np.isfinite(value) else None
