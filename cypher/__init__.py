"""The catalogue: every query the product runs, one a file, ``<graph>/<name>.cypher``.

The folder is the graph that a query runs on (``world`` or ``mind``), the stem is its name, and
the file is exactly what the engine gets. Each opens with a header that is checked when read::

    // What one agent believes about an entity.
    //
    // mode:    read
    // param:   entity str    what is asked about
    // returns: value  str?   null: unknown
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

GRAPHS = ("world", "mind")
TYPES = {"str": str, "int": int, "bool": bool, "list": list}
_LARGEST = 2**53  # beyond it the engine's index is wrong, and beyond 64 bits it saturates silently
_FIELD = re.compile(r"// (mode|param|returns): +(.+)")
_COLUMN = re.compile(r"(\w+) +(\w+)(\??) +(.+)")


@dataclass(frozen=True, slots=True)
class Column:
    """A parameter or a returned column: its name, its type, whether it may be null, its meaning."""

    name: str
    type: str
    nullable: bool
    meaning: str


class Prepared(NamedTuple):
    """Some of a query's parameters as text, to be used for several calls that share them."""

    names: frozenset[str]
    header: str


@dataclass(frozen=True, slots=True)
class Query:
    """One query of the catalogue."""

    name: str
    graph: str
    mode: Literal["read", "write"]
    summary: str
    params: tuple[Column, ...]
    returns: tuple[Column, ...]
    text: str
    declared: dict[str, tuple[type, bool]]  # the parameters' types, and whether they may be null

    def render(self, params: Mapping[str, Any], prepared: Prepared | None = None) -> str:
        """The query with its parameters, as the engine gets it.

        Raises `TypeError` for a parameter that is not declared, is missing, or is not of the
        declared type, at any depth.
        """
        given = params.keys() if prepared is None else params.keys() | prepared.names
        if given != self.declared.keys():
            raise TypeError(f"{self.name}: parameters are {[*self.declared]}, got {sorted(given)}")
        if not given:
            return self.text
        header = "" if prepared is None else prepared.header
        return f"CYPHER {header}{self._header(params)}\n{self.text}"

    def prepare(self, params: Mapping[str, Any]) -> Prepared:
        """Some of the parameters as text; raises `TypeError` as `render` does."""
        return Prepared(frozenset(params), self._header(params))

    def _header(self, params: Mapping[str, Any]) -> str:
        header = ""
        for name, value in params.items():
            if name not in self.declared:
                raise TypeError(f"{self.name}: parameters are {[*self.declared]}, got {name}")
            wanted, nullable = self.declared[name]
            fits = nullable if value is None else type(value) is wanted
            literal = _literal(value) if fits else None
            if literal is None:
                raise TypeError(f"{self.name}: ${name} must be {wanted.__name__}, got {value!r}")
            header += f"{name}={literal} "
        return header


def _literal(value: Any) -> str | None:
    """A value as Cypher text; None for what the engine cannot keep as it is.

    The only place where values become text. Of a string only backslash and quote are escaped: the
    engine takes everything else as it stands, but for NUL, which would cut the query off.
    """
    kind = type(value)  # exactly: a subclass may print itself as anything
    if kind is str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return None if "\x00" in value else f'"{escaped}"'
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value) if -_LARGEST <= value <= _LARGEST else None
    if kind is list:
        items = [_literal(item) for item in value]
        return None if None in items else f"[{','.join(items)}]"  # type: ignore[arg-type]
    return None


@cache
def catalogue() -> Mapping[str, Query]:
    """All queries by their name, such as ``mind/belief``, in a fixed order."""
    found = {}
    for graph in GRAPHS:
        for file in sorted((files(__name__) / graph).iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".cypher"):
                query = parse(graph, file.name.removesuffix(".cypher"), file.read_text("utf-8"))
                found[query.name] = query
    return found


def parse(graph: str, stem: str, text: str) -> Query:
    """Read one query file; raises `ValueError` with file and line for a wrong header."""
    name = f"{graph}/{stem}"
    header: dict[str, list[tuple[int, str]]] = {"mode": [], "param": [], "returns": []}
    summary: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("//"):
            break
        if match := _FIELD.fullmatch(line):
            header[match[1]].append((number, match[2]))
        elif re.match(r"// \w+:", line):
            raise ValueError(f"{name}.cypher:{number}: unknown header field in {line!r}")
        elif line != "//":
            summary.append(line.removeprefix("// "))
    modes = [mode for _, mode in header["mode"]]
    if modes not in (["read"], ["write"]) or not summary:
        raise ValueError(f"{name}.cypher:1: needs a summary and one line 'mode: read' or 'write'")

    def columns(kind: str, allow: Callable[[str], bool]) -> tuple[Column, ...]:
        result = []
        for number, line in header[kind]:
            match = _COLUMN.fullmatch(line)
            if match is None or not allow(match[2]):
                raise ValueError(
                    f"{name}.cypher:{number}: expected '// {kind}: name type meaning', got {line!r}"
                )
            result.append(Column(match[1], match[2], bool(match[3]), match[4]))
        return tuple(result)

    mode: Literal["read", "write"] = "read" if modes == ["read"] else "write"
    allow = TYPES.__contains__
    params = columns("param", allow)
    declared = {column.name: (TYPES[column.type], column.nullable) for column in params}
    returns = columns("returns", allow)
    return Query(name, graph, mode, " ".join(summary), params, returns, text, declared)
