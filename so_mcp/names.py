"""Names of scenarios, agents, rooms and entities; and the keys that are made of them.

A name is any printable Unicode text, NFC-normalised and case-sensitive: ``Shipping`` and
``shipping`` are two agents. In a key of the database every name is percent-encoded, because
key patterns of the access rules are globs: an agent called ``*`` must not match every mind.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, unquote

from .errors import InvalidInputError, InvalidNameError

MAX_NAME = 200
MAX_TEXT = 20_000
_LONGEST_GIVEN = 4 * MAX_NAME  # a letter and its marks, up to four characters, may become one
_MARKS = 30  # on one letter
_FORK = "\x1f"
EPOCH = "epoch"
_WORLD_KEY = re.compile(r"so:\{([^{}:]+)\}:world")
_MIND_KEY = re.compile(r"so:\{([^{}:]+)\}:mind:([^{}:]+)")
_JOINERS = "\u200c\u200d"  # within emoji, and within words of several scripts
_NEAR = 80  # of 100: "maya"/"Maya" and "refnd"/"refund" are near, "Ann"/"Bob" are not


def normal_name(name: object, what: str, *, group: bool = False) -> str:
    """Return ``name`` NFC-normalised, or raise `InvalidNameError`; ``what`` says what it names.

    ``group``: it may be the name of a group, which begins with "@".
    """
    if not isinstance(name, str):
        raise InvalidNameError(
            f"{what}: expected a name as text, got {type_of(name)}. Give text such as 'Maya'."
        )
    # isprintable is a C loop and nearly every name passes it: only the rest is looked at closely.
    if not name.isprintable():
        for position, char in enumerate(name):
            if not char.isprintable() and char not in _JOINERS:
                raise InvalidNameError(
                    f"{what}: character {position + 1} of {shown(name)} is U+{ord(char):04X}, "
                    "which cannot be printed. Use letters, digits, signs and plain spaces."
                )
    name = composed(name)
    if not name or name[0] == " " or name[-1] == " ":
        raise InvalidNameError(
            f"{what}: expected a name that is not empty and does not begin or end with a space, "
            f"got {shown(name)}."
        )
    if len(name) > MAX_NAME:
        raise InvalidNameError(
            f"{what}: expected at most {MAX_NAME} characters, got {len(name)}: {shown(name)}."
        )
    if name[0] == "@" and not (group and len(name) > 1):
        raise InvalidNameError(
            f"{what}: {shown(name)} begins with '@', as only the name of a group does. Groups are "
            "rooms that agents enter; and they may stand where agents are listed."
        )
    return name


def composed(name: str) -> str:
    """``name`` NFC-normalised, unless it is longer than any name can be written.

    Many marks on one letter are sorted in quadratic time: a megabyte of them takes minutes.
    """
    return unicodedata.normalize("NFC", name) if len(name) <= _LONGEST_GIVEN else name


def checked_text(text: object, what: str) -> str:
    """Return a value or a message unchanged, or raise; line breaks and tabs are fine."""
    if not isinstance(text, str):
        raise InvalidInputError(f"{what}: expected text, got {type_of(text)}.")
    if not text:
        raise InvalidInputError(f"{what}: expected text, got ''. Leave it out, or use null.")
    if len(text) > MAX_TEXT:
        raise InvalidInputError(
            f"{what}: expected at most {MAX_TEXT} characters, got {len(text)}."
        )
    if not text.isprintable():
        for position, char in enumerate(text):
            if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t\r":
                raise InvalidInputError(
                    f"{what}: character {position + 1} is U+{ord(char):04X}, which cannot be kept."
                )
    return text


def type_of(value: object) -> str:
    """What something is that should have been something else, as whoever wrote it in JSON knows it."""
    return "null" if value is None else type(value).__name__


def shown(name: str) -> str:
    """A name as it may stand in a message: quoted, cut, and what cannot be printed escaped."""
    return repr(name) if len(name) <= 60 else f"{name[:60]!r}…"


def brief(value: object) -> str:
    """Anything that was given as it may stand in a message."""
    if isinstance(value, str):
        return shown(value)
    try:
        return shown(repr(value)).strip("'\"")
    except (ValueError, RecursionError):  # a number of thousands of digits, a thousand lists deep
        return f"something too large to show ({type_of(value)})"


def near_names(name: str, among: Iterable[str], limit: int = 3) -> list[str]:
    """Existing names that ``name`` may be a slip of, nearest first. Nothing is ever merged."""
    if len(name) > _LONGEST_GIVEN:  # is no slip, and folding it would take as long as normalising
        return []
    others = {other: folded(other) for other in among if other != name}
    if not others:
        return []
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - 10 ms that a start can do without

    found = process.extract(
        folded(name), others, scorer=fuzz.ratio, score_cutoff=_NEAR, limit=limit
    )
    return [other for _, _, other in found]


def folded(text: str) -> str:
    """Without case, accents, widths and what does not show: what to the eye is the same."""
    if len(text) > _LONGEST_GIVEN:
        text = _sortable(text)
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    kept = (
        char for char in decomposed
        if not unicodedata.combining(char) and unicodedata.category(char) != "Cf"
    )
    return " ".join("".join(kept).split())


def _sortable(text: str) -> str:
    """With so many marks on a letter as Unicode's stream-safe text has; see `composed` for why."""
    kept, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MARKS:
            kept.append(char)
    return "".join(kept)


