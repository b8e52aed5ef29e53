"""Every query of the catalogue is what its header says, on the real engine; and all of them are used.

The tests of one query carry its name. Whoever adds a query adds what it is tried with to
``queries.py``.
"""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from falkordb.query_result import QueryResult
from hypothesis import example, given, settings
from hypothesis import strategies as st
from queries import AGENTS, EXAMPLES, MIND, STARTS, STORY, ask_everything
from stores import Store, memory_of

from so_mcp import Memory
from so_mcp.cypher import GRAPHS, TYPES, Query, catalogue, parse
from so_mcp.cypher.schema import SCHEMA
from so_mcp.errors import StoreError
from so_mcp.names import mind_key, world_key

ROOT = Path(__file__).resolve().parents[1]
QUERIES = list(catalogue().values())
each_query = pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
each_read = pytest.mark.parametrize(
    "query", [query for query in QUERIES if query.mode == "read"], ids=lambda query: query.name
)
each_write = pytest.mark.parametrize(
    "query", [query for query in QUERIES if query.mode == "write"], ids=lambda query: query.name
)

_SCAN = re.compile(r"(Index|Label) Scan \| \(\w*:(\w+)\)")


@dataclass(frozen=True)
class Played:
    """A scenario in which the story was played, and every query that the product sent for it."""

    memory: Memory
    sent: set[str]

    def key(self, graph: str) -> str:
        """The graph that a query is tried on."""
        scenario = self.memory.scenario
        return world_key(scenario) if graph == "world" else mind_key(scenario, MIND)

    def send(self, verb: str, query: Query, params: dict[str, Any], *flags: str) -> Any:
        return self.memory.database.command(verb, self.key(query.graph), query.render(params), *flags)

    def rows(self, graph: str, text: str) -> list[list[Any]]:
        """What a query of the test's own returns."""
        reply = self.memory.database.command("GRAPH.RO_QUERY", graph, text, "--compact")
        return QueryResult(None, reply).result_set


@pytest.fixture(scope="module")
def played(shared_store: Store) -> Iterator[Played]:
    sent: set[str] = set()

    def observe(commands: list[tuple[str, ...]]) -> None:
        texts = [command[2] for command in commands if command[0].endswith("QUERY")]
        sent.update(query.name for query in QUERIES for text in texts if text.endswith(query.text))

    with memory_of(shared_store, "catalogue", policy="exit-order") as memory:
        memory.database.observers.append(observe)
        memory.record(STORY)
        ask_everything(memory, observe)
        memory.database.observers.remove(observe)
        yield Played(memory, sent)


def placeholders(query: Query) -> dict[str, Any]:
    """Parameters of the declared types, whatever they mean."""
    values: dict[str, Any] = {"str": "x", "int": 1, "bool": True, "list": []}
    return {column.name: values[column.type] for column in query.params}


def statement(query: Query) -> str:
    """A query without its comments."""
    return "\n".join(line for line in query.text.splitlines() if not line.startswith("//"))


# The header ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("// What it does.\n//\n// mode:    red", 1),
        ("// What it does.", 1),
        ("// mode:    read", 1),
        ("// What it does.\n//\n// mode:    read\n// mode:    write", 1),
        ("// What it does.\n//\n// mode:    read\n// parm:    name str   who", 4),
        ("// What it does.\n//\n// mode:    read\n// param:   name text  who", 4),
        ("// What it does.\n//\n// mode:    read\n// param:   name str", 4),
        ("// What it does.\n//\n// mode:    read\n// returns: name float who", 4),
        ("// What it does.\n//\n// mode:    read\n//\n// returns: name", 5),
    ],
    ids=["another mode", "no mode", "no summary", "two modes", "an unknown field", "an unknown type",
         "no meaning", "a type not returned", "a name alone"],
)
def test_a_wrong_header_is_refused_with_its_file_and_line(header: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"^world/wrong\.cypher:{line}: "):
        parse("world", "wrong", f"{header}\n\nRETURN 1")


