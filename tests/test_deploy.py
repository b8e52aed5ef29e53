"""The image and docker-compose.yml hold what DEPLOY.md promises.

There is no Docker here. What the files say is run all the same: the database is the bundled one,
started by the same script with the same settings, and answers the same health check; and SecondOrder
is started with the same command and variables.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import redis
import yaml
from redis.backoff import NoBackoff
from redis.retry import Retry

from so_mcp import AgentView, Memory
from so_mcp import config as configuration
from so_mcp.config import ServerAddress, from_environment
from so_mcp.doctor import OK, examine
from so_mcp.embedded import _MODULE_ARGUMENTS, SUPERVISOR_USER, _binaries
from so_mcp.errors import AccessError
from so_mcp.names import mind_key

ROOT = Path(__file__).resolve().parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|KEY")
INSTRUCTION = re.compile(r"^([A-Z]+) (.+)$", re.MULTILINE)
STAND_IN = """\
#!/bin/sh
# What the script of this name in FalkorDB's image does; and the port, which is its own there.
exec redis-server $REDIS_ARGS --protected-mode no --bind 127.0.0.1 --port {port} \
    --dir "$FALKORDB_DATA_PATH" --loadmodule "$FALKORDB_BIN_PATH/falkordb.so" $FALKORDB_ARGS
"""


def settled(text: str, values: dict[str, str]) -> str:
    """A value of docker-compose.yml as Compose passes it on."""
    text = re.sub(r"\$\{(\w+)(?::?[-?]([^}]*))?\}", lambda m: values.get(m[1], m[2] or ""), text)
    return text.replace("$$", "$")


def environment(service: str, values: dict[str, str]) -> dict[str, str]:
    return {name: settled(value, values) for name, value in SERVICES[service]["environment"].items()}


def mounted(path: str) -> str:
    """The file of this checkout that is at that place in the database's container."""
    for volume in SERVICES["falkordb"]["volumes"]:
        source, target, *_ = volume.split(":")
        if target == path and source.startswith("./"):
            return str(ROOT / source)
    raise AssertionError(f"{path} is not mounted")


