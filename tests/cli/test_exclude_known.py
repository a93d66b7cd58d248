"""``condrank rank --exclude-known``: objects that a node already has an edge with are left out for that node."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker, cli

FILMS = range(10, 16)
RATED = [(1, 10), (1, 12), (2, 11), (3, 15), (3, 10), (2, 14), (1, 15)]


def run(*arguments, code=0, **options):
    done = CliRunner().invoke(cli.app, list(map(str, arguments)), **options)
    assert done.exit_code == code, done.output
    return done


def ranked(*arguments, **options):
    found = {}
    for row in csv.DictReader(io.StringIO(run("rank", "model", "-k", 20, *arguments, **options).stdout)):
        found.setdefault(row["query"], set()).add(row["object"])
    return found


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("users.csv").write_text("id,age\n1,20\n2,30\n3,45\n")
    Path("films.csv").write_text("id,year\n" + "".join(f"{one},{1990 + one % 7}\n" for one in FILMS))
    Path("rated.csv").write_text("source,target,value\n" + "".join(f"{u},{f},{(u * f) % 5}\n" for u, f in RATED))


def fit(rank_by="outgoing"):
    ranker = TableRanker(ConditionalRanker(loss="regression", rank_by=rank_by))
    ranker.fit("users.csv", "rated.csv", objects="films.csv").save("model/")


def test_each_node_loses_its_own_objects_only():
    fit()
    found = ranked("-q", 1, "-q", 2, "--exclude-known", "rated.csv", "--exclude", 13)
    for user in (1, 2):
        seen = {film for one, film in RATED if one == user}
        assert found[str(user)] == {str(film) for film in FILMS if film not in seen and film != 13}


def test_incoming_rankings_leave_out_where_edges_start():
    fit("incoming")
    found = ranked("-q", 10, "-q", 13, "--exclude-known", "rated.csv")
    assert found == {"10": {"2"}, "13": {"1", "2", "3"}}


def test_new_nodes_are_found_by_their_id_also_from_standard_input():
    fit()
    Path("more.csv").write_text("source,target,value\n7,10,1\n7,11,1\n")
    found = ranked("--query-file", "-", "--exclude-known", "more.csv", input="id,age\n7,33\n8,34\n")
    assert found == {"7": {"12", "13", "14", "15"}, "8": {str(film) for film in FILMS}}
    Path("nobody.csv").write_text("age\n33\n")
    (all_films,) = ranked("--query-file", "nobody.csv", "--exclude-known", "more.csv").values()
    assert all_films == {str(film) for film in FILMS}


def test_players_of_a_game_know_each_other():
    Path("games.csv").write_text("winner,loser\n1,2\n2,3\n")
    TableRanker().fit("users.csv", "games.csv").save("model/")
    assert ranked("-q", 1, "-q", 3, "--exclude-known", "games.csv") == {"1": {"3"}, "3": {"1"}}


def test_a_table_without_pairs_is_refused():
    fit()
    assert run("rank", "model", "-q", 1, "--exclude-known", "missing.csv", code=1).stderr.count("\n") == 1


def test_columns_of_the_edges_can_be_named():
    fit()
    Path("log.csv").write_text("stars,film,who\n3,10,1\n5,12,1\n")
    found = ranked("-q", 1, "-q", 2, "--exclude-known", "log.csv", "--source", "who", "--target", "film")
    assert found == {"1": {"11", "13", "14", "15"}, "2": {str(film) for film in FILMS}}
    refused = run("rank", "model", "-q", 1, "--exclude-known", "log.csv", "--source", "user", code=1)
    assert "--source user is not a column of log.csv" in refused.stderr
    assert "--exclude-known" in run("rank", "model", "-q", 1, "--target", "film", code=2).stderr


def test_what_the_model_was_trained_on_is_left_out_without_a_table():
    fit()
    Path("new.csv").write_text("id,age\n2,30\n9,31\n")
    found = ranked("-q", 1, "--query-file", "new.csv", "--exclude-trained", "--exclude", 13)
    everything = {str(film) for film in FILMS} - {"13"}
    for user in (1, 2):
        assert found[str(user)] == everything - {str(film) for one, film in RATED if one == user}
    assert found["9"] == everything


def test_files_of_candidates_and_exclusions_and_the_worst_first():
    fit()
    Path("only.txt").write_text("10\n12\n13\n")
    Path("without.txt").write_text("12\nnever seen\n")
    assert ranked("-q", 1, "--candidates-file", "only.txt", "--exclude-file", "without.txt") == {"1": {"10", "13"}}
    best = run("rank", "model", "-q", 1, "-k", 6, "--json").stdout
    worst = run("rank", "model", "-q", 1, "-k", 6, "--json", "--worst").stdout
    first, second = (json.loads(text)["rankings"][0]["objects"] for text in (best, worst))
    assert [one["object"] for one in first] == [one["object"] for one in second][::-1]
