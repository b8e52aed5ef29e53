"""A door for a client that cannot present a token: it adds the header, and changes nothing else."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

_MOST = 1 << 16  # bytes at once


class _Door(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, there: tuple[str, int], token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.there, self.token = there, token


class _Request(StreamRequestHandler):
    """One connection, one request: only its first head is read."""

    server: _Door

    def handle(self) -> None:
        lines = []
        while (line := self.rfile.readline(_MOST)) not in {b"\r\n", b""}:
            if not line.lower().startswith(b"connection:"):
                lines.append(line)
        if not line:
            return
        lines += [f"Authorization: Bearer {self.server.token}\r\n".encode(), b"Connection: close\r\n"]
        with socket.create_connection(self.server.there) as server:
            server.sendall(b"".join([*lines, b"\r\n"]))
            threading.Thread(target=self._up, args=(server,), daemon=True).start()
            _copy(server.recv, self.connection)

    def _up(self, server: socket.socket) -> None:
        _copy(self.rfile.read1, server)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)  # the client has gone


def _copy(receive: Callable[[int], bytes], target: socket.socket) -> None:
    with contextlib.suppress(OSError, ValueError):  # either side has closed
        while received := receive(_MOST):
            target.sendall(received)


@contextmanager
def bearer(url: str, token: str) -> Iterator[str]:
    """Listen on a free port of this machine; requests to the URL given here reach ``url``.

    ``Host`` and ``Origin`` are passed on as they come, so what the server says to them is what it
    would say without this.
    """
    parts = urlsplit(url)
    with _Door((parts.hostname or "", parts.port or 80), token) as door:
        threading.Thread(target=door.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{door.server_address[1]}{parts.path}"
        finally:
            door.shutdown()
