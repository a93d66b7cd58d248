"""The way of a command through the package, and the few places that know what only one should know."""

# What this file counts. "before": the last version with loose modules at the root; "rooms": the first with rooms. Three
# numbers are of `condrank fit --quick` on a complete graph, on an incomplete one, and on that with --alpha 1.
#
#                                               before          rooms           now
# graphs that are fitted                        1 · 7 · 1       1 · 7 · 1       1 · 6 · 1
# plans                                         5 · 10 · 2      3 · 9 · 2       1 · 6 · 1
# encoders that are fitted                      3 · 4 · 2       3 · 4 · 2       1 · 1 · 1
# systems that are built of the whole graph     2 · 2 · 1       2 · 2 · 1       1 · 1 · 1
# files of condrank with a call                 73 · 78 · 70    87 · 88 · 79    120 · 124 · 108
# folders and loose modules of these files      24 · 24 · 22    17 · 18 · 16    17 · 18 · 16
# writers of the fitted state                   5               1               1
# files with the name of a solver in a string   18              16              14
# private names of other objects                111             34              12
# modules at the root                           25              4               4
#
# The number of files grew because the rooms have smaller ones.

import ast
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import condrank
from condrank import cli
from condrank.solvers import SOLVERS

SOURCE = Path(condrank.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
N = 30
COMMANDS = {
    "complete": ["--edges", "alike.csv", "--quick"],
    "incomplete": ["--edges", "games.csv", "--quick"],
    "alpha given": ["--edges", "games.csv", "--alpha", "1"],
}
GRAPHS = {"complete": 1, "incomplete": 5 + 1, "alpha given": 1}  # five holdouts and the whole
MOST_FILES = 126


# The way of a command


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    rows = "".join(f"p{i},{x[0]:.4f},{x[1]:.4f},{'lr'[i % 2]}\n" for i, x in enumerate(X))
    Path("nodes.csv").write_text("id,a,b,hand\n" + rows)
    alike = "".join(f"p{i},p{j},{X[i] @ X[j]:.4f}\n" for i in range(N) for j in range(N))
    Path("alike.csv").write_text("source,target,value\n" + alike)
    pairs = (rng.choice(N, 2, replace=False) for _ in range(300))
    chances = ((i, j, 1 / (1 + np.exp(-3 * (X[i, 0] - X[j, 0])))) for i, j in pairs)
    games = [(i, j) if rng.random() < chance else (j, i) for i, j, chance in chances]
    Path("games.csv").write_text("winner,loser\n" + "".join(f"p{i},p{j}\n" for i, j in games))


class Way:
    """What a command calls: files with their functions, and the graphs that systems are built of."""

    def __init__(self):
        self.calls, self.built = Counter(), []

    def __call__(self, frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)):
            return
        file = Path(code.co_filename).relative_to(SOURCE).as_posix()
        self.calls[file, code.co_qualname] += 1
        if file.startswith("solvers/") and code.co_qualname.endswith("Solver.build"):
            self.built.append(frame.f_locals["problem"].graph)

    @property
    def files(self):
        return {file for file, _ in self.calls}


@pytest.fixture(params=COMMANDS)
def case(request):
    return request.param


@pytest.fixture
def way(case):
    arguments = ["fit", "--nodes", "nodes.csv", *COMMANDS[case], "-o", "model"]
    CliRunner().invoke(cli.app, arguments)  # imports are not counted
    found = Way()
    sys.setprofile(found)
    try:
        done = CliRunner().invoke(cli.app, arguments)
    finally:
        sys.setprofile(None)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("\n") <= 2
    return found


def test_tables_are_read_once_and_nodes_encoded_once(way):
    assert way.calls["tables/graphs.py", "describe_tables"] == 1
    assert way.calls["tables/encoder.py", "TableEncoder.fit"] == 1
    assert way.calls["graph/transformer.py", "NodeTransformer.fit"] == 1


def test_each_graph_is_planned_once_and_each_system_is_used(way, case):
    # The last fit of a search by iterations is planned again, for the λ that was chosen.
    again = case == "incomplete"
    assert way.calls["fitting/plan.py", "make_plan"] - again == len(way.built) == GRAPHS[case]
    assert len([graph for graph in way.built if graph.shape == (N, N) and graph.n_edges == largest(way)]) == 1
    assert way.calls["fitting/run.py", "Run.__call__"] == 1
    assert way.calls["rankers/base.py", "Ranker._keep"] == 1


def largest(way):
    return max(graph.n_edges for graph in way.built)


def test_a_command_passes_few_files(way):
    assert len(way.files) <= MOST_FILES, sorted(way.files)


# What only one place, or a few, should know


def strings(tree):
    """String literals that are no docstrings."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, holders) and node.body]
    docstrings = {id(one.value) for one in first if isinstance(one, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [node.value for node in found if isinstance(node.value, str)]


def test_the_fitted_state_has_one_writer():
    written = [
        (file, node.lineno)
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "fitted_" and isinstance(node.ctx, ast.Store)
    ]
    assert [file for file, _ in written] == ["rankers/base.py"], written
    set_by_name = [file for file, tree in TREES.items() for node in ast.walk(tree) if is_setattr(node, "fitted_")]
    assert set_by_name == []


def is_setattr(node, name):
    if not isinstance(node, ast.Call) or len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
        return False
    return ast.unparse(node.func) in ("setattr", "object.__setattr__") and node.args[1].value == name


def test_few_files_know_the_names_of_solvers():
    assert len(SOLVERS) == 7
    quoted = {f"'{name}'" for name in SOLVERS}
    found = {
        file: [one for one in strings(tree) if one in SOLVERS or any(name in one for name in quoted)]
        for file, tree in TREES.items()
    }
    knowing = sorted(file for file, names in found.items() if names)
    assert len(knowing) <= 14, knowing
    outside = [file for file in knowing if not file.startswith("solvers/")]
    assert len(outside) <= 4, outside


def test_private_names_of_other_objects_are_used_in_a_handful_of_places():
    used = [
        f"{file}:{node.lineno} {ast.unparse(node)}"
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node)
    ]
    assert len(used) <= 12, used


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in OF_OTHERS


# Names of Python (``sys._getframe``, named tuples) and of Dask arrays, which have no public ones for this.
OF_OTHERS = ("_exit", "_getframe", "_replace", "_asdict", "_fields", "_meta")


def is_own(node):
    """Whether a private name is of the object itself, or of its class."""
    owner = node.value
    if isinstance(owner, ast.Name):
        return owner.id in ("self", "cls")
    return isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super"


def test_four_modules_are_at_the_root():
    assert sum("/" not in file for file in TREES) == 4
