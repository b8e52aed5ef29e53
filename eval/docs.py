"""Documents that are made from the code: write them, or (``--check``) say which are stale.

`DOCUMENTS` is the list. A document is a whole file, or the part of one between two lines::

    <!-- generated: NAME -->
    <!-- end: NAME -->
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from so_mcp.cypher import Column, Query, catalogue
from so_mcp.cypher.schema import SCHEMA, Graph

ROOT = Path(__file__).resolve().parents[1]
RENEW = "make docs"


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


DOCUMENTS = [Document("cypher/README.md", catalogue_text)]
