"""What the product depends on in FalkorDB, so that a version that changes one of it is noticed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from falkordb.query_result import QueryResult
from stores import Store, supervisor
from stores import client as connection

_numbers = itertools.count()


@pytest.fixture
def connections(shared_store: Store, graph: str) -> Iterator[tuple[redis.Redis, redis.Redis]]:
    """Two plain connections of the supervisor's, to one server: the one for that graph."""

    def connect() -> redis.Redis:
        username, password = supervisor(shared_store)
        return connection(
            shared_store, username, password, holding=graph, decode_responses=True
        )

    with connect() as one, connect() as two:
        yield one, two


@pytest.fixture
def client(connections: tuple[redis.Redis, redis.Redis]) -> redis.Redis:
    return connections[0]


@pytest.fixture
def graph() -> str:
    """The key of a graph that does not exist yet and that no other test uses."""
    return f"facts:{{{next(_numbers)}}}"  # keys that begin so are on one node


def rows(client: redis.Redis, graph: str, query: str, verb: str = "GRAPH.QUERY") -> list[list[Any]]:
    return QueryResult(None, client.execute_command(verb, graph, query, "--compact")).result_set


def test_a_parameter_that_is_null_makes_no_property(client: redis.Redis, graph: str) -> None:
    query = "CYPHER value=null CREATE (b:Belief {entity: 'x', value: $value}) RETURN keys(b)"
    assert rows(client, graph, query) == [[["entity"]]]


def test_reading_a_graph_that_does_not_exist_fails_with_empty_key_and_makes_none(
    client: redis.Redis, graph: str
) -> None:
    with pytest.raises(redis.ResponseError, match="empty key"):
        client.execute_command("GRAPH.RO_QUERY", graph, "MATCH (n) RETURN n")
    assert client.exists(graph) == 0


def test_comments_may_follow_the_header_with_the_parameters(client: redis.Redis, graph: str) -> None:
    query = 'CYPHER x=1 y="a"\n// It isn\'t "$z".\n//\n// mode: read\n\nRETURN $x, $y // the end'
    assert rows(client, graph, query) == [[1, "a"]]


def test_a_label_that_is_removed_takes_the_node_out_of_its_index(
    client: redis.Redis, graph: str
) -> None:
    rows(client, graph, "CREATE INDEX FOR (b:Active) ON (b.entity)")
    rows(client, graph, "UNWIND [1, 2] AS n CREATE (:Belief:Active {entity: 'x', n: n})")
    rows(client, graph, "MATCH (b:Active {entity: 'x'}) WHERE b.n = 1 REMOVE b:Active")
    found = "MATCH (b:Active {entity: 'x'}) RETURN b.n"
    assert "Index Scan" in str(client.execute_command("GRAPH.EXPLAIN", graph, found))
    assert rows(client, graph, found) == [[2]]
    assert rows(client, graph, "MATCH (b:Belief) RETURN b.n ORDER BY b.n") == [[1], [2]]


def test_properties_of_edges_can_be_read_in_a_pattern_comprehension(
    client: redis.Redis, graph: str
) -> None:
    rows(client, graph, "CREATE (a:Agent)-[:IN {since: 5}]->(:Room)")
    assert rows(client, graph, "MATCH (a:Agent) RETURN [(a)-[i:IN]->(r) | i.since]") == [[[5]]]


def test_an_indexed_integer_is_compared_right_up_to_2_to_the_53(
    client: redis.Redis, graph: str
) -> None:
    numbers = [-(2**53), -1, 0, 1, 2**53 - 1, 2**53]
    rows(client, graph, "CREATE INDEX FOR (e:Event) ON (e.seq)")
    rows(client, graph, f"UNWIND {numbers} AS n CREATE (:Event {{seq: n}})")
    for sign, right in (("<", int.__lt__), ("<=", int.__le__), ("=", int.__eq__), (">", int.__gt__)):
        for bound in numbers:
            query = f"MATCH (e:Event) WHERE e.seq {sign} {bound} RETURN e.seq ORDER BY e.seq"
            assert rows(client, graph, query) == [[n] for n in numbers if right(n, bound)], query


def test_an_indexed_string_is_compared_wrong_so_no_query_does(
    client: redis.Redis, graph: str
) -> None:
    rows(client, graph, "CREATE INDEX FOR (n:Agent) ON (n.name)")
    rows(client, graph, "UNWIND range(0, 99) AS i CREATE (:Agent {name: 'a' + i})")
    while rows(client, graph, "CALL db.indexes() YIELD status RETURN status") != [["OPERATIONAL"]]:
        pass  # until it is, it is not used
    assert rows(client, graph, "MATCH (n:Agent) WHERE n.name < 'a1' RETURN count(n)") == [[100]]


