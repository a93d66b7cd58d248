"""Atomic files: whole or not at all, whatever is at their place, and nothing is left behind."""

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import threading

import pytest

from condrank.base import files
from condrank.base.files import atomic_file, atomic_open

POSIX = pytest.mark.skipif(os.name != "posix", reason="locks, permissions and pipes of POSIX")
STALE = ".{}.4711.0123456789abcdef.part"

# Writes one half of a file, reports that, and waits.
WRITER = """
import sys
from condrank.base.files import atomic_open
with atomic_open(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.readline()
"""


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def parts(folder):
    return [file for file in folder.iterdir() if file.suffix == ".part"]


@pytest.fixture
def writer(tmp_path):
    """A process in the middle of writing ``tmp_path / "out.csv"``."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "out.csv")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def test_a_file_is_written_whole(tmp_path):
    target = tmp_path / "out.csv"
    with atomic_open(target, newline="") as stream:
        stream.write("é\r\n")
        assert not target.exists()
    assert target.read_bytes() == "é\r\n".encode()
    with atomic_open(str(target), "wb") as stream:
        stream.write(b"bytes")
    assert target.read_bytes() == b"bytes"
    with atomic_file(target) as path:
        assert path.parent == tmp_path
        path.write_text("path")
    assert target.read_text() == "path"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path, error):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail():
        with atomic_open(target) as stream:
            stream.write("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


@POSIX
def test_the_next_write_removes_what_a_killed_process_left(tmp_path, writer):
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    (left,) = parts(tmp_path)
    assert left.read_text() == "half"
    with atomic_open(tmp_path / "other.csv") as stream:
        stream.write("other")
    assert parts(tmp_path) == [left]
    with atomic_open(tmp_path / "out.csv") as stream:
        assert not left.exists()
        stream.write("whole")
    assert names(tmp_path) == ["other.csv", "out.csv"]


@POSIX
def test_a_file_that_another_process_is_writing_is_kept(tmp_path, writer):
    (left,) = parts(tmp_path)
    with atomic_open(tmp_path / "out.csv") as stream:
        stream.write("mine")
    assert parts(tmp_path) == [left]
    assert (tmp_path / "out.csv").read_text() == "mine"
    writer.communicate("\n", timeout=60)
    assert writer.returncode == 0
    assert (tmp_path / "out.csv").read_text() == "half"
    assert names(tmp_path) == ["out.csv"]


@POSIX
def test_only_temporary_files_of_the_same_target_are_removed(tmp_path):
    kept = [
        STALE.format("b"), STALE.format("a.b"), ".a.part", ".a.x.0123456789abcdef.part", ".a.1.0123.part",
        "a.1.0123456789abcdef.part", ".a.1.0123456789abcdef.part.csv", ".a.1.0123456789abcdeF.part", "xa",
    ]  # fmt: skip
    for name in [*kept, STALE.format("a"), ".a.1.fedcba9876543210.part"]:
        (tmp_path / name).write_text("")
    (tmp_path / ".a.2.0123456789abcdef.part").mkdir()
    os.mkfifo(tmp_path / ".a.3.0123456789abcdef.part")
    (tmp_path / ".a.4.0123456789abcdef.part").symlink_to(tmp_path / "xa")
    with atomic_open(tmp_path / "a") as stream:
        stream.write("whole")
    kept += [f".a.{number}.0123456789abcdef.part" for number in (2, 3, 4)]
    assert names(tmp_path) == sorted([*kept, "a"])


@POSIX
def test_a_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, seen = files._lock, []

    def removing(descriptor):
        if len(seen) < 2:
            (path,) = parts(tmp_path)
            seen.append(path)
            path.unlink()
            if len(seen) == 2:
                raise BlockingIOError(errno.EWOULDBLOCK, "another process has it")
        lock(descriptor)

    monkeypatch.setattr(files, "_lock", removing)
    with atomic_open(tmp_path / "a") as stream:
        assert parts(tmp_path)[0] not in seen
        stream.write("whole")
    assert (tmp_path / "a").read_text() == "whole"


@POSIX
def test_a_file_system_without_locks_will_do(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(files, "_lock", refuse)
    (tmp_path / STALE.format("a")).write_text("")
    with atomic_open(tmp_path / "a") as stream:
        stream.write("whole")
    assert names(tmp_path) == [STALE.format("a"), "a"]


@POSIX
def test_many_threads_write_one_file(tmp_path):
    def write(fill):
        for _ in range(25):
            with atomic_open(tmp_path / "a") as stream:
                stream.write(fill * 1000)

    failed = []
    monitor, threading.excepthook = threading.excepthook, failed.append
    try:
        threads = [threading.Thread(target=write, args=(fill,)) for fill in "abcdefgh"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = monitor
    assert failed == []
    assert re.fullmatch(r"(.)\1{999}", (tmp_path / "a").read_text())
    assert names(tmp_path) == ["a"]


@POSIX
def test_a_full_disk_names_the_file(tmp_path):
    import resource

    target, before = tmp_path / "out.csv", resource.getrlimit(resource.RLIMIT_FSIZE)
    target.write_text("old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        with pytest.raises(OSError, match=re.escape(str(target))) as caught, atomic_open(target) as stream:
            stream.write("x" * (1 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(target)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


def test_a_disk_that_is_full_at_the_end_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device.*out\.csv'$"), atomic_open(tmp_path / "out.csv"):
        pass
    assert names(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_device_is_named():
    with pytest.raises(OSError, match=r"'/dev/full'$"), atomic_open("/dev/full") as stream:
        stream.write("x")


def test_errors_of_other_files_stay_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"), atomic_open(tmp_path / "a"):
        (tmp_path / "elsewhere").read_text()
    with pytest.raises(ConnectionResetError) as caught, atomic_open(tmp_path / "a"):
        raise ConnectionResetError(errno.ECONNRESET, "reset")
    assert caught.value.filename is None
    with (
        pytest.raises(FileNotFoundError, match=re.escape(f"'{tmp_path / 'none' / 'a'}'")),
        atomic_open(tmp_path / "none" / "a"),
    ):
        pass


def test_a_folder_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path / "a"))), atomic_open(tmp_path / "a"):
        pytest.fail("the work was begun")


@POSIX
def test_a_replaced_file_keeps_its_permissions_from_the_start(tmp_path):
    (tmp_path / "a").write_text("private")
    for mode in (0o600, 0o640, 0o444):
        (tmp_path / "a").chmod(mode)
        with atomic_file(tmp_path / "a") as path:
            assert stat.S_IMODE(path.stat().st_mode) == mode | 0o200
            path.write_text(f"{mode}")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode
        assert (tmp_path / "a").read_text() == f"{mode}"


@POSIX
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/a")
    for text in ("first", "second"):
        with atomic_open(tmp_path / "link") as stream:
            stream.write(text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "a").read_text() == text
    assert names(tmp_path / "folder") == ["a"]


@POSIX
def test_pipes_and_devices_are_written_and_not_replaced(tmp_path):
    with atomic_open("/dev/null") as stream:
        stream.write("x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    with atomic_open(tmp_path / "pipe") as stream:
        stream.write("through")
    reader.join(10)
    assert found == ["through"]
    assert names(tmp_path) == ["pipe"]


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="a name of an open descriptor")
def test_standard_output_in_a_file_is_written_and_not_replaced(tmp_path):
    code = "from condrank.base.files import atomic_open\nprint('before', flush=True)\n"
    code += "with atomic_open('/dev/stdout') as stream: stream.write('x')\nprint('after')"
    with open(tmp_path / "out", "a") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text().endswith("after\n")
    assert names(tmp_path) == ["out"]


def test_the_longest_names_can_be_written(tmp_path):
    for name in ("a" * 255, "é" * 127, "a" * 200, "a" * 201):
        with atomic_open(tmp_path / name) as stream:
            stream.write("whole")
        assert (tmp_path / name).read_text() == "whole"
    assert len(names(tmp_path)) == 4
