"""Options that several commands share, as dataclasses whose fields become options of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import typer

TABLES, COLUMNS, MODEL = "Tables", "Columns", "Model"


class Relation(StrEnum):
    """What is known of the relation; auto: what its labels say."""

    auto = "auto"
    ordinary = "ordinary"
    symmetric = "symmetric"
    reciprocal = "reciprocal"


class Loss(StrEnum):
    """What is minimised; auto: what the labels say."""

    auto = "auto"
    ranking = "ranking"
    regression = "regression"
    logistic = "logistic"


class Kernel(StrEnum):
    """Kernels between nodes that a file of columns can have."""

    rbf = "rbf"
    linear = "linear"
    poly = "poly"
    cosine = "cosine"
    laplacian = "laplacian"


class Mirror(StrEnum):
    """Whether a row of the edges tells the other direction of its pair as well."""

    auto = "auto"
    none = "none"
    same = "same"
    opposite = "opposite"


class Prior(StrEnum):
    """Where learning starts from."""

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
    """Where nodes and edges are, and which columns are what."""

    nodes: Annotated[
        str | None,
        _option(TABLES, "--nodes", metavar="FILE", help="Nodes, one a row: CSV, JSON lines, Parquet; -: stdin."),
    ] = None
    edges: Annotated[
        str | None, _option(TABLES, "--edges", metavar="FILE", help="Edges: values of pairs, games, or counts of them.")
    ] = None
    objects: Annotated[
        str | None, _option(TABLES, "--objects", metavar="FILE", help="Nodes of a second kind, at which edges end.")
    ] = None
    kernel_matrix: Annotated[
        str | None,
        _option(TABLES, "--kernel-matrix", metavar="FILE", help="Kernel between nodes: CSV, npy or npz, for --nodes."),
    ] = None
    id: Annotated[str | None, _option(COLUMNS, "--id", metavar="COLUMN", help="Id of a node.")] = None
    object_id: Annotated[str | None, _option(COLUMNS, "--object-id", metavar="COLUMN", help="Id of an object.")] = None
    source: Annotated[str | None, _option(COLUMNS, "--source", metavar="COLUMN", help="Where an edge starts.")] = None
    target: Annotated[str | None, _option(COLUMNS, "--target", metavar="COLUMN", help="Where an edge ends.")] = None
    value: Annotated[str | None, _option(COLUMNS, "--value", metavar="COLUMN", help="Value of an edge.")] = None
    weight: Annotated[str | None, _option(COLUMNS, "--weight", metavar="COLUMN", help="Weight of an edge.")] = None
    winner: Annotated[str | None, _option(COLUMNS, "--winner", metavar="COLUMN", help="Who won a game.")] = None
    loser: Annotated[str | None, _option(COLUMNS, "--loser", metavar="COLUMN", help="Who lost it.")] = None
    tie: Annotated[str | None, _option(COLUMNS, "--tie", metavar="COLUMN", help="Whether nobody won.")] = None
    wins: Annotated[
        tuple[str, str] | None,
        _option(COLUMNS, "--wins", metavar="COLUMN COLUMN", help="Games won by the source, and by the target."),
    ] = None
    mirror: Annotated[
        Mirror, _option(COLUMNS, "--mirror", help="Whether a row tells the other direction too; auto: games do.")
    ] = Mirror.auto
    probabilities: Annotated[
        bool, _option(COLUMNS, "--probabilities", help="Values are chances of winning: the opposite of p is 1 - p.")
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


@dataclass(frozen=True)
class Model:
    """What to learn."""

    relation: Annotated[Relation, _option(MODEL, "--relation", help="auto: what `condrank diagnose` recommends.")] = (
        Relation.auto
    )
    loss: Annotated[Loss, _option(MODEL, "--loss", help="auto: what `condrank diagnose` recommends.")] = Loss.auto
    alpha: Annotated[
        str, _option(MODEL, "--alpha", metavar="NUMBER|auto", help="λ; auto: by the rank loss on what is held out.")
    ] = "auto"
    kernel: Annotated[
        Kernel | None, _option(MODEL, "--kernel", help="Kernel between nodes.", show_default=Kernel.rbf.value)
    ] = None
    gamma: Annotated[
        float | None, _option(MODEL, "--gamma", help="Width of the kernel.", show_default="1/number of features")
    ] = None
    n_components: Annotated[
        str | None,
        _option(
            MODEL, "--n-components", metavar="NUMBER|auto", help="Landmarks of an approximate kernel, for many nodes."
        ),
    ] = None
    prior: Annotated[Prior, _option(MODEL, "--prior", help="similarity: start from the kernel, learn corrections.")] = (
        Prior.none
    )
    constant: Annotated[
        bool, _option(MODEL, "--constant/--no-constant", help="A strength of each node beside what pairs have.")
    ] = True
    rank_by: Annotated[
        RankBy, _option(MODEL, "--rank-by", help="Rank where edges lead to, or where they come from.")
    ] = RankBy.outgoing
    seed: Annotated[int, _option(MODEL, "--seed", min=0, max=2**32 - 1, help="Seed of everything random.")] = 0


def option_names(*groups: type) -> set[str]:
    """Names of the options in these dataclasses, as Python has them."""
    return {field.name for group in groups for field in fields(group)}


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its dataclass parameters as parameters of its own."""
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
