"""What a newcomer gets: ``condrank fit`` of a table of texts without options, judged on new documents."""

from __future__ import annotations

import csv
import json
import lzma
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness import Row, suite
from benchmarks.shapes import graded
from condrank import TableRanker
from condrank.datasets.files import VARIABLE
from condrank.metrics import ndcg, rank_loss

# Rank loss on new documents, and seconds of the whole command.
BAR, SECONDS = 0.155, 60.0
WAYS = {"without options": (), "--quick": ("--quick",), "--quick --kernel cosine": ("--quick", "--kernel", "cosine")}
CHARACTERS = 4000  # of a document: a table of texts, not of books


def documents(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Texts of 20 Newsgroups and their levels, topic and group; generated ones without the data."""
    rng = np.random.default_rng(seed)
    folder = os.environ.get(VARIABLE)
    file = Path(folder or ".") / "20newsgroups" / "raw_text.jsonl.xz"
    if folder and file.exists():
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            every = [json.loads(line) for line in lines]
        every = [one for one in every if len(one["text"].split()) > 5]
        chosen = [every[i] for i in rng.permutation(len(every))[:n]]
        groups = [str(one["group"]) for one in chosen]
        names = {name: place for place, name in enumerate(sorted(set(groups)))}
        topics = {name: place for place, name in enumerate(sorted({group.split(".")[0] for group in groups}))}
        levels = np.array([(topics[group.split(".")[0]], names[group]) for group in groups])
        return [" ".join(one["text"].split())[:CHARACTERS] for one in chosen], levels
    group = rng.integers(8, size=n)
    words = [[f"w{word}" for word in rng.integers(40, size=12) + 30 * one] for one in group]
    return [" ".join(one) for one in words], np.column_stack([group % 3, group])


def write_tables(folder: Path, texts: list[str], levels: np.ndarray, n_train: int, n_pairs: int) -> None:
    """Training nodes with graded pairs, one row in each direction, and a table of new nodes."""
    for name, places in (("nodes.csv", range(n_train)), ("new.csv", range(n_train, len(texts)))):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "text"])
            writer.writerows([f"d{i}", texts[i]] for i in places)
    sources, targets, values = graded(levels[:n_train], n_pairs // 2)
    with (folder / "edges.csv").open("w", encoding="utf-8") as file:
        file.write("source,target,value\n")
        file.writelines(f"d{i},d{j},{value:g}\n" for i, j, value in zip(sources, targets, values, strict=True))


def command(folder: Path, more: tuple[str, ...]) -> tuple[float, float]:
    """Seconds by the clock and of the processor of ``condrank fit``."""
    given = ["fit", "--nodes", "nodes.csv", "--edges", "edges.csv", "--text", "text", *more, "-o", "model/"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "condrank", *given], cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, processor


def judge(folder: Path, levels: np.ndarray) -> tuple[float, float]:
    """Rank loss and NDCG@10 among new documents (setting 4)."""
    ranker = TableRanker.load(folder / "model/")
    truth = (levels[:, None] == levels[None]).sum(axis=2).astype(float)
    np.fill_diagonal(truth, np.nan)
    new = folder / "new.csv"
    scores = ranker.predict(new, new)
    return float(rank_loss(truth, scores)), float(ndcg(truth, scores, k=10))


@suite("Defaults")
def defaults(quick: bool) -> list[Row]:
    """``condrank fit`` of 2,000 texts with 60,000 graded pairs (20 Newsgroups if the data are found), without options
    but the names of the columns, and with ``--quick``: rank loss and NDCG@10 on 1,000 new documents, and the time of
    the command by the clock and of the processor. The rank loss has a bar of .155, the clock one of 60 s on two cores.
    NDCG@10 is to be compared with that of the cosine kernel.
    """
    n_train, n_new, n_pairs = (60, 30, 1200) if quick else (2000, 1000, 60_000)
    texts, levels = documents(n_train + n_new)
    size, rows = f"{n_train:,} texts, {n_pairs:,} pairs", []
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, texts, levels, n_train, n_pairs)
        for way, more in WAYS.items():
            clock, processor = command(folder, more)
            loss, gain = judge(folder, levels[n_train:])
            bars = (BAR, SECONDS) if not more and not quick else (None, None)
            rows += [
                Row(f"rank loss on new texts, {way}", size, loss, bar=bars[0], unit="share"),
                Row(f"NDCG@10 on new texts, {way}", size, gain, unit="share"),
                Row(f"fit, {way}", size, clock, bar=bars[1], note=f"{processor:.1f} s of the processor"),
            ]
    return rows
