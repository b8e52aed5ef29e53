"""What is tried with hosts and checkers, and what came of it: one `Trial`, one row of the table.

A module of `MODULES` has ``trials(programs) -> Iterator[Trial]``, where ``programs`` is the folder in
which the programs of hosts are, None if none was named. What a trial needs, it starts when it is run
and has stopped when it ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

MODULES = (
    "eval.hosts.inspector",
    "eval.hosts.conformance",
    "eval.hosts.servers",
    "eval.hosts.registrations",
    "eval.hosts.programs",
    "eval.hosts.packages",
    "eval.hosts.frameworks",
)


class NotRun(Exception):  # noqa: N818 - no error: what would be tried is not here
    """Raised by a trial for want of the thing itself; its message says what is missing."""


@dataclass(frozen=True)
class Trial:
    """One thing to try; ``run`` gives the result in words, such as "12 of 12".

    ``run`` raises `NotRun` where the thing is not there; any other exception is a failure, and its
    message is the result.
    """

    who: str  # the host or checker, with its version where that is known
    tried: str
    run: Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    """What came of one; ``ok`` is None if it could not be run."""

    who: str
    tried: str
    result: str
    ok: bool | None


class _Module(Protocol):
    def trials(self, programs: Path | None) -> Iterator[Trial]: ...


def all_trials(programs: Path | None, only: str | None = None) -> Iterator[Trial]:
    """Those of every module; of which ``only``, a word, is in ``who`` or ``tried``."""
    for name in MODULES:
        for trial in cast("_Module", import_module(name)).trials(programs):
            if only is None or only.casefold() in f"{trial.who} {trial.tried}".casefold():
                yield trial


def outcome(trial: Trial) -> Outcome:
    """Run one."""
    try:
        return Outcome(trial.who, trial.tried, trial.run(), ok=True)
    except NotRun as reason:
        return Outcome(trial.who, trial.tried, f"not run: {reason}", ok=None)
    except Exception as error:  # noqa: BLE001 - the others are to be tried too
        return Outcome(trial.who, trial.tried, f"failed: {_message(error)}", ok=False)


def outcomes(trials: Iterable[Trial]) -> Iterator[tuple[Outcome, float]]:
    """Run them in turn; each with the seconds it took."""
    for trial in trials:
        start = time.monotonic()
        yield outcome(trial), time.monotonic() - start


def every(parts: Mapping[str, Callable[[], object]]) -> str:
    """Try each part, as many at once as there are processors: "12 of 12".

    Raises `AssertionError`, with the name and the message of each that failed, or `NotRun`.
    """

    def failure(name: str) -> str | None:
        try:
            parts[name]()
        except NotRun:
            raise
        except Exception as error:  # noqa: BLE001 - the others are to be tried too
            return f"{name}: {_message(error)}"
        return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [found for found in pool.map(failure, parts) if found]
    done = f"{len(parts) - len(failed)} of {len(parts)}"
    assert not failed, "\n".join([done, *failed])
    return done


def _message(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{error}" or type(error).__name__
