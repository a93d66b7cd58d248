"""Threads that compute, with a bounded queue and a time limit."""

from __future__ import annotations

import threading
import time

from service.served import Limits, ModelHolder, TestClient, create_app, refused


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
