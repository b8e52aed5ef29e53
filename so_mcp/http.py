"""MCP over HTTP: the same server as on stdio, behind a token, for one process in one mode.

Every request passes `Guard`: the names it came by (against DNS rebinding: a page in a browser that
points its own name here), a limit for each client, the token. Only then is its body read. Who is
slow to say what it wants does not keep its connection (`Impatient`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import math
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio
import h11
import uvicorn
from mcp.server import MCPServer, streamable_http
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.types import INVALID_REQUEST
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .diagnostics import milliseconds, note
from .incoming import LONGEST, UnreadableError, message_in, too_long
from .listening import PATH, url_of
from .names import shown

HEALTH = "/healthz"
LONGEST_BODY = LONGEST  # bytes: what a host may send at once on stdio
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_GUESSES = (1.0, 20)  # of the token: so many a second, so many at once
_SESSIONS = 1_000  # that clients of the older protocol may have open
# Longer than clients keep one, so that none writes to a connection that is just being closed.
_KEEP_ALIVE = 60  # seconds
HEAD_SECONDS = 10.0  # in which a request's head has to be there, from its first byte or the connection's
BODY_SECONDS = 120.0  # and its body
_CONNECTIONS = 800  # at once; a process may often have 1,024 files
_LONGEST_PATH = 200  # characters of it that are logged
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)
_FORGETTING = 1.0  # seconds between looking for clients that have been quiet


def serve(
    server: MCPServer[Any], listener: socket.socket, token: str, *,
    names: Sequence[str] = (), rate: float,
) -> None:
    """Serve until the process is ended.

    ``names``: by which clients reach it, beside the loopback's; ``rate``: requests a second that
    each may make, twice as many at once.
    """
    allowed = _reached_by([*_LOOPBACK, url_of(listener).split("/")[2].rpartition(":")[0], *names])
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=allowed,
        max_request_body_size=LONGEST_BODY, max_sessions=_SESSIONS,
    )
    config = uvicorn.Config(
        Guard(app, token, allowed, rate), lifespan="on", loop="asyncio", http=Impatient, ws="none",
        timeout_keep_alive=_KEEP_ALIVE, limit_concurrency=_CONNECTIONS, server_header=False,
        log_config=None, access_log=False,
        proxy_headers=False,  # else a client says itself which client it is
    )
    logging.getLogger(streamable_http.__name__).addFilter(_is_news)
    _Server(config).run([listener])


def _is_news(record: logging.LogRecord) -> bool:
    """Whether an error is one: that a client goes while it is still sending is none."""
    return record.exc_info is None or not isinstance(record.exc_info[1], _GONE)


def _reached_by(names: Sequence[str]) -> TransportSecuritySettings:
    each = [f"{name.lower()}{port}" for name in dict.fromkeys(names) for port in ("", ":*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in each]
    return TransportSecuritySettings(allowed_hosts=each, allowed_origins=origins)


class _Server(uvicorn.Server):
    """Leaves signals to whoever started it: they end stdio and HTTP alike."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Impatient(H11Protocol):
    """A connection that is closed when a request's head or body takes too long to come.

    Uvicorn waits for either for ever; it closes what is idle between two requests.
    """

    _waiting: asyncio.TimerHandle | None = None
    _for: object = None  # what is waited for: a head (IDLE), a body (SEND_BODY)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in some of a request, and wait for the rest of it."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait(self) -> None:
        state = self.conn.their_state
        if state is self._for:
            return
        self._stop_waiting()
        seconds = {h11.IDLE: HEAD_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(state)
        if seconds is not None:
            self._for = state
            self._waiting = self.loop.call_later(seconds, self._give_up, state)

    def _stop_waiting(self) -> None:
        self._for = None
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self, state: object) -> None:
        if self.conn.their_state is state and not self.transport.is_closing():
            note("http", status=None, error="too slow", client=self.client and self.client[0])
            self.transport.abort()


