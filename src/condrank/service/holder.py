"""The model that is served, and its replacement by a newer one while requests go on."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from condrank.persistence.layout import model_file
from condrank.service.logs import LONGEST, shortened
from condrank.service.model import ServedModel

log = logging.getLogger("condrank.service")


class ModelHolder:
    """The current model of a file. A request finishes with the model it began with, also after a reload.

    Parameters
    ----------
    path : path-like
        File or folder of a model; a ValueError or OSError says why it cannot be served.
    kind : {"exact", "approximate"}
        Kind of the index.

    Attributes
    ----------
    current : ServedModel
        The model.
    loads, failures : int
        How often a model was loaded, and how often loading failed.
    error : str or None
        Why the newest file is not served.
    loaded_at : float
        Seconds since 1970 when the current model was loaded.
    """

    def __init__(self, path: Any, kind: str = "exact"):
        self.file, self.kind = model_file(path), kind
        self.loads, self.failures = 1, 0
        self.error: str | None = None
        self._turn = threading.Lock()
        self._seen = self._signature()
        self.current = ServedModel.load(self.file, kind)
        self.loaded_at = time.time()

    def changed(self) -> bool:
        """Whether the file has changed since it was last read."""
        return self._signature() != self._seen

    def reload(self) -> bool:
        """Load the file again. True if that worked; otherwise the old model stays and `error` says why."""
        with self._turn:
            self._seen = self._signature()
            try:
                model = ServedModel.load(self.file, self.kind)
            except (ValueError, OSError, ImportError) as error:
                self.failures += 1
                self.error = shortened(str(error).replace(str(self.file), self.file.name), LONGEST)
                log.error("the new model is not served, the old one stays: %s", shortened(str(error), LONGEST))
                return False
            self.current, self.loaded_at, self.error = model, time.time(), None
            self.loads += 1
            log.info("serving model %.12s", model.file_fingerprint)
            return True

    def _signature(self) -> tuple[int, ...]:
        try:
            found = self.file.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino
