r"""A message as it comes in, on stdio or over HTTP; or what is wrong with it, in our words.

What makes one unreadable: text cut off, bytes that are not UTF-8, half a character (``\ud800``),
numbers of thousands of digits, lists nested too deep, a batch, an id that is none.
"""

from __future__ import annotations

import json
from typing import Any

from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

LONGEST = 64 * 2**20  # bytes; ten thousand events with a page of words each
_PLACE = 200  # characters of it that are shown
_EXPECTED = "Send one JSON-RPC 2.0 message at a time, as JSON in UTF-8."


class UnreadableError(Exception):
    """What came is no message; ``answer`` tells whoever sent it, under its id where it has one."""

    def __init__(self, code: int, problem: str, own: int | str | None = None) -> None:
        error = ErrorData(code=code, message=f"Cannot be read: {problem} {_EXPECTED}")
        self.answer = JSONRPCError(jsonrpc="2.0", id=own, error=error)
        super().__init__(problem)


def message_in(given: bytes) -> JSONRPCMessage:
    """The message that these bytes are; raises `UnreadableError`."""
    try:
        message = jsonrpc_message_adapter.validate_json(given, by_name=False)
    except ValidationError as error:
        raise _unreadable(given, error) from None
    if isinstance(message, JSONRPCNotification) and "id" in json.loads(given):
        # The SDK takes it for a notification, which nobody answers.
        raise UnreadableError(INVALID_REQUEST, "an id is text or a whole number.")
    return message


def too_long(what: str, longest: int = LONGEST) -> UnreadableError:
    """The error for a line or a body that is not read to its end."""
    return UnreadableError(PARSE_ERROR, f"a {what} has more than {longest} bytes. Send less at once.")


def _unreadable(line: bytes, error: ValidationError) -> UnreadableError:
    first = error.errors(include_url=False, include_input=False)[0]
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    own = given.get("id") if isinstance(given, dict) else None
    if isinstance(own, bool) or not isinstance(own, int | str) or (
        isinstance(own, str) and _halved(own)
    ):
        own = None
    if first["type"] != "json_invalid":
        what = "a batch: send its messages one by one" if isinstance(given, list) else "no request"
        return UnreadableError(INVALID_REQUEST, f"this is {what}.", own)
    if place := _half_a_character(given):
        problem = f"{place} has half a character (a lone surrogate)."
        return UnreadableError(PARSE_ERROR, problem, own)
    detail = first.get("ctx", {}).get("error", "cut off")
    return UnreadableError(PARSE_ERROR, f"this is not JSON: {detail}.", own)


def _half_a_character(given: Any) -> str | None:
    """Where in a message is text that no UTF-8 can hold, such as ``params.arguments.entity``."""
    left = [("", given)]
    while left:
        place, value = left.pop()
        inside = (
            value.items() if isinstance(value, dict)
            else enumerate(value) if isinstance(value, list)
            else ()
        )
        for key, item in inside:
            if _halved(key) or _halved(item):
                found = f"{place}.{key}".lstrip(".")
                return f"{found[:_PLACE]!a}".strip("'\"")
            left.append((f"{place}.{key}", item))
    return None


def _halved(value: object) -> bool:
    return isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value)
