"""`python -m eval hosts`: what it does with what it tries; and the checkers that npm brings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from checkers import need

from eval import docs, results
from eval.__main__ import main
from eval.hosts import node, trials
from eval.hosts.bearer import bearer
from eval.hosts.conformance import scenario
from eval.hosts.served import listening, told_store
from eval.hosts.trials import NotRun, Trial, every

NODE = Path(__file__).resolve().parents[1] / "third_party" / "node"


def passes() -> str:
    return "2 of 2"


def fails() -> str:
    raise ExceptionGroup("", [ValueError("expected a list |\nof two")])


def is_missing() -> str:
    raise NotRun("no such host here")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Runs the command with these as all there is to try, its results in a folder of its own."""

    def run(made: list[Trial], *arguments: str) -> int:
        module = SimpleNamespace(trials=lambda _: iter(made))
        monkeypatch.setattr(results, "FOLDER", tmp_path)
        monkeypatch.setattr(trials, "MODULES", ("eval.hosts.tried",))
        monkeypatch.setitem(sys.modules, "eval.hosts.tried", module)
        return main(["hosts", *arguments])

    return run


def test_what_passed_failed_and_was_not_run_stands_in_the_table(
    tried: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    made = [Trial("A", "starts", passes), Trial("B", "lists", fails), Trial("C", "asks", is_missing)]
    assert tried(made, "--save") == 1
    assert [(row["who"], row["ok"]) for row in results.load("hosts")] == [
        ("A", True), ("B", False), ("C", None)
    ]
    assert docs.hosts_text().splitlines()[2:] == [
        "| A | starts | 2 of 2 |",
        "| B | lists | failed: expected a list \\| of two |",
        "| C | asks | not run: no such host here |",
    ]
    assert "FAILED" in capsys.readouterr().out


def test_what_is_not_here_is_no_failure_and_a_part_is_not_kept(
    tried: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [Trial("A", "starts", passes), Trial("B", "lists", fails), Trial("C", "asks", is_missing)]
    assert tried(made, "--only", "START") == 0
    assert tried(made, "--only", "c") == 0
    assert tried(made, "--only", "nonesuch") == 1
    assert tried(made, "--only", "a", "--save") == 1
    assert tried(made, "--programs", str(tmp_path / "absent")) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Nothing was tried: nothing has 'nonesuch' in it."
    assert said[1] == "--save keeps all results: leave out --only."
    assert said[2].startswith("--programs: expected a folder, got ")
    assert not (tmp_path / "hosts.json").exists()


def test_of_several_parts_each_that_failed_is_named() -> None:
    assert every({"one": passes, "two": passes}) == "2 of 2"
    with pytest.raises(AssertionError) as caught:
        every({"one": passes, "two": fails, "three": fails})
    assert str(caught.value).splitlines()[:2] == ["1 of 3", "two: expected a list |"]
    with pytest.raises(NotRun):
        every({"one": passes, "two": is_missing})


def test_the_wires_figures_stand_in_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "| `tools/list`, supervisor | " in docs.wire_text()
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    assert "eval wire --save" in docs.wire_text()
    writers = {"acknowledged": 50, "there": 49, "differences": 2}
    ways = {"stdio": {"p50 ms": 1.25, "p99 ms": 2}, "HTTP": {"p50 ms": 3, "p99 ms": 4}}
    results.save("wire", {
        "tools/list": {"agent": {"tools": 9, "tokens": 1500, "bytes / 4": 1600}},
        "start": {way: {"p50 s": 0.5, "max s": 1} for way in ways},
        "read": ways, "write": ways, "writers": dict.fromkeys(ways, writers),
    })
    lines = docs.wire_text().splitlines()
    assert "| read, two deep, p50 and p99, ms | 1.2, 2.0 | 3.0, 4.0 |" in lines
    assert "| 50 writes at once by two processes: acknowledged, there afterwards | 50, 49 | 50, 49 |" in lines
    assert "| and minds that differ from a replay of the log | 2 | 2 |" in lines
    assert lines[-1] == "| `tools/list`, agent | 9 | 1,500 | 1,600 |"


# The checkers ----------------------------------------------------------------------------------


def test_they_are_pinned_by_version_and_hash_and_by_no_address() -> None:
    package = json.loads((NODE / "package.json").read_text("utf-8"))
    pins = {
        name: version for kind in ("dependencies", "optionalDependencies")
        for name, version in package[kind].items()
    }
    lock = json.loads((NODE / "package-lock.json").read_text("utf-8"))["packages"]
    locked = {path.removeprefix("node_modules/"): of for path, of in lock.items() if path}
    assert {name: locked[name]["version"] for name in pins} == pins
    assert [name for name, of in locked.items() if not of.get("integrity", "").startswith("sha512-")] == []
    assert [name for name, of in locked.items() if "resolved" in of] == []


@pytest.mark.parametrize(("ci", "ended"), [("", "Skipped"), ("true", "Failed")])
def test_where_one_is_not_a_test_says_why_and_in_ci_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, ended: str
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(node, "FOLDER", tmp_path)
    with pytest.raises(BaseException, match=r"mcp-inspector is not installed; .* make checkers") as caught:
        need("mcp-inspector")
    assert type(caught.value).__name__ == ended


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A copy of what is needed to install them; nothing is, and there is no npm."""
    for name in ("setup", "package.json", "package-lock.json"):
        shutil.copy(NODE / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("dirname", "cmp", "cp"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    return tmp_path


def set_up(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shutil.which("sh") or "sh", str(folder / "setup")], env={"PATH": str(folder / "bin"), **env},
        capture_output=True, text=True, check=False,
    )


def npm(folder: Path, script: str) -> None:
    """One that does this instead of installing."""
    file = folder / "bin" / "npm"
    file.write_text(f"#!{shutil.which('sh')}\n{script}\n")
    file.chmod(0o755)


@pytest.mark.parametrize("fault", ["there is no npm on PATH.", "npm failed, as it says above."])
def test_without_npm_or_where_it_fails_only_ci_stops(folder: Path, fault: str) -> None:
    if "failed" in fault:
        npm(folder, "echo 'npm error: no network' >&2; exit 1")
    done = set_up(folder)
    assert done.returncode == 0
    assert fault in done.stderr
    assert done.stderr.endswith("What needs them is skipped.\n")
    done = set_up(folder, CI="true")
    assert done.returncode == 1
    assert fault in done.stderr
    assert done.stderr.endswith("Under CI=true they have to be there.\n")


def test_they_are_installed_once_and_again_when_the_lock_file_is_another(folder: Path) -> None:
    npm(folder, f'echo "$@" >> "{folder}/calls"; {shutil.which("mkdir")} -p node_modules')
    for _ in range(2):
        assert set_up(folder, CI="true").returncode == 0
    [call] = (folder / "calls").read_text().splitlines()
    assert call.startswith("ci --ignore-scripts ")
    with (folder / "package-lock.json").open("a") as lock:
        lock.write("\n")
    assert set_up(folder).returncode == 0
    assert len((folder / "calls").read_text().splitlines()) == 2


def test_the_conformance_suite_fails_a_server_that_it_cannot_enter() -> None:
    need("conformance")
    with (
        told_store() as store, listening(store, "agent") as server,
        bearer(server.url, "a wrong token") as url,
        pytest.raises(AssertionError, match="Authorization: Bearer TOKEN"),
    ):
        scenario("ping", "2025-11-25", url, store.home)
