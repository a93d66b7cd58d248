"""The header of a file: its cost is bounded before it is parsed, and its checksum is compared.

Parsed JSON takes more memory than its text: an empty object takes 64 bytes instead of two. So objects, lists, keys and
values are counted first. The bounds accept every file that this library writes: most of a long header is ids, which are
one list of strings.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

FORMAT, VERSION = "condrank", 1
MOST_HEADER = 1 << 28  # bytes; a longer header is taken as damage
# Objects, lists and keys that a text may have; and values, beside one for every few characters. A million ids need at
# least eight characters each, as there are fewer than a million strings of three: "abcd" with quotes, comma and blank.
MOST_PARTS, CHARACTERS_A_VALUE = 1 << 19, 8
# Strings, and what begins or separates something outside of them. Possessive: no state is kept for a long string.
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{:,]', re.DOTALL)


def check_cost(text: str) -> None:
    """Raise a ValueError if a JSON text would take too much memory when parsed. O(n) for n characters."""
    most = MOST_PARTS + len(text) // CHARACTERS_A_VALUE
    # Characters inside strings count too, so this finds most texts small without looking for strings.
    if sum(map(text.count, "[{:")) <= MOST_PARTS and text.count(",") <= most:
        return
    parts = values = 0
    for token in TOKEN.finditer(text):
        first = text[token.start()]
        parts += first in "[{:"
        values += first == ","
        if parts > MOST_PARTS or values > most:
            raise ValueError("its header has too many objects, lists, keys or values")


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


def _parsed(text: str, file: Path) -> Any:
    """What a JSON text holds; None if it is not JSON."""
    try:
        check_cost(text)
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
    manifest = _parsed(text, file) if isinstance(text, str) else None
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
