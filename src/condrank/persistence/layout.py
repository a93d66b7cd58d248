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
from io import BufferedReader
from mmap import ACCESS_READ
from mmap import mmap as FileMap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from condrank.base.files import atomic_open
from condrank.persistence.header import FORMAT, MOST_HEADER, VERSION, check_cost, header_digest, parse_header
from condrank.persistence.opening import opened

FILE_NAME = "model.safetensors"
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
    header["__metadata__"] = {"manifest": text, "sha256": header_digest(text, header)}
    encoded = json.dumps(header)
    _check_header(text, encoded)
    encoded = encoded.encode()
    encoded += b" " * (-len(encoded) % 8)  # the data start at a multiple of eight bytes
    with atomic_open(target, "wb") as file:
        file.write(struct.pack("<Q", len(encoded)))
        file.write(encoded)
        for array in plain.values():
            file.write(array.data.cast("B") if array.nbytes else b"")
    return target


def read_file(path: Any, mmap: bool = False) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays of a file. A ValueError names the file and what is wrong with it.

    The file is opened once, so another file that takes its name meanwhile is not mixed with it. By default the arrays
    are copies whose checksums were compared, and a file that is overwritten while it is read is refused. With ``mmap``
    they are read when they are used: checksums are not compared, and an overwritten file changes them.
    """
    return read_with_fingerprint(path, mmap)[:2]


def read_with_fingerprint(path: Any, mmap: bool = False) -> tuple[dict[str, Any], dict[str, np.ndarray], str]:
    """What `read_file` returns, and the SHA-256 of the header, which has the checksums of everything in the file."""
    file = model_file(path)
    with opened(file) as (stream, size):
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MOST_HEADER, size - 8):
            raise ValueError(
                f"{file} is not a condrank model, or it is truncated: the length of its header makes no sense"
            )
        encoded = stream.read(length)
        fingerprint = hashlib.sha256(encoded).hexdigest()
        manifest, places = parse_header(encoded, file)
        del encoded
        found, end = {}, 0
        for name, place in places.items():
            found[name] = one = _place(place, name, end, size - 8 - length, file)
            end = one.end
        if 8 + length + end != size:
            raise ValueError(f"{file} is damaged: it has {size - 8 - length - end} bytes more than its header says")
        if mmap:
            return manifest, _mapped(stream, size, 8 + length, found, file), fingerprint
        arrays = {name: _copied(stream, name, one, manifest["sha256"].get(name), file) for name, one in found.items()}
        return manifest, arrays, fingerprint


class _Place(NamedTuple):
    """Type and shape of an array, and where in the data it is."""

    dtype: np.dtype
    shape: tuple[int, ...]
    start: int
    end: int


def _place(place: Any, name: str, start: int, size: int, file: Path) -> _Place:
    """The place of an array, checked: it must start where the last one ended, and end within the data."""
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
    if end > size:
        raise ValueError(f"{file} is truncated: {name} ends {end - size} bytes after the end of the file")
    return _Place(dtype, shape, first, end)


def _copied(stream: BufferedReader, name: str, place: _Place, expected: Any, file: Path) -> np.ndarray:
    """The next array of an open file, read and compared with its checksum."""
    array = np.empty(place.shape, place.dtype)
    if array.nbytes and stream.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
        raise ValueError(f"{file} is truncated: it ends before the end of {name}")
    if checksum(array) != expected:
        raise ValueError(f"{file} is damaged: the checksum of {name} does not match")
    return array


def _mapped(
    stream: BufferedReader, size: int, start: int, places: dict[str, _Place], file: Path
) -> dict[str, np.ndarray]:
    """All arrays of an open file, read-only and not read yet. The map keeps the file open, also without a name."""
    try:
        data = np.frombuffer(FileMap(stream.fileno(), size, access=ACCESS_READ), np.uint8)
    except ValueError:
        raise ValueError(f"{file} is truncated: it ends before the end of its arrays") from None
    data = data[start:]
    return {name: data[one.start : one.end].view(one.dtype).reshape(one.shape) for name, one in places.items()}


def _check_header(manifest: str, header: str) -> None:
    """Refuse to write what could not be read again."""
    try:
        check_cost(manifest, is_manifest=True)
        check_cost(header, is_manifest=False)
        if len(header) > MOST_HEADER - 8:
            raise ValueError(f"its header takes {len(header):,} bytes, at most {MOST_HEADER - 8:,} can be read")
    except ValueError as error:
        raise ValueError(f"the model cannot be saved: {error}. Ids that are numbers are not in the header") from None


def _plain(name: str, array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in NAMES:
        raise ValueError(f"{name} has type {array.dtype}, which a model file cannot hold; it holds {list(DTYPES)}")
    return array


def checksum(array: np.ndarray) -> str:
    """SHA-256 of the bytes of an array, as in the manifest."""
    return hashlib.sha256(np.ascontiguousarray(array).data.cast("B") if array.nbytes else b"").hexdigest()
