"""`so-mcp serve --http`: real processes and real clients, both modes, both protocol eras."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ResourceTemplateReference
from stores import Store, Stores, environment, memory_of, view_of
from test_server import ERAS, STORY, ask_as_billing, ask_as_supervisor, refused, told

from so_mcp import Memory
from so_mcp.calls import Source
from so_mcp.cli import main
from so_mcp.embedded import EmbeddedStore, is_answering
from so_mcp.http import LONGEST_BODY, Limit
from so_mcp.listening import given_token, listening
from so_mcp.log import log_calls, log_of
from so_mcp.names import name_digest
from so_mcp.server import build_server

COMMAND = str(Path(sys.executable).parent / "so-mcp")
TOKEN = "a-token-of-more-than-32-characters"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@dataclass
class Served:
    """A server process that listens."""

    process: subprocess.Popen[str]
    url: str

    @property
    def root(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port


@contextmanager
def served(
    store: Store, *options: str, port: int = 0, command: tuple[str, ...] = (COMMAND,),
    agent: str | None = None,
) -> Iterator[Served]:
    """Start one on a free port; at the end it has said nothing but where it is."""
    process = subprocess.Popen(
        [*command, "serve", "--http", "--port", str(port), *options], text=True,
        env={**environment(store, agent), "SO_HTTP_TOKEN": TOKEN},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(process.communicate()[1])
    try:
        yield Served(process, line.split()[-1])
    finally:
        process.terminate()
        assert process.communicate(timeout=30) == ("", "")


@asynccontextmanager
async def over_http(url: str, era: str = "2026-07-28", token: str = TOKEN) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as connection,
        Client(streamable_http_client(url, http_client=connection), mode=era) as client,
    ):
        yield client


def ids(memory: Memory) -> list[str | None]:
    """Of all that was recorded."""
    events = log_of(memory.database.read_together(log_calls(memory.scenario)))
    return [event.id for event in events]


def bare(server: Served, request: str) -> str:
    """The first of an answer to what no client library would send."""
    with socket.create_connection(server.address) as connection:
        connection.sendall(request.encode())
        return connection.recv(4096).decode()


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """How the client talks: the stateless protocol, or the handshake of before."""
    return str(request.param)


@pytest.fixture(scope="module")
def store(stores: Stores) -> Iterator[Store]:
    """A database with the story in it, and Billing's login."""
    with stores.new() as made, memory_of(made) as memory:
        memory.record(STORY)
        memory.set("plan", "secret", audience=["Escalation"])
        memory.grant("Billing")
        memory.grant("Escalation")
        yield made


@pytest.fixture(scope="module")
def supervisor(store: Store) -> Iterator[Served]:
    """One for the supervisor, that is reached by a further name too."""
    with served(store, "--allow-host", "memory.example.org") as server:
        yield server


@dataclass
class Watched(Served):
    """One that lists the files it opens."""

    opened: Path


