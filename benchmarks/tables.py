"""Large tables: reading a graph, fitting a model and ranking with it, on the command line too."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.command_line import command_seconds
from benchmarks.harness import Row, suite
from benchmarks.imports import import_seconds

# What each way of reading leaves out, and its bar in seconds.
WAYS = {"with pyarrow": ((), 1.5), "with polars": (("pyarrow",), 1.5), "with neither": (("pyarrow", "polars"), 6.0)}
READ = """
import sys, time
for name in {without}: sys.modules[name] = None
from condrank.tables import read_graph
start = time.perf_counter()
read_graph("nodes.csv", "{edges}")
print(time.perf_counter() - start)
"""


def write_tables(folder: Path, n_nodes: int, n_edges: int) -> None:
    """Nodes with eight numbers, and edges with a value that is bilinear in them and noise."""
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(n_nodes, 8)), rng.normal(size=(8, 8))
    head = ",".join(["id", *(f"x{column}" for column in range(8))])
    lines = [f"node{i}," + ",".join(f"{value:.6f}" for value in row) for i, row in enumerate(X)]
    (folder / "nodes.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    sources, targets = rng.integers(0, n_nodes, (2, n_edges))
    values = ((X @ A)[sources] * X[targets]).sum(axis=1) + rng.normal(size=n_edges)
    with (folder / "edges.csv").open("w", encoding="utf-8") as file:
        file.write("source,target,value\n")
        file.writelines(f"node{i},node{j},{y:.4f}\n" for i, j, y in zip(sources, targets, values, strict=True))


def read_seconds(folder: Path, edges: str, without: tuple[str, ...]) -> float:
    """Seconds of reading a graph in a new process, without its imports."""
    code = READ.format(without=list(without), edges=edges)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout)


@suite("Large tables")
def tables(quick: bool) -> list[Row]:
    """``read_graph`` of CSV files of 20,000 nodes and 2 million edges with Arrow, with polars and with neither;
    ``condrank fit --kernel linear`` of them from start to end, which chooses relation, loss and λ; and ``condrank
    rank`` with the saved model, start of the process included, beyond the import of scikit-learn. The least of several
    runs, each in a new process. Bars are in seconds on one core.
    """
    n_nodes, n_edges = (50, 500) if quick else (20_000, 2_000_000)
    size, repeats = f"{n_nodes:,} nodes, {n_edges:,} edges", 1 if quick else 3
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, n_nodes, n_edges)
        rows = []
        for way, (without, bar) in WAYS.items():
            seconds = min(read_seconds(folder, "edges.csv", without) for _ in range(repeats))
            rows.append(Row(f"read_graph {way}", size, seconds, bar=bar))
        start = time.perf_counter()
        (folder / "edges.csv").read_bytes().count(b"\n")
        rows.append(Row("counting its lines", size, time.perf_counter() - start))
        given = ("--nodes", "nodes.csv", "--edges", "edges.csv", "--kernel", "linear", "-o", "model/")
        fit = min(command_seconds(folder, "fit", *given) for _ in range(repeats))
        rows.append(Row("condrank fit", size, fit, bar=6.0))
        beyond = []
        for _ in range(1 if quick else 5):
            imported = import_seconds("import sklearn.base", folder / "bytecode")
            beyond.append(command_seconds(folder, "rank", "model/", "--query", "node3") - imported)
        rows.append(Row("condrank rank beyond scikit-learn", size, min(beyond), bar=0.6))
    return rows
