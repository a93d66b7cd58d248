"""The layout of a file: a JSON header, then named arrays. It is that of safetensors, which other programs can read.

    8 bytes      length of the header, little-endian
    header       JSON: name → dtype, shape, offsets; under "__metadata__" the manifest, as a string, and its checksum
    data         the arrays, in C order, one after another

The manifest holds a SHA-256 of every array. Checksums find damage but not forgery, because a forger can write new ones.
No part of a file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from condrank.base.files import atomic_open

FORMAT, VERSION = "condrank", 1
FILE_NAME = "model.safetensors"
MOST_HEADER = 1 << 28  # bytes; a longer header is taken as damage
MOST, MOST_AXES = 1 << 56, 32  # most bytes or entries of an array, and most axes
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


def model_file(path: Any, name: str = FILE_NAME) -> Path:
    """The path itself; for a folder, or a path with a trailing slash, the file of a fixed name inside it."""
    given = os.fspath(path)
    folder = Path(given).is_dir() or given.endswith(("/", os.sep))
    return Path(given) / name if folder else Path(given)


def write_file(path: Any, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    """Write manifest and arrays. If that fails, an old file stays as it was.

    Returns
    -------
    Path
        The file that was written.
    """
    target = model_file(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    plain = {name: _plain(name, array) for name, array in arrays.items()}
    header, offset, sums = {}, 0, {}
    for name, array in plain.items():
        end = offset + array.nbytes
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [offset, end]}
        sums[name] = checksum(array)
        offset = end
    text = json.dumps({"format": FORMAT, "version": VERSION, "sha256": sums} | manifest, allow_nan=True)
    header["__metadata__"] = {"manifest": text, "sha256": _digest(text, header)}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)  # the data start at a multiple of eight bytes
    with atomic_open(target, "wb") as file:
        file.write(struct.pack("<Q", len(encoded)))
        file.write(encoded)
        for array in plain.values():
            file.write(array.data.cast("B") if array.nbytes else b"")
    return target


def read_file(path: Any, mmap: bool = False) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays of a file. A ValueError names the file and what is wrong with it.

    With ``mmap`` the arrays are read when they are used, and their checksums are not compared.
    """
    file = model_file(path)
    size = file.stat().st_size
    with file.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MOST_HEADER, size - 8):
            raise ValueError(
                f"{file} is not a condrank model, or it is truncated: the length of its header makes no sense"
            )
        header = _parse(stream.read(length), file)
    places = {name: place for name, place in header.items() if name != "__metadata__"}
    manifest = _manifest(header, places, file)
    data = np.memmap(file, dtype=np.uint8, mode="r")
    arrays, end = {}, 0
    for name, place in places.items():
        arrays[name], end = _array(data[8 + length :], name, place, end, file)
        if not mmap:
            arrays[name] = np.array(arrays[name])
            if checksum(arrays[name]) != manifest["sha256"].get(name):
                raise ValueError(f"{file} is damaged: the checksum of {name} does not match")
    if 8 + length + end != size:
        raise ValueError(f"{file} is damaged: it has {size - 8 - length - end} bytes more than its header says")
    return manifest, arrays


def _parse(text: bytes, file: Path) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ValueError(f"{file} is not a condrank model, or it is damaged: its header is not JSON")
    return header


def _manifest(header: dict[str, Any], places: dict[str, Any], file: Path) -> dict[str, Any]:
    found = header.get("__metadata__")
    metadata: dict[str, Any] = found if isinstance(found, dict) else {}
    text = metadata.get("manifest")
    try:
        manifest = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        manifest = None
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
        digest = _digest(str(text), places)
    except (RecursionError, UnicodeEncodeError):
        digest = None
    if digest is None or metadata.get("sha256") != digest or not isinstance(manifest.get("sha256"), dict):
        raise ValueError(f"{file} is damaged: the checksum of its header does not match")
    return manifest


def _array(data: np.ndarray, name: str, place: Any, start: int, file: Path) -> tuple[np.ndarray, int]:
    """One array as a view of the data, and the offset where it ends. It must start where the last one ended."""
    try:
        dtype, shape = np.dtype(DTYPES[place["dtype"]]), tuple(place["shape"])
        first, end = place["data_offsets"]
        fits = all(type(number) is int and 0 <= number < MOST for number in (*shape, first, end))
        fits = fits and first == start and end - first == dtype.itemsize * math.prod(shape)
        # NumPy multiplies the lengths even for an array without entries.
        fits = fits and len(shape) <= MOST_AXES and math.prod(length for length in shape if length) < MOST
    except (KeyError, TypeError, ValueError):
        fits, dtype, shape, first, end = False, np.dtype("u1"), (), 0, 0
    if not fits:
        raise ValueError(f"{file} is damaged: the offsets of {name} in its header make no sense")
    if end > len(data):
        raise ValueError(f"{file} is truncated: {name} ends {end - len(data)} bytes after the end of the file")
    return data[first:end].view(dtype).reshape(shape), end


def _plain(name: str, array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in NAMES:
        raise ValueError(f"{name} has type {array.dtype}, which a model file cannot hold; it holds {list(DTYPES)}")
    return array


def checksum(array: np.ndarray) -> str:
    """SHA-256 of the bytes of an array, as in the manifest."""
    return hashlib.sha256(np.ascontiguousarray(array).data.cast("B") if array.nbytes else b"").hexdigest()


def _digest(manifest: str, places: dict[str, Any]) -> str:
    return hashlib.sha256((manifest + json.dumps(places, sort_keys=True)).encode()).hexdigest()
