"""Long work says how far it is, and can be stopped there.

A function that takes long has a parameter ``progress: Progress = silent`` and calls it between its
steps with (done, of how many, what is done next). A server's progress reports to the host, and
raises when the call was cancelled, which stops the work.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int, str], None]


def silent(_done: int, _total: int, _next: str) -> None:
    """Tell nobody."""
