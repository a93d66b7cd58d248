"""The ``condrank`` command, one file a command. Answers go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 failed (one line on stderr says why), 2 called wrongly.
"""

from __future__ import annotations

from typing import Annotated

import typer

from condrank._version import __version__
from condrank.cli import demo, reproduce

app = typer.Typer(
    name="condrank",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Example: [bold]condrank demo[/bold]",
)
app.command(epilog=demo.EPILOG)(demo.demo)
app.command(epilog=reproduce.EPILOG)(reproduce.reproduce)


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