def test_a_header_is_read_as_it_is_written() -> None:
    query = parse("mind", "one", (
        "// What one believes,\n// in a word.\n//\n// mode:    read\n"
        "// param:   who   str?  whose mind\n// returns: value list  what\n\nRETURN [$who] AS value"
    ))
    assert (query.name, query.mode, query.summary) == ("mind/one", "read", "What one believes, in a word.")
    [param], [column] = query.params, query.returns
    assert (param.name, param.type, param.nullable, param.meaning) == ("who", "str", True, "whose mind")
    assert (column.name, column.type, column.nullable, column.meaning) == ("value", "list", False, "what")


def test_each_file_below_a_graph_is_a_query() -> None:
    files = [file for graph in GRAPHS for file in (ROOT / "cypher" / graph).iterdir()]
    assert {f"{file.parent.name}/{file.name}" for file in files} == {
        f"{query.name}.cypher" for query in QUERIES
    }


@each_query
def test_the_parameters_used_are_those_declared(query: Query) -> None:
    assert sorted(set(re.findall(r"\$(\w+)", statement(query)))) == sorted(
        column.name for column in query.params
    )


# On the engine ---------------------------------------------------------------------------------


@each_query
def test_it_can_be_explained_and_starts_where_it_should(query: Query, played: Played) -> None:
    reply = played.send("GRAPH.EXPLAIN", query, placeholders(query))
    plan = reply if isinstance(reply, str) else "\n".join(reply)
    starts = [
        f"{'index' if how == 'Index' else 'all'} {label}" for how, label in _SCAN.findall(plan)
    ]
    assert plan.count("Scan") == len(starts), f"this test cannot read the plan\n{plan}"
    assert starts == STARTS.get(query.name, []), f"correct the query, or STARTS in queries.py\n{plan}"


@each_read
def test_a_read_returns_the_columns_and_types_it_declares(query: Query, played: Played) -> None:
    assert query.name in EXAMPLES, (
        f"{query.name} is new: add parameters with which it finds something to EXAMPLES in queries.py"
    )
    reply = played.send("GRAPH.RO_QUERY", query, EXAMPLES[query.name], "--compact")
    found = QueryResult(None, reply)
    assert [name for _, name in found.header] == [column.name for column in query.returns]
    assert found.result_set, "its parameters in EXAMPLES find nothing"
    for column, values in zip(query.returns, zip(*found.result_set, strict=True), strict=True):
        types = {type(value) for value in values}
        assert types - {type(None)} == {TYPES[column.type]}, f"{column.name} was given as {types}"
        assert column.nullable or type(None) not in types, f"{column.name} was given as null"


@each_write
def test_a_write_is_refused_where_only_reads_may_run(query: Query, played: Played) -> None:
    with pytest.raises(StoreError, match="read-only"):
        played.send("GRAPH.RO_QUERY", query, placeholders(query))


@each_query
def test_it_is_sent_by_the_product(query: Query, played: Played) -> None:
    assert query.name in played.sent, (
        f"nothing that ask_everything does in queries.py sends {query.name}: ask what needs it "
        "there, or delete the query"
    )


# The schema ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Names:
    """What a query names: labels, relationship types, and (what has it, property), or None."""

    labels: set[str]
    types: set[str]
    properties: set[tuple[str | None, str]]


def names_in(text: str) -> Names:
    """Read the names out of a query, in the plain patterns that the catalogue keeps to."""
    tested = re.findall(r"'(\w+)' IN labels\(", text)
    text = re.sub(r"'[^']*'", "''", text)
    types = re.findall(r"\[\w*:(\w+)", text)
    labels = re.findall(r":(\w+)", re.sub(r"\[\w*:\w+", "", text)) + tested
    kinds: dict[str, list[str]] = {}  # of each variable: its labels, or its type
    properties: set[tuple[str | None, str]] = set()
    for variable, named, fields in re.findall(r"[(\[](\w*)((?::\w+)+)\s*(\{[^}]*\})?[)\]]", text):
        these = named[1:].split(":")
        kinds.setdefault(variable, []).extend(these)
        properties |= {(kind, field) for kind in these for field in re.findall(r"(\w+): ", fields)}
    for variable, field in re.findall(r"(\w+|\))\.(\w+)", text):
        properties |= {(kind, field) for kind in kinds.get(variable, [None])}
    return Names(set(labels), set(types), properties)


