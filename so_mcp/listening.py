"""Where HTTP is listened at, by which names, and the token that clients present.

Nothing here imports ``mcp``, so that what is wrong is said at once.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import stat
from collections.abc import Iterable
from pathlib import Path

from .config import http_token
from .errors import InvalidInputError
from .names import shown
from .private_files import unusable

PATH = "/mcp"
SHORTEST_TOKEN = 32  # characters
MAKE_TOKEN = "python3 -c 'import secrets; print(secrets.token_hex(32))'"  # noqa: S105 - how one is made
_TOKEN = re.compile(r"[!-~]+")  # what a header can hold, without spaces
_NAME = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_WAITING = 2_048  # connections that were not taken up yet


def given_token(file: Path | None) -> str | None:
    """The token of ``--token-file`` or ``SO_HTTP_TOKEN``; None if there is neither.

    Raises `InvalidInputError` for one that others can read or could guess, and for both at once.
    """
    of_environment = http_token()
    if file is None:
        return None if of_environment is None else _checked(of_environment, "SO_HTTP_TOKEN")
    if of_environment is not None:
        raise InvalidInputError("--token-file and SO_HTTP_TOKEN are both given. Unset one of them.")
    try:
        with file.open(encoding="utf-8") as stream:
            status = os.fstat(stream.fileno())
            if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
                raise InvalidInputError(
                    f"--token-file: {file} is open to others; expected a file for its owner alone. "
                    f"Run: chmod 600 {file}, and put a new token in it."
                )
            text = stream.read()
    except UnicodeDecodeError:
        raise InvalidInputError(f"--token-file: {file} is not text. Make one: {MAKE_TOKEN}") from None
    except OSError as error:
        raise unusable(file, "read", error) from error
    return _checked(text.strip(), f"--token-file: {file}")


def _checked(token: str, where: str) -> str:
    if len(token) < SHORTEST_TOKEN:
        raise InvalidInputError(
            f"{where}: expected a token of at least {SHORTEST_TOKEN} characters, got {len(token)}. "
            f"Make one: {MAKE_TOKEN}"
        )
    if not _TOKEN.fullmatch(token):
        raise InvalidInputError(
            f"{where}: a token is ASCII without spaces. Make one: {MAKE_TOKEN}"
        )
    return token


def listening(host: str, port: int) -> socket.socket:
    """A socket that clients can connect to; port 0 is any free one. Raises `InvalidInputError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InvalidInputError(
            f"--host: {shown(host)} is no address and no name of this machine. Expected one, such "
            "as 127.0.0.1."
        ) from None
    # Not socket.create_server: it leaves the protocol open, and asyncio then lets the system hold
    # back the second half of an answer until the first is acknowledged, which takes 40 ms.
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere that lets another process take the port away
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            problem = f"port {port} of {host} is taken. Name another; 0 is any that is free."
        else:
            problem = f"cannot listen at {host}, port {port}: {error.strerror}."
        raise InvalidInputError(f"--port: {problem}") from error
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can connect."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def url_of(listener: socket.socket) -> str:
    """Where clients find it; of one that listens everywhere, the address on this machine."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1"
    elif address.version == 6:
        host = f"[{host}]"
    return f"http://{host}:{port}{PATH}"


def check_names(names: Iterable[str]) -> None:
    """Raise `InvalidInputError` for what cannot be in a request's ``Host``."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"--allow-host: expected a name or an address without a port, such as "
                f"memory.example.org or [fd00::1], got {shown(name)}."
            )
