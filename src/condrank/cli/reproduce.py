"""``condrank reproduce``: the experiments of the paper, with its numbers beside ours."""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from condrank.cli.output import choose_format, write_rows
from condrank.cli.terminal import answers, fail, progress_bar, show
from condrank.cli.writing import check_writable, writing

EPILOG = (
    "Examples: [bold]condrank reproduce rps[/bold] · [bold]condrank reproduce newsgroups --data folder[/bold] · "
    "[bold]condrank reproduce all --quick[/bold]"
)
PACKAGE = "condrank.experiments"
# For full and for quick runs, so that the numbers of a quick run do not replace full ones.
FOLDERS = ("results", "results-quick")


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT]...",
            help="Names of experiments, or all; without any, they are listed.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run at tiny sizes, to see that it works.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            file_okay=False,
            help="Folder for tables and pictures.",
            show_default=", with --quick ".join(FOLDERS),
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="CONDRANK_DATA", help="Folder with the data sets. rps needs none; theory uses those that are there."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="How often to repeat what the paper repeats; by default as in the paper.")
    ] = None,
) -> None:
    """Run the experiments of the paper, and show its numbers beside ours.

    Prints the tables, and writes them and the figures to a folder (Markdown, CSV, PNG).
    """
    output = Path(FOLDERS[quick]) if output is None else output
    experiments = load_package()
    known = experiments.load_experiments()
    if not names:
        rows = [{"experiment": one.name, "about": one.title, "data": ", ".join(one.files)} for one in known.values()]
        write_rows(rows, ["experiment", "about", "data"], choose_format(None, False, None), None)
        return
    results, report = import_module(f"{PACKAGE}.results"), import_module(f"{PACKAGE}.report")
    unknown = [name for name in names if name not in (*known, "all")]
    if unknown:
        raise typer.BadParameter(f"no experiment {', '.join(unknown)}; there are {', '.join(known)} and all")
    chosen = [known[name] for name in known if name in names or "all" in names]
    try:
        for one in chosen:  # before the work of any
            results.check_files(one, data)
    except FileNotFoundError as error:
        fail(str(error), code=2)
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
        check_writable(output / "index.md")

    def keep(outcome: Any) -> None:
        with writing(output):
            report.write(outcome, output)

    for one in chosen:
        outcome = _run(one, results, keep, quick=quick, seed=seed, repetitions=repetitions, data=data)
        keep(outcome)
        console = answers()
        console.width = max(console.width, 160 if not console.is_terminal else 0)
        report.show(outcome, console)
        show(f"Written: {output / one.name}.md, .csv and pictures, in {outcome.seconds:.0f} s\n")


def _run(one: Any, results: ModuleType, keep: Any, **asked: Any) -> Any:
    """Run an experiment, show its steps on stderr, and write the outcome so far after each row."""
    with progress_bar() as progress:
        bar = progress.add_task(one.name, total=None)
        step = lambda name: progress.update(bar, description=f"{one.name}: {name}")  # noqa: E731
        try:
            return results.run_experiment(one, results.Run(step=step, **asked), keep)
        except ValueError as error:  # the loaders raise it for files of the wrong form
            fail(f"{one.name}: {' '.join(str(error).split())}")


def load_package() -> ModuleType:
    """The package of experiments: inside condrank in a wheel, in the folder ``experiments`` of a clone."""
    if PACKAGE in sys.modules or importlib.util.find_spec(PACKAGE) is not None:
        return import_module(PACKAGE)
    home = Path(__file__).resolve().parents[3] / "experiments"
    spec = importlib.util.spec_from_file_location(PACKAGE, home / "__init__.py", submodule_search_locations=[str(home)])
    if spec is None or spec.loader is None or not home.is_dir():
        fail("the experiments are neither installed nor beside this copy of condrank")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    return package
