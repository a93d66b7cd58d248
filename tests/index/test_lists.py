"""Inverted lists: they scan the lists of the nearest centroids, in no more threads than this process may use."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from condrank.index.approximate import ahead_of, found_shares
from condrank.index.lists import InvertedLists
from condrank.index.turns import Turns
from reference_index import naive_lists

faiss = pytest.importorskip("faiss")


@settings(max_examples=40, deadline=None, derandomize=True)  # rounding could change the order of near ties
@given(data=st.data(), n=st.integers(1, 80), n_lists=st.integers(1, 12), s=st.integers(1, 5))
def test_a_search_finds_the_best_of_the_scanned_lists(data, n, n_lists, s):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    Y, W, centroids = (rng.normal(size=(rows, s)).astype(np.float32) for rows in (n, 20, n_lists))
    probes, count, first = (data.draw(st.integers(*ends)) for ends in ((1, n_lists), (1, 12), (0, n)))
    lists = InvertedLists(centroids)
    for part in (Y[:first], Y[first:]):
        lists.add(np.ascontiguousarray(part))
    expected = naive_lists(Y, centroids, W, count, probes)
    np.testing.assert_array_equal(lists.search(W, count, probes), expected)
    again = InvertedLists(centroids)
    again.add(Y, lists.list_of)
    np.testing.assert_array_equal(again.search(W, count, probes), expected)
    scanned = np.take_along_axis(lists.order(W), lists.list_of[np.maximum(expected, 0)], axis=1)
    assert (scanned[expected >= 0] < probes).all()


def test_centroids_of_equal_objects_leave_lists_empty():
    lists = InvertedLists(InvertedLists.fit(np.ones((30, 3), dtype=np.float32), 5))
    lists.add(np.ones((30, 3), dtype=np.float32))
    assert sorted(lists.search(np.ones((1, 3), dtype=np.float32), 30, 5)[0]) == list(range(30))


def test_what_a_number_of_lists_finds_is_counted_without_a_search():
    rng = np.random.default_rng(1)
    scanned = rng.integers(0, 7, size=(5, 4))  # 6 is never scanned
    expected = [[(row < lists).mean() for lists in range(1, 7)] for row in scanned]
    np.testing.assert_allclose(found_shares(scanned, 6), expected, atol=1e-9)
    best, found = np.array([[3, 9, 1], [4, 2, 5]]), np.array([[9, 3, 0, 8], [2, 7, 5, 4]])
    np.testing.assert_array_equal(ahead_of(best, found), [[1, 0, 4], [3, 0, 2]])


@pytest.mark.parametrize(("limit", "parts"), [(None, 4), (1, 1), (2, 2)])
def test_a_search_keeps_to_the_limit_of_threads(limit, parts, monkeypatch):
    rng = np.random.default_rng(2)
    lists = InvertedLists(rng.normal(size=(6, 3)).astype(np.float32))
    lists.add(rng.normal(size=(100, 3)).astype(np.float32))
    W = rng.normal(size=(80, 3)).astype(np.float32)
    used = []

    def spy(work, calls):
        used.append(len(calls))
        for call in calls:
            work(call)

    monkeypatch.setattr("condrank.index.lists.in_threads", spy)
    monkeypatch.setattr("condrank.index.lists.n_processors", lambda: 4)
    real, inside = lists._lists.search, []
    monkeypatch.setattr(
        lists._lists, "search", lambda *a, **b: (inside.append(faiss.omp_get_max_threads()), real(*a, **b))[1]
    )
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(4)
    try:
        with threadpool_limits(limit):
            lists.search(W, 3, 2)
            assert faiss.omp_get_max_threads() == (limit or 4)
    finally:
        faiss.omp_set_num_threads(before)
    assert used == [parts]
    assert set(inside) == {1}


def test_a_waiting_writer_goes_before_new_readers():
    turns, order = Turns(), []
    reading, release, waiting = threading.Event(), threading.Event(), threading.Event()

    def first_reader():
        with turns.together():
            reading.set()
            release.wait(10)
            order.append("first reader")

    def writer():
        waiting.set()
        with turns.alone():
            order.append("writer")

    def second_reader():
        with turns.together():
            order.append("second reader")

    threads = [threading.Thread(target=first_reader)]
    threads[0].start()
    reading.wait(10)
    threads.append(threading.Thread(target=writer))
    threads[1].start()
    waiting.wait(10)
    while not turns._writers:
        pass
    threads.append(threading.Thread(target=second_reader))
    threads[2].start()
    threads[2].join(0.05)
    assert order == []
    release.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first reader", "writer", "second reader"]
