"""The time of an import, in new processes."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness import Row, suite

FLOOR = "import sklearn.base, sklearn.metrics.pairwise"
OURS = ("import condrank", "from condrank import ConditionalRanker")


def import_seconds(statement: str) -> float:
    """Seconds of a statement in a new interpreter, without the start of the interpreter."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


@suite("Time of an import")
def imports(quick: bool) -> list[Row]:
    """Each import in a new process, in turns, the least of several. Floor: the parts of scikit-learn that it needs."""
    statements = (FLOOR, OURS[0]) if quick else (FLOOR, *OURS)
    best = dict.fromkeys(statements, float("inf"))
    for _ in range(1 if quick else 7):
        for statement in statements:
            best[statement] = min(best[statement], import_seconds(statement))
    return [Row(name, "", best[name], best[FLOOR], 1.3, note=f"floor: {FLOOR}") for name in statements[1:]]
