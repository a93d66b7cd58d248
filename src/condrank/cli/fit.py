"""``condrank fit``: from a table of nodes and one of edges to a saved model."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from condrank.cli.columns import column_lines, columns_taken
from condrank.cli.found import search_lines
from condrank.cli.inputs import check_model, read_described, read_model
from condrank.cli.learning import chosen_by_labels, learn, say_choices, warnings_kept
from condrank.cli.options import TIME_LIMIT, Mirror, Model, Tables, TimeLimit, option_names
from condrank.cli.output import write_json
from condrank.cli.terminal import fail, say, show, steps
from condrank.cli.wording import as_typed
from condrank.cli.writing import check_writable, writing

# Labels of so many edges are saved with a model unless something else is asked for; 8 MB.
MOST_LABELS = 1_000_000
NO_LEVEL = "the ranking loss learns an order and no level, so intervals are wide; --loss regression predicts values"
EPILOG = (
    "Examples: [bold]condrank fit --nodes players.csv --edges games.csv -o model/[/bold] · "
    "[bold]condrank fit --nodes drugs.csv --objects targets.csv --edges bound.csv --value affinity -o model/[/bold] · "
    "[bold]condrank fit --kernel-matrix K.npz --edges pairs.csv --relation symmetric --mirror same -o model/[/bold] · "
    "[bold]condrank fit --view seq=K.csv --view assay=assay.csv --edges pairs.csv "
    "--kernel \"Unit(Precomputed(view='seq')) ** 4 + RBF('median', view='assay')\" -o model/[/bold]"
)


def fit(
    tables: Tables,
    model: Model,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PATH", help="Folder (with a slash) or file for the model.")
    ],
    time_limit: TimeLimit = TIME_LIMIT,
    setting: Annotated[
        int,
        typer.Option(
            min=1,
            max=4,
            help="What will be new when the model is used, which the search holds out: 1 pairs, 2 queries, 3 objects, "
            "4 both.",
        ),
    ] = 4,
    quick: Annotated[
        bool, typer.Option("--quick", help="One sensible model without a search; only λ is chosen.")
    ] = False,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="Also make what intervals need (up to 20 more fits)."),
    ] = False,
    keep_labels: Annotated[
        bool | None,
        typer.Option(
            "--keep-labels/--drop-labels",
            help="Save the labels too: explain needs them for labels and nodes.",
            show_default=f"kept up to {MOST_LABELS:,} edges",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is not a model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the summary as JSON.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say everything: reasons, losses, plan and all warnings.")
    ] = False,
) -> None:
    """Learn from a table of nodes and a table of edges, and save the model.

    A search chooses the model, judged on held-out nodes, beside baselines; options that fix the model turn it off. An
    older model is replaced completely or not at all.
    """
    start = time.perf_counter()
    check_model(model)
    target = check_target(output, force)
    names = option_names(Tables, Model)
    with warnings_kept(lambda message: as_typed(message, names)) as warned, steps(4) as step:
        step("reading the tables")
        graph, used = read_described(tables)
        asked = read_model(model, graph, tables)
        left = max(0.9 * time_limit - (time.perf_counter() - start), 1.0)
        fitted = learn(asked, graph, step, left if asked.is_searched(time_limit, quick) else None, setting)
        if intervals:
            try:
                fitted.calibrate()
                if getattr(fitted.ranker_, "loss", None) == "ranking":
                    say(f"note: {NO_LEVEL}")
            except ValueError as error:  # the model is worth keeping
                say(f"no intervals: {error}")
        step("saving")
        with writing(target):
            fitted.save(output, training=graph.n_edges <= MOST_LABELS if keep_labels is None else keep_labels)
    seconds = time.perf_counter() - start
    say_choices(asked, fitted, warned, verbose)
    found, columns = fitted.ranker_, columns_taken(graph, used)
    if as_json:
        write_json(
            {
                "model": str(target),
                "nodes": graph.shape[0],
                "objects": graph.shape[1] if graph.is_two_domain else None,
                "edges": graph.n_edges,
                "columns": columns,
                "class": type(found).__name__,
                **{name: getattr(found, name, None) for name in ("relation", "loss", "kernel", "object_kernel")},
                **{name: getattr(found, f"{name}_", None) for name in ("solver", "alpha", "intercept")},
                "alpha_by": "as given" if asked.alpha is not None else getattr(found, "chosen_by_", "the search"),
                "search": None if fitted.search_ is None else fitted.search_.to_state(),
                "reasons": chosen_by_labels(asked, fitted).reasons,
                "warnings": warned,
                "seconds": round(seconds, 2),
            }
        )
        return
    nodes = f"{graph.shape[0]:,} nodes"
    if graph.is_two_domain:
        nodes += f", {graph.shape[1]:,} objects"
    for line in [*column_lines(columns), *search_lines(fitted.search_, setting)]:
        show(line)
    edges = f"{graph.n_edges:,} edges"
    if tables.mirror in (Mirror.same, Mirror.opposite) or (used.is_game and not graph.is_two_domain):
        edges += " (each row in both directions)"
    show(f"{nodes} and {edges}: {_model_words(found)}, {seconds:.1f} s")
    show(f"Saved: {target}")


def _model_words(found: Any) -> str:
    """What was fitted."""
    if not hasattr(found, "solver_"):
        return f"a {type(found).__name__}, {_short(found.kernel)} kernel" if hasattr(found, "kernel") else f"a {found}"
    intercept = f"intercept {found.intercept_:.4g}, " if found.fit_intercept else ""
    kernels = _short(found.kernel) + (f" × {_short(found.object_kernel)}" if found.object_kernel is not None else "")
    constant = " and constant" if found.constant else ""
    words = f"{found.relation} relation, {found.loss} loss, {kernels} kernel{constant}, λ = {found.alpha_:.4g}"
    return f"{words}, {intercept}solver {found.solver_}"


def _short(kernel: Any) -> str:
    """A kernel with four digits of each number; `condrank info` shows all of them."""
    return re.sub(r"\d+\.\d{4,}(?:e[+-]?\d+)?", lambda found: f"{float(found[0]):.4g}", str(kernel))


def check_target(output: str, force: bool) -> Path:
    """The file that will be written, checked before the work. A file that is not a model is not overwritten."""
    from condrank.persistence.layout import model_file, read_file

    target = model_file(output)
    if target.is_dir():
        fail(f"{target} is a folder: a model cannot be written over it")
    if target.exists() and not force:
        try:
            read_file(target, mmap=True)
        except (ValueError, OSError):
            fail(f"{target} exists and is not a model of this condrank; --force overwrites it")
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        check_writable(target)
    return target
