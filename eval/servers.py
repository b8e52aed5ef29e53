"""FalkorDB servers on loopback ports, made of the bundled binaries: there is no Docker here.

One alone, with replicas, behind a TLS proxy (stunnel, from Debian), or three as a cluster. Each has
a password and keeps its users in a file, as a server that several machines use should. What starts
here ends with the block that it was started for, and with the process that started it.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import redis

from so_mcp import Memory
from so_mcp.config import ServerAddress
from so_mcp.embedded import _MODULE_ARGUMENTS, EmbeddedStore, _binaries
from so_mcp.grants import Store

HOST = "127.0.0.1"
PASSWORD = "a_server's_password"  # noqa: S105 - of servers that live for a test; the file of users has no quotes

DATABASES = ("embedded", "server", "cluster")
# As DEPLOY.md says; `hz`: how soon the end of a copy for a fork is noticed.
_LASTING = ("appendonly yes", "hz 100")
# Of a node of a cluster. On a busy machine a replica may not have heard from its primary for long;
# it is to take over all the same.
CLUSTERED = (
    "cluster-enabled yes", "cluster-node-timeout 2000", "cluster-replica-validity-factor 0",
)


class MissingProgramError(Exception):
    """A program that is not part of this project is not on this machine; the message names it."""


@dataclass(frozen=True)
class Node:
    """A server's process, and an administrator's connection to it that nothing of ours made."""

    address: ServerAddress
    process: subprocess.Popen[bytes]
    client: redis.Redis

    @property
    def port(self) -> int:
        """The port that it listens on, without TLS."""
        return self.address.port

    def stop(self) -> None:
        """End it as an operator does; what was acknowledged is in its file."""
        self.process.terminate()
        self.process.wait()

    def empty(self) -> None:
        """As it was when it was made: no key, and nobody but the administrator."""
        client: Any = self.client
        client.flushall()
        if others := [user for user in client.acl_users() if user != "default"]:
            client.acl_deluser(*others)
            client.acl_save()


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until it is so; raises `TimeoutError` where it never is."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so after {seconds:.0f} seconds")


def agrees(one: Node) -> bool:
    """Whether a node of a cluster thinks that all of it can be used."""
    client: Any = one.client
    return bool(client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")


def free_port() -> int:
    """A port nobody listens on, nor on the one 10,000 above it, which a cluster's node takes too."""
    while True:
        with socket.socket() as probe, socket.socket() as bus:
            probe.bind((HOST, 0))
            port: int = probe.getsockname()[1]
            try:
                bus.bind((HOST, port - 10_000))
            except (OSError, OverflowError):
                continue
            return port - 10_000


@contextmanager
def node(*lines: str, folder: Path | None = None, port: int | None = None) -> Iterator[Node]:
    """A server with further ``lines`` in its configuration, stopped afterwards.

    With ``folder`` it has the files that are there, which stay: so a server is started again.
    """
    with ExitStack() as stack:
        folder = folder or stack.enter_context(_folder())
        port = port or free_port()
        server, module = _binaries()
        users = folder / "users.acl"
        if not users.exists():
            users.write_text(f"user default on >{PASSWORD} ~* &* +@all\n", "utf-8")
        (folder / "redis.conf").write_text("\n".join([
            f"port {port}", f"bind {HOST}", f"dir {folder}", 'save ""', f"logfile {folder}/log",
            f"aclfile {users}", f'masterauth "{PASSWORD}"', "repl-diskless-sync-delay 0",
            f"loadmodule {module} {_MODULE_ARGUMENTS}", *lines, "",
        ]), "utf-8")
        process = stack.enter_context(_running(server, str(folder / "redis.conf")))
        client = stack.enter_context(
            redis.Redis(port=port, password=PASSWORD, decode_responses=True)
        )
        while True:
            try:
                client.ping()
                break
            except (redis.ConnectionError, redis.BusyLoadingError):
                if process.poll() is not None:
                    raise RuntimeError((folder / "log").read_text("utf-8")) from None
        yield Node(ServerAddress(HOST, port, None, PASSWORD), process, client)


@contextmanager
def replica(of: Node) -> Iterator[Node]:
    """A server that follows another and has all that was written there so far."""
    with node(f"replicaof {HOST} {of.port}") as made:
        client: Any = made.client
        until(lambda: client.info("replication")["master_link_status"] == "up")
        yield made


@contextmanager
def cluster(nodes: int = 3, *lines: str) -> Iterator[list[Node]]:
    """Several servers that share the hash slots among them, as `redis-cli` makes such a cluster."""
    with ExitStack() as stack:
        made = [
            stack.enter_context(node(*CLUSTERED, *lines))
            for _ in range(nodes)
        ]
        program = Path(_binaries()[0]).with_name("redis-cli")
        subprocess.run(  # noqa: S603 - the bundled program, and ports of ours
            [program, "--cluster", "create", *(f"{HOST}:{one.port}" for one in made),
             "--cluster-yes"],
            env={**os.environ, "REDISCLI_AUTH": PASSWORD}, check=True, capture_output=True,
        )
        for one in made:
            until(partial(agrees, one))
        yield made