@pytest.fixture(scope="module")
def billing(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    """One for Billing, beside it."""
    program = (
        "import os, sys\n"
        "log = os.open(sys.argv.pop(1), os.O_CREAT | os.O_WRONLY | os.O_APPEND)\n"
        "def note(name, args):\n"
        "    name == 'open' and os.write(log, f'{args[0]}\\n'.encode())\n"
        "sys.addaudithook(note)\n"
        "from so_mcp.cli import main\n"
        "main()\n"
    )
    opened = tmp_path_factory.mktemp("billing") / "opened"
    command = (sys.executable, "-c", program, str(opened))
    with served(store, command=command, agent="Billing") as server:
        yield Watched(server.process, server.url, opened)


# The same server -----------------------------------------------------------------------------


def test_two_modes_on_two_ports_answer_at_once_in_both_eras(own_store: Store) -> None:
    async def talk() -> None:
        async with over_http(supervisor.url, ERAS[1]) as client:
            await ask_as_supervisor(client)
            with memory_of(own_store) as memory:
                memory.grant("Billing")
            for era in ERAS:
                async with over_http(billing.url, era) as agent:
                    await ask_as_billing(agent)
                async with over_http(supervisor.url, era) as beside:
                    text, _ = await told(beside, "false_beliefs")
                    assert "Maya believes refund is 'approved', the truth is 'rejected'" in text
            await told(client, "record", events=[
                {"kind": "tell", "speaker": "Finance", "listeners": ["Maya"],
                 "entity": "refund", "value": "rejected"},
            ])
            async with over_http(billing.url) as agent:
                assert "Maya believes" in (await told(agent, "who_is_misinformed"))[0]

    with served(own_store) as supervisor, served(own_store, agent="Billing") as billing:
        anyio.run(talk)


@pytest.mark.parametrize("mode", ["supervisor", "agent"])
def test_tools_resources_prompts_and_completions_are_those_of_stdio(
    store: Store, supervisor: Served, billing: Served, era: str, mode: str
) -> None:
    source: Source = (
        memory_of(store) if mode == "supervisor" else view_of("Billing", "support", store)
    )
    url = (supervisor if mode == "supervisor" else billing).url

    async def all_of(client: Client) -> list[Any]:
        reference = ResourceTemplateReference(type="ref/resource", uri="so://{scenario}/minds/{agent}")
        return [
            client.server_info, client.instructions,
            await client.list_tools(), await client.list_resources(),
            await client.list_resource_templates(), await client.list_prompts(),
            await client.complete(reference, {"name": "agent", "value": ""}),
            await client.read_resource("so://support/minds/Billing"),
            await client.get_prompt(
                "handoff",
                {"receiver": "Maya"} if mode == "agent" else {"sender": "Billing", "receiver": "Maya"},
            ),
        ]

    async def talk() -> None:
        async with Client(build_server(source), mode=era) as client:
            expected = await all_of(client)
        async with over_http(url, era) as client:
            assert await all_of(client) == expected

    anyio.run(talk)


def test_long_work_tells_how_far_it_is(supervisor: Served, era: str) -> None:
    heard: list[float] = []

    async def note(done: float, _total: float | None, _message: str | None) -> None:
        heard.append(done)

    async def talk() -> None:
        async with over_http(supervisor.url, era) as client:
            event = {"kind": "announce", "speaker": "Finance", "entity": "refund", "value": "paid"}
            result = await client.call_tool(
                "what_if", {"events": [event]}, progress_callback=note
            )
            assert not result.is_error

    anyio.run(talk)
    assert heard
    assert heard == sorted(heard)


def test_serve_without_http_is_stdio(store: Store) -> None:
    parameters = StdioServerParameters(
        command=COMMAND, args=["serve"], env=environment(store)
    )

    async def talk() -> None:
        async with Client(parameters) as client:
            assert "approved" in (await told(client, "believes", chain=["Maya"], entity="refund"))[0]

    anyio.run(talk)


# What an agent reaches --------------------------------------------------------------------------


def test_an_agent_over_http_reaches_what_it_may_over_stdio_and_nothing_else(
    billing: Served, era: str
) -> None:
    async def talk() -> None:
        async with over_http(billing.url, era) as client:
            for tool in ("record", "believes", "false_beliefs", "timeline"):
                assert "Unknown tool" in await refused(client, tool)
            assert "no argument 'agent'" in await refused(client, "my_beliefs", agent="Escalation")
            assert "no argument 'scenario'" in await refused(client, "my_beliefs", scenario="other")
            for address in ("so://support/minds/Escalation", "so://support/state", "so://x/minds/Billing"):
                with pytest.raises(Exception, match="Unknown resource"):
                    await client.read_resource(address)
            hidden, absent = [
                (await told(client, "my_beliefs", entity=entity))[0] for entity in ("plan", "nalp")
            ]
            assert hidden.replace("plan", "nalp") == absent

    anyio.run(talk)


@pytest.mark.runs_on("embedded", why="a login that is a private file of the store")
def test_an_agents_process_opens_its_own_login_and_no_other(
    store: Store, billing: Watched
) -> None:
    assert isinstance(store, EmbeddedStore)

    async def talk() -> None:
        async with over_http(billing.url) as client:
            assert "refund" in (await told(client, "my_beliefs"))[0]

    anyio.run(talk)
    files = billing.opened.read_text("utf-8").splitlines()
    own = [file.removeprefix(f"{store.path}/") for file in files if file.startswith(str(store.path))]
    assert [file for file in own if "supervisor" in file] == []
    assert {file for file in own if file.startswith("agents/")} == {
        f"agents/{name_digest('Billing')}.json"
    }


# Who may come in --------------------------------------------------------------------------------


def test_without_the_token_nothing_is_answered(supervisor: Served, era: str) -> None:
    for headers in (
        {}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
    ):
        answer = httpx2.post(supervisor.url, headers={**MCP, **headers}, json=PING)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "Authorization: Bearer TOKEN" in answer.json()["error"]["message"]
    assert httpx2.get(f"{supervisor.root}/elsewhere").status_code == 401

    async def talk() -> None:
        with pytest.raises(ExceptionGroup) as caught:
            async with over_http(supervisor.url, era, token="wrong") as client:
                await client.list_tools()
        assert "Expected the header Authorization: Bearer TOKEN" in repr(caught.value)

    anyio.run(talk)


def test_what_comes_without_the_token_is_not_read(supervisor: Served) -> None:
    host, port = supervisor.address
    answer = bare(
        supervisor, f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 99999\r\n\r\n"
    )
    assert answer.startswith("HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Host": "localhost:1", "Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({"Host": "memory.example.org", "Origin": "https://memory.example.org"}, 200),
    ],
)
def test_a_page_that_points_its_name_here_is_refused(
    supervisor: Served, headers: dict[str, str], status: int
) -> None:
    answer = httpx2.get(f"{supervisor.root}/healthz", headers=headers)
    assert answer.status_code == status
    called = httpx2.post(
        supervisor.url, headers={**AUTHORIZED, **MCP, **headers}, json=PING
    )
    assert called.status_code == (400 if status == 200 else status)  # let in, and no session
    if status != 200:
        assert "--allow-host" in called.json()["error"]["message"]


