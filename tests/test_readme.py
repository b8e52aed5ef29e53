"""The README: every code block runs, every generated part is what the code and the runs say."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import pytest

from eval import docs, results
from eval.faults.attack import Attack
from eval.faults.inputs import Inputs
from eval.faults.kills import Kills
from eval.faults.report import Report
from eval.faults.starts import Starts
from so_mcp import Memory, scenarios
from so_mcp.config import from_environment
from so_mcp.cypher.schema import SCHEMA
from so_mcp.events import EventKind
from so_mcp.world import SETTINGS, Settings

pytestmark = pytest.mark.runs_on("embedded", why="what the README writes is for the embedded database")

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BIN = Path(sys.executable).parent
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


def test_every_block_is_of_a_kind_that_a_test_runs() -> None:
    assert {language for language, _ in BLOCKS} == {"sh", "mermaid", "python", "json", "text"}


def test_the_python_blocks_run_one_after_the_other_and_print_what_they_say(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FALKORDB_LITE_PATH", str(store_path))
    scope: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), scope)
        said = re.findall(r"^# (.+)$", block, flags=re.MULTILINE)
        assert capsys.readouterr().out.splitlines() == said


def commands() -> Iterator[str]:
    for block in blocks("sh"):
        yield from filter(None, block.splitlines())


def test_the_shell_blocks_hold_only_what_is_tried_here() -> None:
    programs = {line.split()[0] for line in commands()}
    assert programs == {"make", "claude", "codex", "so-mcp"}  # two of them: tests/test_hosts.py


def test_the_two_commands_run_the_demo_and_the_suite() -> None:
    for target, recipe in (("demo", "-m so_mcp demo"), ("test", "-m pytest")):
        assert f"make {target}" in list(commands())
        shown = subprocess.run(
            ["make", "--no-print-directory", "-n", "-o", ".venv/.ready", "-o", "checkers", target], cwd=ROOT,
            capture_output=True, text=True, check=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
        ).stdout
        assert shown.startswith(f".venv/bin/python {recipe}")


def test_the_command_line_twins_record_and_ask(store_path: Path) -> None:
    event = {"kind": "say", "speaker": "Billing", "entity": "refund", "value": "approved",
             "audience": ["Maya"]}
    lines = [line for line in commands() if line.startswith(("so-mcp record", "so-mcp call"))]
    assert len(lines) == 2
    printed = ""
    for line in lines:
        words, _, _ = line.partition(" < ")
        printed = subprocess.run(
            [BIN / "so-mcp", *shlex.split(words)[1:]], input=json.dumps(event), text=True,
            capture_output=True, env={"FALKORDB_LITE_PATH": str(store_path)}, check=True,
        ).stdout
    assert json.loads(printed)["value"] == "approved"


def test_the_commands_of_the_tables_run_one_after_the_other(
    store_path: Path, tmp_path: Path
) -> None:
    lines = re.findall(r"^\| `((?:\w+=\S+ )?so-mcp [^`]+)` \|", README, re.MULTILINE)
    env = {"FALKORDB_LITE_PATH": str(store_path), "PATH": f"{BIN}:{os.defpath}"}

    def run(line: str) -> str:
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    with Memory(path=store_path) as memory:  # and nothing has to start the database each time
        scenarios.play(memory, scenarios.load("support"))
        for line in lines:
            if not line.endswith(" demo"):  # tests/test_demo.py
                run(line)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "agents", "old.jsonl", "restored", "store.tar", "support.jsonl"
    ]
    named = set(re.findall(r"\bso-mcp (\w+)", README))
    listed = re.findall(r"^    (\w+)  ", run("so-mcp --help"), re.MULTILINE)
    assert set(listed) <= named, "a command of the command line that the README does not name"


def test_the_kinds_of_the_table_are_those_of_events() -> None:
    [table] = re.findall(r"^\| event \|.*?\n\n", README, re.MULTILINE | re.DOTALL)
    named = [
        kind
        for cell in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
        for kind in re.findall(r"`(\w+)`", cell)
    ]
    assert sorted(named) == sorted(get_args(EventKind))


def test_the_settings_of_the_table_are_those_of_a_scenario_with_their_defaults() -> None:
    [table] = re.findall(r"^\| setting \|.*?\n\n", README, re.MULTILINE | re.DOTALL)
    values, defaults = {}, {}
    for row in re.findall(r"^\| `.+", table, re.MULTILINE):
        name, may_be, default = (re.findall(r"`([\w-]+)`", cell) for cell in row.split("|")[1:4])
        values[name[0]], defaults[name[0]] = tuple(may_be), default[0]
    assert values == SETTINGS
    assert defaults == asdict(Settings())


def test_what_is_generated_is_what_the_code_and_the_runs_say() -> None:
    assert docs.check(docs.DOCUMENTS, docs.ROOT) == 0


def test_a_run_that_was_not_made_is_said_to_be_missing_and_one_that_was_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    assert docs.faults_text().startswith("Not run yet on this code: `.venv/bin/python -m eval faults")
    assert docs.tom_text() != docs.questions_text()
    assert docs.questions_text().startswith("Not run yet")
    results.save("faults", A_FAULT_RUN.figures())
    text = docs.faults_text()
    assert "| of these lost | 2 | 0 |" in text
    assert "| allowed that should not be | 1 | 0 |" in text
    assert text.endswith(f"\n\n{len(A_FAULT_RUN.failures())} findings in 9 rounds of kills (seed 1).\n")
    results.save("tom", {"a set": {"answer": {"all": [3, 4], "-1": [1, 1], "10": [2, 3]}}})
    assert docs.tom_text() == (
        "|  | labels | all | order -1 | order 10 |\n| --- | --- | --- | --- | --- |\n"
        "| a set | answer | 3 / 4 | 1 / 1 | 2 / 3 |\n"
    )
    results.save("questions", {
        "depth": {"all": [5, 5], "0": [1, 1]}, "baselines": {"truth": {"all": [2, 4], "1": [2, 4]}}
    })
    assert docs.questions_text() == (
        "|  | all | depth 0 | depth 1 |\n| --- | --- | --- | --- |\n"
        "| this memory | 5 / 5 | 1 / 1 |  |\n| truth | 2 / 4 |  | 2 / 4 |\n"
    )


A_FAULT_RUN = Report(
    Kills(9, 1, {"database": 3, "supervisor": 6}, 4, 120, 2, 0, 0, 1, [], []),
    Starts(1, 12, 1, 0, 0), Inputs(1, 9, 5, 4, (), (), 0.1), Inputs(1, 9, 5, 4, (), (), 0.1),
    Attack("Ann", 400, 393, ("ping", "keys"), 150, (), 90, 1.0), 60.0,
)


def test_the_variables_of_the_table_are_those_that_are_read() -> None:
    source = (ROOT / "so_mcp" / "config.py").read_text("utf-8")
    read = set(re.findall(r'env\.get\("(\w+)"\)', source))
    table = set(re.findall(r"^\| `(\w+)` \|", README, flags=re.MULTILINE))
    assert {name for name in table if name.startswith(("SO_", "FALKORDB_"))} == read
    assert {v["name"] for v in json.loads((ROOT / "server.json").read_text("utf-8"))
            ["packages"][0]["environmentVariables"]} == read
    assert from_environment({}).scenario == "support"


def test_the_map_of_the_graphs_names_what_is_there() -> None:
    [picture] = blocks("text")
    labels = {node.label for graph in SCHEMA.values() for node in graph.nodes}
    types = {one.type for graph in SCHEMA.values() for one in graph.relationships}
    assert set(re.findall(r"\(:(\w+)", picture)) <= labels
    assert set(re.findall(r"\[:(\w+)", picture)) == types


def test_every_module_has_its_line_on_the_map_and_every_line_its_module() -> None:
    [table] = re.findall(r"^## Where things are\n(.*?)^## ", CONTRIBUTING, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"\b(?:so_mcp|tools|eval|tests|cypher)/[\w/]*\w\b(?:\.\w+)?", table))
    assert [name for name in named if not (ROOT / name).exists()] == []
    modules = {f"so_mcp/{file.name}" for file in (ROOT / "so_mcp").glob("[a-z]*.py")}
    assert sorted(modules - named) == []


def test_the_documents_link_to_what_is_there() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "SEMANTICS.md"):
        text = (ROOT / document).read_text("utf-8")
        links = re.findall(r"\]\(([\w./-]+)\)", text)
        assert [link for link in links if not (ROOT / link).exists()] == [], document
    assert {"SEMANTICS.md", "SECURITY.md"} <= set(re.findall(r"\]\(([\w./-]+)\)", README))


def test_the_registrys_marker_names_the_server() -> None:
    name = json.loads((ROOT / "server.json").read_text("utf-8"))["name"]
    assert f"mcp-name: {name}" in README
