"""``condrank serve``: a model as a web service."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from condrank.cli.terminal import fail, say

EPILOG = (
    "Examples: [bold]condrank serve model/[/bold] · "
    "[bold]CONDRANK_TOKEN=… condrank serve model/ --host 0.0.0.0 --port 80[/bold] · "
    "[bold]curl localhost:8000/rank/ann?k=5[/bold]"
)
TOKEN = "CONDRANK_TOKEN"
SETTINGS = ("max_body", "max_k", "max_queries", "timeout", "workers")  # in the environment too
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def serve(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="File or folder of a saved model.")],
    host: Annotated[str, typer.Option(help="Address to listen on; the default is for this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(help=f"File with the bearer token that requests must bring; or set {TOKEN}."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name that a proxy uses for the service; on loopback other names are refused."),
    ] = None,
    index: Annotated[
        str, typer.Option(help="exact: score every object; approximate: faster, and misses a few of the best.")
    ] = "exact",
    max_body: Annotated[int, typer.Option(min=1, help="Largest request in bytes.")] = 1 << 20,
    max_k: Annotated[int, typer.Option(min=1, help="Most places in a ranking.")] = 1000,
    max_queries: Annotated[int, typer.Option(min=1, help="Most conditioning nodes in a request.")] = 100,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds that a request may take.")] = 10.0,
    workers: Annotated[int, typer.Option(min=1, help="Threads that compute.")] = 1,
    watch: Annotated[
        float, typer.Option(min=0.0, help="Seconds between checks of the file for a new model; 0: only on SIGHUP.")
    ] = 2.0,
) -> None:
    """Serve a model over HTTP: rankings, scores, nodes, health, metrics, and a page to explore.

    A new model saved over the old one is served without a pause; one that cannot be read is not. Limits may also be set
    in the environment (CONDRANK_MAX_K and so on); an option wins.
    """
    if index not in ("exact", "approximate"):
        raise typer.BadParameter(f"must be exact or approximate, got {index!r}", param_hint="--index")
    try:
        from condrank.service import ModelHolder, create_app
        from condrank.service.server import is_loopback, listen, run
        from condrank.service.settings import read_settings
    except ImportError as error:
        fail(str(error))
    logging.basicConfig(format="condrank: %(message)s", level=logging.INFO)
    given = {name: context.params[name] for name in SETTINGS if _is_given(context, name)}
    local = is_loopback(host)
    try:
        settings = read_settings(given | _token(token_file))
        holder = ModelHolder(model, index)
        hosts = [*LOOPBACK, host, *(allow_host or [])] if local or allow_host else None
        app = create_app(holder, settings.limits, token=settings.token, hosts=hosts)
        listening = listen(host, port)
    except OSError as error:
        fail(f"cannot read {error.filename or model}: {error.strerror or error}")
    except (ValueError, ImportError) as error:
        fail(" ".join(str(error).split()))
    if not local and settings.token is None:
        say(
            f"warning: {host} can be reached from other machines and no token is set: anyone there may ask; "
            f"set {TOKEN} or --token-file"
        )
    shown = f"[{host}]" if ":" in host else host
    where = f"http://{shown}:{listening.getsockname()[1]}/"
    # Who reads that it serves may send signals: it hears them by then.
    ready = partial(say, f"{len(holder.current):,} objects at {where} (Ctrl-C ends)")
    run(app, holder, listening, watch=watch, grace=settings.timeout, ready=ready)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was typed; its default must not hide the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _token(file: Path | None) -> dict[str, Any]:
    """The token of a file. None is read from the command line, which others can see."""
    if file is None:
        return {}
    try:
        token = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read the token in {file}: {getattr(error, 'strerror', None) or 'it is not ASCII text'}", code=2)
    if not token:
        fail(f"the token file {file} is empty", code=2)
    return {"token": token}