def test_healthz_says_that_it_serves_and_nothing_else(supervisor: Served) -> None:
    answer = httpx2.get(f"{supervisor.root}/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert set(answer.headers) == {"date", "content-type", "content-length", "cache-control"}
    assert httpx2.post(f"{supervisor.root}/healthz", headers=AUTHORIZED).status_code == 405


def test_too_many_requests_are_told_when_to_come_again_and_who_guesses_uses_up_its_own(
    store: Store,
) -> None:
    with served(store, "--rate", "0.1") as server, httpx2.Client(headers=MCP) as client:
        guesses = [client.post(server.url, json=PING).status_code for _ in range(40)]
        assert guesses[:20] == [401] * 20
        assert guesses[-1] == 429
        said = client.post(server.url, headers={"X-Forwarded-For": "10.0.0.1"}, json=PING)
        assert said.status_code == 429  # whoever it says it is
        known = client.post(server.url, headers=AUTHORIZED, json=PING)
        assert known.status_code == 400  # let in, and no session
        again = client.post(server.url, headers=AUTHORIZED, json=PING)
        assert again.status_code == 429
        assert 1 <= int(again.headers["Retry-After"]) <= 10
        assert "Too many requests. Try again in" in again.json()["error"]["message"]
        assert client.get(f"{server.root}/healthz").status_code == 200


def test_a_limit_is_so_many_at_once_then_so_many_a_second_for_each() -> None:
    now = [0.0]
    limit = Limit(2, 3, lambda: now[0])
    assert [limit.wait("a") for _ in range(3)] == [0, 0, 0]
    assert limit.wait("a") == 0.5
    assert limit.wait("b") == 0
    now[0] = 0.5
    assert limit.wait("a") == 0
    assert limit.wait("a") == 0.5
    now[0] = 60
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]  # no more for having waited
    assert len(limit) == 1  # b is forgotten


def test_a_request_as_large_as_on_stdio_is_read_and_a_larger_one_refused(supervisor: Served) -> None:
    async def talk() -> None:
        async with over_http(supervisor.url) as client:
            message = await refused(client, "who_knows", entity="x" * 8_000_000)
            assert "entity: expected at most 200 characters, got 8000000" in message

    anyio.run(talk)
    host, port = supervisor.address
    answer = bare(
        supervisor,
        f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {LONGEST_BODY + 1}\r\n\r\n",
    )
    assert answer.startswith("HTTP/1.1 413 ")


def test_a_body_that_cannot_be_read_is_answered_and_the_next_one_served(
    supervisor: Served, era: str
) -> None:
    modern = {} if era == "legacy" else {"MCP-Protocol-Version": era}
    with httpx2.Client(headers={**AUTHORIZED, **MCP, **modern}) as client:
        for body in (
            b"", b"x", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b'{"id":' + b"9" * 6_000 + b"}",
            b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', json.dumps([PING] * 3).encode(),
            b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        ):
            answer = client.post(supervisor.url, content=body)
            assert answer.status_code == 400
            assert answer.json()["error"]["message"].startswith("Cannot be read: ")
            assert answer.json()["error"]["message"].endswith(" at a time, as JSON in UTF-8.")
            assert answer.json()["id"] == (1 if b'"id":1' in body and body[:1] == b"{" else None)
        assert client.put(supervisor.url, content=b"x").status_code in (400, 404, 405)
    assert bare(supervisor, "\x00\r\n\r\n").startswith("HTTP/1.1 400 ")
    assert httpx2.get(f"{supervisor.root}/healthz").text == "ok\n"


