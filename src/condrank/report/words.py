"""The words of the tables for their nodes, so that the page speaks of players and drugs, not of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from condrank.graph import RelationGraph
from condrank.plots.predictions import ranks_incoming
from condrank.tables.ranker import TableRanker

# Names of columns and files that say nothing about the nodes.
GENERIC = {
    *("", "id", "ids", "name", "names", "key", "index", "label", "title", "uid", "node", "nodes", "object", "objects"),
    *("source", "target", "row", "column", "data", "table", "train", "test", "features", "x", "vertex", "vertices"),
}


@dataclass(frozen=True)
class Words:
    """Plural nouns for the conditioning nodes and for the objects.

    Attributes
    ----------
    queries, objects : str
        The nouns; equal if there is one kind of nodes.
    one_kind : bool
        Whether conditioning nodes and objects are the same nodes.
    """

    queries: str
    objects: str
    one_kind: bool


def words_of(ranker: TableRanker, graph: RelationGraph, given: Sequence[str | None] = (None, None)) -> Words:
    """The nouns of a graph: those given, or the names of the columns of ids, or simply nodes and objects.

    ``given`` has a noun for the nodes where edges start and one for those where edges end.
    """
    names = [noun(getattr(side, "id_name", None) or "") for side in ranker.domains_]
    sides = [one or name for one, name in zip(given, names, strict=True)]
    if not graph.is_two_domain:
        word = sides[0] or "nodes"
        return Words(word, word, True)
    if ranks_incoming(ranker.ranker_):
        sides.reverse()
    return Words(sides[0] or "conditioning nodes", sides[1] or "objects", False)


def noun(name: str) -> str:
    """The plural noun that a column or a file is named by; empty if it says nothing about the nodes."""
    words = [one for one in re.split(r"[^A-Za-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)) if one]
    words = [one.lower() if not one.isupper() or len(one) < 2 else one for one in words]
    while words and words[-1].lower() in GENERIC:
        words.pop()
    if not words or len(words) > 3 or re.search(r"\d{5,}", name):
        return ""
    last = words[-1]
    if last.endswith(("s", "x", "ch", "sh")):
        last = last if last.endswith("s") and not last.endswith("ss") else last + "es"
    elif re.search("[^aeiou]y$", last):
        last = last[:-1] + "ies"
    else:
        last += "s"
    return " ".join([*words[:-1], last])
