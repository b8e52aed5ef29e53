"""A server behind TLS: its certificate is checked, by a supervisor and by an agent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from eval.servers import memory_of, node, tls
from so_mcp import AgentView
from so_mcp.config import ServerAddress, from_environment
from so_mcp.errors import ConnectionLostError, InvalidInputError


@pytest.fixture(scope="module")
def address() -> Iterator[ServerAddress]:
    """A server behind a TLS proxy whose certificate nobody but these tests trusts."""
    with node() as made, tls(made.address) as address:
        yield address


def test_a_supervisor_and_an_agent_read_and_write_over_tls(address: ServerAddress) -> None:
    with memory_of(address, "desk") as memory:
        memory.set("parcel", "packed", audience=["Shipping"])
        granted = memory.grant("Shipping")
        assert memory.believes("Shipping", "parcel") == "packed"
    with AgentView("Shipping", "desk", replace(address, password=granted.password)) as view:
        assert [held.value for held in view.my_beliefs()] == ["packed"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"tls_ca": None}, "certificate verify failed"),  # nobody whom the system trusts signed it
        ({"host": "localhost"}, "not valid for 'localhost'.*must be a name"),
        ({"tls": False, "tls_ca": None}, "cannot be reached"),
    ],
)
def test_a_server_that_cannot_prove_who_it_is_gets_no_password(
    address: ServerAddress, wrong: dict[str, object], says: str
) -> None:
    with (
        memory_of(replace(address, **wrong), "desk") as memory,  # type: ignore[arg-type]
        pytest.raises(ConnectionLostError, match=says),
    ):
        memory.step()


def test_the_command_line_is_told_by_the_environment(address: ServerAddress) -> None:
    env = {
        "FALKORDB_HOST": address.host, "FALKORDB_PORT": str(address.port),
        "FALKORDB_PASSWORD": str(address.password), "FALKORDB_TLS": "1",
        "FALKORDB_TLS_CA": str(address.tls_ca), "SO_SCENARIO": "from-the-shell",
    }
    for command in (["record"], ["grant", "Ann"], ["doctor"]):
        done = subprocess.run(
            [sys.executable, "-m", "so_mcp", *command], env={**os.environ, **env},
            input='{"kind": "state", "by": "Ann", "entity": "e", "value": "v"}',
            capture_output=True, text=True, encoding="utf-8", check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        if command[0] == "grant":
            assert '"FALKORDB_TLS": "1"' in done.stdout
            assert f'"FALKORDB_TLS_CA": "{address.tls_ca}"' in done.stdout
    server = from_environment(env).server
    assert server is not None
    with memory_of(server, "from-the-shell") as memory:
        assert memory.believes("Ann", "e") == "v"


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"FALKORDB_TLS": "yes"}, "FALKORDB_TLS: expected 1 or 0"),
        ({"FALKORDB_TLS_CA": __file__}, "set FALKORDB_TLS=1"),
        ({"FALKORDB_TLS": "1", "FALKORDB_TLS_CA": "/nowhere.pem"}, "there is no file"),
    ],
)
def test_what_of_tls_makes_no_sense_is_refused(env: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        from_environment({"FALKORDB_HOST": "db.example", **env})
