"""Bad input of all kinds through the commands: one line that says why, never a traceback, no file harmed."""

import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import cli

runner = CliRunner()
PLAYERS = "id,age,hand\nann,31,left\nbob,25,right\ncyd,40,right\ndan,22,left\neve,28,right\nfay,35,right\n"
GAMES = "winner,loser\n" + "".join(f"{a},{b}\n" for a, b in zip("abcdefabc", "bcdefabcd", strict=True))
for short in ("ann", "bob", "cyd", "dan", "eve", "fay"):
    GAMES = GAMES.replace(f"\n{short[0]},", f"\n{short},").replace(f",{short[0]}\n", f",{short}\n")
VALUES = "source,target,value,weight\n" + "".join(
    f"{a},{b},{i / 3:.2f},{1 + i % 2}\n"
    for i, (a, b) in enumerate((a, b) for a in ("ann", "bob", "cyd", "dan") for b in ("bob", "cyd", "eve", "fay"))
)
JUNK = (
    "",
    ",",
    "\n",
    '"',
    "\x00",
    "nan",
    "inf",
    "-1e400",
    "9" * 400,
    "é",
    "\ufeff",
    ";",
    "\t",
    "zoe",
    "'",
    "{",
    "[1]",
    "=1+1",
)


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Good tables, a good model, and a file that nobody may touch."""
    monkeypatch.chdir(tmp_path)
    Path("players.csv").write_text(PLAYERS)
    Path("games.csv").write_text(GAMES)
    Path("values.csv").write_text(VALUES)
    Path("precious.txt").write_text("kept")
    np.save("K.npy", np.eye(6))
    done = runner.invoke(cli.app, ["fit", "--nodes", "players.csv", "--edges", "games.csv", "-o", "model/"])
    assert done.exit_code == 0, done.output
    return tmp_path


def damaged(rng, data):
    """The bytes of a file after some mishap."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data) + 1)
        how = rng.randrange(7)
        if how == 0:
            del data[place:]
        elif how == 1:
            data[place:place] = rng.randbytes(rng.randrange(1, 20))
        elif how == 2:
            data[place:place] = rng.choice(JUNK).encode()
        elif how == 3:
            del data[place : place + rng.randrange(1, 30)]
        elif how == 4:
            data[place : place + 1] = rng.randbytes(1)
        elif how == 5:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
        else:
            data = bytearray(bytes(data).replace(rng.choice((b",", b"\n", b"a", b"2")), rng.choice(JUNK).encode(), 3))
    return bytes(data)


def bad_files(rng):
    """A file that is not what it should be, or good, by a name with a fitting or an unfitting ending."""
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(("nothing.csv", ".", "model", "/dev/null", "a\x00b.csv", "", "no/such/place.csv", "x" * 5000))
    name = rng.choice(
        ("bad.csv", "bad.csv", "bad.csv", "bad.jsonl", "bad.parquet", "bad.tsv", "bad.npy", "bad.npz", "bad")
    )
    source = rng.choice(("players.csv", "games.csv", "values.csv", "K.npy"))
    content = rng.randbytes(rng.randrange(200)) if kind == 1 else Path(source).read_bytes()
    Path(name).write_bytes(content if kind == 2 else damaged(rng, content))
    return rng.choice((name, name, source))


def some_columns(rng):
    given = []
    for name in (
        "--id",
        "--source",
        "--target",
        "--value",
        "--weight",
        "--winner",
        "--loser",
        "--tie",
        "--drop",
        "--text",
    ):
        if rng.random() < 0.06:
            given += [name, rng.choice(("id", "winner", "loser", "value", "weight", "age", "hand", "zzz", "", "\x00"))]
    if rng.random() < 0.1:
        given += ["--mirror", rng.choice(("same", "opposite", "none", "x"))]
    return given + (["--probabilities"] if rng.random() < 0.1 else [])


def some_settings(rng):
    given = []
    choices = {
        "--relation": ("auto", "ordinary", "symmetric", "reciprocal", "none"),
        "--loss": ("auto", "ranking", "regression", "logistic", ""),
        "--alpha": ("auto", "1", "0", "-1", "nan", "inf", "1e-300", "1e300", "x"),
        "--kernel": ("rbf", "linear", "poly", "cosine", "laplacian", "precomputed"),
        "--gamma": ("0.1", "-1", "nan", "0", "1e300"),
        "--n-components": ("2", "0", "-1", "1.5"),
        "--prior": ("none", "similarity"),
        "--rank-by": ("outgoing", "incoming"),
        "--seed": ("0", "-1", "4294967295", "99999999999"),
    }
    for name, values in choices.items():
        if rng.random() < 0.15:
            given += [name, rng.choice(values)]
    return given


