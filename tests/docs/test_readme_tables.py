"""The tables of the README: `docs/readme_tables.py` writes what the commands of the README read."""

import re
import runpy
from pathlib import Path

from condrank.tables import read_graph

ROOT = Path(__file__).parents[2]


def test_the_tables_are_those_that_the_readme_describes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "docs" / "readme_tables.py"))
    graph = read_graph("players.csv", "games.csv")
    shown = re.search(r"^(\d+) nodes and ([\d,]+) edges", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert (len(graph), graph.n_edges) == (int(shown[1]), int(shown[2].replace(",", "")))
    assert {"ann", "bob", "p48"} <= set(graph.ids)
