"""Log lines of bounded length and rate: no client can fill a disk by asking wrongly."""

from __future__ import annotations

import logging
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception

LONGEST, LONGEST_TRACEBACK = 500, 4000  # characters
LINES, SECONDS = 5, 10.0  # at most this number of lines of a kind in this time
KINDS = 100  # kinds of lines that are counted apart; further ones are counted together
LOGGERS = ("uvicorn.error", "asyncio", "condrank.service", "py.warnings")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
CONTROLS_OF_A_LINE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]+")


class BoundedLog(logging.Filter):
    """Shortens messages and tracebacks, and leaves out further lines of a kind.

    Lines are of one kind if the same place in the code writes them: values in them do not count.

    Parameters
    ----------
    lines, seconds : int and float
        Most lines of a kind, and the time that they are counted for. The next line says how many were left out.
    """

    def __init__(self, lines: int = LINES, seconds: float = SECONDS):
        super().__init__()
        self._lines, self._seconds = lines, seconds
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}  # when counting began, and how many lines

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written; shortens it."""
        kind = (record.pathname, record.lineno)
        if kind not in self._seen and len(self._seen) >= KINDS:
            kind = ("", 0)
        now = time.monotonic()
        start, count = self._seen.get(kind, (now, 0))
        left_out = 0
        if now - start >= self._seconds:
            start, count, left_out = now, 0, max(0, count - self._lines)
        self._seen[kind] = (start, count + 1)
        if count >= self._lines:
            return False
        message = shortened(CONTROLS.sub(" ", record.getMessage()).strip(), LONGEST)
        record.msg, record.args = message + (f" ({left_out} more such lines left out)" if left_out else ""), None
        if record.exc_info:
            lines = CONTROLS_OF_A_LINE.sub(" ", "".join(format_exception(record.exc_info[1])).rstrip())
            record.exc_text = shortened(lines, LONGEST_TRACEBACK)
        return True


def shortened(text: str, most: int) -> str:
    """A text without its middle if it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} […] {text[-(most // 2) :]}"


@contextmanager
def bounded_logs() -> Iterator[None]:
    """Bound the lines of the service and of what it runs on, and log warnings in the same way."""
    bound = BoundedLog()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    with warnings.catch_warnings():
        # By default each different message is remembered for ever, and new nodes make messages with their values.
        warnings.filterwarnings("always", category=UserWarning)
        logging.captureWarnings(True)
        for one in loggers:
            one.addFilter(bound)
        try:
            yield
        finally:
            for one in loggers:
                one.removeFilter(bound)
            logging.captureWarnings(False)
