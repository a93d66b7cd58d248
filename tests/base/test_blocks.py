"""Threads over blocks: errors come through, nothing waits for itself, and products have one thread while they run."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from threading import Thread, current_thread

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from condrank.base import blocks as _blocks
from condrank.base.blocks import row_blocks

BLOCKS = [slice(k, k + 1) for k in range(6)]


def blas_threads() -> set[int]:
    """Threads of the linear algebra of NumPy and SciPy. That of faiss, which other tests load, is its own matter."""
    libraries = [one for one in ThreadpoolController().info() if one["user_api"] == "blas"]
    return {one["num_threads"] for one in libraries if "faiss" not in one["filepath"]}


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr(_blocks, "n_processors", lambda: 2)
    _blocks._libraries()  # a library that a test loads later would have the threads of the environment, not two
    with threadpool_limits(2, user_api="blas"):
        yield


def test_products_have_one_thread_and_get_theirs_back():
    seen = []
    _blocks.in_threads(lambda block: seen.append(blas_threads()), BLOCKS, products=True)
    assert seen == [{1}] * len(BLOCKS)
    assert blas_threads() == {2}


def test_other_work_leaves_the_threads_of_products_alone():
    seen = []
    _blocks.in_threads(lambda block: seen.append(blas_threads()), BLOCKS)
    assert seen == [{2}] * len(BLOCKS)


def test_two_callers_do_not_leave_products_at_one_thread():
    A = np.random.default_rng(0).normal(size=(200, 200))
    callers = [
        Thread(target=lambda: [_blocks.in_threads(lambda b: A[b] @ A, BLOCKS, products=True) for _ in range(20)])
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert blas_threads() == {2}


def test_an_error_in_a_thread_comes_through_and_ends_the_limit():
    def fail(block: slice) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _blocks.in_threads(fail, BLOCKS, products=True)
    assert blas_threads() == {2}


def test_an_error_waits_for_what_still_runs():
    done = []

    def work(block: slice) -> None:
        if block.start == 0:
            raise ZeroDivisionError
        time.sleep(0.05)
        done.append(block.start)

    with pytest.raises(ZeroDivisionError):
        _blocks.in_threads(work, BLOCKS[:2])
    assert done == [1]


def test_work_in_a_thread_may_be_cut_into_blocks_itself():
    threads = set()

    def inner(block: slice) -> None:
        threads.add(current_thread().name)

    _blocks.in_threads(lambda block: _blocks.in_threads(inner, BLOCKS, products=True), BLOCKS)
    assert all(name.startswith("condrank") for name in threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_starts_threads_of_its_own():
    _blocks.in_threads(lambda block: None, BLOCKS)
    child = multiprocessing.get_context("fork").Process(
        target=_blocks.in_threads, args=(lambda block: None, BLOCKS), kwargs={"products": True}
    )
    child.start()
    child.join(60)
    hangs = child.is_alive()
    child.kill()
    assert not hangs
    assert child.exitcode == 0


def test_a_caller_that_outlives_the_main_thread_gets_its_threads():
    script = """
import threading, time
from condrank.base import blocks as _blocks
_blocks.n_processors = lambda: 2
def job():
    time.sleep(0.5)
    done = []
    _blocks.in_threads(done.append, range(4))
    print(sorted(done))
threading.Thread(target=job).start()
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=True)
    assert found.stdout.strip() == "[0, 1, 2, 3]"


@pytest.mark.parametrize(("most", "expected"), [("", 8), ("3", 3), ("64", 8), ("0", 8), ("2,2", 8)])
def test_the_number_of_processors_follows_the_environment(most, expected, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("OMP_NUM_THREADS", most)
    monkeypatch.setattr(_blocks, "cpu_count", lambda: 8)
    assert _blocks.n_processors.__wrapped__() == expected


def test_row_blocks_cover_all_rows_once():
    for n_rows in (0, 1, 5, 100):
        for row_size in (0, 1, 7, 1000):
            for budget in (1, 10, 64):
                covered = [i for block in row_blocks(n_rows, row_size, budget) for i in range(n_rows)[block]]
                assert covered == list(range(n_rows))
                sizes = [block.stop - block.start for block in row_blocks(n_rows, row_size, budget)]
                assert all(size == 1 or size * row_size <= budget for size in sizes)


@pytest.mark.parametrize("shape", [(300, 517), (1, 1), (0, 4), (256, 3)])
def test_matrices_become_contiguous_by_rows(shape):
    A = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert _blocks.by_rows(A) is A
    for other in (A.T, A[::2, ::-1]):
        turned = _blocks.by_rows(other)
        assert turned.flags.c_contiguous
        assert turned.dtype == A.dtype
        np.testing.assert_array_equal(turned, other)
