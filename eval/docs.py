"""Documents that are made from the code: write them, or (``--check``) say which are stale.

`DOCUMENTS` is the list. A document is a whole file, or the part of one between two lines::

    <!-- generated: NAME -->
    <!-- end: NAME -->
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import anyio

from eval import results
from eval.faults import attack
from so_mcp import AgentView, Memory
from so_mcp.cypher import Column, Query, catalogue
from so_mcp.cypher.schema import SCHEMA, Graph
from so_mcp.embedded import EmbeddedStore
from so_mcp.server import build_server

ROOT = Path(__file__).resolve().parents[1]
RENEW = "make docs"
_SHOWN = 400  # characters of a result, of which a failure has many


@dataclass(frozen=True, slots=True)
class Document:
    """A generated file, or the part of one that ``marker`` names; ``text`` makes what it holds."""

    path: str
    text: Callable[[], str]
    marker: str | None = None

    def rendered(self, root: Path) -> str:
        """Make the whole file as it should be; raises `ValueError` where its markers are missing."""
        if self.marker is None:
            return self.text()
        begin, end = f"<!-- generated: {self.marker} -->\n", f"<!-- end: {self.marker} -->"
        before, found, rest = _read(root / self.path).partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise ValueError(
                f"{self.path}: expected the lines {begin.strip()} and {end}, in this order, around "
                "what is generated; put them where it belongs."
            )
        return f"{before}{begin}{self.text().rstrip("\n")}\n{end}{after}"

    def is_stale(self, root: Path) -> bool:
        """Whether the file says something else than the code."""
        return _read(root / self.path) != self.rendered(root)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m eval docs``."""
    parser.add_argument(
        "--check", action="store_true", help=f"write nothing; exit 1 if one is stale ({RENEW})"
    )


def run(args: argparse.Namespace) -> int:
    """Renew every document, or check them; the exit status."""
    return check(DOCUMENTS, ROOT) if args.check else write(DOCUMENTS, ROOT)


def check(documents: Iterable[Document], root: Path) -> int:
    """Name each stale file and what renews it: 1 if there is any, else 0."""
    stale = [document.path for document in documents if document.is_stale(root)]
    for path in dict.fromkeys(stale):
        print(f"{path} is not what the code says. Renew it: {RENEW}", file=sys.stderr)
    return 1 if stale else 0


def write(documents: Iterable[Document], root: Path) -> int:
    """Write those that are stale, and name them."""
    for document in documents:
        if document.is_stale(root):
            text = document.rendered(root)
            (root / document.path).write_text(text, encoding="utf-8", newline="\n")
            print(f"{document.path} written")
    return 0


def catalogue_text() -> str:
    """Map both graphs, then list every query with what goes in and out: ``cypher/README.md``."""
    opening = (
        f"<!-- Generated from the query files and schema.py; renew it with: {RENEW} -->\n"
        "# The graphs and their queries\n\n"
        "Every query the product runs is a file here: the folder is the graph it runs on, the "
        "stem is its name.\nThe header says what it takes and gives; `?` marks what may be null. "
        "`tests/test_catalogue.py` checks each\non the real engine.\n"
    )
    parts = [opening]
    for name, graph in SCHEMA.items():
        parts += [f"\n## The {name} graph\n\n{graph.meaning}\n\n", _map(graph), _queries(name)]
    return "".join(parts)


def _map(graph: Graph) -> str:
    nodes = [
        (f"`:{node.label}`" + (f" on `:{node.on}`" if node.on else ""), node.meaning,
         _meanings(node.properties) or (f"those of `:{node.on}`" if node.on else ""))
        for node in graph.nodes
    ]
    relationships = [
        (f"`(:{one.start})-[:{one.type}]->(:{end})`", one.meaning, _meanings(one.properties))
        for one in graph.relationships
        for end in one.ends
    ]
    return (
        _table(("label", "meaning", "properties"), nodes)
        + "\n"
        + _table(("relationship", "meaning", "properties"), relationships)
    )


def _queries(graph: str) -> str:
    queries = [query for query in catalogue().values() if query.graph == graph]
    rows = [
        (f"[`{_stem(query)}`]({query.name}.cypher)", query.mode, query.summary,
         _columns(query.params), _columns(query.returns))
        for query in queries
    ]
    return f"\n### Queries of the {graph} graph\n\n" + _table(
        ("query", "mode", "summary", "parameters", "returns"), rows
    )


