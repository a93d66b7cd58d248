"""The time of an import, in new processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Row, suite

FLOOR = "import sklearn.base, sklearn.metrics.pairwise"
OURS = ("import condrank", "from condrank import ConditionalRanker")


def installed(bytecode: str | Path) -> dict[str, str]:
    """The environment of a process that reads bytecode from a folder, or writes it there, as after an installation.

    pip compiles what it installs. A source folder has no bytecode if PYTHONDONTWRITEBYTECODE is set: its files would be
    compiled in every run, those of scikit-learn would not.
    """
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return given | {"PYTHONPYCACHEPREFIX": str(bytecode)}


def import_seconds(statement: str, bytecode: str | Path) -> float:
    """Seconds of a statement in a new interpreter, without its start, by the bytecode of a folder."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    command, given = [sys.executable, "-c", code], installed(bytecode)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=given)
    return float(done.stdout)


@suite("Time of an import")
def imports(quick: bool) -> list[Row]:
    """Each import in a new process, in turns, the least of several, all from bytecode, as after an installation.
    Floor: the parts of scikit-learn that it needs.
    """
    statements = (FLOOR, OURS[0]) if quick else (FLOOR, *OURS)
    best = dict.fromkeys(statements, float("inf"))
    with tempfile.TemporaryDirectory() as bytecode:
        for _ in range(2 if quick else 8):  # the first writes bytecode
            for statement in statements:
                best[statement] = min(best[statement], import_seconds(statement, bytecode))
    return [Row(name, "", best[name], best[FLOOR], 1.3, note=f"floor: {FLOOR}") for name in statements[1:]]