def stunnel() -> str:
    """The TLS proxy's program; raises `MissingProgramError` where there is none."""
    for name in ("stunnel4", "stunnel"):
        if found := shutil.which(name):
            return found
    raise MissingProgramError("no TLS proxy: apt-get install stunnel4")


@contextmanager
def tls(address: ServerAddress) -> Iterator[ServerAddress]:
    """The same server behind a TLS proxy, whose certificate was signed for `HOST` by nobody known."""
    program = stunnel()
    with _folder() as folder:
        certificate, key = folder / "certificate.pem", folder / "key.pem"
        subprocess.run(  # noqa: S603 - nothing of it is given from outside
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",  # noqa: S607
             "-nodes", "-keyout", key, "-out", certificate, "-days", "1", "-subj", "/CN=so-mcp tests",
             "-addext", f"subjectAltName=IP:{HOST}"],
            check=True, capture_output=True,
        )
        port = free_port()
        configuration = folder / "stunnel.conf"
        configuration.write_text(
            f"foreground = yes\npid =\n[falkordb]\naccept = {HOST}:{port}\n"
            f"connect = {address.host}:{address.port}\ncert = {certificate}\nkey = {key}\n",
            "utf-8",
        )
        with _running(program, str(configuration)) as process:
            while True:
                try:
                    socket.create_connection((HOST, port)).close()
                    break
                except ConnectionRefusedError:
                    if process.poll() is not None:
                        raise RuntimeError("the TLS proxy has ended") from None
            yield replace(address, port=port, tls=True, tls_ca=str(certificate))


def owner(nodes: Sequence[Node], key: str) -> Node:
    """That of a cluster's nodes which holds a key: the only one that does not name another."""
    for one in nodes:
        with suppress(redis.exceptions.MovedError):
            one.client.exists(key)
            return one
    raise RuntimeError(f"no node holds {key}")


@contextmanager
def database(kind: str) -> Iterator[tuple[Store, list[Node]]]:
    """An empty database, one of `DATABASES`, and the nodes of it that are servers of ours.

    ``embedded``: in a folder that is not made yet; ``server``: one behind TLS; ``cluster``: three.
    """
    with ExitStack() as stack:
        if kind == "embedded":
            store = EmbeddedStore(stack.enter_context(_folder()) / "store")
            stack.callback(EmbeddedStore(store.path).stop)
            yield store, []
        elif kind == "server":
            made = stack.enter_context(node(*_LASTING))
            yield stack.enter_context(tls(made.address)), [made]
        else:
            nodes = stack.enter_context(cluster(3, *_LASTING))
            yield nodes[0].address, nodes


@contextmanager
def running() -> Iterator[EmbeddedStore]:
    """An empty embedded database that runs for as long as the block lasts, whoever leaves it."""
    with _folder() as folder:
        store = EmbeddedStore(folder / "store")
        store.attach()
        try:
            yield store
        finally:
            store.stop()


def memory_of(store: Store, scenario: str = "support", **settings: Any) -> Memory:
    """A supervisor's memory there."""
    if isinstance(store, EmbeddedStore):
        return Memory(scenario, path=store.path, **settings)
    return Memory(
        scenario, host=store.host, port=store.port, username=store.username,
        password=store.password, tls=store.tls, tls_ca=store.tls_ca, **settings,
    )


def answer(
    memory: Memory, chain: Sequence[str], entity: str, as_of: int | str | None = None
) -> str | None:
    """What a chain believes; what is so, of an empty one."""
    return memory.believes(chain, entity, as_of) if chain else memory.truth(entity, as_of)


def holder(store: ServerAddress, key: str | None) -> ServerAddress:
    """The node of a cluster that holds a key: on loopback they differ in their ports."""
    if key is None or store.tls:  # the proxy is before one server
        return store
    with redis.Redis(
        host=store.host, port=store.port, username=store.username, password=store.password
    ) as made:
        try:
            made.exists(key)
        except redis.exceptions.MovedError as moved:
            return replace(store, port=int(moved.port))
    return store


def bare_socket(store: Store, *, holding: str | None = None) -> socket.socket:
    """A connection without any client library; of a cluster to the node that holds a key."""
    if isinstance(store, EmbeddedStore):
        made = socket.socket(socket.AF_UNIX)
        made.connect(store.socket_path)
        return made
    store = holder(store, holding)
    made = socket.create_connection((store.host, store.port))
    if not store.tls:
        return made
    context = ssl.create_default_context(cafile=store.tls_ca)
    return context.wrap_socket(made, server_hostname=store.host)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="so-") as path:
        yield Path(path)


@contextmanager
def _running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended with the block, and by the system if we are killed."""
    if shutil.which("setpriv"):  # Linux
        command = ("setpriv", "--pdeathsig", "TERM", *command)
    with subprocess.Popen(  # noqa: S603 - see those who call it
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
