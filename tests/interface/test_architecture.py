"""The rooms of the package: the import contract names all of them and holds, and the pages about them are true."""

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "condrank"
CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}
ROWS = [[room.strip() for room in row.split("|")] for row in CONTRACTS["rooms"]["layers"]]
FOLDERS = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
DOORS = {
    ("condrank.explanations.explanation", "condrank.plots"),
    ("condrank.graph.making", "condrank.tables.graphs"),
    ("condrank.rankers.base", "condrank.index"),
    ("condrank.rankers.intervals", "condrank.model_selection.residuals"),
}
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_only_four_modules_are_at_the_root():
    assert {path.stem for path in SOURCE.glob("*.py")} == {"__init__", "__main__", "_version", "exceptions"}


def test_every_room_has_one_place_in_the_contract():
    placed = [room for row in ROWS for room in row]
    assert sorted(placed) == sorted(FOLDERS | {"__main__", "_version", "exceptions"})
    assert CONTRACTS["rooms"]["exhaustive"] is True
    assert CONTRACTS["rooms"]["containers"] == ["condrank"]


def test_few_imports_go_upward_and_all_are_lazy():
    assert {tuple(door.split(" -> ")) for door in CONTRACTS["rooms"]["ignore_imports"]} == DOORS
    assert [contract["id"] for contract in CONTRACTS.values() if "ignore_imports" in contract] == ["rooms"]
    for importer, imported in DOORS:
        path = SOURCE.joinpath(*importer.split(".")[1:]).with_suffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert imported in imports(tree)
        assert imported not in {
            name for node in tree.body if isinstance(node, ast.ImportFrom) for name in imports(node)
        }


def imports(tree):
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("room", ["rankers", "tables", "explorer", "report", "service", "cli"])
def test_what_people_call_leaves_linear_algebra_to_the_rooms_below(room):
    files = list((SOURCE / room).rglob("*.py"))
    assert files
    assert [path for path in files if re.search(r"\blinalg\b", path.read_text(encoding="utf-8"))] == []


def lint(folder):
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONUTF8": "1"}
    return subprocess.run([*command, "--no-cache"], cwd=folder, capture_output=True, encoding="utf-8", env=environment)


def test_the_contracts_hold():
    pytest.importorskip("importlinter", reason="the import contract needs the package import-linter (extra dev)")
    found = lint(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in found.stdout


@pytest.mark.parametrize(
    ("path", "code", "broken"),
    [
        ("base/upward.py", "import condrank.cli", "rooms"),
        ("models/sideways.py", "import condrank.problem", "rooms"),
        ("graph/deep.py", "def door():\n    import condrank.tables", "rooms"),
        ("unplaced/__init__.py", "", "rooms"),
        ("nodes/hidden.py", "from condrank import ConditionalRanker", "root"),
        ("solvers/facade.py", "import sklearn.base", "solvers"),
    ],
)
def test_a_contract_is_broken_by(path, code, broken, tmp_path):
    pytest.importorskip("importlinter", reason="the import contract needs the package import-linter (extra dev)")
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    for source in [*SOURCE.rglob("*.py"), SOURCE / path]:
        target = tmp_path / "src" / "condrank" / source.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes() if source.exists() else code.encode())
    found = lint(tmp_path)
    assert found.returncode == 1, found.stdout + found.stderr
    assert re.findall(r"^(.*) BROKEN", found.stdout, flags=re.MULTILINE) == [CONTRACTS[broken]["name"]]


def test_the_picture_is_drawn_from_the_contract_as_it_is():
    picture = runpy.run_path(str(ROOT / "docs" / "architecture_picture.py"))
    drawn = picture["draw"](*picture["read_contract"]())
    assert picture["PICTURE"].read_text(encoding="utf-8") == drawn, "run: python docs/architecture_picture.py"
    assert set(re.findall(r">(\w+)</text>", drawn)) == {room for row in ROWS for room in row}
    assert drawn.count("stroke-dasharray") == len(DOORS)
    assert "(images/architecture.svg)" in ARCHITECTURE


def test_files_of_the_architecture_page_exist():
    files = re.findall(r"`((?:\w+/)+\w+\.py)`", ARCHITECTURE)
    assert len(files) > 30
    assert [file for file in files if not ((SOURCE / file).exists() or (ROOT / file).exists())] == []


def test_what_is_added_is_registered_where_the_architecture_page_says():
    table = ARCHITECTURE.split("| to add |")[1]
    found = []
    for line in filter(lambda line: line.startswith("| a "), table.splitlines()):
        files, names = re.findall(r"`(\w+/\w+\.py)`", line), re.findall(r"`([A-Z_]{3,})`", line)
        code = "\n".join((SOURCE / file).read_text(encoding="utf-8") for file in files if (SOURCE / file).exists())
        assert all(re.search(rf"^{name}\b.* = ", code, flags=re.MULTILINE) for name in names), line
        found += names
    assert found == ["ON_FEATURES", "EDGE_KERNELS", "SOLVERS", "LOSSES", "MEASURES"]


def test_the_contributing_page_lists_every_room_in_the_order_of_the_contract():
    table = re.search(r"^\| room \| holds \|\n(.*?)\n\n", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    assert table is not None
    lines = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table[1].splitlines()[1:]]
    listed = [room for line in lines for room in line]
    assert sorted(listed) == sorted(FOLDERS)
    height = {room: -number for number, row in enumerate(ROWS) for room in row}
    for line, after in pairwise(lines):
        assert max(height[room] for room in line) <= min(height[room] for room in after)
