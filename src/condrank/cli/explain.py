"""``condrank explain``: why a saved model gives an object its score, or ranks it above another one."""

from __future__ import annotations

from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from condrank.cli.output import Format, FormatOption, JsonOption, OutputOption, SafeOption, choose_format, write_rows
from condrank.cli.rank import find_known
from condrank.cli.terminal import fail, show
from condrank.cli.writing import check_writable, write_whole

EPILOG = (
    "Examples: [bold]condrank explain model/ ann bob[/bold] · "
    "[bold]condrank explain model/ ann bob --other cyd --by labels --json[/bold] · "
    "[bold]condrank explain model/ ann bob --plot why.png[/bold]"
)

PICTURES = (".png", ".svg", ".pdf")


class By(StrEnum):
    """What contributions belong to."""

    labels = "labels"
    nodes = "nodes"
    features = "features"
    parts = "parts"


def explain(
    model: Annotated[Path, typer.Argument(help="Folder or file of a saved model.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Id of the node that is ranked for.")],
    one: Annotated[str, typer.Argument(metavar="OBJECT", help="Id of the object whose score is explained.")],
    other: Annotated[
        str | None, typer.Option(metavar="ID", help="Another object: why is OBJECT ranked above or below it?")
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(help="What the score is a sum over; by default features, or nodes or parts if it is no such sum."),
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many contributions, largest first.")] = 10,
    form: FormatOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw a waterfall of the contributions: .png, .svg or .pdf."),
    ] = None,
    safe_csv: SafeOption = False,
) -> None:
    """Explain a score, or the order of two objects, as an exact sum of contributions. A table begins with a sentence.

    Labels and nodes need a model that was saved with its labels, as fit does for up to a million edges.
    """
    form = choose_format(form, as_json, output, safe_csv)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"{plot} must end in {', '.join(PICTURES)}", param_hint="--plot")
    check_writable(plot)
    from condrank.tables.ranker import TableRanker

    ranker = TableRanker.load(model)
    find_known([query], ranker.query_ids_, "QUERY")
    find_known([one], ranker.object_ids_, "OBJECT")
    find_known([] if other is None else [other], ranker.object_ids_, "--other")
    why = ranker.explain(query, one, other)
    try:
        terms = why.terms(None if by is None else str(by))
    except ValueError as error:
        fail(as_options(str(error)))
    found = why.to_dict(terms.by, top)
    rows: list[dict[str, Any]] = found["contributions"]
    names = [*rows[0]] if rows else ["contribution"]
    if form is Format.table and output is None:
        show(found["sentence"])
    rest = [dict.fromkeys(names) | {names[0]: name, "contribution": value} for name, value in why.rest.items()]
    rest = rest if terms.rest else []  # parts have it among their rows
    write_rows([*rows, *rest], names, form, output, {"model": str(model)} | found, safe_csv)
    if plot is not None:
        drawn = BytesIO()
        why.plot(terms.by, top=top).figure_.savefig(drawn, format=plot.suffix[1:].lower(), dpi=150)
        write_whole(plot, drawn.getvalue())


def as_options(message: str) -> str:
    """A message about Python's arguments in the words of the command line."""
    message = message.replace("save the fitted one with ranker.save(path, training=True), or ", "")
    for by in By:
        message = message.replace(f'by="{by}"', f"--by {by}")
    return message.replace('kernel="linear"', "--kernel linear").replace("solver='auto'", "--solver auto")
