"""The end of a server's process at a signal: soon, whatever it is doing, and with nothing left."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING

from .diagnostics import crash, end, ending

if TYPE_CHECKING:
    from .calls import Source

_PATIENCE = 3.0  # seconds in which further signals are taken for the same wish


class Leaving:
    """Ends the process at SIGINT, SIGTERM and SIGHUP from when it is made on; one a process."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._since: float | None = None
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if not hasattr(signal, name):  # Windows has no SIGHUP
                continue
            number = getattr(signal, name)
            if name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN:
                continue  # nohup: it is to outlive its terminal
            signal.signal(number, self._leave)

    def closing(self, source: Source) -> None:
        """Close this first from now on."""
        self._source = source

    def _leave(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._since is None:
            self._since = now
            # In a thread: this one may be just what closing has to wait for.
            threading.Thread(target=self._end, args=(number,)).start()
        elif now - self._since > _PATIENCE:  # a database that does not end
            os._exit(128 + number)

    def _end(self, number: int) -> None:
        # Reading stdin cannot be interrupted, so the process ends here; what is being recorded
        # is one transaction of the database and is there whole or not at all.
        try:
            ending()
            if self._source is not None:
                self._source.database.close(for_good=True)
            end(signal.Signals(number).name)
        except Exception as error:  # noqa: BLE001 - whatever it is, it does not keep us
            crash(error)
        finally:
            os._exit(128 + number)