def some_tables(rng):
    good = {"--nodes": "players.csv", "--edges": rng.choice(("games.csv", "values.csv"))}
    spoiled = rng.choice(("--nodes", "--edges", "--edges", "both", "none", "kernel", "stdin", "objects"))
    if spoiled == "kernel":
        return ["--kernel-matrix", rng.choice(("K.npy", bad_files(rng))), "--edges", good["--edges"]]
    if spoiled == "stdin":
        return ["--nodes", "-", "--edges", good["--edges"]]
    if spoiled == "objects":
        return [
            "--nodes",
            "players.csv",
            "--edges",
            "values.csv",
            "--objects",
            rng.choice(("players.csv", bad_files(rng))),
        ]
    for name in good:
        if spoiled in (name, "both"):
            good[name] = bad_files(rng)
    return [part for pair in good.items() for part in pair]


def some_ranking(rng):
    model = "model"
    if rng.random() < 0.5:
        Path("broken").write_bytes(damaged(rng, Path("model/model.safetensors").read_bytes()))
        model = rng.choice(("broken", "broken", "players.csv", ".", "nothing", "/dev/null"))
    given = [model]
    if rng.random() < 0.7:
        given += ["--query", rng.choice(("ann", "Ann", "zoe", "", "\x00", "é", "0", "x" * 3000))]
    if rng.random() < 0.4:
        given += ["--query-file", rng.choice(("players.csv", "-", bad_files(rng)))]
    if rng.random() < 0.3:
        given += ["--objects", rng.choice(("players.csv", "-", bad_files(rng)))]
    if rng.random() < 0.3:
        given += ["--top", rng.choice(("1", "3", "99999999", "0", "x"))]
    if rng.random() < 0.2:
        given += ["--exclude", rng.choice(("bob", "zoe", ""))]
    if rng.random() < 0.3:
        given += ["--format", rng.choice(("csv", "json", "table", "parquet", "xml"))]
    if rng.random() < 0.2:
        given += ["-o", rng.choice(("out.csv", "out.json", "no/such/out.csv", ".", "out.what", "out.parquet", ""))]
    return given


def one_call(rng):
    """Arguments of a command, and what is on its standard input."""
    stdin = damaged(rng, PLAYERS.encode()) if rng.random() < 0.5 else PLAYERS.encode()
    command = rng.choice(("fit", "rank", "rank", "evaluate", "diagnose", "plan"))
    if command == "rank":
        return ["rank", *some_ranking(rng)], stdin
    given = [command, *some_tables(rng), *some_columns(rng)]
    if command != "diagnose":
        given += some_settings(rng)
    if command == "fit":
        given += ["-o", rng.choice(("new/", "precious.txt", "model/", ".", "precious.txt/below", ""))]
    if command == "evaluate":
        given += ["--folds", rng.choice(("2", "3", "1", "99"))]
        given += ["--setting", rng.choice(("1", "2", "3", "4"))] if rng.random() < 0.5 else []
        given += ["--scoring", rng.choice(("rank_loss", "ndcg", "auc", "zzz", ""))] if rng.random() < 0.3 else []
        given.insert(1, "model") if rng.random() < 0.3 else None
    return given, stdin


def try_calls(seeds):
    codes = {}
    for seed in seeds:
        rng = random.Random(seed)
        arguments, stdin = one_call(rng)
        done = runner.invoke(cli.app, arguments, input=stdin)
        what = f"seed {seed}: {arguments!r:.500}\n{done.output[-1500:]}"
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise AssertionError(what) from done.exception
        assert done.exit_code in (0, 1, 2), what
        if done.exit_code:
            assert done.stdout == "", what
        if done.exit_code == 1:
            said = [line for line in done.stderr.splitlines() if line]
            assert all(line.startswith("condrank: ") for line in said), what
            assert len(said[-1]) > 15, what
        assert Path("precious.txt").read_text() == "kept", what
        codes[done.exit_code] = codes.get(done.exit_code, 0) + 1
    return codes


@pytest.mark.filterwarnings("ignore")
def test_bad_input_is_reported_in_one_line(tables):
    codes = try_calls(range(200))
    assert min(codes[code] for code in (0, 1, 2)) > 5  # all three kinds were met


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(10))
def test_much_more_bad_input(tables, part):
    try_calls(range(1000 * (part + 1), 1000 * (part + 2)))