@dataclass
class Database:
    """The service `falkordb`, made of the bundled binaries."""

    folder: Path
    port: int
    values: dict[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def environ(self) -> dict[str, str]:
        env = environment("falkordb", self.values)
        env["REDIS_ARGS"] = " ".join(mounted(word) for word in shlex.split(env["REDIS_ARGS"]))
        return env | {
            "PATH": f"{self.folder / 'bin'}:{os.defpath}",
            "FALKORDB_DATA_PATH": str(self.folder / "data"),
            "FALKORDB_BIN_PATH": str(self.folder / "bin"),
        }

    @property
    def address(self) -> ServerAddress:
        env = environment("so-mcp", self.values)
        return ServerAddress(
            "127.0.0.1", self.port, env["FALKORDB_USERNAME"], env["FALKORDB_PASSWORD"]
        )

    def start(self) -> None:
        shell, script = SERVICES["falkordb"]["entrypoint"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [shell, mounted(script)], env=self.environ, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 60
        while not self.is_healthy():
            running = self.process.poll() is None and time.monotonic() < deadline
            assert running, (self.folder / "log").read_text()
            time.sleep(0.02)

    def is_healthy(self) -> bool:
        kind, command = SERVICES["falkordb"]["healthcheck"]["test"]
        assert kind == "CMD-SHELL"
        checked = subprocess.run(
            ["/bin/sh", "-c", settled(command, {})], env=self.environ, capture_output=True, check=False
        )
        return checked.returncode == 0

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def memory(self) -> Memory:
        where = self.address
        return Memory("desk", host=where.host, port=where.port, username=where.username,
                      password=where.password)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    folder = Path(tempfile.mkdtemp(prefix="so-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server, module = _binaries()
    (folder / "data").mkdir()
    (folder / "bin").mkdir()
    (folder / "bin" / "redis-server").symlink_to(server)
    (folder / "bin" / "falkordb.so").symlink_to(module)
    client = Path(server).with_name("redis-cli")
    for name, text in {
        "run.sh": STAND_IN.format(port=port),
        "redis-cli": f'#!/bin/sh\nexec {shlex.quote(str(client))} -p {port} "$@"\n',
    }.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    values = {name: secrets.token_hex(32) for name in required()}
    made = Database(folder, port, values)
    try:
        made.start()
        yield made
    finally:
        made.kill()
        shutil.rmtree(folder)


def required() -> set[str]:
    """What Compose refuses to start without."""
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    return set(re.findall(r"\$\{(\w+):\?", text))


def test_the_database_keeps_events_and_logins_when_it_is_killed(database: Database) -> None:
    with database.memory() as memory:
        memory.set("plan", "secret", audience=["Escalation"])
        memory.set("parcel", "packed", audience=["Shipping"])
        granted = memory.grant("Shipping")
    assert granted.lasting
    own = ServerAddress("127.0.0.1", database.port, None, granted.password)

    database.kill()
    database.start()

    with AgentView("Shipping", "desk", own) as view:
        assert [belief.value for belief in view.my_beliefs()] == ["packed"]
        with pytest.raises(AccessError, match="NOPERM"):
            view.database.read(mind_key("desk", "Escalation"), "mind/contents")
    with database.memory() as memory:
        assert memory.believes("Escalation", "plan") == "secret"


def test_nobody_comes_in_without_a_login(database: Database) -> None:
    for password in (None, database.values["FALKORDB_PASSWORD"]):  # of `default`, which is off
        with (
            redis.Redis(port=database.port, password=password, retry=Retry(NoBackoff(), 0)) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.ping()


def test_the_doctor_has_nothing_to_say_about_it(database: Database) -> None:
    env = environment("so-mcp", database.values)
    env |= {"FALKORDB_HOST": "127.0.0.1", "FALKORDB_PORT": str(database.port)}
    checks = examine(from_environment(env))
    assert [str(check) for check in checks if check.verdict != OK] == []


def test_an_answer_is_never_cut_there(database: Database) -> None:
    # FalkorDB's image sets 10,000 rows unless it is told otherwise: more are left out in silence.
    with database.memory() as memory:
        assert memory.database.command("GRAPH.CONFIG", "GET", "RESULTSET_SIZE") == ["RESULTSET_SIZE", -1]


def test_another_password_counts_from_the_next_start_and_agents_keep_theirs(
    database: Database,
) -> None:
    with database.memory() as memory:
        password = memory.grant("Billing").password
    before = database.address
    database.values["FALKORDB_PASSWORD"] = secrets.token_hex(32)
    assert not database.is_healthy()
    database.kill()
    database.start()
    with AgentView("Billing", "desk", ServerAddress("127.0.0.1", database.port, None, password)) as view:
        assert view.my_beliefs() == []
    with (
        Memory("desk", host=before.host, port=before.port, username=before.username,
               password=before.password) as memory,
        pytest.raises(AccessError, match="WRONGPASS"),
    ):
        memory.truth("parcel")


def test_a_password_that_could_be_guessed_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    _, script = SERVICES["falkordb"]["entrypoint"]
    done = subprocess.run(
        ["sh", mounted(script)], capture_output=True, text=True, check=False,
        env={"PATH": os.defpath, "FALKORDB_PASSWORD": "short", "FALKORDB_DATA_PATH": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "FALKORDB_PASSWORD: expected 32 characters or more" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_supervisor_serves_over_http_as_it_is_started_there(database: Database) -> None:
    command = list(SERVICES["so-mcp"]["command"])
    command[command.index("--port") + 1] = "0"
    env = environment("so-mcp", database.values)
    env |= {"FALKORDB_HOST": "127.0.0.1", "FALKORDB_PORT": str(database.port)}
    with subprocess.Popen(
        [sys.executable, "-m", "so_mcp", *command], env=env, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdout is not None
        try:
            port = re.search(r":(\d+)/mcp", server.stdout.readline())[1]  # type: ignore[index]
            kind, _, *check = SERVICES["so-mcp"]["healthcheck"]["test"]
            assert kind == "CMD"
            healthy = [word.replace(":8000/", f":{port}/") for word in check]
            assert healthy != check
            subprocess.run([sys.executable, *healthy], check=True, timeout=30)
            # Containers beside it ask for it by the service's name.
            request = urllib.request.Request(f"http://127.0.0.1:{port}/healthz", headers={"Host": "so-mcp:8000"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.read() == b"ok\n"
        finally:
            server.terminate()
            server.wait(30)


# Every command that FalkorDB Cloud documents as possible in the rights of a user there.
CLOUD_RIGHTS = """~* +INFO +CLIENT +DBSIZE +PING +HELLO +AUTH +RESTORE +DUMP +DEL +EXISTS +UNLINK +TYPE
+FLUSHALL +TOUCH +EXPIRE +PEXPIREAT +TTL +PTTL +EXPIRETIME +RENAME +RENAMENX +SCAN +DISCARD +EXEC
+MULTI +UNWATCH +WATCH +ECHO +SLOWLOG +WAIT +WAITAOF +READONLY +GRAPH.INFO +GRAPH.LIST +GRAPH.QUERY
+GRAPH.RO_QUERY +GRAPH.EXPLAIN +GRAPH.PROFILE +GRAPH.DELETE +GRAPH.CONSTRAINT +GRAPH.SLOWLOG
+GRAPH.BULK +GRAPH.CONFIG +GRAPH.COPY +CLUSTER +COMMAND +GRAPH.MEMORY +MEMORY +BGREWRITEAOF
+MODULE|LIST +MONITOR +GRAPH.UDF"""


def test_the_rights_that_falkordb_cloud_documents_are_too_few_and_nothing_is_recorded(
    database: Database,
) -> None:
    with database.memory() as memory:
        memory.database.command("ACL", "SETUSER", "falkordb", "reset", "on", ">cloud", *CLOUD_RIGHTS.split())
    with Memory(
        "cloud", host="127.0.0.1", port=database.port, username="falkordb", password="cloud"
    ) as there:
        with pytest.raises(AccessError, match=r"NOPERM.*'hgetall'"):
            there.set("refund", "approved", audience=["Maya"])
        with pytest.raises(AccessError, match="NOPERM"):
            there.grant("Maya")
        assert "cloud" not in [stored.name for stored in there.scenarios()]


LIKE_WINDOWS = """
import asyncio, os, platformdirs.unix, subprocess, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fchmod", "fork", "geteuid", "getuid", "killpg"):
    delattr(os, name)
from so_mcp.cli import main
sys.exit(main())
"""


def test_without_what_windows_lacks_a_server_is_used_and_the_embedded_database_says_so(
    database: Database, tmp_path: Path
) -> None:
    def run(command: str, env: dict[str, str], given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", LIKE_WINDOWS, command], input=given, env={"HOME": str(tmp_path)} | env,
            capture_output=True, text=True, check=False, cwd=ROOT,
        )

    env = environment("so-mcp", database.values)
    env |= {"FALKORDB_HOST": "127.0.0.1", "FALKORDB_PORT": str(database.port), "SO_SCENARIO": "windows"}
    event = {"kind": "state", "entity": "parcel", "value": "packed", "audience": ["Shipping"]}
    recorded = run("record", env, json.dumps(event))
    assert recorded.returncode == 0, recorded.stderr
    assert json.loads(recorded.stdout)["step"] == 1
    refused = run("verify", {})
    assert refused.returncode == 1
    assert "The embedded database does not run on Windows. Use a FalkorDB server" in refused.stderr


def test_nothing_starts_without_its_secrets_and_none_is_in_a_file() -> None:
    for service, settings in SERVICES.items():
        for name, value in settings.get("environment", {}).items():
            if SECRET.search(name):
                asked = re.fullmatch(r"\$\{(\w+)(:\?.+)?\}", value)
                assert asked, f"{service}: {name} is written down"
                assert asked[1] in required(), f"{service}: {name} may be missing"
    assert {"FALKORDB_PASSWORD", "SO_HTTP_TOKEN"} <= required()
    assert not any(SECRET.search(line) for name, line in instructions() if name in {"ARG", "ENV"})


def test_every_variable_is_one_that_so_mcp_knows() -> None:
    known = set(re.findall(r"^\| ``(\w+)``", configuration.__doc__ or "", re.MULTILINE))
    assert {"SO_AGENT", "FALKORDB_HOST"} <= known
    assert set(SERVICES["so-mcp"]["environment"]) <= known
    set_in_image = re.findall(r"\b((?:SO|FALKORDB)_\w+)=", (ROOT / "Dockerfile").read_text("utf-8"))
    assert set(set_in_image) <= known


def test_only_this_machine_reaches_what_is_published_and_the_database_reaches_nothing() -> None:
    published = yaml.safe_load((ROOT / "deploy" / "publish-database.yml").read_text("utf-8"))
    for services in (SERVICES, published["services"]):
        for settings in services.values():
            assert all(port.startswith("127.0.0.1:") for port in settings.get("ports", []))
    assert "ports" not in SERVICES["falkordb"]
    assert [COMPOSE["networks"][name] for name in SERVICES["falkordb"]["networks"]] == [
        {"internal": True}
    ]
    assert set(SERVICES["falkordb"]["networks"]) < set(SERVICES["so-mcp"]["networks"])


def test_the_database_has_a_volume_the_embedded_settings_and_an_engine_of_the_tested_kind() -> None:
    falkordb = SERVICES["falkordb"]
    [volume] = [volume for volume in falkordb["volumes"] if not volume.startswith("./")]
    assert volume.split(":")[0] in COMPOSE["volumes"]
    assert falkordb["environment"]["FALKORDB_ARGS"] == _MODULE_ARGUMENTS
    assert SERVICES["so-mcp"]["environment"]["FALKORDB_USERNAME"] == SUPERVISOR_USER
    for settings in SERVICES.values():
        if "build" not in settings:
            assert re.search(r":v\d+\.\d+\.\d+$", settings["image"]), "an image without its version"
    assert ":v4.22." in falkordb["image"]


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text("utf-8"))
    return [(found[1], found[2]) for found in INSTRUCTION.finditer(text)]


def test_the_image_installs_the_tested_versions_and_compiles_nothing() -> None:
    installs = [line for _, line in instructions() if "/pip install" in line]
    assert installs
    for line in installs:
        assert "--constraint requirements.lock" in line
        assert "--only-binary :all:" in line
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = {line.split("==")[0].lower() for line in lock.splitlines() if "==" in line}
    for dependency in project["dependencies"]:
        assert re.split(r"[^\w-]", dependency)[0].lower() in pinned, dependency
    base = dict(line.split("=", 1) for name, line in instructions() if name == "ARG")["BASE"]
    # Debian 13 has glibc 2.41, and the wheel of the database needs 2.38.
    assert re.fullmatch(r"python:3\.1[2-4]-slim-trixie", base)
    assert f"Programming Language :: Python :: {base[7:11]}" in project["classifiers"]


def test_the_image_runs_as_nobody_special_and_keeps_its_store_in_a_volume() -> None:
    last = {name: line for name, line in instructions() if name != "ARG"}
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", last["USER"])
    store = PurePosixPath(re.search(r"FALKORDB_LITE_PATH=(\S+)", last["ENV"])[1])  # type: ignore[index]
    assert store.is_relative_to(last["VOLUME"])
    assert json.loads(last["ENTRYPOINT"]) == ["tini", "--", "so-mcp"]  # passes signals on
    server = json.loads((ROOT / "server.json").read_text("utf-8"))
    assert f'io.modelcontextprotocol.server.name="{server["name"]}"' in last["LABEL"]


def test_the_image_is_built_from_the_package_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["setuptools"]["package-dir"].values()
    assert let_in == {
        *(package.split("/")[0] for package in packages), "pyproject.toml", "requirements.lock",
        project["project"]["readme"], *project["project"]["license-files"],
    }


def test_the_page_names_what_is_there() -> None:
    page = (ROOT / "DEPLOY.md").read_text("utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert (ROOT / link).is_file(), link
    for name in re.findall(r"`(?:tests/)?(test_\w+\.py)`", page):
        assert (ROOT / "tests" / name).is_file(), name
    for settings in SERVICES.values():
        if "build" not in settings:
            assert f"`{settings['image'].removeprefix('falkordb/')}`" in page
    known = set(re.findall(r"^\| ``(\w+)``", configuration.__doc__ or "", re.MULTILINE))
    assert set(re.findall(r"\b(?:SO|FALKORDB)_[A-Z_]+\b", page)) <= known | {"FALKORDB_ARGS"}
