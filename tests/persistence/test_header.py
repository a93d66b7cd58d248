"""Headers that would cost too much are refused before they are parsed; long ones that were saved are read."""

import json
import os
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.persistence import header, read_file, write_file
from condrank.persistence.header import check_cost
from saved_rankers import X, Y

# Reads files whose headers are made of one piece each, in processes that may use little memory. Arguments: size, file.
BOMBS = r"""
import json, os, resource, struct, sys
from condrank.persistence import read_file

size, file = int(sys.argv[1]), sys.argv[2]
PIECES = ["{},", "[],", '{"":0},', "[[[]]],", "-6,", '"ab",']

def in_header(text):
    return text

def in_manifest(text):
    manifest = '{"format": "condrank", "version": 1, "sha256": {}, "x": ' + text + "}"
    return json.dumps({"__metadata__": {"manifest": manifest, "sha256": "0"}})

def escaped(text):
    for character in "[{,":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return '{"__metadata__": {"manifest": "' + text.replace('"', '\\"') + '", "sha256": "0"}}'

def read(wrap, piece):
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    header = wrap('{"a": [' + piece * (size // len(piece)) + "0]}").encode()
    with open(file, "wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
    room = 4 * len(header) + (8 << 20)
    del header
    resource.setrlimit(resource.RLIMIT_AS, (taken + room, taken + room))
    try:
        read_file(file)
    except ValueError as error:
        assert str(error).endswith("its header has too many objects, lists, keys or values"), error
        assert file in str(error), error
        os._exit(0)

for wrap in (in_header, in_manifest, escaped):
    for piece in PIECES:
        child = os.fork()
        if child == 0:
            try:
                read(wrap, piece)
            finally:
                os._exit(1)
        print(wrap.__name__, piece, os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the memory of a process")
def test_headers_that_would_take_much_memory_are_refused(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", BOMBS, "8000000", str(tmp_path / "model")],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    lines = ran.stdout.splitlines()
    assert len(lines) == 18, ran.stderr
    assert [line for line in lines if not line.endswith(" 0")] == [], ran.stderr


def naive_counts(text):
    """Objects, lists and keys, and commas, character by character."""
    inside, parts, values, place = False, 0, 0, 0
    while place < len(text):
        if inside and text[place] == "\\":
            place += 1
        elif text[place] == '"':
            inside = not inside
        elif not inside:
            parts += text[place] in "[{:"
            values += text[place] == ","
        place += 1
    return parts, values


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 16])
def test_what_is_in_strings_is_not_counted(monkeypatch, block):
    monkeypatch.setattr(header, "BLOCK", block)
    rng = np.random.default_rng(0)
    for _ in range(200):
        strings = ["".join(rng.choice(list('\\",[{:]} aé\n'), size=rng.integers(6))) for _ in range(5)]
        text = json.dumps({one: [strings, {"a": strings[0]}] for one in strings})
        nested = json.dumps([text, strings])
        for one in (text, nested):
            counts = [header._counts(piece) for piece in header._outside_strings(one)]
            assert tuple(np.sum(counts, axis=0)) == naive_counts(one)


def test_the_bounds_are_where_they_are_said_to_be(monkeypatch):
    monkeypatch.setattr(header, "MOST_PARTS", 10)
    for fits, not_fits in (
        ([[]] * 9, [[]] * 10),
        ({"a": {}}, {f"{key}": {} for key in range(5)}),
        ({f"{key}": 0 for key in range(9)}, {f"{key}": 0 for key in range(10)}),
        ([0] * 11, [0] * 12),
        (["[" * 20, {}], [["[" * 20]] * 10),
    ):
        check_cost(json.dumps(fits), is_manifest=False)
        with pytest.raises(ValueError, match="too many objects, lists, keys or values"):
            check_cost(json.dumps(not_fits), is_manifest=False)
    check_cost(json.dumps(["abcd"] * 1000), is_manifest=True)
    with pytest.raises(ValueError, match="too many"):
        check_cost(json.dumps(["abcd"] * 1000), is_manifest=False)
    with pytest.raises(ValueError, match="too many"):
        check_cost(json.dumps(["abc"] * 1000), is_manifest=True)


def test_many_ids_with_signs_of_json_are_read(tmp_path):
    names = [f'{{"[{number:x}]":,\\' for number in range(600_000)]
    write_file(tmp_path / "model", {"names": names}, {"a": np.arange(3.0)})
    manifest, arrays = read_file(tmp_path / "model")
    assert manifest["names"] == names
    assert arrays["a"].tolist() == [0, 1, 2]


def test_many_short_ids_and_many_arrays_are_read(tmp_path):
    names = [f"{number:04x}" for number in range(1 << 16)] * 20
    write_file(tmp_path / "model", {"names": names}, {})
    assert read_file(tmp_path / "model")[0]["names"] == names
    many = {f"tables.columns.{number}": np.zeros(1) for number in range(50_000)}
    write_file(tmp_path / "model", {}, many)
    assert read_file(tmp_path / "model", mmap=True)[1].keys() == many.keys()


def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    (tmp_path / "model").write_text("old")
    with pytest.raises(ValueError, match="model cannot be saved: its header has too many objects"):
        write_file(tmp_path / "model", {"lists": [[]] * 600_000}, {})
    monkeypatch.setattr("condrank.persistence.layout.MOST_HEADER", 1000)
    with pytest.raises(ValueError, match=r"model cannot be saved: its header takes \S+ bytes, at most 992 can be read"):
        ConditionalRanker().fit(RelationGraph(X, Y, ids=[f"node {row}" for row in range(len(X))])).save(
            tmp_path / "model"
        )
    assert (tmp_path / "model").read_text() == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_a_header_that_is_no_text_is_refused(tmp_path):
    for text in (b"{\xff}", b"\0" * 100, "{}".encode("utf-16")):
        (tmp_path / "model").write_bytes(struct.pack("<Q", len(text)) + text)
        with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'model'} is not a condrank model")):
            read_file(tmp_path / "model")
