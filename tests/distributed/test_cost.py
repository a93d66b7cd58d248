"""The estimated time and memory of a fit, and the number of partitions."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

from condrank.base.measured import PARTITIONS_LEAST_PER_THREAD, PARTITIONS_MOST
from condrank.distributed import Rates, estimate
from condrank.distributed.cost import count_partitions

RATES = Rates(sums=1e-9, partition=1e-7, gather=1e-9, product=1e-9, task=1e-3)


def test_the_estimate_grows_as_the_work_does():
    small = estimate(1e6, 32, 1e8, 10, RATES)
    large = estimate(1e6, 32, 1e8, 20, RATES)
    assert small.seconds > large.seconds
    assert small.worker_memory > large.worker_memory
    assert estimate(1e6, 32, 1e9, 10, RATES).iteration > 5 * small.iteration
    assert "iteration" in str(small)


@pytest.mark.parametrize("n_threads", [1, 2, 7, 800, 5000])
def test_every_thread_gets_as_many_partitions(n_threads):
    few, many = count_partitions(10, n_threads), count_partitions(10**12, n_threads)
    assert few % n_threads == many % n_threads == 0
    assert n_threads <= few <= many <= max(PARTITIONS_MOST, n_threads)
    assert few == n_threads * PARTITIONS_LEAST_PER_THREAD or n_threads > PARTITIONS_MOST // PARTITIONS_LEAST_PER_THREAD
