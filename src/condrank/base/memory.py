"""How much memory is available."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int | None:
    """Bytes that can still be allocated, limited by the machine and by its control group; None if not known."""
    found = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
    elif hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and (text := limit.read_text().strip()) != "max":
        found.append(int(text) - int(used.read_text()) + _reclaimable())
    return min(found) if found else None


def _reclaimable() -> int:
    """Bytes of the control group's page cache, which count as used but are freed on demand."""
    stat = Path("/sys/fs/cgroup/memory.stat")
    lines = stat.read_text().splitlines() if stat.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith(("inactive_file ", "slab_reclaimable ")))


def readable(n_bytes: float) -> str:
    """A number of bytes as text for people, such as "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TiB"
