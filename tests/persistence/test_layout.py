"""The file: whole or the one before, and every damage of its header or its data is reported."""

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from condrank import ConditionalRanker
from condrank.persistence import read_file, write_file
from condrank.persistence.header import header_digest
from saved_rankers import (
    KINDS,
    NEW,
    RANKERS,
    X,
    Y,
    assert_refused,
    assert_same,
    fitted,
    loads_finite,
    mutated,
    new_nodes,
)


def test_a_folder_holds_one_file_of_a_fixed_name(tmp_path):
    ranker = ConditionalRanker().fit(X, Y)
    ranker.save(f"{tmp_path}/model/")
    assert (tmp_path / "model" / "model.safetensors").is_file()
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["model.safetensors"]
    assert_same(ConditionalRanker.load(tmp_path / "model").predict(NEW), ranker.predict(NEW))


def test_the_manifest_is_readable_json(saved):
    manifest, _ = read_file(saved)
    assert json.loads(json.dumps(manifest))["params"]["kernel"] == "rbf"


def test_every_truncation_is_reported(saved):
    whole = saved.read_bytes()
    for length in {0, 1, 7, 8, 9, 100, 1000, len(whole) // 2, len(whole) - 1}:
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"model is (not a condrank model|truncated|damaged)"):
            ConditionalRanker.load(saved)
    saved.write_bytes(whole + b"x")
    with pytest.raises(ValueError, match="1 bytes more"):
        ConditionalRanker.load(saved)


def test_every_flipped_bit_is_reported(saved):
    whole = bytearray(saved.read_bytes())
    rng = np.random.default_rng(0)
    length = struct.unpack("<Q", whole[:8])[0]
    places = [*range(8), *rng.integers(8, len(whole), size=300).tolist()]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(damaged)
        if place < 8 + length and whole[place] == ord(" "):
            continue  # blanks behind the header may become others unseen
        with pytest.raises(ValueError, match="model"):
            ConditionalRanker.load(saved)


def test_newer_versions_other_files_and_missing_parts_are_reported(saved, tmp_path):
    manifest, arrays = read_file(saved)
    write_file(tmp_path / "newer", manifest | {"version": 2, "condrank": "9.0"}, arrays)
    with pytest.raises(ValueError, match=r"format version 2, written by condrank '9.0'.*reads versions up to 1"):
        ConditionalRanker.load(tmp_path / "newer")
    write_file(tmp_path / "other", manifest | {"format": "other"}, arrays)
    with pytest.raises(ValueError, match="holds arrays, but no condrank model"):
        ConditionalRanker.load(tmp_path / "other")
    for missing in ("model", "params", "settings"):
        write_file(tmp_path / "part", {k: v for k, v in manifest.items() if k != missing}, arrays)
        with pytest.raises(ValueError, match=f"not a complete condrank model: KeyError '{missing}'"):
            ConditionalRanker.load(tmp_path / "part")
    write_file(tmp_path / "part", manifest, {k: v for k, v in arrays.items() if k != "W"})
    with pytest.raises(ValueError, match="not a complete condrank model: KeyError 'W'"):
        ConditionalRanker.load(tmp_path / "part")
    with pytest.raises(FileNotFoundError):
        ConditionalRanker.load(tmp_path / "nothing")


@pytest.mark.parametrize("version", [True, 0, -1, 1.0, "1", None])
def test_a_version_that_is_no_whole_number_is_reported(saved, version):
    manifest, arrays = read_file(saved)
    assert_refused(saved, manifest | {"version": version}, arrays, "format version is")


def test_headers_that_lie_are_reported(tmp_path):
    for header in (b"[]", b"{}", b'{"a": 1}', b"nonsense", b'{"__metadata__": {"manifest": "{"}}', b"[" * 5000):
        (tmp_path / "file").write_bytes(struct.pack("<Q", len(header)) + header)
        with pytest.raises(ValueError, match=r"no condrank model|not a condrank model"):
            ConditionalRanker.load(tmp_path / "file")
    (tmp_path / "file").write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(ValueError, match="the length of its header makes no sense"):
        ConditionalRanker.load(tmp_path / "file")


def test_deep_and_strange_headers_are_reported(saved):
    for depth in (500, 900, 990, 5000, 100_000):
        deep = b'{"a": ' + b"[" * depth + b"1" + b"]" * depth + b"}"
        saved.write_bytes(struct.pack("<Q", len(deep)) + deep)
        with pytest.raises(ValueError, match="condrank model"):
            ConditionalRanker.load(saved)
        inner = json.dumps({"format": "condrank", "version": 1, "sha256": {}})
        deep = deep[:-1] + b', "__metadata__": ' + json.dumps({"manifest": inner, "sha256": "0"}).encode() + b"}"
        saved.write_bytes(struct.pack("<Q", len(deep)) + deep)
        with pytest.raises(ValueError, match=r"damaged"):
            ConditionalRanker.load(saved)
    inner = json.dumps({"format": "condrank", "version": 1, "sha256": {}})[:-1] + ', "\ud800": 1}'
    header = json.dumps({"__metadata__": {"manifest": inner, "sha256": "0"}}).encode()
    saved.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ValueError, match="checksum of its header"):
        ConditionalRanker.load(saved)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_mutated_headers_load_or_are_reported(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    end = 8 + struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:end])
    metadata = header.pop("__metadata__")
    new = new_nodes(RANKERS[name][1]) if name in RANKERS else NEW
    rng = np.random.default_rng(KINDS.index(name))
    for attempt in range(30):
        mutant = mutated(header, rng)
        if attempt % 3 == 2:
            part = mutant[list(mutant)[rng.integers(len(mutant))]]
            if isinstance(part, dict):
                part["dtype"] = ["F64", "F32", "I64", "I32", "U8", "BOOL"][rng.integers(6)]
        mutant["__metadata__"] = metadata | {"sha256": header_digest(metadata["manifest"], mutant)}
        text = json.dumps(mutant).encode()
        (tmp_path / "mutant").write_bytes(struct.pack("<Q", len(text)) + text + whole[end:])
        loads_finite(tmp_path / "mutant", attempt % 2 == 1, new)


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_permissions_follow_the_mask_of_the_process_which_stays(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("the mask belongs to the whole process"))
            threads = [
                threading.Thread(target=write_file, args=(tmp_path / "model", {"fill": i}, {"a": np.full(9, i)}))
                for i in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640
    finally:
        assert os.umask(before) == 0o027
    manifest, arrays = read_file(tmp_path / "model")
    assert (arrays["a"] == manifest["fill"]).all()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_model(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        ConditionalRanker().fit(X, Y).save(saved)
    assert saved.read_bytes() == before
    assert [file.name for file in saved.parent.iterdir()] == ["model"]


KILLED = """
import sys, numpy as np
from condrank.persistence import write_file
fill = int(sys.argv[2])
print("ready", flush=True)
while True:
    fill += 1
    write_file(sys.argv[1], {"fill": fill}, {"a": np.full(200_000, fill, dtype=float)})
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_save_leaves_a_whole_model(tmp_path):
    target = tmp_path / "model"
    for attempt in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(target), str(1000 * attempt)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 + 0.03 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if target.exists():
            manifest, arrays = read_file(target)
            assert (arrays["a"] == manifest["fill"]).all()
    assert target.exists()
    write_file(target, {}, {})
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
