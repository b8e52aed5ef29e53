"""The settings of Claude Code that make it call our hooks."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from so_mcp.config import Config
from so_mcp.errors import InvalidInputError, StoreError
from so_mcp.registration import command, environment

from .claude_code import HOOKS, People

OURS = "hook claude-code"  # by this in its command an entry of ours is known
_SECONDS = 5  # the hook itself gives up after one


def settings(config: Config, people: People) -> dict[str, Any]:
    """The ``hooks`` of a settings file.

    The command ends in ``|| true``: a hook that exits with 2 blocks what the host is about to do,
    and even an so-mcp that was taken away, or knows no hooks yet, must not.
    """
    names = [
        word for option, name, default in (
            ("--user", people.user, People().user), ("--main", people.main, People().main),
        ) if name != default for word in (option, name)
    ]
    needed = environment(None, [config.scenario], config)
    if spool := os.environ.get("SO_SPOOL"):
        needed["SO_SPOOL"] = spool
    env = [f"{key}={value}" for key, value in needed.items()]
    words = [*(["env", *env] if env else []), command(), *OURS.split(), *names]
    hook = {"type": "command", "command": f"{shlex.join(words)} || true", "timeout": _SECONDS}
    return {
        "hooks": {
            event: [{**({} if tools is None else {"matcher": tools}), "hooks": [hook]}]
            for event, tools in HOOKS.items()
        }
    }


def merge(file: Path, ours: Mapping[str, Any]) -> bool:
    """Put our hooks into a settings file, in place of ours from before; whether it changed.

    Everything else in it stays. Raises `InvalidInputError` where it is no settings file, and
    changes nothing then.
    """
    file = file.resolve()  # a link stays one
    before = _read(file)
    after = merged(before, ours)
    if after == before:
        return False
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
        fd, new = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as stream:
                stream.write(json.dumps(after, indent=2, ensure_ascii=False) + "\n")
                os.fchmod(stream.fileno(), mode)
            Path(new).replace(file)
        except BaseException:
            Path(new).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror}. It is as it was.") from error
    return True


def merged(before: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with our hooks in them, once."""
    hooks = {
        event: kept
        for event, groups in before.get("hooks", {}).items()
        if (kept := [group for group in map(_without_ours, groups) if group["hooks"]])
    }
    for event, groups in ours["hooks"].items():
        hooks[event] = [*hooks.get(event, []), *groups]
    return {**before, "hooks": hooks}


def _without_ours(group: Mapping[str, Any]) -> dict[str, Any]:
    return {**group, "hooks": [hook for hook in group["hooks"] if not _is_ours(hook)]}


def _is_ours(hook: Mapping[str, Any]) -> bool:
    said = hook.get("command")
    return isinstance(said, str) and "so-mcp" in said and f" {OURS}" in said


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} cannot be read: {error}. Nothing was changed.") from error
    try:
        found = json.loads(text) if text.strip() else {}
        hooks = found.get("hooks", {})
        fits = all(isinstance(group["hooks"], list) and all(isinstance(h, dict) for h in group["hooks"])
                   for groups in hooks.values() for group in groups)
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        fits = False
    if not fits:
        raise InvalidInputError(
            f"{file} is not a settings file of Claude Code: expected JSON with hooks as it documents "
            "them. Nothing was changed: mend it, or paste what is printed without --write."
        )
    return dict(found)
