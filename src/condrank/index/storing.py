"""An index as one file: the file of its ranker, with the objects added."""

from __future__ import annotations

from typing import Any

from condrank.index.objects import ObjectIndex
from condrank.persistence import read_file, write_file
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.damage import damage_named
from condrank.persistence.layout import model_file
from condrank.rankers.saving import Saved

VERSION = 1  # of exact indexes
LISTS_VERSION = 2  # of approximate indexes; those of version 1 had search graphs
FILE_NAME = "index.safetensors"
NAME = "index"  # key of the index in the manifest, and prefix of its arrays


def save_index(index: ObjectIndex, path: Any) -> None:
    """Write an index; a ValueError if its ranker cannot be saved."""
    if not isinstance(index.ranker, Saved):
        raise ValueError(f"an index is saved with its ranker, and a {type(index.ranker).__name__} cannot be saved")
    manifest, named = index.ranker.to_state()
    write_file(model_file(path, FILE_NAME), manifest | index_state(index, named), named)


def index_state(index: ObjectIndex, named: dict[str, Any]) -> dict[str, Any]:
    """The part of a manifest that an index without its ranker has; its arrays are added to ``named``."""
    version = VERSION if index.kind == "exact" else LISTS_VERSION
    return {NAME: {"version": version} | index.to_state(Arrays(named, NAME))}


def load_index(kind: type[ObjectIndex], path: Any, mmap: bool) -> ObjectIndex:
    """Load the index of a file, and check its parts against each other."""
    file = model_file(path, FILE_NAME)
    manifest, arrays = read_file(file, mmap)
    check_version(manifest, file)
    with damage_named(file, "index"):
        if "tables" in manifest:
            raise ValueError("it is the file of an index of tables: load it with condrank.tables.TableIndex.load")
        held = Held(arrays, mmap)
        index = index_from(kind, manifest, held, Saved.from_state(manifest, held))
        held.check_all_taken("index")
    return index


def check_version(manifest: dict[str, Any], file: Any) -> None:
    """Raise unless a file has an index that this condrank can read."""
    given = manifest.get(NAME)
    if not isinstance(given, dict):
        raise ValueError(f"{file} has a ranker, but no index")
    version = given.get("version")
    if version not in (VERSION, LISTS_VERSION):
        raise ValueError(f"{file} has version {version!r} of an index; this condrank reads up to {LISTS_VERSION}")
    if version == VERSION and given.get("graph") is not None:
        raise ValueError(
            f"{file} is an approximate index with a search graph, which this condrank cannot read; make the index "
            "again with ranker.index(objects, kind='approximate')"
        )


def index_from(kind: type[ObjectIndex], manifest: dict[str, Any], held: Held, ranker: Any) -> ObjectIndex:
    """The index of a manifest and its arrays, for its ranker."""
    given = manifest[NAME]
    if ("near" in given) != (given["version"] == LISTS_VERSION):
        raise ValueError(f"its kind of index is not that of version {given['version']}")
    return kind.from_state(given, held.under(NAME), ranker)