def test_a_client_that_goes_while_it_is_still_sending_is_no_error(store: Store) -> None:
    """Of the older protocol; the SDK answers some of these twice, and would log each."""
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "test", "version": "1"}},
    }
    late = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}

    async def talk() -> None:
        async with httpx2.AsyncClient(headers={**AUTHORIZED, **MCP}, timeout=30) as client:
            for _ in range(12):
                session = (await client.post(server.url, json=hello)).headers["mcp-session-id"]
                own = {"mcp-session-id": session}
                async with anyio.create_task_group() as group:
                    for number in range(9):
                        if number == 4:
                            group.start_soon(partial(client.delete, server.url, headers=own))
                        group.start_soon(partial(client.post, server.url, json=late, headers=own))
            assert (await client.get(f"{server.root}/healthz")).text == "ok\n"

    with served(store, "--rate", "100000") as server:
        anyio.run(talk)  # and `served` sees that nothing was said


def test_who_is_slow_to_say_what_it_wants_does_not_keep_its_connection(store: Store) -> None:
    program = (
        "import so_mcp.http as http; from so_mcp.cli import main\n"
        "http.HEAD_SECONDS = http.BODY_SECONDS = 0.3; http._CONNECTIONS = 12; main()"
    )
    with ExitStack() as stack:
        server = stack.enter_context(served(store, command=(sys.executable, "-c", program)))
        host, port = server.address

        def connected(request: str) -> socket.socket:
            connection = stack.enter_context(socket.create_connection(server.address, timeout=30))
            connection.sendall(request.encode())
            return connection

        def answer(connection: socket.socket) -> bytes:
            return connection.recv(4096)

        def healthy(connection: socket.socket) -> bool:
            connection.sendall(health.encode())
            heard = b""
            while not heard.endswith(b"\r\n\r\nok\n"):
                heard += connection.recv(4096)
            return True

        def ends(connection: socket.socket) -> bool:
            with contextlib.suppress(ConnectionResetError):
                while connection.recv(4096):
                    pass
            return True

        health = f"GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
        patient = connected("")  # between two requests it may take its time
        assert healthy(patient)
        head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 9\r\n"
        known = f"{head}Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        unknown = connected(f"{head}\r\n1")
        assert answer(unknown).startswith(b"HTTP/1.1 401 ")
        slow = [connected(request) for request in (
            "", "POST /mcp HTTP/1.1\r\nHost: ", f"{known}\r\n", f"{known}\r\n1",
            f"{health}GET /hea",
        )]
        assert answer(slow[-1]).startswith(b"HTTP/1.1 200 ")
        for connection in [unknown, *slow]:
            with contextlib.suppress(OSError):  # it was closed before
                for _ in range(3):  # a little now and then does not help
                    connection.sendall(b"1")
            assert ends(connection)
        assert healthy(patient)
        crowd = [connected("") for _ in range(12)]
        assert answer(connected(health)).startswith(b"HTTP/1.1 503 ")
        assert all(ends(connection) for connection in crowd)
        assert healthy(connected(""))


# How it is started ------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_said_so(store: Store, supervisor: Served) -> None:
    port = str(supervisor.address[1])
    done = subprocess.run(
        [COMMAND, "serve", "--http", "--port", port], capture_output=True, text=True, check=False,
        env={**environment(store), "SO_HTTP_TOKEN": TOKEN},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"so-mcp: --port: port {port} of 127.0.0.1 is taken. Name another; 0 is any that is free.\n"
    )


