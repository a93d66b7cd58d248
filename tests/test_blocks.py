"""Threads over blocks: every call is made, errors come through, and products have one thread while they run."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from condrank import _blocks

BLOCKS = [slice(k, k + 1) for k in range(6)]


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr(_blocks, "effective_n_jobs", lambda n_jobs: 2)
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
