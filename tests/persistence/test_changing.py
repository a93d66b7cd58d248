"""A file that changes while it is read: one of the two files is loaded, or a ValueError says so."""

import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from condrank import ConditionalRanker
from condrank.persistence import read_file
from condrank.persistence.layout import read_with_fingerprint
from saved_rankers import NEW

POSIX = pytest.mark.skipif(os.name != "posix", reason="a file that is open elsewhere can be replaced")

# Loads on a busy machine until both ends were seen, which takes a moment on an idle one.
MOST_SECONDS = 120

# Overwrites a file in place with one of two others by turns, and loads it. The arguments are the file, the two others,
# the least number of loads, new nodes, and the most seconds to go on until a load was sound and one was refused. If
# no load of a round is sound, the file is left whole for longer: on a busy machine a load takes longer.
IN_PLACE = """
import os, sys, threading, time
import numpy as np
from condrank import ConditionalRanker

file, *others, loads, new, seconds = sys.argv[1:]
others, new = [open(one, "rb").read() for one in others], np.load(new)
expected = []
for one in others:
    with open(file, "wb") as stream:
        stream.write(one)
    expected.append(ConditionalRanker.load(file).predict(new))
end, pause = threading.Event(), [0.02]

def overwrite():
    turn = 0
    while not end.is_set():
        turn += 1
        with open(file, "r+b") as stream:
            stream.truncate(turn % 3 * 1000)
            half = len(others[turn % 2]) // 2
            stream.write(others[turn % 2][:half])
            stream.flush()
            time.sleep(0.002)
            stream.write(others[turn % 2][half:])
            stream.truncate()
        time.sleep(pause[0])

thread = threading.Thread(target=overwrite)
thread.start()
sound = refused = 0
last = time.monotonic() + float(seconds)
try:
    while sound + refused < int(loads) or (0 in (sound, refused) and time.monotonic() < last):
        try:
            found = ConditionalRanker.load(file).predict(new)
        except ValueError as error:
            refused += 1
            assert file in str(error), error
            if not sound and refused % 20 == 0:
                pause[0] *= 2
        else:
            sound += 1
            assert any(np.array_equal(found, one) for one in expected), "a mixture of both files"
finally:
    end.set()
    thread.join()
print(sound, refused)
"""


@pytest.fixture
def two(tmp_path):
    """Files of two models: equal sizes, but gamma in the manifest and all arrays differ."""
    files, rng = [tmp_path / "first", tmp_path / "second"], np.random.default_rng(0)
    features, labels = rng.normal(size=(250, 4)), rng.normal(size=(250, 250))
    for sign, gamma, file in zip((1, -1), (0.2, 0.8), files, strict=True):
        ConditionalRanker(kernel="rbf", gamma=gamma).fit(features, sign * labels).save(file)
    assert files[0].stat().st_size == files[1].stat().st_size > 500_000
    return files


@POSIX
def test_a_file_that_is_overwritten_is_loaded_or_refused(two, tmp_path):
    # In another process, as a map of a file that gets shorter would kill this one.
    np.save(tmp_path / "new.npy", NEW)
    given = [str(tmp_path / "model"), *map(str, two), "200", str(tmp_path / "new.npy"), str(MOST_SECONDS)]
    ran = subprocess.run(
        [sys.executable, "-c", IN_PLACE, *given], capture_output=True, text=True, timeout=5 * MOST_SECONDS
    )
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    sound, refused = map(int, ran.stdout.split())
    assert sound + refused >= 200
    assert sound > 0
    assert refused > 0


# Replaces a file by two others by turns until it is killed. A process, as a thread would wait for the interpreter.
REPLACING = """
import os, sys
file, *others = sys.argv[1:]
print("ready", flush=True)
while True:
    for one in others:
        os.link(one, f"{file}.next")
        os.replace(f"{file}.next", file)
"""