@pytest.mark.parametrize(
    ("options", "token", "expected"),
    [
        ("--http --port 0", None, "there is no token, and no terminal to show a new one on"),
        ("--http --port 0 --host 0.0.0.0", None, "so a token has to be given: "),
        ("--http --host nowhere.invalid", TOKEN, "--host: 'nowhere.invalid' is no address"),
        ("--http --port 70000", TOKEN, "--port: expected 0 to 65535, got 70000."),
        ("--http --rate nan", TOKEN, "--rate: expected 0.01 to 1000000 a second"),
        ("--http --port 0 --allow-host *", TOKEN, "--allow-host: expected a name"),
        ("--http --port 0", "short", "SO_HTTP_TOKEN: expected a token of at least 32"),
        ("--http --token-file /nowhere/token", None, "cannot be read: No such file"),
        ("--rate 3", TOKEN, "serve: --rate is for serving over HTTP. Add --http"),
    ],
)
def test_what_is_not_safe_or_cannot_be_is_refused_with_what_to_do(
    options: str, token: str | None, expected: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if token is None:
        monkeypatch.delenv("SO_HTTP_TOKEN", raising=False)
    else:
        monkeypatch.setenv("SO_HTTP_TOKEN", token)
    assert main(["serve", *options.split()]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert expected in err


def test_an_answer_is_sent_at_once() -> None:
    """asyncio does so where the socket says that it is TCP; else each takes 40 ms more."""
    with listening("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_token_file_is_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SO_HTTP_TOKEN", raising=False)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", "utf-8")
    for mode in (0o640, 0o604, 0o622):
        file.chmod(mode)
        with pytest.raises(ValueError, match="is open to others"):
            given_token(file)
    file.chmod(0o600)
    assert given_token(file) == TOKEN
    for text in ("", "short", f"{TOKEN} {TOKEN}", "é" * 40):
        file.write_text(text, "utf-8")
        with pytest.raises(ValueError, match="Make one: python3"):
            given_token(file)
    monkeypatch.setenv("SO_HTTP_TOKEN", TOKEN)
    with pytest.raises(ValueError, match="both given"):
        given_token(file)


def test_on_a_terminal_a_token_is_made_and_shown_once(store: Store) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, "serve", "--http", "--port", "0"], stdout=theirs, stderr=subprocess.PIPE,
        env=environment(store),
    ) as process:
        os.close(theirs)
        with os.fdopen(ours, encoding="utf-8") as terminal:
            url = terminal.readline().split()[-1]
            token = terminal.readline().split()[-1]

            async def talk() -> None:
                async with over_http(url, token=token) as client:
                    await client.list_tools()

            anyio.run(talk)
            process.terminate()
            with contextlib.suppress(OSError):  # so a terminal ends
                assert terminal.read() == ""
    assert re.fullmatch(r"[0-9a-f]{64}", token)
    assert process.returncode == 128 + signal.SIGTERM


# Writers, and the end ---------------------------------------------------------------------------


def test_fifty_writes_at_once_through_two_processes_are_all_there(own_store: Store) -> None:
    async def write(client: Client, name: str) -> None:
        await told(client, "record", events=[
            {"kind": "say", "speaker": name, "audience": ["Ann", "Bob"], "entity": "e",
             "value": name, "id": name},
        ])

    async def talk() -> None:
        async with (
            over_http(one.url, ERAS[0]) as first, over_http(two.url, ERAS[1]) as second,
            anyio.create_task_group() as group,
        ):
            for number in range(25):
                group.start_soon(write, first, f"first {number}")
                group.start_soon(write, second, f"second {number}")

    with served(own_store) as one, served(own_store) as two:
        anyio.run(talk)
        with memory_of(own_store) as memory:
            names = [f"{process} {number}" for process in ("first", "second") for number in range(25)]
            assert sorted(ids(memory)) == sorted(names)
            assert memory.verify() == []


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_it_whatever_it_does_and_leaves_nothing_behind(
    own_store: Store, end: str
) -> None:
    number = getattr(signal, end)
    acknowledged: list[str] = []
    busy = threading.Event()

    async def write(client: Client, name: str) -> None:
        for count in range(100_000):
            value = f"{name} {count}"
            await told(client, "record", events=[
                {"kind": "say", "speaker": name, "audience": ["Ann", "Bob"], "entity": "e",
                 "value": value, "id": value},
            ])
            acknowledged.append(value)
            if len(acknowledged) == 20:
                busy.set()

    async def writers() -> None:
        with contextlib.suppress(Exception):  # the connection breaks, as it must
            # Of the older protocol, whose clients keep a stream open that nobody ends.
            async with (
                over_http(server.url, ERAS[1]) as client, anyio.create_task_group() as group,
            ):
                for name in ("one", "two", "three"):
                    group.start_soon(write, client, name)

    with served(own_store, "--rate", "100000") as server:
        thread = threading.Thread(target=anyio.run, args=(writers,))
        thread.start()
        assert busy.wait(30)
        server.process.send_signal(number)
        assert server.process.wait(30) == 128 + number
        thread.join(30)
        assert not thread.is_alive()
    if isinstance(own_store, EmbeddedStore):
        assert not is_answering(own_store.socket_path)
    listening(*server.address).close()  # its port is free
    with memory_of(own_store) as memory:
        recorded = ids(memory)
        assert set(acknowledged) <= set(recorded)
        assert len(recorded) - len(acknowledged) <= 3  # one each, whole
        assert memory.verify() == []
