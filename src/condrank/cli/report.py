"""``condrank report``: one HTML page about a model and the tables of a relation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.inputs import check_model, read_model, read_tables
from condrank.cli.learning import learn, say_choices
from condrank.cli.named import named_files
from condrank.cli.options import TIME_LIMIT, Model, Tables, TimeLimit
from condrank.cli.terminal import show, steps
from condrank.cli.writing import check_writable, writing

if TYPE_CHECKING:
    from condrank.graph import RelationGraph
    from condrank.tables import TableRanker
    from condrank.tables.known import KnownNodes

EPILOG = (
    "Examples: [bold]condrank report model/ --nodes players.csv --edges games.csv[/bold] · "
    "[bold]condrank report --nodes players.csv --edges games.csv --relation reciprocal -o games.html[/bold] · "
    "[bold]condrank report model/ --nodes players.csv --edges games.csv --setting 4 --folds 10[/bold]"
)
OWN_VIEW = "nodes"  # the table of nodes among views
# Folds, how many of them --quick measures, and most nodes of a dense relation to cross-validate on.
FOLDS, QUICK_FOLDS, MAX_NODES = 5, 2, 2000


def report(
    tables: Tables,
    model: Model,
    saved: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="A saved model; without one, a model is fitted as by fit.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.", dir_okay=False)
    ] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Conditional ranking report",
    setting: Annotated[
        list[int] | None,
        typer.Option(min=1, max=4, help="A setting to cross-validate in (may be repeated).", show_default="all four"),
    ] = None,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds of each.", show_default=str(FOLDS))] = None,
    max_nodes: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="Most nodes to cross-validate on, drawn at random; a sparse relation keeps all, in two folds.",
            show_default=f"{MAX_NODES:,}",
        ),
    ] = None,
    time_limit: TimeLimit = TIME_LIMIT,
    quick: Annotated[
        bool,
        typer.Option("--quick", help=f"Measure {QUICK_FOLDS} folds of each setting, and fit a model without a search."),
    ] = False,
    classes: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Classes of the nodes, to order and colour pictures by.")
    ] = None,
) -> None:
    """Write one HTML page: how well it ranks, leaders or best matches, how sure, rankings to compare, model card.

    The page needs no network and no other file. A saved model keeps its own settings; options of the group Model
    are ignored.
    """
    check_model(model)
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        check_writable(output)
    with steps(None) as step:
        from condrank.report import write_report

        if saved is None:
            ranker, graph = _fit(tables, model, step, time_limit, quick)
        else:
            ranker, graph = _load(saved, tables, classes)
        with writing(output):
            write_report(
                ranker,
                graph,
                output,
                title=title,
                settings=setting or (1, 2, 3, 4),
                folds=FOLDS if folds is None else folds,
                max_nodes=MAX_NODES if max_nodes is None else max_nodes,
                classes=classes,
                step=step,
                max_folds=QUICK_FOLDS if quick else None,
                words=(_noun(tables.nodes), _noun(tables.objects)),
            )
    show(f"Written: {output}")


def _noun(path: str | None) -> str | None:
    """The plural noun that a file of nodes is named by, such as players for players.csv."""
    from condrank.report.words import noun

    return None if path in (None, "-") else noun(Path(path).name.partition(".")[0]) or None


def _fit(tables: Tables, model: Model, step: Any, time_limit: float, quick: bool) -> tuple[TableRanker, RelationGraph]:
    graph = read_tables(tables)
    asked = read_model(model, graph, tables)
    fitted = learn(asked, graph, step, time_limit if asked.is_searched(time_limit, quick) else None)
    say_choices(asked, fitted, [])
    return fitted, graph


def _load(saved: Path, tables: Tables, classes: str | None) -> tuple[TableRanker, RelationGraph]:
    from condrank.tables import TableRanker
    from condrank.tables.transformers import imputes

    ranker = TableRanker.load(saved)
    fills = imputes(ranker.encoder_) or imputes(ranker.object_encoder_)
    return ranker, read_tables(_as_trained(ranker, tables, classes), allow_missing=fills)


def _as_trained(ranker: TableRanker, tables: Tables, classes: str | None) -> Tables:
    """The tables with columns of the kinds that the model knows; other columns are left out, as in training."""
    from condrank.tables import read_table

    kinds: dict[str, list[str]] = {
        kind: list(getattr(tables, kind) or ()) for kind in ("numeric", "categorical", "text", "drop")
    }
    seen = {name for names in kinds.values() for name in names}
    known: dict[str, str] = {} if classes is None else {classes: "categorical"}
    names: dict[str, None] = {}
    ids: dict[str, Any] = {"id": tables.id, "object_id": tables.object_id}
    for argument, path, side in _trained_tables(ranker, tables):
        if path in (None, "-") or side.encoder is None:
            continue  # standard input can be read only once
        columns = read_table(path, argument).names
        if ids[argument] is None and side.id_name in columns:
            ids[argument] = side.id_name
        known |= side.encoder.kinds_
        names |= dict.fromkeys(columns)
    for name in names:
        kind = known.get(name, "drop")
        if kind in kinds and name not in seen and name not in ids.values():
            kinds[kind].append(name)
    given: dict[str, Any] = ids | kinds
    return replace(tables, **given)


def _trained_tables(ranker: TableRanker, tables: Tables) -> Iterator[tuple[str, str | None, KnownNodes]]:
    """The argument of the ids, the file and the training nodes of each table, of both domains and of all views."""
    from condrank.tables.known_views import KnownViews

    sides = (("id", tables.nodes, tables.view), ("object_id", tables.objects, tables.object_view))
    for (argument, path, views), side in zip(sides, ranker.domains_, strict=True):
        if not isinstance(side, KnownViews):
            yield argument, path, side
            continue
        files = (named_files(views, "--view") or {}) | ({} if path is None else {OWN_VIEW: path})
        for view, known in side.views.items():
            yield argument, files.get(view), known
