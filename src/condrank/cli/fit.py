"""``condrank fit``: from a table of nodes and one of edges to a saved model."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.inputs import make_ranker, plan_of, read_model, read_tables
from condrank.cli.options import Model, Tables
from condrank.cli.output import write_json
from condrank.cli.terminal import answers, fail, say, steps

if TYPE_CHECKING:
    from condrank.graph import RelationGraph
    from condrank.tables import TableRanker

EPILOG = (
    "Examples: [bold]condrank fit --nodes players.csv --edges games.csv -o model/[/bold] · "
    "[bold]condrank fit --nodes drugs.csv --objects targets.csv --edges bound.csv --value affinity -o model/[/bold] · "
    "[bold]condrank fit --kernel-matrix K.npz --edges pairs.csv --relation symmetric --mirror same -o model/[/bold]"
)


def fit(
    tables: Tables,
    model: Model,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PATH", help="Folder (with a slash) or file for the model.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is no model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON.")] = False,
) -> None:
    """Learn from a table of nodes and a table of edges, and save the model.

    Relation, loss and λ follow from the data unless they are told. A model that is there is replaced, all or nothing.
    """
    start = time.perf_counter()
    target = check_target(output, force)
    with steps(4) as step:
        step("reading the tables")
        graph = read_tables(tables)
        asked = read_model(model, graph, tables.kernel_matrix is not None)
        step("choosing λ" if asked.alpha is None else "learning")
        ranker, chosen_by = make_ranker(asked, graph)
        plan_of(ranker, graph)
        fitted, at_end = learn(ranker, asked.params, graph, step)
        step("saving")
        fitted.save(output)
    seconds = time.perf_counter() - start
    found = fitted.ranker_
    if asked.alpha is None:
        say(f"λ = {found.alpha_:g}, {chosen_by}{at_end}")
    summary = {
        "model": str(target),
        "nodes": graph.shape[0],
        "objects": graph.shape[1] if graph.is_two_domain else None,
        "edges": graph.n_edges,
        "relation": found.relation,
        "loss": found.loss,
        "kernel": found.kernel,
        "solver": found.solver_,
        "alpha": found.alpha_,
        "alpha_by": chosen_by,
        "seconds": round(seconds, 2),
    }
    if as_json:
        write_json(summary)
        return
    nodes = f"{graph.shape[0]:,} nodes"
    if graph.is_two_domain:
        nodes += f", {graph.shape[1]:,} objects"
    console = answers()
    console.print(
        f"{nodes} and {graph.n_edges:,} edges: {found.relation} relation, {found.loss} loss, {found.kernel} kernel, "
        f"λ = {found.alpha_:g}, solver {found.solver_}, {seconds:.1f} s",
        soft_wrap=True,
        markup=False,
    )
    console.print(f"Saved: {target}", soft_wrap=True, markup=False)


def learn(ranker: Any, params: dict[str, Any], graph: RelationGraph, step: Any) -> tuple[TableRanker, str]:
    """Fit; a search that was content with less precision is followed by a fit of what it chose.

    Also tells where a λ is the outermost of those tried.
    """
    from condrank.model_selection.search import ConditionalRankerCV
    from condrank.rankers.conditional import ConditionalRanker
    from condrank.tables.ranker import TableRanker

    if not isinstance(ranker, ConditionalRankerCV):
        return TableRanker(ranker).fit(graph), ""
    with warnings.catch_warnings():
        # Precision was given up on purpose; which λ was chosen is told in any case.
        warnings.simplefilter("ignore", UserWarning)
        searched = TableRanker(ranker).fit(graph)
    step("learning")
    alpha, tried = searched.ranker_.alpha_, searched.ranker_.alphas_
    ends = {tried.min(): "; it is the smallest of those tried", tried.max(): "; it is the largest of those tried"}
    exact = ConditionalRanker(**params, alpha=alpha)
    return searched if ranker.tol == exact.tol else TableRanker(exact).fit(graph), ends.get(alpha, "")


def check_target(output: str, force: bool) -> Path:
    """The file that will be written, made sure of before the work; what is there and no model is not overwritten."""
    from condrank.persistence.layout import model_file, read_file

    target = model_file(output)
    if target.is_dir():
        fail(f"{target} is a folder: the model cannot be written over it")
    if target.exists() and not force:
        try:
            read_file(target, mmap=True)
        except (ValueError, OSError):
            fail(f"{target} is there and is not a model of this condrank; --force overwrites it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"cannot write {target}: {error.strerror or error}")
    return target
