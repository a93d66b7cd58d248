"""Files that commands write: whole or not at all, checked before the work, and errors that say what to do."""

import ast
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker, cli

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(os.name != "posix", reason="limits, pipes and signals of POSIX")
runner = CliRunner()


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """A model of 40 nodes in the current folder."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 2))
    ConditionalRanker().fit(X, X @ X.T).save("model")


def run(*arguments, code=0):
    done = runner.invoke(cli.app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


def rank(*more, code=0):
    return run("rank", "model", *(word for node in range(40) for word in ("-q", node)), "-k", 39, *more, code=code)


def names():
    return sorted(os.listdir())


def calls_that_write(tree):
    """Calls that may write a file in its place: open with a mode of writing, write_text, write_bytes, savefig(path)."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        texts = [one.value for one in [*node.args, *(k.value for k in node.keywords)] if isinstance(one, ast.Constant)]
        modes = [one for one in texts if isinstance(one, str) and set(one) <= set("rwaxbt+") and set(one) & set("wax+")]
        if name in ("write_text", "write_bytes", "to_csv", "to_parquet", "tofile") or (name == "open" and modes):
            yield node.lineno, name
        if name == "savefig" and "format" not in {keyword.arg for keyword in node.keywords}:
            yield node.lineno, name  # to a path; pictures are drawn into memory or an open file with a format


@pytest.mark.parametrize("folder", ["src", "experiments"])
def test_no_file_is_written_in_its_place(folder):
    if not (ROOT / folder).is_dir():
        pytest.skip("only in a clone")
    allowed = {"base/files.py"}  # where files are written beside their place
    found = [
        f"{file.relative_to(ROOT)}:{line} {name}"
        for file in (ROOT / folder).rglob("*.py")
        if "/".join(file.parts[-2:]) not in allowed
        for line, name in calls_that_write(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize("text", ["open('a', 'w')", "p.open('wb')", "p.write_text('')", "f.savefig(p, dpi=1)"])
def test_writers_are_found(text):
    assert list(calls_that_write(ast.parse(text)))


@POSIX
@pytest.mark.parametrize("suffix", ["csv", "json", "txt"])
def test_a_full_disk_leaves_the_old_file_and_says_what_to_do(suffix):
    import resource

    target, before = Path(f"ranking.{suffix}"), resource.getrlimit(resource.RLIMIT_FSIZE)
    target.write_text("old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, before[1]))
    try:
        done = rank("-o", target, code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.stderr == f"condrank: cannot write {target}: File too large; free some space, or choose another place\n"
    assert target.read_text() == "old"
    assert names() == ["model", target.name]


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "free some space"), (errno.EROFS, "can be written"), (errno.EACCES, "change its permissions")],
)
def test_errors_of_the_disk_say_what_to_do(number, advice, monkeypatch):
    def refuse(descriptor):
        raise OSError(number, os.strerror(number), "ranking.csv")

    monkeypatch.setattr(os, "fsync", refuse)
    done = rank("-o", "ranking.csv", code=1)
    assert done.stderr.startswith(f"condrank: cannot write ranking.csv: {os.strerror(number)}; ")
    assert advice in done.stderr
    assert names() == ["model"]


COMMANDS = {
    "rank": ["rank", "model", "-q", "1", "-o"],
    "evaluate": ["evaluate", "--nodes", "n.csv", "--edges", "e.csv", "--per-query"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_folder_is_said_before_the_work(command, monkeypatch):
    for name in ("condrank.tables.ranker.TableRanker.load", "condrank.cli.evaluate.read_tables"):
        monkeypatch.setattr(name, lambda *_: pytest.fail("worked before checking"))
    done = run(*COMMANDS[command], "none/out.csv", code=1)
    assert done.stderr == (
        "condrank: cannot write none/out.csv: No such file or directory; "
        "make the folder none first, or choose another place\n"
    )
    done = run(*COMMANDS[command], "model/out.csv", code=1)
    assert "cannot write model/out.csv: Not a directory" in done.stderr
    os.mkdir("folder.csv")
    assert "Is a directory; give the name of a file" in run(*COMMANDS[command], "folder.csv", code=1).stderr


@pytest.mark.parametrize(
    "arguments", [*COMMANDS.values(), ["fit", "--nodes", "n.csv", "--edges", "e.csv", "-o"], ["demo", "-o"]]
)
def test_a_folder_that_must_not_be_written_is_said_before_the_work(arguments, monkeypatch):
    os.mkdir("kept")
    # A user who may write everything, such as in a container, would be allowed to.
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK)
    output = "kept" if arguments[0] == "demo" else "kept/out.csv"
    done = run(*arguments, output, code=1)
    assert done.stderr.startswith("condrank: cannot write kept/")
    assert done.stderr.endswith("Permission denied; change its permissions, or choose another place\n")
    assert os.listdir("kept") == []


@POSIX
def test_pipes_and_standard_output_can_be_written():
    wanted = rank("--format", "csv").stdout
    os.mkfifo("pipe.csv")
    found = []
    reader = threading.Thread(target=lambda: found.append(Path("pipe.csv").read_text()), daemon=True)
    reader.start()
    rank("-o", "pipe.csv")
    reader.join(30)
    assert found == [wanted]
    if os.path.exists("/dev/stdout"):
        words = ["rank", "model", "-q", "3", "--format", "csv"]
        command = [sys.executable, "-m", "condrank", *words, "-o", "/dev/stdout"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == run(*words).stdout
    assert names() == ["model", "pipe.csv"]


# Writes a long answer a little at a time; the name of the target and the letter to write are its arguments.
WRITER = """
import sys, time
from condrank.base.files import atomic_open
with atomic_open(sys.argv[1], "wb") as file:
    for _ in range(20):
        file.write(sys.argv[2].encode() * 50_000)
        file.flush()
        print("writing", flush=True)
        time.sleep(0.01)
"""


@POSIX
def test_two_writers_and_a_killed_one_leave_one_whole_file():
    def start(letter):
        return subprocess.Popen([sys.executable, "-c", WRITER, "out.csv", letter], stdout=subprocess.PIPE)

    killed = start("k")
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    (left,) = Path().glob(".out.csv.*.part")
    others = [start(letter) for letter in "ab"]
    for one in others:
        one.communicate(timeout=60)
        assert one.returncode == 0
    assert not left.exists()
    content = Path("out.csv").read_bytes()
    assert content in (b"a" * 1_000_000, b"b" * 1_000_000)
    assert names() == ["model", "out.csv"]


@POSIX
def test_a_killed_command_leaves_the_old_file(monkeypatch):
    Path("ranking.csv").write_text("old")
    os.mkfifo("slow.csv")
    command = [sys.executable, "-m", "condrank", "rank", "model", "--query-file", "slow.csv", "-o", "ranking.csv"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    writer = os.open("slow.csv", os.O_WRONLY)  # returns once the command reads
    time.sleep(0.1)
    process.kill()
    process.wait()
    os.close(writer)
    assert Path("ranking.csv").read_text() == "old"
    assert TableRanker.load("model") is not None
