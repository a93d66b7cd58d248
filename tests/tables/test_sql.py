"""Tables from SQLite and PostgreSQL: they give the graphs that the same rows in files give."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, RelationGraph, TableRanker, cli
from condrank.frames import sql
from condrank.tables import read_graph

pytest.importorskip("adbc_driver_sqlite")
PLAYERS = [(f"p{i}", 20 + i % 7, 1.5 + i / 50, "left" if i % 3 else "right") for i in range(25)]
GAMES = [(f"p{i}", f"p{(i * 7 + 3) % 25}", f"2024-0{1 + i % 9}-03") for i in range(25) if i != (i * 7 + 3) % 25]
TABLES = (
    "CREATE TABLE players (id TEXT, age INTEGER, height {number}, hand TEXT)",
    "CREATE TABLE games (winner TEXT, loser TEXT, played {date})",
)
QUERIES = {"nodes": "sql:SELECT * FROM players ORDER BY id", "edges": "sql:games"}


def inserts():
    yield from (f"INSERT INTO players VALUES ('{i}', {age}, {height}, '{hand}')" for i, age, height, hand in PLAYERS)
    yield from (f"INSERT INTO games VALUES ('{one}', '{other}', '{day}')" for one, other, day in GAMES)


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "league.db"
    with sqlite3.connect(path) as connection:
        for command in (*(one.format(number="REAL", date="TEXT") for one in TABLES), *inserts()):
            connection.execute(command)
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def postgresql():
    """The address of a server of its own, in a folder of its own."""
    pytest.importorskip("adbc_driver_postgresql")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    programs = found[-1].parent if found else None
    if programs is None and shutil.which("initdb") is None:
        pytest.skip("there is no PostgreSQL server here: install the package postgresql")
    as_user = []
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(*words):
        program = str(programs / words[0]) if programs else words[0]
        done = subprocess.run([*as_user, program, *words[1:]], capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr

    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)
        secret = Path(folder, "secret")
        secret.write_text("s3cret-word")
        secret.chmod(0o644)
        run("initdb", "-D", f"{folder}/data", "-U", "ranker", "-A", "scram-sha-256", f"--pwfile={secret}")
        port = str(54000 + os.getpid() % 1000)
        run(
            "pg_ctl",
            "-D",
            f"{folder}/data",
            "-w",
            "-l",
            f"{folder}/log",
            "-o",
            f"-p {port} -k {folder} -h 127.0.0.1",
            "start",
        )
        address = f"postgresql://ranker:s3cret-word@127.0.0.1:{port}/postgres"
        try:
            from adbc_driver_postgresql import dbapi

            with dbapi.connect(address) as connection, connection.cursor() as cursor:
                for command in (*(one.format(number="NUMERIC(6,3)", date="DATE") for one in TABLES), *inserts()):
                    cursor.execute(command)
                connection.commit()
            yield address
        finally:
            run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    return request.getfixturevalue(request.param)


def expected(**options):
    ids, ages, heights, hands = zip(*sorted(PLAYERS), strict=True)
    nodes = {"id": list(ids), "age": list(ages), "height": list(heights), "hand": list(hands)}
    winners, losers, played = zip(*GAMES, strict=True)
    return read_graph(nodes, {"winner": list(winners), "loser": list(losers), "played": list(played)}, **options)


def assert_same(graph, other):
    assert graph.ids.tolist() == other.ids.tolist()
    np.testing.assert_array_equal(graph.to_dense(), other.to_dense())
    assert dict(graph.nodes.base.kinds) == dict(other.nodes.base.kinds)
    for name in ("age", "height"):
        np.testing.assert_allclose(graph.nodes.base.numbers(name), other.nodes.base.numbers(name))


def test_queries_give_the_graph_of_the_same_rows(database):
    assert_same(read_graph(**QUERIES, database=database), expected())
    aged = read_graph(**QUERIES, database=database, date="played", half_life=30)
    np.testing.assert_allclose(aged.relation.weights, expected(date="played", half_life=30).relation.weights)


def test_large_answers_are_read_by_columns(database, monkeypatch):
    wanted = expected()
    monkeypatch.setattr("condrank.frames.quick_edges.LEAST_ROWS", 1)
    monkeypatch.setattr("condrank.frames.edges._read_by_rows", None)
    assert_same(read_graph(**QUERIES, database=database), wanted)


def test_a_ranker_and_from_frame_take_queries_too(sqlite):
    ranker = TableRanker(ConditionalRanker("reciprocal", constant=True)).fit(**QUERIES, database=sqlite)
    assert ranker.rank(["p3"], top=3).ids.shape == (1, 3)
    graph = RelationGraph.from_frame("sql:SELECT id, age FROM players", "sql:games", database=sqlite)
    assert graph.nodes.base.shape == (25, 1)


def test_the_command_line_fits_from_a_database(database, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables = ["--nodes", QUERIES["nodes"], "--edges", QUERIES["edges"]]
    fit = ["fit", *tables, "--alpha", "1", "-o", "model/"]
    done = CliRunner().invoke(cli.app, [*fit, "--database", database])
    assert done.exit_code == 0, done.output
    assert b"s3cret" not in Path("model/model.safetensors").read_bytes()
    monkeypatch.setenv("CONDRANK_DATABASE", database)  # so that no list of processes shows a password
    assert CliRunner().invoke(cli.app, ["plan", *tables]).exit_code == 0
    monkeypatch.delenv("CONDRANK_DATABASE")
    refused = CliRunner().invoke(cli.app, fit)
    assert refused.exit_code == 1
    assert "--database" in refused.stderr


def test_errors_are_one_sentence_without_the_password(postgresql):
    wrong = postgresql.replace("s3cret-word", "wr0ng-word")
    for given, query in ((wrong, "sql:games"), (postgresql, "sql:SELECT * FROM nowhere"), (postgresql, "sql:SELEC 1")):
        with pytest.raises(ValueError, match="edges cannot be read from the database") as error:
            read_graph({"id": ["a"], "x": [1.0]}, query, database=given)
        assert "word" not in str(error.value).replace("password authentication", "")
        assert "\n" not in str(error.value)


def test_what_is_wrong_is_said(sqlite, tmp_path, monkeypatch):
    def reading(nodes="sql:players", database=sqlite):
        return read_graph(nodes, "sql:games", database=database)

    with pytest.raises(ValueError, match="needs database="):
        reading(database=None)
    with pytest.raises(ValueError, match=r"must be sqlite:///file\.db or postgresql://"):
        reading(database="mysql://me:secret@host/db")
    with pytest.raises(ValueError, match="there is no database"):
        reading(database=f"sqlite:///{tmp_path}/none.db")
    with pytest.raises(ValueError, match="nodes: the query gives no rows"):
        reading("sql:SELECT * FROM players WHERE age > 1000")
    with pytest.raises(ValueError, match="no node has the id"):
        reading("sql:SELECT * FROM players WHERE age > 22")
    with pytest.raises(ValueError, match="must have a query after"):
        reading("sql: ")
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_sqlite", None)
    with pytest.raises(ValueError, match=r"pip install 'condrank\[sql\]'"):
        reading()


def test_passwords_of_any_form_are_hidden():
    for address in ("postgresql://me:p%40ss@h/d", "postgresql://h/d?user=me&password=p%40ss"):
        told = sql._without_password(Exception(f"bad {address} and p%40ss"), address)
        assert "p%40ss" not in told