def schema_names(graph: str) -> Names:
    """What a graph may hold. A label that rides on another has that one's properties."""
    nodes = {node.label: node for node in SCHEMA[graph].nodes}
    kinds = [(label, nodes[node.on or label].properties) for label, node in nodes.items()]
    kinds += [(one.type, one.properties) for one in SCHEMA[graph].relationships]
    return Names(
        set(nodes),
        {one.type for one in SCHEMA[graph].relationships},
        {(kind, field) for kind, fields in kinds for field in fields},
    )


@each_query
def test_it_names_nothing_that_the_schema_does_not_have(query: Query) -> None:
    used, known = names_in(statement(query)), schema_names(query.graph)
    assert used.labels <= known.labels
    assert used.types <= known.types
    anywhere = {field for _, field in known.properties}
    assert {
        (kind, field) for kind, field in used.properties
        if (kind is not None and (kind, field) not in known.properties) or field not in anywhere
    } == set()


def test_the_names_in_a_query_are_all_found() -> None:
    assert names_in(
        "MATCH (a:Agent {name: $x, kind: 1})-[w:WITNESSED {step: 2}]->(:Event:Truth {seq: 3})-[:IN]->(r)\n"
        "WHERE w.at > 1 AND 'Room' IN labels(r) AND r.kind = 'a.b :c'\n"
        "REMOVE a:Old SET a.age = head(x).until"
    ) == Names(
        {"Agent", "Event", "Truth", "Room", "Old"},
        {"WITNESSED", "IN"},
        {("Agent", "name"), ("Agent", "kind"), ("WITNESSED", "step"), ("Event", "seq"),
         ("Truth", "seq"), ("WITNESSED", "at"), (None, "kind"), ("Agent", "age"), (None, "until")},
    )


@pytest.mark.parametrize("graph", GRAPHS)
def test_everything_in_the_schema_is_used_by_some_query(graph: str) -> None:
    used = [names_in(statement(query)) for query in QUERIES if query.graph == graph]
    known = schema_names(graph)
    base = {node.label: node.on or node.label for node in SCHEMA[graph].nodes}
    properties = {(base.get(kind, kind), field) for one in used for kind, field in one.properties}
    assert set().union(*(one.labels for one in used)) == known.labels
    assert set().union(*(one.types for one in used)) == known.types
    assert {(base.get(kind, kind), field) for kind, field in known.properties} <= properties


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_graphs_hold_exactly_what_the_schema_says(graph: str, played: Played) -> None:
    scenario, schema, known = played.memory.scenario, SCHEMA[graph], schema_names(graph)
    keys = [world_key(scenario)] if graph == "world" else [mind_key(scenario, a) for a in AGENTS]

    def rows(text: str) -> list[list[Any]]:
        return [row for key in keys for row in played.rows(key, text)]

    assert {label for [label] in rows("CALL db.labels()")} == known.labels
    assert {name for [name] in rows("CALL db.relationshipTypes()")} == known.types
    assert {name for [name] in rows("CALL db.propertyKeys()")} == {f for _, f in known.properties}
    held = rows("MATCH (n) RETURN DISTINCT labels(n), keys(n)")
    for node in schema.nodes:
        fields = [set(keys) for labels, keys in held if node.label in labels]
        assert set().union(*fields) <= {f for kind, f in known.properties if kind == node.label}
        if node.on is None:
            assert set().union(*fields) == set(node.properties)
        else:
            assert all(node.on in labels for labels, _ in held if node.label in labels)
    riders = {node.label for node in schema.nodes if node.on is not None}
    assert {
        (type_, start, end, field)
        for type_, starts, ends, fields in rows(
            "MATCH (a)-[r]->(b) RETURN DISTINCT type(r), labels(a), labels(b), keys(r)"
        )
        for start in set(starts) - riders
        for end in set(ends) - riders
        for field in fields or [None]
    } == {
        (one.type, one.start, end, field)
        for one in schema.relationships for end in one.ends for field in list(one.properties) or [None]
    }


