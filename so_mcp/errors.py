"""Every error this package raises on purpose, in one tree.

    SecondOrderError
    ├── InvalidInputError        what the caller gave cannot be used; nothing was written
    │   ├── InvalidNameError     a name with control characters, too long, empty, …
    │   ├── InvalidEventError    an event of a batch: which one, which field, an example
    │   └── UnknownNameError     no agent, scenario or entity of that name; near ones are offered
    ├── ConflictError            it contradicts what the scenario already holds
    ├── AccessError              the database refused this user
    ├── NotGrantedError          an agent without a login of its own
    └── StoreError               the database cannot be started, reached or understood
        ├── PlatformError        the bundled binaries cannot run on this machine
        ├── PartlyDoneError      one of several nodes could not be asked, or refused
        ├── ConnectionLostError  the connection broke; nothing was being committed
        └── OutcomeUnknownError  the connection broke while an event was being committed

A message says where, what was expected, what came, and what to do next.
"""

from __future__ import annotations


class SecondOrderError(Exception):
    """The root: catch this to catch everything that is raised on purpose."""


def message_of(error: SecondOrderError) -> str:
    """What it says, with what was noted on its way: how much of a batch is recorded, say."""
    return " ".join([str(error), *getattr(error, "__notes__", ())])


class InvalidInputError(SecondOrderError, ValueError):
    """What the caller gave cannot be used. Nothing was written."""


class InvalidNameError(InvalidInputError):
    """A name that cannot name anything."""


class InvalidEventError(InvalidInputError):
    """An event that cannot be recorded; no event of its batch was."""


class UnknownNameError(InvalidInputError):
    """A question about an agent or a scenario that does not exist."""


class ConflictError(SecondOrderError):
    """What was asked contradicts what the scenario already holds."""


class AccessError(SecondOrderError):
    """The database refused what this user asked for."""


class NotGrantedError(SecondOrderError):
    """The agent has no login of its own yet."""


class StoreError(SecondOrderError):
    """The database cannot be started, reached or understood."""


class PlatformError(StoreError):
    """The bundled database cannot run on this machine."""


class PartlyDoneError(StoreError):
    """One of several nodes could not be asked, or refused; those before it have done it."""


class ConnectionLostError(StoreError):
    """The connection broke, or could not be made, while nothing was being committed."""


class OutcomeUnknownError(StoreError):
    """The connection broke during a commit: recorded or not, only the log can say."""
