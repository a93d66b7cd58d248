"""Find and read stored data sets. Reading executes no code, and errors name what is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

VARIABLE = "CONDRANK_DATA"

DataHome = str | os.PathLike[str] | None


def find(file: str, data_home: DataHome, what: str, alternative: str) -> Path:
    """Return the path of ``file``, such as "folder/name.npz", below ``data_home``, or CONDRANK_DATA if that is None.

    Raises
    ------
    FileNotFoundError
        The message names the data set and the missing file, and says how to give its folder and what to do
        without it.
    """
    home = data_home if data_home is not None else os.environ.get(VARIABLE)
    if not home:
        raise FileNotFoundError(missing(file, what, f"neither data_home nor {VARIABLE} is set", alternative))
    path = Path(home).expanduser() / file
    if not path.is_file():
        raise FileNotFoundError(missing(file, what, f"there is no file {str(path)!r}", alternative))
    return path


def missing(file: str, what: str, reason: str, alternative: str) -> str:
    """Return the message for a data set that was not found."""
    return (
        f"The {what} data set was not found: {reason}. Pass data_home=..., or set the environment variable "
        f"{VARIABLE}, to the folder that contains {file!r}. {alternative}"
    )


def has_folder(file: str, data_home: DataHome) -> bool:
    """Whether to read files: data_home is given, or CONDRANK_DATA has the folder of ``file``."""
    if data_home is not None:
        return True
    home = os.environ.get(VARIABLE)
    return bool(home) and (Path(home).expanduser() / file).parent.is_dir()


def read(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an npz file; pickled objects are refused.

    Raises
    ------
    ValueError
        If the file is not a complete npz file, or one of the arrays is missing.
    """
    try:
        with open(path, "rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as stored:
            found = {name: stored[name] for name in names if name in stored.files}
    except (BadZipFile, EOFError, ValueError) as error:
        raise ValueError(
            f"{str(path)!r} must be an npz file of plain arrays, got a file that cannot be read: {error}"
        ) from error
    absent = [name for name in names if name not in found]
    if absent:
        raise ValueError(f"{str(path)!r} must have the arrays {list(names)}, got a file without {absent}")
    return found
