"""A soak of some minutes: random calls, damaged and changing files, killed writers, a loaded service, lost workers."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from benchmarks.harness import Row, suite
from benchmarks.soaking import calls, files, service, workers
from benchmarks.soaking.trials import Found, Part, run_part

MINUTES = 10.0
PARTS = {
    part.name: part
    for part in (
        Part("calls", "random calls against the naive twin", 0.3, calls.trial, ("mpmath",)),
        Part("damaged", "20 damaged files each", 0.15, files.damaged),
        Part("changing", "40 loads each of a file that changes", 0.1, files.changing),
        Part("killed", "two writers killed each", 0.15, files.killed),
        Part("service", "load, reloads and stalled clients", 0.15, service.loaded, ("fastapi", "uvicorn")),
        Part("workers", "fits that lose Dask workers", 0.15, workers.lost, ("distributed",)),
    )
}
BARS = {service.OTHER: 0.050, service.HEALTH: 0.050}


@suite("A soak of everything that may go wrong")
def soak(quick: bool, minutes: float = MINUTES, seed: int = 0, part: str = "") -> list[Row]:
    """Trials of six kinds, each with a seed of its own, for ten minutes in all (`--minutes`). *calls*: random relation
    × loss × form of graph × solver × kernel × parameters, also odd ones and bad data; scores must be those of the
    naive twin of the tests, equal in every way to ask, and finite, or condrank itself raises a ValueError that says
    why (*refused*). *damaged*: truncated, flipped and forged files of models and indexes, also with checksums that
    fit. *changing*: files that are replaced or overwritten while they are loaded. *killed*: processes that are
    killed while they save. *service*: 40 requests a second for four seconds beside 60 clients that stall, while the
    model is replaced eight times; each answer must be that of the model whose fingerprint it has. *workers*: one or
    all workers of a Dask cluster killed during a fit. Measured is the number of trials that failed; the bar is
    none. A trial that failed is run again by `python -m benchmarks soak --part calls --seed 1234 --minutes 0`.
    """
    if part and part not in PARTS:
        raise ValueError(f"part must be one of {list(PARTS)}, got {part!r}")
    chosen = [PARTS[part]] if part else list(PARTS.values())
    shares = sum(one.share for one in chosen)
    rows = []
    for one in chosen:
        missing = [name for name in one.needs if find_spec(name) is None]
        if missing:
            rows.append(Row(f"{one.name}: {one.says}", "", None, note=f"{', '.join(missing)} is not installed"))
            continue
        seconds = 0.0 if quick else 60 * minutes * one.share / shares
        found = run_part(one, seed, seconds, lambda text: print(text, file=sys.stderr, flush=True))
        rows += _rows(one, found, seed)
    return rows


def _rows(part: Part, found: Found, seed: int) -> list[Row]:
    """How many trials failed, and the times that were measured."""
    refused = f"{found.refused:,} refused; " if found.refused else ""
    failed = ", ".join(str(one) for one, _ in found.failures[:5])
    note = f"{refused}seeds from {seed}" + (f"; failed: {failed}" if failed else "")
    rows = [
        Row(
            f"{part.name}: {part.says}", f"{found.tried:,} tried", float(len(found.failures)), bar=0.0, unit="failed",
            note=note,
        )
    ]  # fmt: skip
    for name, times in found.times.items():
        note = f"longest {1000 * max(times):.1f} ms, {len(times):,} times"
        size = f"beside {service.STALLED} stalled clients and reloads"
        rows.append(Row(f"p99 of {name}", size, found.p99(name), bar=BARS[name], note=note))
    return rows