def _stem(query: Query) -> str:
    return query.name.removeprefix(f"{query.graph}/")


def _columns(columns: Iterable[Column]) -> str:
    return ", ".join(f"`{c.name} {c.type}{'?' if c.nullable else ''}`" for c in columns)


def _meanings(properties: dict[str, str]) -> str:
    return "<br>".join(f"`{name}`: {meaning}" for name, meaning in properties.items())


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return ""


def tools_text() -> str:
    """List the tools as a client of each mode is served them."""
    return "\n".join(
        f"**{title}**\n\n" + _table(("tool", "arguments", "what it answers"), _served(mode))
        for mode, title in (
            ("supervisor", "Supervisor"), ("agent", "Agent (`SO_AGENT` set; its own mind only)")
        )
    )


def _served(mode: str) -> list[tuple[str, ...]]:
    source = (
        Memory("docs") if mode == "supervisor" else AgentView("Docs", "docs", EmbeddedStore(ROOT))
    )  # neither connects to anything until it is asked something
    rows: list[tuple[str, ...]] = []
    for tool in anyio.run(build_server(source).list_tools):
        required = tool.input_schema.get("required", [])
        arguments = ", ".join(
            f"`{name}`" if name in required else f"`{name}?`"
            for name in tool.input_schema.get("properties", {})
        )
        rows.append((f"`{tool.name}`", arguments, tool.description or ""))
    return rows


def hitom_text() -> str:
    """Show the scores that ``python -m eval hitom --save`` measured last."""
    found = results.load("hitom")
    lines = {
        "this memory": found, **found["ablations"],
    }
    columns = ("all", "0", "1", "2", "3", "4")
    rows: list[tuple[str, ...]] = [
        (name, key, *(f"{right} / {total}" for right, total in (scores[key][c] for c in columns)))
        for name, scores in lines.items()
        for key in ("reference", "released")
    ]
    head = ("", "labels", "all", *(f"order {order}" for order in columns[1:]))
    return _table(head, rows)


def speed_text() -> str:
    """Show the figures that ``python -m eval speed --save`` measured last."""
    rows = [
        (name, f"{figure['p50']:.3f}", f"{figure['p99']:.3f}",
         f"{figure['ratio']:.2f} x" if "ratio" in figure else "",
         f"{figure['growth']:.2f} x" if "growth" in figure else "")
        for name, figure in results.load("speed").items()
    ]
    return _table(("", "p50 ms", "p99 ms", "to its floor", "to 100 events"), rows)


def faults_text() -> str:
    """Show what ``python -m eval faults --save`` found last, beside what has to be found."""
    if (found := _measured("faults")) is None:
        return _not_run("faults")
    killed, started, tried = found["kills"], found["starts"], found["attack"]
    calls, lines = found["inputs"], found["lines"]
    each = ", ".join(f"{target} {count}" for target, count in killed["kills"].items())
    differing = len(tried["differing"])
    extra = [name for name in tried["allowed"] if name not in attack.EXPECTED]
    rows: list[tuple[str, object, str]] = [
        (f"kills, `kill -9` ({each})", sum(killed["kills"].values()), ""),
        ("events acknowledged", killed["acknowledged"], ""),
        ("of these lost", killed["lost"], "0"),
        ("torn: part of a batch, or a mind that the log contradicts", killed["torn"], "0"),
        ("events doubled", killed["doubled"], "0"),
        ("servers on one store, at most", max(killed["servers"], started["servers"]), "1"),
        (f"processes started in one instant ({started['rounds']} times)",
         started["rounds"] * started["processes"], ""),
        ("bad inputs tried", calls["tried"] + lines["tried"], ""),
        ("crashes", len(calls["crashes"]) + len(lines["crashes"]), "0"),
        ("commands tried with an agent's login", tried["commands"], ""),
        ("of these refused", tried["refused"], ""),
        ("allowed that should not be", len(extra), "0"),
        ("reads compared, of what is hidden and what does not exist", tried["reads"], ""),
        ("reads that differ", differing, "0"),
        (f"their time, hidden to absent, over {tried['timed']} calls of each",
         tried["ratio"] or "not timed", "0.9 to 1.1"),
    ]
    ended = f"{len(found['failures'])} findings" if found["failures"] else "Nothing was found"
    summary = f"{ended} in {killed['rounds']} rounds of kills (seed {killed['seed']}).\n"
    head = ("", "found", "must be")
    return _table(head, [(what, f"{figure}", must) for what, figure, must in rows]) + f"\n{summary}"


