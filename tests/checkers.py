"""The checkers that npm brings: a test that needs one is skipped where it is not, but not in CI."""

from __future__ import annotations

from absent import absent

from eval.hosts.node import command
from eval.hosts.trials import NotRun


def need(name: str) -> None:
    """Skip the test, and say why, if this program cannot be run here; under CI=true fail."""
    try:
        command(name)
    except NotRun as reason:
        absent(f"{reason}")
