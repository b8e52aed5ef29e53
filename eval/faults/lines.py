"""A real server process and lines that no client library would send: half JSON, half UTF-8.

Every line must be answered once, under its id where it can be read and else under null; but for a
notification, which nobody answers. After each the server must still answer a ping.
"""

from __future__ import annotations

import json
import queue
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).parent / "so-mcp")
PATIENCE = 30.0  # seconds, for an answer
_HELLO = {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "1"},
}


class Server:
    """A server on standard input and output, spoken to in bytes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """``process``: just started."""
        self._process = process
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._said: list[bytes] = []
        self._pings = 0
        for thread in (self._hear, self._overhear):
            threading.Thread(target=thread, daemon=True).start()

    def send(self, line: bytes) -> list[Any]:
        """What is answered to a line, before and after a ping that follows it; see `due`.

        Raises `TimeoutError` or `ConnectionError` where an answer does not come.
        """
        self._pings += 1
        ping = f"ping {self._pings}"
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n" + message("ping", None, ping) + b"\n")
        self._process.stdin.flush()
        answers: list[Any] = []
        alive = False
        while not alive or len(answers) < due(line):
            try:
                got = self._answers.get(timeout=PATIENCE)
            except queue.Empty:
                raise TimeoutError(f"no answer in {PATIENCE:.0f} s; it lives: {alive}") from None
            if got is None:
                raise ConnectionError(f"the server ended: {self.said()[-500:]}")
            answer = json.loads(got.decode())
            if answer.get("id") == ping:
                alive = True
            else:
                answers.append(answer)
        return answers

    def said(self) -> str:
        """What it wrote on standard error."""
        return b"".join(self._said).decode(errors="replace")

    def leave(self) -> int:
        """End the input, as a host does; its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(PATIENCE)

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _overhear(self) -> None:
        assert self._process.stderr is not None
        self._said.extend(self._process.stderr)


@contextmanager
def served(path: Path, **env: str) -> Iterator[Server]:
    """A server process on a store, greeted as hosts greet it."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [COMMAND], env={"FALKORDB_LITE_PATH": str(path), "PATH": "/bin", **env},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    with process:
        try:
            server = Server(process)
            server.send(message("initialize", _HELLO, "hello"))
            server.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            yield server
        finally:
            process.kill()


def message(method: str, params: Any, own: Any = 1, *, escaped: bool = True) -> bytes:
    """A request as a line; half characters can only be sent ``escaped``."""
    request = {"jsonrpc": "2.0", "id": own, "method": method}
    request |= {} if params is None else {"params": params}
    return json.dumps(request, ensure_ascii=escaped).encode(errors="surrogatepass")


def due(line: bytes) -> int:
    """How many answers a line must get: one, unless it is blank, a notification or an answer."""
    if not line.strip():
        return 0
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return 1
    if not isinstance(given, dict) or given.get("jsonrpc") != "2.0" or "id" in given:
        answers = isinstance(given, dict) and "method" not in given and given.keys() & {"result", "error"}
        return 0 if answers else 1
    return 0 if isinstance(given.get("method"), str) else 1


def hostile_lines() -> list[bytes]:
    """What breaks a reader rather than a tool."""

    def call(arguments: str) -> bytes:
        return (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NAME",'
            f'"arguments":{arguments}}}}}'
        ).encode(errors="surrogatepass")

    deep = [
        call('{"entity":' + left * depth + "1" + right * depth + "}")
        for left, right in (("[", "]"), ('{"a":', "}")) for depth in (150, 250, 1_000, 100_000)
    ]
    return [
        b"", b" ", b"\r", b"\x00", b"hello", b"{", b"[", b'"', b"null", b"5", b"true", b"[]", b"{}",
        b'{"jsonrpc":', b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"\xff\xfe", b"\xef\xbb\xbf{}",
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":1}',
        *(f'{{"jsonrpc":"2.0","id":{own},"method":"ping"}}'.encode()
          for own in ("null", "1.5", "true", "{}", "[]", '"\\ud800"', "9" * 30, "9" * 5_000, "-1", '""')),
        *(f'{{"jsonrpc":"2.0","id":1,"method":{method}}}'.encode()
          for method in ("5", "null", '"\\ud800"', '""', '"tools/call"', '"x"', '"tools/list"')),
        *(f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'.encode()
          for params in ("null", "[]", '"x"', "{}", '{"name":5}', '{"name":null,"arguments":[]}',
                         '{"name":"\\ud800"}', '{"name":"NAME","arguments":"x"}',
                         '{"name":"NAME","_meta":5}', '{"name":"NAME","_meta":{"progressToken":[]}}')),
        *(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'.encode()
          for method in ("resources/read", "prompts/get", "completion/complete", "initialize",
                         "logging/setLevel", "resources/subscribe")
          for params in ("{}", '{"uri":5}', '{"name":"brief","arguments":[]}', '{"ref":{},"argument":5}',
                         '{"name":"brief","arguments":{"agent":5,"talking_to":null}}')),
        call('{"entity":"\\ud800"}'), call('{"entity\\udc00":"x"}'), call('{"entity":"\\u12"}'),
        call('{"entity":"\\u0000"}'), call('{"entity":"a","entity":"b"}'), call('{"entity":NaN}'),
        call('{"entity":-Infinity}'), call('{"entity":1e400}'), call(f'{{"entity":{"9" * 5_000}}}'),
        call('{"entity":01}'), call("{'entity':1}"), call('{"entity":"x",}'), call('{"entity":"\ud800"}'),
        call('{"entity":"a\tb"}'), call('{"entity":"' + "x" * 5_000_000 + '"}'),
        call('{"entity":[' + "7," * 200_000 + "7]}"), *deep, call("null"), call("[]"),
    ]


def spoiled(line: bytes, chance: random.Random) -> bytes:
    """A line with a few bytes changed, left out, doubled or put in; never a line break."""
    spoilt = bytearray(line)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(spoilt) + 1)
        new = chance.choice((b"", b'"', b"\\", b"\\ud800", b"\x00", b"\xff", b"{", b"]", b",", b"9", b"\xc3"))
        spoilt[at : at + chance.choice((0, 1, 1, 5))] = new
    return bytes(spoilt).replace(b"\n", b" ")
