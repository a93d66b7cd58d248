"""Tables in Markdown, and a description of the machine that made them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_info

import condrank


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[str] = ()) -> list[str]:
    """Lines of a Markdown table; the columns named in ``right`` are aligned to the right."""
    right = set(right)
    lines = [f"| {' | '.join(columns)} |"]
    lines.append("|" + "|".join("--:" if column in right else "---" for column in columns) + "|")
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]


def in_seconds(value: float) -> str:
    """A time with three digits and its unit."""
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms" if value >= 1e-3 else f"{1e6 * value:.3g} µs"


def machine() -> str:
    """Processor, threads and versions."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model na")]
        processor = named[0] if named else processor
    blas = [f"{p['internal_api']} {p['version']} ({p['num_threads']} threads)" for p in threadpool_info()]
    versions = [f"{module.__name__} {module.__version__}" for module in (condrank, numpy, scipy, sklearn)]
    python = f"Python {platform.python_version()}"
    return f"{processor}, {os.cpu_count()} processors; {', '.join([python, *versions, *sorted(set(blas))])}"
