"""The ``condrank`` command, one file a command. Answers go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 failed (one line on stderr says why), 2 called wrongly, 130 interrupted, 141 nobody reads stdout.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from condrank._version import __version__
from condrank.cli import (
    demo,
    diagnose,
    evaluate,
    explain,
    fit,
    info,
    plan,
    predict,
    rank,
    report,
    reproduce,
    serve,
    strengths,
)
from condrank.cli.options import OnceCommand, expanded
from condrank.cli.suggest import EPILOG as TO_SUGGEST
from condrank.cli.suggest import suggest
from condrank.cli.terminal import INTERRUPTED, fail, guarded
from condrank.cli.visible import visible

UsageError: Any = typer.BadParameter.__base__  # typer has one of its own or that of click, by its version


class Commands(TyperGroup):
    """The commands. What is wrong with their arguments is said without the control characters in them."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Read the arguments before the command."""
        with _one_line_errors():
            return super().make_context(*given, **named)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of the command, and run it."""
        with _one_line_errors():
            return super().invoke(ctx)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        error.message = visible(error.message)
        raise
    except ValueError as error:  # of reading arguments, such as a path with a zero byte; a command catches its own
        fail(str(error))
    except KeyboardInterrupt:  # before or after the command, which catches its own
        fail("interrupted", INTERRUPTED)


app = typer.Typer(
    name="condrank",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Examples: [bold]condrank demo[/bold] · "
    "[bold]condrank fit --nodes players.csv --edges games.csv -o model/[/bold] · "
    "[bold]condrank rank model/ --query ann --top 10[/bold]",
)
app.command(cls=OnceCommand, epilog=demo.EPILOG)(guarded(demo.demo))
app.command(cls=OnceCommand, epilog=diagnose.EPILOG)(guarded(expanded(diagnose.diagnose)))
app.command(cls=OnceCommand, epilog=plan.EPILOG)(guarded(expanded(plan.plan)))
app.command(cls=OnceCommand, epilog=fit.EPILOG)(guarded(expanded(fit.fit)))
app.command(cls=OnceCommand, epilog=rank.EPILOG)(guarded(rank.rank))
app.command(cls=OnceCommand, epilog=predict.EPILOG)(guarded(predict.predict))
app.command(cls=OnceCommand, epilog=explain.EPILOG)(guarded(explain.explain))
app.command(cls=OnceCommand, epilog=strengths.EPILOG)(guarded(strengths.strengths))
app.command(cls=OnceCommand, epilog=info.EPILOG)(guarded(info.info))
app.command(cls=OnceCommand, epilog=evaluate.EPILOG)(guarded(expanded(evaluate.evaluate)))
app.command(cls=OnceCommand, epilog=report.EPILOG)(guarded(expanded(report.report)))
app.command(cls=OnceCommand, epilog=serve.EPILOG)(guarded(serve.serve))
app.command(cls=OnceCommand, epilog=reproduce.EPILOG)(guarded(reproduce.reproduce))
app.command(cls=OnceCommand, epilog=TO_SUGGEST)(guarded(suggest))


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
