"""`make demo` prints something worth reading, true to the database, and leaves nothing behind."""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from so_mcp import Memory, demo, scenarios

pytestmark = pytest.mark.runs_on("embedded", why="the demonstration is on an embedded store")

if TYPE_CHECKING:
    from so_mcp.recorder import Record


class Terminal(io.StringIO):
    """Somewhere that a person looks at."""

    def isatty(self) -> bool:
        return True


def processes_of(folder: Path) -> list[str]:
    """The command lines of running processes that name a folder."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "args"], check=True, capture_output=True, text=True
    )
    return [line for line in listed.stdout.splitlines() if str(folder) in line]


@pytest.fixture(scope="module")
def printed() -> str:
    out = io.StringIO()
    assert demo.main(out) == 0
    return out.getvalue()


def section(printed: str, number: int) -> list[str]:
    """The lines under one heading, without indentation."""
    lines = printed.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"{number}. "))
    return [line.strip() for line in lines[start + 1 : lines.index("", start)]]


def test_the_demo_fits_a_terminal_and_is_plain_text(printed: str):
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 90
    assert all(line == line.rstrip() for line in lines)
    assert printed.isascii()
    assert "\x1b" not in printed


def test_every_event_is_a_line_with_its_time_and_who_saw_it(printed: str):
    story = section(printed, 1)
    assert len(story) == 1 + len(scenarios.load("support").events)
    assert '09:21  B...M  Billing: "Done. Your refund is approved."    => refund_4411: approved' in story
    assert '09:52  BF...  Finance: "No. We replace what is broken."    => refund_4411: rejected' in story
    assert "09:26  B...M  Maya leaves chat" in story
    assert any(line.endswith("-> Maya believes refund_4411: approved") for line in story)


def test_beliefs_stand_against_the_truth_and_the_false_ones_are_marked(printed: str):
    cells = [line.split("  ") for line in section(printed, 2)]
    table = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in cells}
    assert table["in truth"] == ["broken", "7 Oak Lane", "rejected", "packed"]
    assert table["Maya"] == ["broken", "7 Oak Lane", "approved (false)", "-"]
    assert table["Shipping"] == ["broken", "12 Elm Street (false)", "-", "packed"]
    assert "Maya thinks Billing believes refund_4411 is 'approved' (really 'rejected')" in section(
        printed, 2
    )


def test_each_error_comes_with_what_was_missed_and_who_could_put_it_right(printed: str):
    gaps = [" ".join(line.split()) for line in section(printed, 3)]
    assert gaps[1:] == [
        "Billing replacement_4411 missed 10:14 Shipping: packed Escalation",
        "Finance replacement_4411 missed 10:14 Shipping: packed Escalation",
        "Escalation address_4411 heard 10:15 Shipping: 12 Elm Street nobody",
        "Shipping address_4411 missed 09:24 Maya: 7 Oak Lane Billing",
        "Maya refund_4411 missed 09:52 Finance: rejected Billing, Finance, Escalation",
        "Has not heard: Finance of address_4411, Shipping of refund_4411, Maya of replacement_4411.",
    ]


def test_the_words_for_a_model_are_those_of_context_for(printed: str, memory: Memory):
    scenarios.play(memory, scenarios.load("support"))
    words = " ".join(" ".join(section(printed, 4)).split())
    for agent, other in (("Escalation", "Maya"), ("Billing", "Shipping")):
        context = " ".join(memory.context_for(agent, talking_to=other).split())
        assert f"{agent}, talking to {other}: {context}" in words


def test_shipping_reads_its_own_mind_and_the_database_refuses_another_and_the_log(printed: str):
    lines = section(printed, 5)
    asked = [line.split()[2] for line in lines if line.startswith("> ")]
    answers = [lines[n + 1] for n, line in enumerate(lines) if line.startswith("> ")]
    assert asked == ["so:{support}:mind:Shipping", "so:{support}:mind:Escalation", "so:{support}:world"]
    assert answers[0] == "5 beliefs, of order_4411, address_4411 and replacement_4411"
    assert answers[1].startswith("NOPERM ")
    assert answers[2].startswith("NOPERM ")


def test_a_database_that_refuses_nothing_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, store_path: Path
):
    monkeypatch.setattr(demo, "_attempts", lambda *_: [demo.Attempt("read", [], None)] * 3)
    assert demo.main(io.StringIO(), store_path) == 1


def test_a_terminal_gets_colour_and_the_same_words(
    monkeypatch: pytest.MonkeyPatch, store_path: Path, printed: str
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    assert demo.main(out, store_path) == 0
    assert "\x1b[31m (false)\x1b[0m" in out.getvalue()
    for code in ("\x1b[1m", "\x1b[31m", "\x1b[0m"):
        out = Terminal(out.getvalue().replace(code, ""))
    assert out.getvalue() == printed


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch, store_path: Path, printed: str):
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    assert demo.main(out, store_path) == 0
    assert out.getvalue() == printed


def test_without_an_argument_it_prints_to_standard_output(
    capsys: pytest.CaptureFixture[str], printed: str
):
    assert demo.main() == 0
    assert capsys.readouterr().out == printed


def test_afterwards_neither_folder_nor_process_is_left(monkeypatch: pytest.MonkeyPatch):
    with tempfile.TemporaryDirectory(prefix="so-") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        seen = spy_on_playing(monkeypatch, Path(name))
        assert demo.main(io.StringIO()) == 0
        assert len(seen) == 1, "the database ran there meanwhile"
        assert processes_of(Path(name)) == []
        assert list(Path(name).iterdir()) == []


def test_an_error_in_the_middle_leaves_nothing_either(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(prefix="so-") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        monkeypatch.setattr(demo, "_attempts", fail)
        seen = spy_on_playing(monkeypatch, Path(name))
        with pytest.raises(KeyboardInterrupt):
            demo.main(io.StringIO())
        assert len(seen) == 1, "the database ran there meanwhile"
        assert processes_of(Path(name)) == []
        assert list(Path(name).iterdir()) == []


def spy_on_playing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[str]:
    """Filled, once the story has been played, with the processes that then name the folder."""
    seen: list[str] = []
    play = scenarios.play

    def play_and_look(memory: Memory, scenario: scenarios.Scenario) -> Record:
        record = play(memory, scenario)
        seen.extend(processes_of(folder))
        return record

    monkeypatch.setattr(scenarios, "play", play_and_look)
    return seen
