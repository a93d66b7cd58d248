"""Threads that compute, with a bounded queue and a time limit."""

from __future__ import annotations

import asyncio
import threading
import time
from importlib import import_module

import pytest

from service.served import Limits, ModelHolder, TestClient, create_app, refused

Work = import_module("condrank.service.work").Work
Refusal = import_module("condrank.service.refusals").Refusal


def test_a_request_that_takes_too_long_and_one_too_many_are_refused(folder):
    holder = ModelHolder(folder)
    began, go = threading.Event(), threading.Event()
    quick = holder.current.rank

    def slow(*given):
        began.set()
        go.wait(20)
        return quick(*given)

    holder.current.rank = slow
    with TestClient(create_app(holder, Limits(seconds=0.3, waiting=0))) as client:
        found = []
        asking = threading.Thread(target=lambda: found.append(client.get("/rank/Node 1")))
        asking.start()
        assert began.wait(10)
        answer = client.get("/rank/Node 2")
        refused(answer, 503, "busy")
        assert answer.headers["retry-after"] == "1"
        asking.join()
        refused(found[0], 504, "too_long")
        refused(client.get("/rank/Node 2"), 503, "busy")  # who began still holds its place
        assert client.get("/health").status_code == 200
        go.set()
        for _ in range(100):
            if client.get("/rank/Node 2").status_code == 200:
                break
            time.sleep(0.02)
        assert client.get("/rank/Node 2").status_code == 200


def test_clients_take_turns_and_one_that_floods_loses_its_places():
    go, order = threading.Event(), []

    def job(name):
        assert go.wait(20)
        order.append(name)
        return name

    async def asked():
        work = Work(Limits(workers=1, waiting=3))
        flood = [asyncio.create_task(work.run("flood", job, f"flood {number}")) for number in range(4)]
        await asyncio.sleep(0)  # one runs, three wait: all places are taken
        with pytest.raises(Refusal) as full:
            await work.run("flood", job, "flood 4")
        small = [asyncio.create_task(work.run("small", job, f"small {number}")) for number in range(2)]
        await asyncio.sleep(0)
        go.set()
        found = await asyncio.gather(*flood, *small, return_exceptions=True)
        work.close()
        return full.value.status, found

    status, (first, second, third, lost, small, late) = asyncio.run(asked())
    assert status == 503
    # The first one of the small client takes the place of the flood's newest job. The second one would not make it
    # fairer: each client has one place more or less than the other.
    assert [first, second, third, small] == ["flood 0", "flood 1", "flood 2", "small 0"]
    assert (lost.status, late.status) == (503, 503)
    assert order == ["flood 0", "flood 1", "small 0", "flood 2"]


def test_a_job_that_nobody_waits_for_any_more_does_not_run():
    go, ran = threading.Event(), []

    async def asked():
        work = Work(Limits(workers=1, waiting=1, seconds=0.05))
        found = await asyncio.gather(
            work.run("a", go.wait, 20), work.run("b", ran.append, "late"), return_exceptions=True
        )
        go.set()
        patient = Work(Limits(workers=1))
        assert await patient.run("a", lambda: "done") == "done"
        work.close()
        return [one.status for one in found]

    assert asyncio.run(asked()) == [504, 504]
    assert ran == []