# Values into text ------------------------------------------------------------------------------

EVERY_TYPE = parse("mind", "every_type", (
    "// Takes one of each type.\n//\n// mode:    read\n// param:   text   str   some text\n"
    "// param:   number int   a whole number\n// param:   truth  bool  yes or no\n"
    "// param:   many   list  anything\n// param:   maybe  str?  text or nothing\n"
    "// returns: all    list  all of them\n\nRETURN [$text, $number, $truth, $many, $maybe] AS all"
))
RIGHT: dict[str, Any] = {
    "text": "a", "number": 2**53, "truth": False, "many": [["b", 1, None], True, ["c", -1]],
    "maybe": None,
}


class _Text(str):
    """Text that is not quite text: it could print as something else."""

    __slots__ = ()


def test_right_parameters_reach_the_engine_as_they_are(played: Played) -> None:
    [[found]] = QueryResult(
        None, played.send("GRAPH.RO_QUERY", EVERY_TYPE, RIGHT, "--compact")
    ).result_set
    assert found == list(RIGHT.values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", None), ("text", 1), ("text", b"a"), ("text", _Text("a")), ("text", "a\x00b"),
        ("text", ["a"]), ("number", "1"), ("number", 1.0), ("number", True), ("number", None),
        ("number", 2**53 + 1), ("number", -(2**53) - 1), ("truth", 1), ("truth", None),
        ("truth", "true"), ("many", ()), ("many", "ab"), ("many", {}), ("many", None),
        ("many", ["\x00"]), ("many", [1.5]), ("many", [[2**53 + 1]]), ("many", [("a",)]),
        ("many", [{"a": 1}]), ("many", [object()]), ("maybe", 0),
        ("maybe", float("nan")),
    ],
)
def test_a_parameter_of_another_type_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=rf"^mind/every_type: \${name} must be "):
        EVERY_TYPE.render(RIGHT | {name: value})


@pytest.mark.parametrize(
    "params",
    [
        {},
        {name: value for name, value in RIGHT.items() if name != "maybe"},
        RIGHT | {"more": "a"},
        {("txt" if name == "text" else name): value for name, value in RIGHT.items()},
    ],
    ids=["none", "one too few", "one too many", "another name"],
)
def test_missing_and_undeclared_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"^mind/every_type: parameters are "):
        EVERY_TYPE.render(params)


storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
_steps = itertools.count(1)


@settings(deadline=None)
@given(st.lists(storable, min_size=1, max_size=4))
@example(["", '"', "'", "\\", '\\"', "\\\\'", "\\n", "`", "$name", "{}", "// x", "/* x", "]", ";"])
@example(["👩‍👩‍👧‍👦 🇪🇺", "漢字かな交じり文", "한국어", "עברית العربية", "e\u0301 \ufeff", "\U0010ffff"])
@example(["a\nb", "a\r\nb", "\t", "\u2028\u2029\x85", "\x01\x1b\x7f", " ", '" RETURN 1 //'])
def test_any_text_is_kept_byte_for_byte(played: Played, texts: list[str]) -> None:
    def send(graph: str, name: str, params: dict[str, Any]) -> list[list[Any]]:
        query = catalogue()[name]
        verb = "GRAPH.RO_QUERY" if query.mode == "read" else "GRAPH.QUERY"
        reply = played.memory.database.command(verb, graph, query.render(params), "--compact")
        return QueryResult(None, reply).result_set

    for text in texts:
        send("so:texts:world", "world/name_entity", {"name": text})
    assert [name for [name] in send("so:texts:world", "world/entities", {})[-len(texts):]] == texts
    belief = placeholders(catalogue()["mind/believe"])
    belief |= {"members": texts, "text": texts[0], "step": next(_steps)}
    send("so:texts:mind", "mind/believe", belief)
    *_, newest = send("so:texts:mind", "mind/contents", {})
    columns = [column.name for column in catalogue()["mind/contents"].returns]
    kept = dict(zip(columns, newest, strict=True))
    assert (kept["members"], kept["text"]) == (texts, texts[0])