def tom_text() -> str:
    """Show the scores that ``python -m eval tom --save`` measured last, a row a kind of label."""
    if (found := _measured("tom")) is None:
        return _not_run("tom")
    return _scores(("", "labels"), "order", {
        (data_set, label): counts
        for data_set, labels in found.items() for label, counts in labels.items()
    })


def questions_text() -> str:
    """Show what ``python -m eval questions --save`` measured last, and what simpler memories reach."""
    if (found := _measured("questions")) is None:
        return _not_run("questions")
    rows = {"this memory": found["depth"], **found["baselines"]}
    return _scores(("",), "depth", {(name,): counts for name, counts in rows.items()})


def wire_text() -> str:
    """Show what ``python -m eval wire --save`` measured last, through either way."""
    if (found := _measured("wire")) is None:
        return _not_run("wire")
    ways = tuple(found["start"])
    rows: dict[str, Callable[[str], str]] = {
        "start of the process to its first `tools/list`, p50 and longest, s":
            lambda way: "{p50 s:.2f}, {max s:.2f}".format_map(found["start"][way]),
        "read, two deep, p50 and p99, ms":
            lambda way: "{p50 ms:.1f}, {p99 ms:.1f}".format_map(found["read"][way]),
        "write, five witnesses, p50 and p99, ms":
            lambda way: "{p50 ms:.1f}, {p99 ms:.1f}".format_map(found["write"][way]),
        "50 writes at once by two processes: acknowledged, there afterwards":
            lambda way: "{acknowledged}, {there}".format_map(found["writers"][way]),
        "and minds that differ from a replay of the log":
            lambda way: "{differences}".format_map(found["writers"][way]),
    }
    listed = [
        (f"`tools/list`, {mode}", *(f"{counted[what]:,}" for what in ("tools", "tokens", "bytes / 4")))
        for mode, counted in found["tools/list"].items()
    ]
    return (
        _table(("", *ways), [(what, *map(figures, ways)) for what, figures in rows.items()])
        + "\n" + _table(("", "tools", "tokens", "bytes / 4"), listed)
    )


def hosts_text() -> str:
    """Show what ``python -m eval hosts --save`` tried last; a failure stands there like the rest."""
    if (found := _measured("hosts")) is None:
        return _not_run("hosts")
    return _table(("host or checker", "what was tried", "result"), [
        (row["who"], row["tried"], shorten(row["result"], _SHOWN)) for row in found
    ])


def _scores(
    head: tuple[str, ...], word: str, rows: Mapping[tuple[str, ...], Mapping[str, list[int]]]
) -> str:
    """Tabulate [right, asked] in all, and by order or depth."""
    columns = sorted({column for counts in rows.values() for column in counts} - {"all"}, key=int)
    return _table((*head, "all", *(f"{word} {column}" for column in columns)), [
        (*names, *("{} / {}".format(*counts[c]) if c in counts else "" for c in ("all", *columns)))
        for names, counts in rows.items()
    ])


def _measured(name: str) -> Any:
    """The figures of a run, None before it was ever run."""
    try:
        return results.load(name)
    except FileNotFoundError:
        return None


def _not_run(name: str) -> str:
    return f"Not run yet on this code: `.venv/bin/python -m eval {name} --save`, then `{RENEW}`.\n"


DOCUMENTS = [
    Document("cypher/README.md", catalogue_text),
    Document("README.md", tools_text, "tools"),
    Document("README.md", hitom_text, "hitom"),
    Document("README.md", tom_text, "tom"),
    Document("README.md", questions_text, "questions"),
    Document("README.md", faults_text, "faults"),
    Document("README.md", speed_text, "speed"),
    Document("README.md", wire_text, "wire"),
    Document("README.md", hosts_text, "hosts"),
]