class Guard:
    """What stands before the application: names, limits, the token; and ``/healthz``."""

    def __init__(
        self, app: ASGIApp, token: str, allowed: TransportSecuritySettings, rate: float
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._names = TransportSecurityMiddleware(allowed)
        self._calls = Limit(rate, max(1, int(2 * rate)))
        self._guesses = Limit(*_GUESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is refused, and pass on the rest."""
        if scope["type"] != "http":  # that the application starts, and ends
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), None

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        request = Request(scope)
        try:
            answer = await self._answer(request)
            if answer is None and request.method == "POST" and request.url.path == PATH:
                answer, receive = await _read(request, receive)
            await (answer or self._passed_on)(scope, receive, send_noted)
        finally:
            note(
                "http", method=request.method, path=request.url.path[:_LONGEST_PATH], status=status,
                client=request.client and request.client.host, ms=milliseconds(begun),
            )

    async def _passed_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request; of one whose client has ended its session, the SDK sends two answers."""
        over = False

        async def send_once(message: Message) -> None:
            nonlocal over
            if not over:
                over = message["type"] == "http.response.body" and not message.get("more_body")
                await send(message)

        try:
            await self._app(scope, receive, send_once)
        except _GONE:
            if not over:
                raise

    async def _answer(self, request: Request) -> Response | None:
        """Our own answer, before anything of the body is read; None: it may pass."""
        if await self._names.validate_request(request) is not None:
            return _by_another_name(request)
        if request.url.path == HEALTH:
            if request.method in ("GET", "HEAD"):
                return PlainTextResponse("ok\n", headers={"Cache-Control": "no-store"})
            return _refused(405, f"{HEALTH} takes GET.", Allow="GET, HEAD")
        known = self._is_known(request)
        client = request.client.host if request.client else ""
        # Who guesses uses up only what guesses may: others come from the same address.
        wait = (self._calls if known else self._guesses).wait(client)
        if wait > 0:
            seconds = math.ceil(wait)
            return _refused(
                429, f"Too many requests. Try again in {seconds} s.", Retry_After=str(seconds)
            )
        if not known:
            return _refused(
                401, "Expected the header Authorization: Bearer TOKEN, with this server's token.",
                WWW_Authenticate="Bearer",
            )
        return None

    def _is_known(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        # In time that does not tell how much of it is right.
        right = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self._token)
        return scheme.lower() == "bearer" and right


class Limit:
    """So many requests a second for each client, and so many at once: a token bucket.

    Kept of a client is the moment at which its bucket is full again.
    """

    def __init__(
        self, rate: float, at_once: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._each = 1 / rate
        self._ahead = (at_once - 1) / rate
        self._clock = clock
        self._full: dict[str, float] = {}
        self._forgot = clock()

    def wait(self, client: str) -> float:
        """Seconds until the client may ask; 0: now, and it has."""
        now = self._clock()
        if now - self._forgot > _FORGETTING:
            self._full = {key: at for key, at in self._full.items() if at > now}
            self._forgot = now
        full = max(self._full.get(client, now), now)
        if (wait := full - now - self._ahead) > 0:
            return wait
        self._full[client] = full + self._each
        return 0

    def __len__(self) -> int:
        """How many clients are remembered."""
        return len(self._full)


async def _read(request: Request, receive: Receive) -> tuple[Response | None, Receive]:
    """Read a body: what is wrong with it, if anything, and a way to read it once more."""
    body, announced = bytearray(), request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > LONGEST_BODY:
        return _unreadable(too_long("body"), 413), receive
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone
            break
        body += message.get("body", b"")
        if len(body) > LONGEST_BODY:
            return _unreadable(too_long("body"), 413), receive
        if not message.get("more_body"):
            try:
                message_in(bytes(body))
            except UnreadableError as error:
                return _unreadable(error, 400), receive
            message = {"type": "http.request", "body": bytes(body), "more_body": False}
            break
    left = [message]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return None, again


def _unreadable(error: UnreadableError, status: int) -> Response:
    return JSONResponse(error.answer.model_dump(mode="json"), status)


def _by_another_name(request: Request) -> Response:
    host, origin = (request.headers.get(name, "") for name in ("host", "origin"))
    return _refused(
        403 if origin else 421,
        f"This server is not reached as {shown(host)}"
        + (f" from a page of {shown(origin)}" if origin else "")
        + ". If it should be, start it with --allow-host NAME.",
    )


def _refused(status: int, problem: str, **headers: str) -> Response:
    """As JSON-RPC says that a request was not taken, so that a host can show why."""
    error = {"code": INVALID_REQUEST, "message": problem}
    return JSONResponse(
        {"jsonrpc": "2.0", "id": None, "error": error}, status,
        {name.replace("_", "-"): value for name, value in headers.items()},
    )
