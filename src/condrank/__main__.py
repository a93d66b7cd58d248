"""The ``condrank`` command, also as ``python -m condrank``."""

import contextlib
import os
import signal
import sys
from typing import Any

INTERRUPTED = 130  # 128 + SIGINT, as of any program that it ends


def main() -> None:
    """Run the command. Ctrl-C ends it with one line and code 130, also while it starts and imports its packages."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not so for a job in the background
    try:
        if heard:
            signal.signal(signal.SIGINT, _end)
        from condrank.cli import app

        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        app()
    except KeyboardInterrupt:
        _end()
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        # Python would end itself by a signal instead if the interrupt came while it ran code from a string, as some
        # imports do.
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            sys.stdout.flush()
        os._exit(INTERRUPTED)
    finally:
        # The work is done, or its end was said: an interrupt has nothing left to end but Python's own tidying up.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(*_: Any) -> None:
    """Say so and end at once. An exception would pass through imports, and not all of them pass it on."""
    sys.stderr.write("condrank: interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