# Nowhere else ----------------------------------------------------------------------------------

_CYPHER = re.compile(
    r"\b(MATCH|CREATE|MERGE)\s*\(|\bCREATE INDEX\b|\bUNWIND\b|\bDETACH DELETE\b"
    r"|\bRETURN \w|\bCALL \w+\.|\b(match|create|merge) ?\(\w*:"
)


def cypher_in(source: str) -> list[int]:
    """The lines of a module at which a string, other than a docstring, holds Cypher."""
    tree = ast.parse(source)
    prose = {
        id(node.value) for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return sorted(
        node.lineno for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and id(node) not in prose and _CYPHER.search(node.value)
    )


def test_cypher_in_a_module_would_be_found() -> None:
    assert cypher_in(
        '"""MATCH (n) in a docstring is prose."""\n'
        'a = "MATCH (n) RETURN n"\n'
        'b = f"match (n:{label})"\n'
        'c = "MERGE " "(n)"\n'
        'd = "CREATE (" + e\n'
        'f = "CALL db.labels()"\n'
        'g = "ACL SETUSER; no match (of a name); create it"\n'
    ) == [2, 3, 4, 5, 6]


def test_no_module_holds_cypher() -> None:
    modules = [m for folder in ("so_mcp", "tools", "cypher") for m in (ROOT / folder).rglob("*.py")]
    assert len(modules) > 15
    assert [
        f"{module.relative_to(ROOT)}:{line}"
        for module in modules for line in cypher_in(module.read_text("utf-8"))
    ] == []


# The documents ---------------------------------------------------------------------------------


def test_the_generated_documents_say_what_the_code_says() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "eval", "docs", "--check"],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_a_stale_document_is_named_with_what_renews_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    from eval import docs  # noqa: PLC0415 - the checkout is not always on the path

    page = tmp_path / "README.md"
    page.write_text("before\n<!-- generated: a -->\nold\n<!-- end: a -->\nafter\n", "utf-8")
    documents = [docs.Document("README.md", lambda: "new\n", "a"), docs.Document("b.md", lambda: "b\n")]
    assert docs.check(documents, tmp_path) == 1
    told = capsys.readouterr().err
    assert "README.md is not" in told
    assert "b.md is not" in told
    assert "make docs" in told
    assert docs.write(documents, tmp_path) == 0
    assert docs.check(documents, tmp_path) == 0
    assert page.read_text("utf-8") == "before\n<!-- generated: a -->\nnew\n<!-- end: a -->\nafter\n"
    page.write_text("no markers\n", "utf-8")
    with pytest.raises(ValueError, match=r"README\.md: expected the lines <!-- generated: a -->"):
        docs.check(documents, tmp_path)


def test_parameters_prepared_for_several_calls_render_as_if_given_at_once() -> None:
    query = catalogue()["world/told"]
    params = placeholders(query)
    shared = {name: value for name, value in params.items() if name != "seq"}
    prepared = query.prepare(shared)
    whole, parts = query.render(params), query.render({"seq": 1}, prepared)
    assert sorted(parts.splitlines()[0].split()) == sorted(whole.splitlines()[0].split())
    assert parts.partition("\n")[2] == whole.partition("\n")[2]
    for wrong in ({}, {"seq": "1"}, {"seq": 1, "colour": "x"}):
        with pytest.raises(TypeError, match=r"^world/told: "):
            query.render(wrong, prepared)
    with pytest.raises(TypeError, match="colour"):
        query.prepare({"colour": "x"})
