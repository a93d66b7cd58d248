"""Ids and names of columns that would act on a terminal, in rich markup or in a spreadsheet."""

import csv
import io
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from condrank import cli
from condrank.cli.visible import FORMULAS, HIDDEN, JOINERS, guarded_cell, visible

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")
runner = CliRunner()
ODD = [
    "\x1b]0;title\x07", "\x1b[2Jclear", "\u202egnp.exe", "two\nlines", "a\x08b", "[red]red[/red]", "[/]", "[link=x]y",
    "=1+1", "+cmd", "-2", "@sum", "\x9b31m", "\u2066iso\u2069", "emoji 👩\u200d🔬", "λ [bold]",
]  # fmt: skip
COLUMN = "\x1b[31mspeed\u202e[/]"


def hidden(text):
    return [one for one in text if unicodedata.category(one) in HIDDEN and one not in "\n" + JOINERS]


def run(*arguments, code=0):
    done = runner.invoke(cli.app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        with open("nodes.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", COLUMN], *([one, i % 5] for i, one in enumerate(ODD))])
        pairs = [(one, other) for i, one in enumerate(ODD) for other in ODD[:i]]
        with open("games.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["winner", "loser"], *pairs])
        run("fit", "--nodes", "nodes.csv", "--edges", "games.csv", "--kernel", "linear", "--alpha", 1, "-o", "model/")
    return path


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@given(st.text())
def test_no_hidden_character_is_left(text):
    shown = visible(text)
    assert hidden(shown) == []
    assert "\n" not in shown
    assert visible(text, keep="\n").count("\n") == text.count("\n")
    if not hidden(text) and "\n" not in text:
        assert shown == text


TABLES = ["--nodes", "nodes.csv", "--edges", "games.csv"]
QUICK = ["--kernel", "linear", "--alpha", "1"]
COMMANDS = {
    "diagnose": (["diagnose", *TABLES], 0),
    "diagnose edges": (["diagnose", "--edges", "games.csv"], 0),
    "plan": (["plan", *TABLES], 0),
    "fit": (["fit", *TABLES, *QUICK, "--verbose", "-o", "\x1b[31m/"], 0),
    "rank": (["rank", "model", *(word for one in ODD for word in ("-q", one)), "--format", "table"], 0),
    "evaluate": (["evaluate", *TABLES, *QUICK, "--folds", "2"], 0),
    "unknown id": (["rank", "model", "-q", "\x1b[2Jclaer"], 1),
    "unknown column": (["fit", *TABLES, "--numeric", "\x1b]2;x\x07", "-o", "m"], 1),
    "unknown file": (["rank", "\x1b[31mmodel", "-q", "1"], 1),
    "not a number": (["fit", *TABLES, "--categorical", COLUMN, "--numeric", COLUMN, "-o", "m"], 1),
    "text": (["fit", "--nodes", "games.csv", "--edges", "nodes.csv", "-o", "m"], 1),
    "no such option": (["rank", "--\x1b[31m"], 2),
    "no such command": (["\x1b[31m"], 2),
    "not a whole number": (["rank", "model", "--top", "\x1b[31m"], 2),
    "no such format": (["rank", "model", "-q", "1", "--format", "\x1b[31m"], 2),
    "bad suffix": (["rank", "model", "-q", "1", "-o", "\x1b[31m"], 2),
    "missing folder": (["rank", "model", "-q", "1", "-o", "\x1b[31m/a.csv"], 1),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.filterwarnings("ignore")
def test_no_command_shows_a_control_character(name):
    arguments, code = COMMANDS[name]
    done = run(*arguments, code=code)
    assert hidden(done.stdout + done.stderr) == []


def test_markup_in_ids_is_shown_as_it_is():
    shown = run("rank", "model", *(word for one in ODD for word in ("-q", one)), "--format", "table", "-k", 20).stdout
    for text in ("[red]red[/red]", "[/]", "[link=x]y", "λ [bold]", "two\\nlines", "\\x1b[2Jclear", "\\u202egnp.exe"):
        assert text in shown
    assert len(shown.splitlines()) == 1 + len(ODD) * (len(ODD) - 1)


def test_csv_is_raw_by_default_and_guarded_if_asked_for():
    def ids(*more):
        text = run("rank", "model", "-q", ODD[0], "-k", 20, "--format", "csv", *more).stdout_bytes.decode()
        return [row["object"] for row in csv.DictReader(io.StringIO(text, newline=""))]

    raw, safe = ids(), ids("--safe-csv")
    assert sorted(raw) == sorted(set(ODD) - {ODD[0]})
    assert safe == [guarded_cell(one) for one in raw]
    assert not any(one.startswith(FORMULAS) for one in safe)
    assert sum(one != other for one, other in zip(raw, safe, strict=True)) == 4
    run("evaluate", "model", *TABLES, "--per-query", "queries.csv", "--safe-csv")
    text = Path("queries.csv").read_bytes().decode()
    assert sorted(row["query"] for row in csv.DictReader(io.StringIO(text, newline=""))) == sorted(
        map(guarded_cell, ODD)
    )


def test_numbers_are_not_guarded():
    assert guarded_cell(-1.5) == -1.5
    assert guarded_cell("1-2") == "1-2"
    assert [guarded_cell(one) for one in ("\ttab", "\rreturn", "＝1")] == ["'\ttab", "'\rreturn", "'＝1"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["rank", "model", "-q", "1", "--json", "--safe-csv"],
        ["rank", "model", "-q", "1", "-o", "a.parquet", "--safe-csv"],
        ["evaluate", *TABLES, "--safe-csv"],
    ],
)
def test_guarding_is_for_csv(arguments):
    assert "--safe-csv" in run(*arguments, code=2).stderr


@POSIX
@pytest.mark.parametrize("form", ["csv", "table"])
def test_a_terminal_gets_no_control_characters(form):
    import pty

    command = [sys.executable, "-m", "condrank", "rank", "model", "-q", ODD[0], "-k", "20", "--format", form]
    master, slave = pty.openpty()
    environment = os.environ | {"NO_COLOR": "1", "TERM": "dumb"}
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    found = b""
    try:
        while piece := os.read(master, 4096):
            found += piece
    except OSError:  # the end of a terminal
        pass
    os.close(master)
    assert process.wait(60) == 0
    text = found.decode().replace("\r\n", "\n")
    assert "clear" in text
    assert hidden(text) == []


# Packages whose import interrupts the command, as Ctrl-C in this moment does.
# A job in the background, such as a test run there, ignores interrupts.
HEARD = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
INTERRUPTING = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"


@POSIX
@pytest.mark.parametrize("package", ["rich", "numpy"])
def test_an_interrupt_while_the_command_starts_is_one_line_and_130(package, tmp_path):
    (tmp_path / f"{package}.py").write_text(INTERRUPTING)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {HEARD}; from condrank.__main__ import main; main()"
    words = ["rank", "model", "-q", ODD[0]]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "condrank: interrupted\n")


@POSIX
def test_an_interrupt_in_code_from_a_string_is_130_too(tmp_path):
    # Python notes such an interrupt, and would end itself by the signal.
    (tmp_path / "sklearn.py").write_text(f"exec({INTERRUPTING!r})")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {HEARD}; from condrank.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "rank", "model", "-q", "1"], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"condrank: interrupted\n")
