"""What the columns of the tables were taken for: ids, numbers, categories, texts, ends of edges; what was ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from condrank.frames.edge_columns import EdgeColumns
    from condrank.graph import RelationGraph

KINDS = {"numeric": "numbers", "date": "dates", "categorical": "categories", "text": "texts"}
SHOWN = 8  # names of one kind in a line


def columns_taken(graph: RelationGraph, used: EdgeColumns) -> dict[str, dict[str, Any]]:
    """For each table the columns by what they were taken for; kernel matrices and arrays have none."""
    from condrank.frames.table import Table
    from condrank.nodes.views import Views

    found: dict[str, dict[str, Any]] = {}
    sides = {"nodes": graph.nodes} | ({"objects": graph.objects} if graph.is_two_domain else {})
    for side, nodes in sides.items():
        parts = nodes.base.parts if isinstance(nodes.base, Views) else {side: nodes.base}
        for name, part in parts.items():
            if isinstance(part, Table):
                found[name if name == side else f"{side}, view {name}"] = _of_table(part)
    edges: dict[str, Any] = {role: column for column, role in used.roles.items()}
    return found | {"edges": edges | ({"ignored": list(used.ignored)} if used.ignored else {})}


def _of_table(table: Any) -> dict[str, Any]:
    found: dict[str, Any] = {} if table.id_name is None else {"id": table.id_name}
    for kind, word in KINDS.items():
        names = [name for name, one in table.kinds.items() if one == kind]
        found |= {word: names} if names else {}
    return found | ({"ignored": list(table.ignored)} if table.ignored else {})


def column_lines(columns: dict[str, dict[str, Any]]) -> list[str]:
    """One line for each table: ``nodes: id name · numbers age, height · ignored row``; ``id`` if that is its name."""
    return [
        f"{table}: " + " · ".join(word if word == given else f"{word} {_names(given)}" for word, given in taken.items())
        for table, taken in columns.items()
    ]


def _names(given: Any) -> str:
    if isinstance(given, str):
        return given
    more = f" and {len(given) - SHOWN:,} more" if len(given) > SHOWN else ""
    return ", ".join(given[:SHOWN]) + more
