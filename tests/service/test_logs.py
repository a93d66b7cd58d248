"""Log lines of bounded length and rate."""

from __future__ import annotations

import logging
import warnings
from importlib import import_module

import pytest

from service.served import service

logs = import_module(f"{service.__name__}.logs")


@pytest.fixture
def lines(monkeypatch):
    """Lines that a logger with the filter writes."""
    written = []

    class Handler(logging.Handler):
        def emit(self, record):
            written.append(self.format(record))

    handler = Handler()
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "handlers", [handler])
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "propagate", False)
    monkeypatch.setattr(logging.getLogger("py.warnings"), "handlers", [handler])
    monkeypatch.setattr(logging.getLogger("py.warnings"), "propagate", False)
    return written


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])
    return now


def test_lines_of_a_kind_have_a_rate(lines, clock):
    log = logging.getLogger("uvicorn.error")
    with logs.bounded_logs():
        for number in range(1000):
            log.warning("invalid request %d", number)
        log.error("something else")
        assert lines == [f"invalid request {number}" for number in range(logs.LINES)] + ["something else"]
        clock[0] += logs.SECONDS
        for number in range(3):
            log.warning("invalid request %d", number)
    # They are of another kind: another place wrote them.
    assert lines[-3:] == [f"invalid request {number}" for number in range(3)]
    for number in range(100):
        log.warning("free again %d", number)
    assert len(lines) == logs.LINES + 1 + 3 + 100


def test_the_next_line_says_how_many_were_left_out(lines, clock):
    log = logging.getLogger("uvicorn.error")
    with logs.bounded_logs():
        for moment in (0.0, 1.0, logs.SECONDS, logs.SECONDS + 1.0):
            clock[0] = 100.0 + moment
            for _ in range(20):
                log.warning("again")
    more = 2 * 20 - logs.LINES
    assert lines == ["again"] * logs.LINES + [f"again ({more} more such lines left out)"] + ["again"] * (logs.LINES - 1)


def test_lines_and_tracebacks_are_short_and_have_no_control_characters(lines):
    def deep(n):
        if n:
            deep(n - 1)
        else:
            raise ValueError("x\x1b[2J" * 100_000)

    log = logging.getLogger("uvicorn.error")
    with logs.bounded_logs():
        log.warning("%s\r\nfake line \x1b[31m", "y" * 100_000)
        with pytest.raises(ValueError, match="x") as caught:
            deep(300)
        log.error("failed\n", exc_info=caught.value)
    first, second = lines
    assert len(first) < logs.LONGEST + 50
    assert first.endswith("y fake line  [31m")
    assert len(second) < logs.LONGEST_TRACEBACK + 100
    assert second.startswith("failed\nTraceback")
    assert not any(one in first + second for one in "\x1b\r")


def test_many_kinds_are_counted_together(clock):
    bound = logs.BoundedLog()
    record = {"name": "x", "level": 30, "msg": "m", "args": (), "exc_info": None}
    passed = [bound.filter(logging.LogRecord(pathname="f", lineno=line, **record)) for line in range(10 * logs.KINDS)]
    assert sum(passed) == logs.KINDS + logs.LINES


def test_warnings_are_logged_at_the_same_rate_and_not_remembered(lines):
    with logs.bounded_logs():
        for number in range(1000):
            warnings.warn(f"value {number} is far", UserWarning, stacklevel=1)
    assert len(lines) == logs.LINES
    assert "value 0 is far" in lines[0]
    assert len(globals().get("__warningregistry__", {})) < 10
