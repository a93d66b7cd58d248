"""Atomic files: the whole file is written, or nothing is.

The new contents go to a temporary file beside the target, ``.name.process.random.part``. It replaces the target when
all of it is on the disk. The writer holds a lock on it. A process that is killed leaves its temporary file behind, but
no lock: the next write to the same target finds it unlocked and removes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

Target = str | os.PathLike[str]

MOST_NAME = 200  # bytes of a name from which the name of the temporary file is made; a longer name is hashed
PART = re.compile(r"\d+\.[0-9a-f]{16}\.part")
# Errors of a full or failing disk, for which the operating system does not name the file.
DISK = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
# Names of open descriptors: what they refer to can be written, but not replaced.
DESCRIPTORS = ("/dev/fd/", "/dev/std", "/proc/")


@contextlib.contextmanager
def atomic_file(target: Target) -> Iterator[Path]:
    """The path of an empty file beside ``target`` to write to. It replaces the target at the end, or is removed.

    A replaced file keeps its permissions, and a link stays a link. A device or a pipe cannot be replaced; the path is
    then the target itself. An OSError of a full disk names the target. The path ends in ``.part``, so a function that
    looks at the ending needs an open file instead: `atomic_open`.
    """
    if _is_stream(target):
        with _naming(target):
            yield Path(target)
        return
    real = Path(os.path.realpath(target))
    with _naming(target, real):
        old = _permissions(real)
        _remove_stale(real)
        # The temporary file of a private file is private from the start.
        temporary, lock = _locked_file(real, 0o666 if old is None else old | stat.S_IRUSR | stat.S_IWUSR)
        try:
            yield temporary
            with open(temporary, "r+b") as written:
                os.fsync(written.fileno())
            if old is not None:
                os.chmod(temporary, old)
            os.replace(temporary, real)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            if lock is not None:
                os.close(lock)


@contextlib.contextmanager
def atomic_open(target: Target, mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """An open file that replaces ``target`` when the block ends without an error, as `atomic_file` does.

    Parameters
    ----------
    target : path-like
        File to write.
    mode : {"w", "wb"}
        Text or bytes.
    **options
        Further arguments of the built-in ``open``. The default encoding of text is UTF-8.
    """
    if mode == "w":
        options = {"encoding": "utf-8"} | options
    with atomic_file(target) as temporary, open(temporary, mode, **options) as stream:
        yield stream


def _is_stream(target: Target) -> bool:
    """Whether the target is a device, a pipe or an open descriptor."""
    if os.path.abspath(target).startswith(DESCRIPTORS):
        return True
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _permissions(target: Path) -> int | None:
    """Permissions of the file that will be replaced; None if there is none. A folder is refused."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    return mode & 0o777


def _prefix(target: Path) -> str:
    """How the names of all temporary files of a target start."""
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= MOST_NAME else hashlib.sha256(name).hexdigest()}."


def _locked_file(target: Path, mode: int) -> tuple[Path, int | None]:
    """A new temporary file, and the descriptor that locks it; None on systems without such locks."""
    while True:
        temporary = target.with_name(f"{_prefix(target)}{os.getpid()}.{secrets.token_hex(8)}.part")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if sys.platform == "win32":  # where an open file cannot be renamed
            os.close(descriptor)
            return temporary, None
        try:
            _lock(descriptor)
            removed = os.fstat(descriptor).st_nlink == 0
        except BlockingIOError:
            removed = True
        except OSError:  # a file system without locks, on which nobody can find the file unlocked
            removed = False
        if not removed:
            return temporary, descriptor
        os.close(descriptor)  # another process found the file before it was locked


def _remove_stale(target: Path) -> None:
    """Remove the temporary files of a target that no process is writing."""
    if sys.platform == "win32":
        return
    prefix = _prefix(target)
    with contextlib.suppress(OSError):  # a folder that cannot be listed, or does not exist
        found = [one for one in os.listdir(target.parent) if one.startswith(prefix)]
        for name in found:
            if PART.fullmatch(name, len(prefix)):
                _remove_unlocked(target.with_name(name))


def _remove_unlocked(temporary: Path) -> None:
    with contextlib.suppress(OSError):  # locked, gone, or the file of another user
        descriptor = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            _lock(descriptor)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                temporary.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Lock an open file until it is closed, also by the end of the process; an OSError says that another has it."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def _naming(target: Target, real: Path | None = None) -> Iterator[None]:
    """Name the target in an OSError that names no file or the temporary one."""
    try:
        yield
    except OSError as error:
        named = None if error.filename is None else os.fspath(error.filename)
        ours = real is not None and isinstance(named, str) and named.startswith(str(real.with_name(_prefix(real))))
        if error.errno is None or not (ours or (named is None and error.errno in DISK)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(target)) from error
