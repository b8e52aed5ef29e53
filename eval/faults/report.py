"""The parts of the fault run, and what they come to: a table, figures, what is not as promised."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eval.faults.attack import Attack, attack
from eval.faults.hidden import hide
from eval.faults.inputs import Inputs, fuzz, fuzz_wire
from eval.faults.kills import Kills, kills
from eval.faults.starts import Starts, starts
from so_mcp import Memory, scenarios

_SCENARIO, _AGENT = "support", "Shipping"
_SHOWN = 300  # characters of a finding in the table; all of it is in the figures
_NEAR_ONE = (0.9, 1.1)  # time of what is hidden, to that of what does not exist
_KILLS_A_START = 30  # rounds
_SECONDS_OF_INPUT = 0.4  # for each round of kills
_SECONDS_OF_LINES = 0.1
_CALLS = 10  # timed of each kind, for each round of kills; 1,000 at most


@dataclass(frozen=True, slots=True)
class Report:
    """One run: what each part tried and found, and how long all took in seconds."""

    kills: Kills
    starts: Starts
    inputs: Inputs
    lines: Inputs
    attack: Attack
    seconds: float

    def failures(self) -> list[str]:
        """What is not as it was promised; empty when all is."""
        must_be_none = {
            "acknowledged events lost": self.kills.lost,
            "torn": self.kills.torn,
            "events doubled": self.kills.doubled,
            "wrong answers after starts": self.starts.wrong,
            "rounds of starts that left a server behind": self.starts.left_behind,
        }
        must_be_one = {"kills": self.kills.servers, "starts": self.starts.servers}
        ratio = self.attack.ratio
        return [
            *(f"{count} {what}" for what, count in must_be_none.items() if count),
            *(f"{count} servers on one store ({of})" for of, count in must_be_one.items() if count != 1),
            *self.kills.errors,
            *self.kills.examples,
            *(f"{crash.target}: {crash.what} ({crash.given})"
              for crash in (*self.inputs.crashes, *self.lines.crashes)),
            *(f"agent {self.attack.agent}: {found}" for found in self.attack.findings),
            *([f"hidden takes {ratio:.2f} of the time of absent"]
              if ratio is not None and not _NEAR_ONE[0] <= ratio <= _NEAR_ONE[1] else []),
        ]

    def figures(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self) | {"failures": self.failures()}

    def table(self) -> str:
        """The same as text, with what each figure has to be."""
        killed, started, tried = self.kills, self.starts, self.attack
        bad, lines = self.inputs, self.lines
        each = ", ".join(f"{target} {count}" for target, count in killed.kills.items())
        ratio = "not timed" if tried.ratio is None else f"{tried.ratio:.2f}"
        rows: list[tuple[str, object, str]] = [
            (f"kills (-9; {each})", sum(killed.kills.values()), ""),
            ("  of these in the middle of a batch or a start", killed.mid_batch, ""),
            ("events acknowledged", killed.acknowledged, ""),
            ("  lost", killed.lost, "0"),
            ("  torn", killed.torn, "0"),
            ("  doubled", killed.doubled, "0"),
            ("  errors other than 'record it again'", len(killed.errors), "0"),
            ("  servers on one store, at most", killed.servers, "1"),
            (f"concurrent starts ({started.rounds} times {started.processes})",
             started.rounds * started.processes, ""),
            ("  servers on one store, at most", started.servers, "1"),
            ("  wrong answers", started.wrong, "0"),
            ("  servers left behind", started.left_behind, "0"),
            (f"bad inputs tried (calls {bad.tried}, lines {lines.tried})", bad.tried + lines.tried, ""),
            ("  refused with a clear error", bad.refused + lines.refused, ""),
            ("  crashes", len(bad.crashes) + len(lines.crashes), "0"),
            (f"commands tried as an agent ({tried.agent})", tried.commands, ""),
            ("  refused", tried.refused, ""),
            ("  allowed that should not be", len(tried.findings) - len(tried.differing), "0"),
            ("  reads compared, hidden with absent", tried.reads, ""),
            ("  reads that differ", len(tried.differing), "0"),
            (f"  time hidden/absent over {tried.timed} calls", ratio, "0.9-1.1"),
        ]
        table = [f"{what:58}{figure!s:>9}{must and f'   must be {must}'}" for what, figure, must in rows]
        table += ["", f"{killed.rounds} rounds of kills, seed {killed.seed}; {self.seconds:.0f} s in all."]
        failures = self.failures()
        return "\n".join([*table, *(f"FAILED: {line[:_SHOWN]}" for line in failures)])


def measure(rounds: int, seed: int) -> Report:
    """Run every part; ``rounds`` are those of kills, and the other parts shrink and grow with them."""
    began = time.monotonic()
    killed = kills(rounds, seed)
    started = starts(max(1, rounds // _KILLS_A_START))
    bad = fuzz(seed, seconds=rounds * _SECONDS_OF_INPUT)
    lines = fuzz_wire(seed, seconds=rounds * _SECONDS_OF_LINES)
    with (
        TemporaryDirectory(prefix="so-") as folder,
        Memory(_SCENARIO, path=Path(folder) / "store") as memory,
    ):
        scenarios.play(memory, scenarios.load(_SCENARIO))
        hide(memory)
        memory.grant(_AGENT)
        tried = attack(memory, _AGENT, calls=min(1000, rounds * _CALLS))
    return Report(killed, started, bad, lines, tried, round(time.monotonic() - began, 1))