def fork_name(scenario: str, token: str) -> str:
    """A fork of a scenario: to every function here a scenario like any other.

    What separates the two is a character that no name can hold, so a fork is nobody's scenario.
    """
    return f"{scenario}{_FORK}{token}"


def name_of(scenario: str) -> str:
    """What a scenario is called; of a fork, what the one it was made from is."""
    return scenario.partition(_FORK)[0]


def scenario_of(key: str) -> str | None:
    """The scenario whose world is under a key; None for a mind, for a fork, or anything else."""
    found = _WORLD_KEY.fullmatch(key)
    return None if found is None else unquote(found[1])


def mind_of(key: str) -> tuple[str, str] | None:
    """The scenario and the agent whose mind is under a key; None for anything else, or a fork's."""
    found = _MIND_KEY.fullmatch(key)
    return None if found is None else (unquote(found[1]), unquote(found[2]))


def is_fork(scenario: str) -> bool:
    """Whether this is the name of a fork."""
    return _FORK in scenario


def world_key(scenario: str) -> str:
    """The graph that holds the log: what happened, and who saw it."""
    return f"{_prefix(scenario)}:world"


@lru_cache(maxsize=4096)  # an event asks for every witness's, over and over
def mind_key(scenario: str, agent: str) -> str:
    """The graph that holds one agent's mind."""
    return f"{_prefix(scenario)}:mind:{quote(agent, safe='')}"


def counters_key(scenario: str) -> str:
    """A hash: how many events there are, how many of them reached each mind, and the epoch."""
    return f"{_prefix(scenario)}:counters"


def turn_key(scenario: str) -> str:
    """Whose turn it is to write, while several writers keep getting in each other's way."""
    return f"{_prefix(scenario)}:turn"


def new_epoch() -> int:
    """What a scenario gets whenever it is made or changed by anything but an event."""
    return secrets.randbits(62)


def _prefix(scenario: str) -> str:
    """What the keys of a scenario begin with; the braces keep it and its forks in one hash slot."""
    name, _, fork = scenario.partition(_FORK)
    prefix = f"so:{{{quote(name, safe='')}}}"
    return f"{prefix}:fork:{fork}" if fork else prefix


def database_user(agent: str) -> str:
    """The database user an agent logs in as: a hash, so that any name makes a valid user."""
    return f"so-agent-{name_digest(agent)}"


def name_digest(name: str) -> str:
    """A short, stable, file-safe stand-in for a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]
