"""The header of a file: its cost is bounded before it is parsed, and its checksum is compared.

Parsed JSON takes more memory than its text: an empty object takes 64 bytes instead of two. So objects, lists, keys and
values are counted first. The bounds accept every file that this library writes: most of a long header is ids, which are
one list of strings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FORMAT, VERSION = "condrank", 1
MOST_HEADER = 1 << 28  # bytes; a longer header is taken as damage
MOST_PARTS = 1 << 19  # objects, lists and keys of a text, and values
# A manifest may have further values, one for this many characters. Its ids are all different: fewer than a million
# strings have three characters, and one of four takes eight with quotes, comma and blank.
CHARACTERS_A_VALUE = 8
BLOCK = 1 << 16  # characters that are split at their quotes together


def check_cost(text: str, is_manifest: bool) -> None:
    """Raise a ValueError if a JSON text would take too much memory when parsed. O(n) for n characters."""
    most = MOST_PARTS + (len(text) // CHARACTERS_A_VALUE if is_manifest else 0)
    # Characters inside of strings are counted as well here. Most texts pass even so.
    parts, values = _counts(text)
    if parts <= MOST_PARTS and values <= most:
        return
    parts = values = 0
    for block in _outside_strings(text):
        more = _counts(block)
        parts, values = parts + more[0], values + more[1]
        if parts > MOST_PARTS or values > most:
            raise ValueError("its header has too many objects, lists, keys or values")


def _counts(text: str) -> tuple[int, int]:
    """How often an object, a list or the value of a key begins, and how often there is a comma."""
    return sum(map(text.count, "[{:")), text.count(",")


def _outside_strings(text: str) -> Iterator[str]:
    """What is outside of the strings of a text, block by block. Right up to the first character that is not JSON."""
    inside, cut = False, ""
    for start in range(0, len(text), BLOCK):
        block = cut + text[start : start + BLOCK]
        # A backslash that begins an escape belongs to the next block.
        cut = "\\" if (len(block) - len(block.rstrip("\\"))) % 2 else ""
        block = block.removesuffix(cut) if cut else block
        pieces = block.replace("\\\\", "").replace('\\"', "").split('"')
        yield "".join(pieces[inside::2])
        inside ^= len(pieces) % 2 == 0


def parse_header(encoded: bytes, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest, and the type, shape and offsets of every array as they are written. A ValueError names the file."""
    try:
        header = _parsed(encoded.decode(), file)
    except UnicodeDecodeError:
        header = None
    if not isinstance(header, dict):
        raise ValueError(f"{file} is not a condrank model, or it is damaged: its header is not JSON")
    places = {name: place for name, place in header.items() if name != "__metadata__"}
    return _manifest(header, places, file), places


def header_digest(manifest: str, places: dict[str, Any]) -> str:
    """SHA-256 of the text of the manifest and of the places of the arrays."""
    digest = hashlib.sha256(manifest.encode())
    digest.update(json.dumps(places, sort_keys=True).encode())
    return digest.hexdigest()


def _parsed(text: str, file: Path, is_manifest: bool = False) -> Any:
    """What a JSON text holds; None if it is not JSON."""
    try:
        check_cost(text, is_manifest)
    except ValueError as error:
        raise ValueError(f"{file} is not a condrank model, or it is damaged: {error}") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _manifest(header: dict[str, Any], places: dict[str, Any], file: Path) -> dict[str, Any]:
    found = header.get("__metadata__")
    metadata: dict[str, Any] = found if isinstance(found, dict) else {}
    text = metadata.get("manifest")
    manifest = _parsed(text, file, is_manifest=True) if isinstance(text, str) else None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{file} holds arrays, but no condrank model")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise ValueError(f"{file} is damaged: its format version is {version!r}")
    if version > VERSION:
        raise ValueError(
            f"{file} has format version {version!r}, written by condrank {manifest.get('condrank')!r}; this condrank "
            f"reads versions up to {VERSION}: install a newer one"
        )
    try:
        digest = header_digest(str(text), places)
    except (RecursionError, UnicodeEncodeError):
        digest = None
    if digest is None or metadata.get("sha256") != digest or not isinstance(manifest.get("sha256"), dict):
        raise ValueError(f"{file} is damaged: the checksum of its header does not match")
    return manifest
