"""Options that several commands share, as dataclasses whose fields become options of a command."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

TABLES, COLUMNS, MODEL = "Tables", "Columns", "Model"


class Relation(StrEnum):
    """What is known about the two directions of a pair; auto: chosen by the labels."""

    auto = "auto"
    ordinary = "ordinary"
    symmetric = "symmetric"
    reciprocal = "reciprocal"


class Loss(StrEnum):
    """What the fit minimises; auto: chosen by the labels."""

    auto = "auto"
    ranking = "ranking"
    regression = "regression"
    logistic = "logistic"


class Mirror(StrEnum):
    """Whether a row of the edges also stands for the other direction of its pair."""

    auto = "auto"
    none = "none"
    same = "same"
    opposite = "opposite"


class Impute(StrEnum):
    """How missing values of nodes are filled in."""

    median = "median"
    mean = "mean"
    most_frequent = "most_frequent"
    constant = "constant"


class Unstored(StrEnum):
    """What pairs without a row are."""

    missing = "missing"
    zero = "zero"


class Prior(StrEnum):
    """What learning starts from."""

    none = "none"
    similarity = "similarity"


class RankBy(StrEnum):
    """Which edges of a conditioning node are ranked."""

    outgoing = "outgoing"
    incoming = "incoming"


def _option(panel: str, *names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


@dataclass(frozen=True)
class Tables:
    """Files of nodes and edges, and the meaning of their columns."""

    nodes: Annotated[
        str | None,
        _option(TABLES, "--nodes", metavar="FILE", help="Nodes, one per row: CSV, JSON lines, Parquet; -: stdin."),
    ] = None
    edges: Annotated[
        str | None,
        _option(TABLES, "--edges", metavar="FILE", help="Edges: values of pairs, games, or numbers of games."),
    ] = None
    objects: Annotated[
        str | None, _option(TABLES, "--objects", metavar="FILE", help="Nodes of a second kind, where edges end.")
    ] = None
    kernel_matrix: Annotated[
        list[str] | None,
        _option(
            TABLES,
            "--kernel-matrix",
            metavar="FILE|NAME=FILE",
            help="Kernel between nodes, instead of --nodes: CSV, npy or npz; with a name (repeatable) it is a view.",
        ),
    ] = None
    object_kernel_matrix: Annotated[
        list[str] | None,
        _option(
            TABLES, "--object-kernel-matrix", metavar="FILE|NAME=FILE", help="The same between nodes of a second kind."
        ),
    ] = None
    view: Annotated[
        list[str] | None,
        _option(
            TABLES,
            "--view",
            metavar="NAME=FILE",
            help="A view of the nodes: a table with ids, or a kernel with ids on both sides (repeatable).",
        ),
    ] = None
    object_view: Annotated[
        list[str] | None,
        _option(TABLES, "--object-view", metavar="NAME=FILE", help="A view of nodes of a second kind (repeatable)."),
    ] = None
    id: Annotated[str | None, _option(COLUMNS, "--id", metavar="COLUMN", help="Ids of the nodes.")] = None
    object_id: Annotated[str | None, _option(COLUMNS, "--object-id", metavar="COLUMN", help="Ids of the objects.")] = (
        None
    )
    source: Annotated[str | None, _option(COLUMNS, "--source", metavar="COLUMN", help="Where an edge starts.")] = None
    target: Annotated[str | None, _option(COLUMNS, "--target", metavar="COLUMN", help="Where an edge ends.")] = None
    value: Annotated[str | None, _option(COLUMNS, "--value", metavar="COLUMN", help="Values of the edges.")] = None
    weight: Annotated[str | None, _option(COLUMNS, "--weight", metavar="COLUMN", help="Weights of the edges.")] = None
    winner: Annotated[str | None, _option(COLUMNS, "--winner", metavar="COLUMN", help="Winners of games.")] = None
    loser: Annotated[str | None, _option(COLUMNS, "--loser", metavar="COLUMN", help="Losers of games.")] = None
    tie: Annotated[str | None, _option(COLUMNS, "--tie", metavar="COLUMN", help="Whether a game was a tie.")] = None
    wins: Annotated[
        tuple[str, str] | None,
        _option(COLUMNS, "--wins", metavar="COLUMN COLUMN", help="Games won by the source and by the target."),
    ] = None
    mirror: Annotated[
        Mirror, _option(COLUMNS, "--mirror", help="Whether a row counts in the other direction too; auto: games do.")
    ] = Mirror.auto
    probabilities: Annotated[
        bool,
        _option(COLUMNS, "--probabilities", help="Values are probabilities of winning: the opposite of p is 1 - p."),
    ] = False
    numeric: Annotated[
        list[str] | None, _option(COLUMNS, "--numeric", metavar="COLUMN", help="A column of numbers (repeatable).")
    ] = None
    categorical: Annotated[
        list[str] | None,
        _option(COLUMNS, "--categorical", metavar="COLUMN", help="A column of categories (repeatable)."),
    ] = None
    text: Annotated[
        list[str] | None, _option(COLUMNS, "--text", metavar="COLUMN", help="A column of texts (repeatable).")
    ] = None
    drop: Annotated[
        list[str] | None, _option(COLUMNS, "--drop", metavar="COLUMN", help="A column to leave out (repeatable).")
    ] = None
    unstored: Annotated[
        Unstored,
        _option(COLUMNS, "--unstored", help="Pairs without a row: not known, or zeros (rows are then clicks)."),
    ] = Unstored.missing
    zeros: Annotated[
        int | None,
        _option(COLUMNS, "--zeros", min=1, help="With --unstored zero: draw so many zeros for each click, not all."),
    ] = None
    date: Annotated[str | None, _option(COLUMNS, "--date", metavar="COLUMN", help="Dates of the edges.")] = None
    half_life: Annotated[
        float | None,
        _option(COLUMNS, "--half-life", metavar="DAYS", help="Days after which an edge counts half; needs dates."),
    ] = None
    database: Annotated[
        str | None,
        _option(
            TABLES,
            "--database",
            metavar="URI",
            envvar="CONDRANK_DATABASE",
            show_envvar=True,
            help="SQLite or PostgreSQL, for tables given as 'sql:SELECT …' or sql:TABLE.",
        ),
    ] = None
    impute: Annotated[
        Impute | None,
        _option(COLUMNS, "--impute", help="Fill missing values in, as in training; saved with the model."),
    ] = None


@dataclass(frozen=True)
class Model:
    """The model to learn."""

    relation: Annotated[
        Relation,
        _option(
            MODEL,
            "--relation",
            help="How the two directions of a pair relate; auto: as `condrank diagnose` recommends.",
        ),
    ] = Relation.auto
    loss: Annotated[
        Loss, _option(MODEL, "--loss", help="What the fit minimises; auto: as `condrank diagnose` recommends.")
    ] = Loss.auto
    alpha: Annotated[
        str,
        _option(
            MODEL,
            "--alpha",
            metavar="NUMBER|auto",
            help="λ, the regularisation; auto: chosen by the rank loss on held-out data.",
        ),
    ] = "auto"
    kernel: Annotated[
        str | None,
        _option(
            MODEL,
            "--kernel",
            metavar="rbf|linear|poly|cosine|laplacian|EXPRESSION",
            help="Kernel between nodes; an expression is like 'RBF(0.1) + 0.5 * Identity()'. Views: a sum over them.",
            show_default="by the columns: cosine for texts, rbf for others",
        ),
    ] = None
    object_kernel: Annotated[
        str | None,
        _option(
            MODEL,
            "--object-kernel",
            metavar="NAME|EXPRESSION",
            help="Kernel between nodes of a second kind.",
            show_default="by its columns",
        ),
    ] = None
    gamma: Annotated[
        float | None,
        _option(
            MODEL,
            "--gamma",
            help="Width of the kernel.",
            show_default="by the median distance; for a kernel by name 1/number of features",
        ),
    ] = None
    n_components: Annotated[
        str | None,
        _option(
            MODEL, "--n-components", metavar="NUMBER|auto", help="Landmarks of an approximate kernel, for many nodes."
        ),
    ] = None
    prior: Annotated[
        Prior, _option(MODEL, "--prior", help="similarity: start from the kernel and learn corrections.")
    ] = Prior.none
    constant: Annotated[
        bool,
        _option(
            MODEL,
            "--constant/--no-constant",
            help="Give each node a strength of its own; an expression with Constant() says it itself.",
        ),
    ] = True
    intercept: Annotated[
        bool,
        _option(
            MODEL,
            "--intercept/--no-intercept",
            help="For a regression loss, fit a constant to all values too (reciprocal relations have none).",
        ),
    ] = True
    rank_by: Annotated[
        RankBy, _option(MODEL, "--rank-by", help="Rank the nodes where edges end, or where they start.")
    ] = RankBy.outgoing
    seed: Annotated[int, _option(MODEL, "--seed", min=0, max=2**32 - 1, help="Seed of all random choices.")] = 0


# Options of the commands that search for a model.
TimeLimit = Annotated[
    float, typer.Option("--time-limit", min=0.0, metavar="SECONDS", help="Time to search for a model; 0: no search.")
]
TIME_LIMIT = 60.0


def option_names(*groups: type) -> set[str]:
    """Names of the options in these dataclasses, as Python has them."""
    return {field.name for group in groups for field in fields(group)}


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its dataclass parameters as its own parameters."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = kind
        of_fields = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            parameters.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=of_fields[field.name]
                )
            )

    def called(**given: Any) -> None:
        read = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        command(**given, **read)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


class OnceCommand(TyperCommand):
    """A command whose options are given at most once, except those that are repeatable."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Count the options before their values are read."""
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for name, times in Counter(one.name for one in order).items():
                (option,) = [one for one in self.get_params(ctx) if one.name == name]
                if times > 1 and option.param_type_name == "option" and not getattr(option, "multiple", False):
                    longest = max(option.opts, key=len)
                    raise typer.BadParameter(f"was given {times} times; give it once", param_hint=longest)
        return super().parse_args(ctx, args)