def replaced_loads(two, file, loads, read, mmap):
    """How often each of two files was read while they replaced each other; ``read`` says which one it found.

    On a busy machine the other process may get no turn during all loads; they then go on until both files were found.
    """
    os.link(two[0], file)
    last = time.monotonic() + MOST_SECONDS
    with subprocess.Popen(
        [sys.executable, "-c", REPLACING, str(file), str(two[1]), str(two[0])], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            found = [read(file, mmap) for _ in range(loads)]
            while len(set(found)) < 2 and time.monotonic() < last:
                found.append(read(file, mmap))
            assert process.poll() is None
        finally:
            process.kill()
    return np.bincount(found, minlength=2)


@POSIX
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("loads", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_two_files_that_replace_each_other_are_never_mixed(two, tmp_path, loads, mmap):
    expected = [ConditionalRanker.load(one).predict(NEW) for one in two]
    marks = [read_with_fingerprint(one)[2] for one in two]
    assert not np.allclose(*expected)

    def ranker(file, mmap):
        found = ConditionalRanker.load(file, mmap=mmap).predict(NEW)
        (which,) = [place for place, one in enumerate(expected) if np.array_equal(found, one)]
        return which

    def contents(file, mmap):
        _, arrays, mark = read_with_fingerprint(file, mmap)
        which = marks.index(mark)
        for name, array in read_file(two[which])[1].items():
            np.testing.assert_array_equal(arrays[name], array)
        return which

    assert (replaced_loads(two, tmp_path / "ranker", loads, ranker, mmap) > 0).all()
    assert (replaced_loads(two, tmp_path / "contents", loads, contents, mmap) > 0).all()


@POSIX
def test_a_mapped_file_stays_when_its_name_is_replaced_or_removed(two, tmp_path):
    shutil.copy(two[0], tmp_path / "model")
    expected = [ConditionalRanker.load(one).predict(NEW) for one in two]
    mapped = ConditionalRanker.load(tmp_path / "model", mmap=True)
    os.replace(two[1], tmp_path / "model")
    assert np.array_equal(mapped.predict(NEW), expected[0])
    assert np.array_equal(ConditionalRanker.load(tmp_path / "model").predict(NEW), expected[1])
    os.unlink(tmp_path / "model")
    assert np.array_equal(mapped.predict(NEW), expected[0])


def test_copies_are_not_maps(two):
    _, arrays = read_file(two[0])
    _, mapped = read_file(two[0], mmap=True)
    for name, array in arrays.items():
        assert array.flags.owndata
        assert array.flags.writeable
        assert not mapped[name].flags.writeable
        np.testing.assert_array_equal(array, mapped[name], strict=True)
    before = {name: array.copy() for name, array in arrays.items()}
    with open(two[0], "r+b") as stream:
        stream.truncate(0)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name])


def test_a_change_while_reading_is_said_to_be_one(saved, monkeypatch):
    import condrank.persistence.layout as layout

    checksum = layout.checksum

    def changing(array):
        with open(saved, "ab") as stream:
            stream.write(b"x")
        return checksum(array)[::-1]

    monkeypatch.setattr(layout, "checksum", changing)
    with pytest.raises(ValueError, match=r"model was changed while it was read"):
        ConditionalRanker.load(saved)


@pytest.mark.parametrize("mmap", [False, True])
def test_a_file_that_gets_shorter_while_it_is_read_is_refused(saved, monkeypatch, mmap):
    import condrank.persistence.layout as layout

    parse_header = layout.parse_header

    def shortening(*given):
        os.truncate(saved, saved.stat().st_size - 8)
        return parse_header(*given)

    monkeypatch.setattr(layout, "parse_header", shortening)
    with pytest.raises(ValueError, match=r"model was changed while it was read") as caught:
        ConditionalRanker.load(saved, mmap=mmap)
    assert "is truncated: it ends before the end of" in str(caught.value.__cause__)


def at_once(path):
    """The message of the ValueError of loading; a load that waits fails."""
    found = []

    def load():
        try:
            ConditionalRanker.load(path)
        except ValueError as error:
            found.append(str(error))

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    thread.join(MOST_SECONDS)
    assert not thread.is_alive()
    return found[0]


@POSIX
def test_what_is_not_a_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert at_once(tmp_path / "pipe") == f"{tmp_path / 'pipe'} must be a regular file, got a pipe"
    (tmp_path / "folder" / "model.safetensors").mkdir(parents=True)
    assert at_once(tmp_path / "folder").endswith("model.safetensors must be a regular file, got a folder")
    assert at_once("/dev/zero") == "/dev/zero must be a regular file, got a device"


@POSIX
def test_a_pipe_that_takes_the_name_between_two_looks_is_refused_at_once(saved, tmp_path, monkeypatch):
    import condrank.persistence.opening as opening

    check = opening._check_regular

    def late(found, file):
        check(found, file)
        if (tmp_path / "pipe").exists():
            os.replace(tmp_path / "pipe", saved)

    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(opening, "_check_regular", late)
    assert at_once(saved).endswith("must be a regular file, got a pipe")