def test_an_indexed_empty_string_is_not_found_so_no_name_is_empty(
    client: redis.Redis, graph: str
) -> None:
    rows(client, graph, "CREATE INDEX FOR (n:Agent) ON (n.name)")
    rows(client, graph, "CREATE (:Agent {name: ''})")
    assert rows(client, graph, "MATCH (n:Agent {name: ''}) RETURN count(n)") == [[0]]


def test_a_transaction_writes_several_graphs_whole(client: redis.Redis, graph: str) -> None:
    with client.pipeline(transaction=True) as pipe:
        pipe.hset(f"{graph}:counters", "seq", 1)
        pipe.execute_command("GRAPH.QUERY", f"{graph}:world", "CREATE (:Event {seq: 1})")
        # The first query of a mind is its index: it makes the graph.
        pipe.execute_command("GRAPH.QUERY", f"{graph}:mind", "CREATE INDEX FOR (b:Active) ON (b.entity)")
        pipe.execute_command("GRAPH.QUERY", f"{graph}:mind", "CREATE (:Active {entity: 'x'})")
        assert len(pipe.execute()) == 4
    assert client.hgetall(f"{graph}:counters") == {"seq": "1"}
    assert rows(client, f"{graph}:world", "MATCH (e:Event) RETURN e.seq") == [[1]]
    assert rows(client, f"{graph}:mind", "MATCH (b:Active {entity: 'x'}) RETURN count(b)") == [[1]]


@pytest.mark.parametrize("watched", ["a counter", "a graph"])
def test_a_conflict_aborts_a_transaction_with_nil_and_nothing_is_written(
    watched: str, connections: tuple[redis.Redis, redis.Redis], graph: str
) -> None:
    one, other = connections
    counters, world = f"{graph}:counters", f"{graph}:world"
    rows(one, world, "CREATE (:Event {seq: 1})")
    with one.pipeline(transaction=True) as pipe:
        pipe.watch(counters if watched == "a counter" else world)
        assert rows(pipe, world, "MATCH (e:Event) RETURN count(e)", "GRAPH.RO_QUERY") == [[1]]
        if watched == "a counter":
            other.hset(counters, "seq", 7)
        else:
            rows(other, world, "CREATE (:Event {seq: 7})")
        pipe.multi()
        pipe.hset(counters, "seq", 2)
        pipe.execute_command("GRAPH.QUERY", world, "CREATE (:Event {seq: 2})")
        pipe.execute_command("GRAPH.QUERY", f"{graph}:mind", "CREATE (:Belief)")
        with pytest.raises(redis.WatchError):  # the client's name for nil
            pipe.execute()
    assert one.hget(counters, "seq") != "2"
    assert rows(one, world, "MATCH (e:Event {seq: 2}) RETURN e") == []
    assert one.exists(f"{graph}:mind") == 0


def test_reading_what_is_watched_is_no_conflict(
    connections: tuple[redis.Redis, redis.Redis], graph: str
) -> None:
    one, other = connections
    rows(one, graph, "CREATE (:Event {seq: 1})")
    with one.pipeline(transaction=True) as pipe:
        pipe.watch(graph)
        rows(other, graph, "MATCH (e:Event) RETURN e.seq", "GRAPH.RO_QUERY")
        pipe.multi()
        pipe.execute_command("GRAPH.QUERY", graph, "CREATE (:Event {seq: 2})")
        assert len(pipe.execute()) == 1


def test_an_error_inside_a_transaction_undoes_nothing_so_all_is_checked_before(
    client: redis.Redis, graph: str
) -> None:
    with client.pipeline(transaction=True) as pipe:
        pipe.execute_command("GRAPH.QUERY", graph, "CREATE (:Event {seq: 1})")
        pipe.execute_command("GRAPH.QUERY", graph, "CREATE (:Event {seq: [1, null]})")
        pipe.execute_command("GRAPH.QUERY", graph, "CREATE (:Event {seq: 3})")
        replies = pipe.execute(raise_on_error=False)
    wrong = replies[1]
    assert isinstance(wrong, redis.ResponseError) or isinstance(wrong[-1], redis.ResponseError)
    assert rows(client, graph, "MATCH (e:Event) RETURN e.seq ORDER BY e.seq") == [[1], [3]]
