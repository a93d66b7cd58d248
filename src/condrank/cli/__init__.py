"""The ``condrank`` command, one file a command. Answers go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 failed (one line on stderr says why), 2 called wrongly, 130 interrupted, 141 nobody reads stdout.
"""

from __future__ import annotations

from typing import Annotated

import typer

from condrank._version import __version__
from condrank.cli import demo, diagnose, evaluate, fit, plan, rank, report, reproduce, serve
from condrank.cli.options import expanded
from condrank.cli.terminal import guarded

app = typer.Typer(
    name="condrank",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Examples: [bold]condrank demo[/bold] · "
    "[bold]condrank fit --nodes players.csv --edges games.csv -o model/[/bold] · "
    "[bold]condrank rank model/ --query ann --top 10[/bold]",
)
app.command(epilog=demo.EPILOG)(guarded(demo.demo))
app.command(epilog=diagnose.EPILOG)(guarded(expanded(diagnose.diagnose)))
app.command(epilog=plan.EPILOG)(guarded(expanded(plan.plan)))
app.command(epilog=fit.EPILOG)(guarded(expanded(fit.fit)))
app.command(epilog=rank.EPILOG)(guarded(rank.rank))
app.command(epilog=evaluate.EPILOG)(guarded(expanded(evaluate.evaluate)))
app.command(epilog=report.EPILOG)(guarded(expanded(report.report)))
app.command(epilog=serve.EPILOG)(guarded(serve.serve))
app.command(epilog=reproduce.EPILOG)(guarded(reproduce.reproduce))


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"condrank {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Conditional ranking on relational data: rank any objects for any object, seen in training or not."""
